"""When a batch stops, and what it has come to."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from lastcall.batches.bounds import NO_LIMITS, Bounds, Left, Why, ends_all, is_limit_of_batch
from lastcall.batches.records import Record
from lastcall.batches.tally import Tally
from lastcall.nouns.result import Answered, Failed, FailureKind, Limit, Outcome, Stopped, Usage

ZERO = Decimal(0)


def record(outcome: str = "answered", cost: str | None = "0.10", attempts: int = 1) -> Record:
    return Record("k", outcome, "", attempts, Usage(70, 20, 10, 20), None if cost is None else Decimal(cost), b"")


def tally(*records: Record, total: int | None = None, running: int = 0) -> Tally:
    found = Tally(total=total, started_at=100.0)
    for one in records:
        found.add(one)
    found.running = running
    return found


def why(bounds: Bounds, counts: Tally, *, before: str = "0", now: float = 100.0) -> Any:
    halt = bounds.halt(counts, Decimal(before), now)
    return None if halt is None else halt.why


def test_without_limits_nothing_stops_it() -> None:
    assert why(Bounds(), tally(*[record("failed", None)] * 100), now=1e9) is None


def test_the_deadline_counts_from_the_sittings_beginning() -> None:
    bounds = Bounds(deadline_s=60)
    assert [why(bounds, tally(), now=at) for at in (159.9, 160.0)] == [None, Why.DEADLINE]


def test_failures_are_what_is_neither_an_object_nor_an_honest_no() -> None:
    good = [record("answered"), record("declined")]
    assert why(Bounds(max_failures=2), tally(*good, *good, record("failed"))) is None
    assert why(Bounds(max_failures=2), tally(*good, record("out_of_attempts"), record("bad_row"))) is Why.FAILURES


@pytest.mark.parametrize(
    ("spent_before", "done", "running", "stops", "begins"),
    [
        ("0", 0, 0, None, True),
        ("0", 0, 3, None, True),
        ("0", 0, 4, None, False),
        ("0", 5, 4, None, True),
        ("0", 5, 5, None, False),
        ("0.50", 5, 0, Why.BUDGET, False),
        ("0.45", 5, 0, Why.BUDGET, False),
        ("0.45", 5, 1, None, False),
        ("2", 0, 0, Why.BUDGET, True),
    ],
)
def test_a_budget_is_kept_with_what_rows_have_cost_so_far(
    spent_before: str, done: int, running: int, stops: Why | None, begins: bool
) -> None:
    bounds, counts = Bounds(max_budget_usd=Decimal(1)), tally(*[record()] * done, running=running)
    assert why(bounds, counts, before=spent_before) is stops
    assert bounds.may_begin(counts, Decimal(spent_before)) is begins


def test_a_budget_over_what_nobody_knows_the_price_of_is_not_kept_but_told() -> None:
    halt = Bounds(max_budget_usd=Decimal(1)).halt(tally(record(cost=None)), ZERO, 0)
    assert halt is not None
    assert "not known for this model" in halt.words


@pytest.mark.parametrize(
    ("spent_before", "done", "running", "stops", "begins"),
    [
        (0, 0, 3, None, True),
        (0, 0, 4, None, False),
        (0, 5, 4, None, True),
        (0, 5, 5, None, False),
        (600, 5, 0, Why.BUDGET, False),
        (550, 5, 0, Why.BUDGET, False),
        (550, 5, 1, None, False),
        (1200, 0, 0, Why.BUDGET, True),
    ],
)
def test_a_budget_of_tokens_is_kept_with_what_rows_have_taken_so_far(
    spent_before: int, done: int, running: int, stops: Why | None, begins: bool
) -> None:
    bounds, counts = Bounds(max_budget_tokens=1200), tally(*[record(cost=None)] * done, running=running)
    halt = bounds.halt(counts, ZERO, 100.0, spent_before)
    assert (None if halt is None else halt.why) is stops
    assert bounds.may_begin(counts, ZERO, spent_before) is begins


def test_both_budgets_hold() -> None:
    counts = tally(record(), record())  # 240 tokens, 0.20 dollars
    assert Bounds(max_budget_usd=Decimal(1), max_budget_tokens=1000).may_begin(counts, ZERO)
    assert not Bounds(max_budget_usd=Decimal("0.25"), max_budget_tokens=1000).may_begin(counts, ZERO)
    assert not Bounds(max_budget_usd=Decimal(1), max_budget_tokens=300).may_begin(counts, ZERO)


def test_what_is_left_is_what_nobody_has_spent() -> None:
    bounds = Bounds(Decimal(1), None, 60.0, 1000)
    assert bounds.left(tally(record()), Decimal("0.5"), 100, 130.0) == Left(Decimal("0.40"), 30.0, 780)
    assert bounds.left(tally(), ZERO, 0, 500.0).time_s == 0.001
    assert Bounds().left(tally(record()), ZERO, 0, 500.0) == NO_LIMITS


@pytest.mark.parametrize(
    ("outcome", "untold"),
    [("answered", 1), ("gave_up", 1), ("out_of_attempts", 1), ("failed", 0), ("stopped", 0)],
)
def test_a_budget_of_tokens_that_nobody_tells_is_not_kept_but_told(outcome: str, untold: int) -> None:
    counts = tally(Record("k", outcome, "", 1, Usage(), ZERO, b""))
    halt = Bounds(max_budget_tokens=10).halt(counts, ZERO, 100.0)
    assert counts.untold == untold
    assert ("does not say" in halt.words if halt is not None else False) is bool(untold)


@pytest.mark.parametrize(
    "kind", [FailureKind.AUTHENTICATION, FailureKind.BILLING, FailureKind.NOT_FOUND, FailureKind.MODEL_UNAVAILABLE]
)
def test_a_service_that_refuses_every_row_ends_the_batch(kind: FailureKind) -> None:
    halt = ends_all(Failed(kind, "no"))
    assert halt is not None
    assert halt.why is Why.REFUSED


@pytest.mark.parametrize(
    "outcome", [Answered(None), Failed(FailureKind.BAD_REQUEST, "x"), Failed(FailureKind.SERVER, "x")]
)
def test_what_may_be_the_rows_own_fault_does_not(outcome: Outcome) -> None:
    assert ends_all(outcome) is None


@pytest.mark.parametrize(
    ("limit", "left", "own", "by_batch"),
    [
        (Limit.BUDGET, 0.5, None, True),
        (Limit.BUDGET, 0.5, 0.4, False),
        (Limit.BUDGET, None, 0.4, False),
        (Limit.DEADLINE, 3, None, True),
        (Limit.DEADLINE, 3, 4, True),
        (Limit.DEADLINE, 3, 2, False),
        (Limit.TOKENS, 300, None, True),
        (Limit.TOKENS, 300, 301, True),
        (Limit.TOKENS, 300, 300, False),
        (Limit.TOKENS, None, None, False),
        (Limit.TURNS, 0.5, None, False),
    ],
)
def test_a_run_that_the_batchs_limit_stopped_is_told_from_one_that_its_own_did(
    limit: Limit, left: Any, own: Any, by_batch: bool
) -> None:
    def limits(amount: Any) -> Left:
        if limit is Limit.BUDGET:
            return Left(budget_usd=None if amount is None else Decimal(str(amount)))
        return Left(tokens=amount) if limit is Limit.TOKENS else Left(time_s=amount)

    assert is_limit_of_batch(Stopped(limit, "x"), limits(left), limits(own)) is by_batch
    assert not is_limit_of_batch(Answered(None), Left(ZERO, 0.0, 0), NO_LIMITS)


def test_the_counts_and_what_follows_from_them() -> None:
    counts = tally(record(attempts=2), record("declined", "0.30"), record("bad_row", "0", 0), total=13)
    counts.skipped = 2
    assert (counts.done, counts.attempts, counts.tokens_in, counts.tokens_out) == (3, 3, 300, 60)
    assert (counts.tokens, counts.mean_tokens) == (360, 180)
    assert (counts.failures, counts.remaining, counts.mean_cost_usd) == (1, 8, Decimal("0.20"))
    assert counts.projected_usd == Decimal("2.00")
    assert (counts.rate(103.0), counts.eta_s(103.0)) == (1.0, 8.0)


def test_what_nobody_knows_is_not_guessed() -> None:
    counts = tally(record(cost=None))
    assert (counts.mean_cost_usd, counts.projected_usd, counts.remaining) == (None, None, None)
    assert (counts.rate(100.0), counts.eta_s(100.0), counts.unpriced) == (0.0, None, 1)
