"""The loop of a batch: rows in, records out, whatever the service does."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import anyio
import pytest

from batch_tools import BAD, GOOD, plan
from lastcall.batches.bounds import Bounds, Halt, Left, Why
from lastcall.batches.keys import Naming
from lastcall.batches.pacing import Pace
from lastcall.batches.rows import AnyRow, BadInput, BadRow, Row
from lastcall.batches.running import RowRunner
from lastcall.batches.tally import Tally
from lastcall.batches.work import BatchWork, fetched
from lastcall.errors import JournalError
from lastcall.nouns.result import Signal
from lastcall.providers.scripted import scripted_provider
from lastcall.providers.service import Settings
from lastcall.testing import FakeClock


class Kept:
    """A sink in memory; it is full after so many records."""

    def __init__(self, room: int = 10**9) -> None:
        self.records: list[dict[str, Any]] = []
        self.room = room

    def append(self, line: bytes) -> None:
        if len(self.records) >= self.room:
            raise JournalError("the disk is full")
        self.records.append(json.loads(line))

    def sync(self) -> None:
        """Memory is safe."""


def text_of(body: Any) -> str:
    return "".join(block["text"] for block in body["messages"][0]["content"])


def rows(count: int) -> list[AnyRow]:
    return [Row(n, {"text": f"row {n}."}) for n in range(1, count + 1)]


class Sitting:
    """One sitting on a script."""

    def __init__(self, script: Any, given: list[AnyRow] | Iterator[AnyRow], *, at_once: int = 8, sink: Kept | None = None,
                 bounds: Bounds | None = None, done: frozenset[str] = frozenset(), config: dict[str, Any] | None = None,
                 template: str = "Label {{ text }}", **more: Any) -> None:  # fmt: skip
        self.clock = FakeClock()
        self.sink = sink or Kept()
        self.pace = Pace(at_once, clock=self.clock)
        self.provider = scripted_provider(script, settings=Settings(flow=self.pace), clock=self.clock)
        self.plan = plan(template, **(config or {}))
        self.work = BatchWork(
            RowRunner(self.plan, self.provider, clock=self.clock), self.sink, Tally(), made_by=self.plan.made_by,
            bounds=bounds or Bounds(), rows_at_once=at_once, is_done=done.__contains__, clock=self.clock, **more,
        )  # fmt: skip
        self._rows = iter(given)

    async def go(self) -> Halt | None:
        return await self.work.run(fetched(Naming("text").named(self._rows), at_once=3))

    def run(self) -> Halt | None:
        return anyio.run(self.go)

    @property
    def asked(self) -> Counter[str]:
        return Counter(text_of(body) for body in self.provider.requests)

    @property
    def outcomes(self) -> dict[int, str]:
        return {record["row"]: record["outcome"] for record in self.sink.records}


def test_every_row_gets_one_record_with_its_object() -> None:
    subject = Sitting(lambda body: {"object": {**GOOD, "note": text_of(body)}}, rows(50))
    assert subject.run() is None
    assert sorted(subject.outcomes) == list(range(1, 51))
    for record in subject.sink.records:
        assert record["outcome"] == "answered"
        assert record["key"] == f"row {record['row']}."
        assert record["output"] == {"label": "bug", "note": f"Label row {record['row']}."}
        assert record["made_by"] == {
            "prompt": subject.plan.made_by.prompt,
            "contract": subject.plan.made_by.contract,
            "model": "scripted",
        }
    assert set(subject.asked.values()) == {1}


def test_rejected_objects_are_corrected_and_their_problems_stand_in_the_record() -> None:
    subject = Sitting(lambda body: {"object": BAD if len(body["messages"]) == 1 else GOOD}, rows(5))
    subject.run()
    for record in subject.sink.records:
        assert [attempt["verdict"] for attempt in record["attempts"]] == ["rejected", "accepted"]
        assert [(p["path"], p["keyword"]) for p in record["attempts"][0]["problems"]] == [("/label", "enum")]
    assert subject.work.tally.attempts == 10


def test_a_row_that_cannot_be_used_gets_a_record_and_nothing_is_sent_for_it() -> None:
    given = [BadRow(1, "line 1 is no JSON"), Row(2, {"text": "x", "more": ""}), Row(3, {"text": "y"})]
    subject = Sitting(lambda body: {"object": GOOD}, given, template="{{ more }}{{ text }}")
    assert subject.run() is None
    assert subject.outcomes == {1: "bad_row", 2: "answered", 3: "bad_row"}
    reasons = {record["row"]: record["reason"] for record in subject.sink.records}
    assert reasons[1] == "Nothing was sent: line 1 is no JSON."
    assert reasons[3] == "Nothing was sent: the row has no 'more'."
    assert subject.asked == {"x": 1}


def test_every_way_a_run_ends_is_a_record() -> None:
    decline = {"call": {"name": "DeclineOutput", "input": {"reason": "no text", "missing": ["text"]}}}
    replies = {1: {"object": GOOD}, 2: "prose", 3: {"object": BAD}, 4: decline, 5: {"status": 400}}
    subject = Sitting(lambda body: replies[int(text_of(body)[10:-1])], rows(5), config={"max_attempts": 2})
    assert subject.run() is None
    assert subject.outcomes == {1: "answered", 2: "gave_up", 3: "out_of_attempts", 4: "declined", 5: "failed"}
    by_row = {record["row"]: record for record in subject.sink.records}
    assert (by_row[4]["missing"], by_row[5]["failure"], by_row[3]["draft"], by_row[2]["text"]) == (
        ["text"],
        "bad_request",
        BAD,
        "prose",
    )
    assert all(by_row[n]["output"] is None for n in (2, 3, 4, 5))


def test_rows_that_are_done_are_passed_over() -> None:
    subject = Sitting(lambda body: {"object": GOOD}, rows(6), done=frozenset({"row 2.", "row 5."}))
    subject.run()
    assert sorted(subject.outcomes) == [1, 3, 4, 6]
    assert subject.work.tally.skipped == 2


def test_no_more_rows_run_at_once_than_asked_for() -> None:
    most: list[int] = []

    def script(body: Any) -> Any:
        most.append(subject.work.tally.running)
        return {"object": GOOD}

    subject = Sitting(script, rows(40), at_once=3)
    subject.run()
    assert max(most) == 3


def test_a_service_that_refuses_every_row_ends_the_batch_and_its_rows_are_left() -> None:
    subject = Sitting(lambda body: {"status": 401}, rows(500))
    halt = subject.run()
    assert halt is not None
    assert halt.why is Why.REFUSED
    assert subject.sink.records == []
    assert len(subject.provider.requests) <= 8
    assert subject.work.tally.left == len(subject.provider.requests)


def test_too_many_failures_end_it_after_those_under_way() -> None:
    subject = Sitting(lambda body: {"status": 400}, rows(500), bounds=Bounds(max_failures=10))
    halt = subject.run()
    assert halt is not None
    assert halt.why is Why.FAILURES
    assert 10 <= len(subject.sink.records) <= 18


def test_a_deadline_ends_the_rows_under_way_and_they_are_left() -> None:
    def script(body: Any) -> Any:
        if text_of(body) == "Label row 20.":
            subject.clock.advance(61)
        return {"object": GOOD, "delay_ms": 1}

    subject = Sitting(script, rows(500), bounds=Bounds(deadline_s=60))
    halt = subject.run()
    assert halt is not None
    assert halt.why is Why.DEADLINE
    assert len(subject.sink.records) < 30
    assert set(subject.outcomes.values()) == {"answered"}
    assert len(subject.asked) == len(subject.sink.records) + subject.work.tally.left


def test_a_runs_own_deadline_is_its_own_affair() -> None:
    def script(body: Any) -> Any:
        if text_of(body) == "Label row 2.":
            subject.clock.advance(6)
        return {"object": GOOD, "delay_ms": 1}

    subject = Sitting(
        script,
        rows(3),
        at_once=1,
        bounds=Bounds(deadline_s=60),
        config={"deadline_s": 5.0},
        own_limits=Left(time_s=5.0),
    )
    assert subject.run() is None
    assert subject.outcomes == {1: "answered", 2: "stopped", 3: "answered"}


def test_stopping_begins_no_further_row_and_finishes_those_under_way() -> None:
    def script(body: Any) -> Any:
        if text_of(body) == "Label row 10.":
            subject.work.stop(Halt(Why.INTERRUPTED, "enough"))
        return {"object": GOOD, "delay_ms": 1}

    subject = Sitting(script, rows(500))
    halt = subject.run()
    assert halt == Halt(Why.INTERRUPTED, "enough")
    assert 10 <= len(subject.sink.records) <= 18
    assert len(subject.provider.requests) == len(subject.sink.records)


def test_interrupting_ends_those_under_way_without_a_record() -> None:
    def script(body: Any) -> Any:
        if text_of(body) == "Label row 10.":
            subject.work.stop(Halt(Why.INTERRUPTED, "enough"))
            subject.work.interrupt(Signal.INTERRUPT)
        return {"object": GOOD, "delay_ms": 1}

    subject = Sitting(script, rows(500))
    subject.run()
    assert len(subject.sink.records) < 10
    assert subject.work.tally.left >= 1
    assert subject.work.tally.running == 0


def test_stopping_before_it_began_does_nothing_at_all() -> None:
    subject = Sitting(lambda body: {"object": GOOD}, rows(5))
    subject.work.stop(Halt(Why.INTERRUPTED, "enough"))
    assert subject.run() is not None
    assert subject.sink.records == []


def test_an_output_that_is_full_ends_it_and_loses_nothing_that_was_written() -> None:
    subject = Sitting(lambda body: {"object": GOOD, "delay_ms": 1}, rows(500), sink=Kept(room=7))
    halt = subject.run()
    assert halt == Halt(Why.OUTPUT, "the disk is full")
    assert len(subject.sink.records) == 7
    assert subject.work.tally.done == 7
    assert len(subject.provider.requests) < 30


def test_an_input_that_breaks_off_ends_it_after_the_rows_before() -> None:
    def given() -> Iterator[AnyRow]:
        yield from rows(7)
        raise BadInput("the quoting does not add up in line 9", where="i.csv")

    subject = Sitting(lambda body: {"object": GOOD}, given())
    halt = subject.run()
    assert halt == Halt(Why.INPUT, "i.csv: the quoting does not add up in line 9")
    assert sorted(subject.outcomes) == list(range(1, 8))


@pytest.mark.parametrize("spent_before", ["0", "0.5"])
def test_a_budget_is_not_overspent(spent_before: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def price(model: str, usage: Any) -> Decimal:
        return Decimal("0.01")

    monkeypatch.setattr("lastcall.runtime.session.price_of", lambda provider: price)
    subject = Sitting(
        lambda body: {"object": GOOD, "delay_ms": 1}, rows(500), bounds=Bounds(max_budget_usd=Decimal(1)),
        spent_before_usd=Decimal(spent_before),
    )  # fmt: skip
    halt = subject.run()
    assert halt is not None
    assert halt.why is Why.BUDGET
    assert len(subject.sink.records) == (100 if spent_before == "0" else 50)
    assert subject.work.tally.cost_usd == Decimal(1) - Decimal(spent_before)


@pytest.mark.parametrize("before", [0, 600])
def test_a_budget_of_tokens_is_not_overspent(before: int) -> None:
    usage = {"input_tokens": 8, "output_tokens": 2, "cache_read_input_tokens": 2}
    subject = Sitting(
        lambda body: {"object": GOOD, "delay_ms": 1, "usage": usage}, rows(500),
        bounds=Bounds(max_budget_tokens=1200), tokens_before=before,
    )  # fmt: skip
    halt = subject.run()
    assert halt == Halt(Why.BUDGET, "The budget of 1200 tokens does not reach for another row.")
    assert len(subject.sink.records) == (1200 - before) // 12
    assert subject.work.tally.tokens == 1200 - before


def test_a_row_that_the_budget_of_tokens_cut_off_is_left_for_the_next_time() -> None:
    usage = {"input_tokens": 80, "output_tokens": 20}

    def script(body: Any) -> Any:
        return {"object": {"label": f"nonsense {len(body['messages'])}"}, "usage": usage}

    subject = Sitting(script, rows(1), bounds=Bounds(max_budget_tokens=250))
    subject.run()
    assert subject.sink.records == []
    assert (subject.work.tally.left, subject.work.tally.tokens) == (1, 300)


def test_a_storm_is_ridden_out_and_no_request_goes_before_its_time() -> None:
    """Half of the requests are refused for ten seconds, each with a wait of its own."""
    sent: list[float] = []
    waits: list[tuple[float, float]] = []

    def script(body: Any) -> Any:
        now = subject.clock.ticks()
        sent.append(now)
        if now < 10 and len(sent) % 2:
            wait_s = 1 + len(sent) % 3
            waits.append((now, now + wait_s))
            return {"status": 429 if len(sent) % 4 == 1 else 529, "headers": {"retry-after": str(wait_s)}}
        return {"object": GOOD, "delay_ms": 20}

    subject = Sitting(script, rows(200), at_once=16)
    assert subject.run() is None
    assert len(subject.sink.records) == 200
    assert set(subject.outcomes.values()) == {"answered"}
    assert waits
    for refused_at, until in waits:
        # those that had left by the time the answer came are not held; the script answers at once
        early = [at for at in sent if refused_at < at < until]
        assert early == []
    assert subject.pace.limit == 16


def test_cancelling_the_batch_cancels_its_rows() -> None:
    subject = Sitting(lambda body: {"object": GOOD, "delay_ms": 60_000}, rows(500))

    async def main() -> None:
        with anyio.move_on_after(0.05):
            await subject.go()

    anyio.run(main)
    assert subject.sink.records == []
    assert subject.work.tally.running == 0


def test_connections_are_shared_and_closed_by_nobody_in_between() -> None:
    subject = Sitting(lambda body: {"object": GOOD}, rows(20))
    connection = subject.provider._connect()
    subject.run()
    assert subject.provider._connection is connection


def test_a_long_beginning_that_rows_share_goes_as_a_block_of_its_own() -> None:
    from lastcall.wire.dialect import SCRIPTED, Feature

    subject = Sitting(lambda body: {"object": GOOD}, rows(1), template="Rules. " * 200 + "{{ text }}")
    subject.run()
    blocks = [block["text"] for block in subject.provider.requests[0]["messages"][0]["content"]]
    assert blocks == (
        ["Rules. " * 200, "row 1."] if SCRIPTED.has(Feature.CACHE_MARKS) else ["Rules. " * 200 + "row 1."]
    )
