"""When a batch has to stop before its last row, and whether another row may begin.

What stops a batch leaves the rows that are not done without a record, so that the same command goes on with them.

Must not go in here: limits of a single run (`core.decide`), counting (`batches.tally`).
"""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import Final

from msgspec import Struct

from lastcall.batches.tally import Tally
from lastcall.nouns.result import Failed, FailureKind, Limit, Outcome, Stopped, reason

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


class Bounds(Struct, frozen=True):
    """The limits of a whole batch; `None` is no limit. `deadline_s` is from the sitting's beginning."""

    max_budget_usd: Decimal | None = None
    max_failures: int | None = None
    deadline_s: float | None = None

    def halt(self, tally: Tally, spent_before_usd: Decimal, now: float) -> Halt | None:
        """Why no further row may begin, if so. `now` is of the clock that `tally.started_at` is of."""
        if self.deadline_s is not None and now >= tally.started_at + self.deadline_s:
            return Halt(Why.DEADLINE, f"The deadline of {self.deadline_s:g} s has passed.")
        if self.max_failures is not None and tally.failures >= self.max_failures:
            return Halt(Why.FAILURES, f"{tally.failures} rows have failed (--max-failures {self.max_failures}).")
        if self.max_budget_usd is None:
            return None
        if tally.unpriced:
            said = "What a row costs is not known for this model, so the budget of --max-budget-usd cannot be kept."
            return Halt(Why.BUDGET, said)
        left = self.max_budget_usd - spent_before_usd - tally.cost_usd
        if left <= 0 or (tally.running == 0 and left < (tally.mean_cost_usd or 0)):
            return Halt(Why.BUDGET, f"The budget of ${self.max_budget_usd} does not reach for another row.")
        return None

    def may_begin(self, tally: Tally, spent_before_usd: Decimal) -> bool:
        """Whether the budget reaches for one more row beside those under way. Ask `halt` first."""
        if self.max_budget_usd is None:
            return True
        mean = tally.mean_cost_usd
        if mean is None:
            return tally.running < _UNKNOWN_AT_ONCE
        left = self.max_budget_usd - spent_before_usd - tally.cost_usd
        return mean * (tally.running + 1) <= left


def ends_all(outcome: Outcome) -> Halt | None:
    """Why no other row need be tried after one that ended so, if so."""
    if isinstance(outcome, Failed) and outcome.kind in _FOR_EVERY_ROW:
        return Halt(Why.REFUSED, f"Every row would end like this one: {reason(outcome)}")
    return None


def is_limit_of_batch(
    outcome: Outcome,
    budget_left_usd: Decimal | None,
    time_left_s: float | None,
    *,
    own_budget_usd: Decimal | None,
    own_deadline_s: float | None,
) -> bool:
    """Whether a run was stopped by what the batch's limits had left for it, not by a limit of its own."""
    match outcome:
        case Stopped(limit=Limit.BUDGET):
            return budget_left_usd is not None and (own_budget_usd is None or budget_left_usd < own_budget_usd)
        case Stopped(limit=Limit.DEADLINE):
            return time_left_s is not None and (own_deadline_s is None or time_left_s < own_deadline_s)
        case _:
            return False
