"""When a batch has to stop before its last row, and whether another row may begin.

What stops a batch leaves the rows that are not done without a record, so that the same command goes on with them.

Must not go in here: limits of a single run (`core.decide`), counting (`batches.tally`).
"""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import Final, TypeVar

from msgspec import Struct

from lastcall.batches.tally import Tally
from lastcall.nouns.result import Failed, FailureKind, Limit, Outcome, Stopped, reason

Number = TypeVar("Number", int, float, Decimal)

_UNKNOWN_AT_ONCE: Final = 4
"""Rows under way before any of them has told what a row costs, where there is a budget to keep."""
_FOR_EVERY_ROW: Final = frozenset(
    {
        FailureKind.AUTHENTICATION,
        FailureKind.BILLING,
        FailureKind.NOT_FOUND,
        FailureKind.MODEL_UNAVAILABLE,
    }
)
"""Failures that every other row would meet too."""


class Why(StrEnum):
    """What ended a sitting before the last row."""

    BUDGET = "budget"
    FAILURES = "failures"
    DEADLINE = "deadline"
    REFUSED = "refused"
    INTERRUPTED = "interrupted"
    TERMINATED = "terminated"
    OUTPUT = "output"
    INPUT = "input"


class Halt(Struct, frozen=True):
    """Why no further row begins. `words` is one sentence for people."""

    why: Why
    words: str


class Left(Struct, frozen=True):
    """What limits leave for a run: US dollars, seconds, tokens; `None` for no limit."""

    budget_usd: Decimal | None = None
    time_s: float | None = None
    tokens: int | None = None


NO_LIMITS: Final = Left()


class Bounds(Struct, frozen=True):
    """The limits of a whole batch; `None` is no limit. `deadline_s` is from the sitting's beginning.

    Budgets hold for all sittings together: dollars, and tokens read, written and cached.
    """

    max_budget_usd: Decimal | None = None
    max_failures: int | None = None
    deadline_s: float | None = None
    max_budget_tokens: int | None = None

    def halt(self, tally: Tally, spent_before_usd: Decimal, now: float, tokens_before: int = 0) -> Halt | None:
        """Why no further row may begin, if so. `now` is of the clock that `tally.started_at` is of."""
        if self.deadline_s is not None and now >= tally.started_at + self.deadline_s:
            return Halt(Why.DEADLINE, f"The deadline of {self.deadline_s:g} s has passed.")
        if self.max_failures is not None and tally.failures >= self.max_failures:
            return Halt(Why.FAILURES, f"{tally.failures} rows have failed (--max-failures {self.max_failures}).")
        return self._dollars_are_spent(tally, spent_before_usd) or self._tokens_are_spent(tally, tokens_before)

    def _dollars_are_spent(self, tally: Tally, before: Decimal) -> Halt | None:
        if self.max_budget_usd is None:
            return None
        if tally.unpriced:
            said = "What a row costs is not known for this model, so the budget of --max-budget-usd cannot be kept."
            return Halt(Why.BUDGET, said)
        left = self.max_budget_usd - before - tally.cost_usd
        if left <= 0 or (tally.running == 0 and left < (tally.mean_cost_usd or 0)):
            return Halt(Why.BUDGET, f"The budget of ${self.max_budget_usd} does not reach for another row.")
        return None

    def _tokens_are_spent(self, tally: Tally, before: int) -> Halt | None:
        if self.max_budget_tokens is None:
            return None
        if tally.untold:
            said = "The service does not say what tokens a row took: the budget of --max-budget-tokens cannot be kept."
            return Halt(Why.BUDGET, said)
        left = self.max_budget_tokens - before - tally.tokens
        if left <= 0 or (tally.running == 0 and left < (tally.mean_tokens or 0)):
            return Halt(Why.BUDGET, f"The budget of {self.max_budget_tokens} tokens does not reach for another row.")
        return None

    def may_begin(self, tally: Tally, spent_before_usd: Decimal, tokens_before: int = 0) -> bool:
        """Whether the budgets reach for one more row beside those under way. Ask `halt` first."""
        left = self.left(tally, spent_before_usd, tokens_before)
        return all(
            tally.running < _UNKNOWN_AT_ONCE if mean is None else mean * (tally.running + 1) <= rest
            for rest, mean in ((left.budget_usd, tally.mean_cost_usd), (left.tokens, tally.mean_tokens))
            if rest is not None
        )

    def left(self, tally: Tally, spent_before_usd: Decimal, tokens_before: int, now: float | None = None) -> Left:
        """What is left of the budgets, and (`now`) of the time."""
        usd, tokens, time_s = self.max_budget_usd, self.max_budget_tokens, None
        if self.deadline_s is not None and now is not None:
            time_s = max(0.001, tally.started_at + self.deadline_s - now)
        return Left(
            None if usd is None else usd - spent_before_usd - tally.cost_usd,
            time_s,
            None if tokens is None else tokens - tokens_before - tally.tokens,
        )


def ends_all(outcome: Outcome) -> Halt | None:
    """Why no other row need be tried after one that ended so, if so."""
    if isinstance(outcome, Failed) and outcome.kind in _FOR_EVERY_ROW:
        return Halt(Why.REFUSED, f"Every row would end like this one: {reason(outcome)}")
    return None


def is_limit_of_batch(outcome: Outcome, left: Left, own: Left) -> bool:
    """Whether a run was stopped by what the batch's limits had left for it, not by a limit of its own."""
    match outcome:
        case Stopped(limit=Limit.BUDGET):
            return is_tighter(left.budget_usd, own.budget_usd)
        case Stopped(limit=Limit.DEADLINE):
            return is_tighter(left.time_s, own.time_s)
        case Stopped(limit=Limit.TOKENS):
            return is_tighter(left.tokens, own.tokens)
        case _:
            return False


def is_tighter(one: Number | None, other: Number | None) -> bool:
    """Whether the first limit is less than the second; `None` is no limit."""
    return one is not None and (other is None or one < other)
