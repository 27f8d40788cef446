"""Rows over a batch API: rounds, what ends rows, what a sitting that ended in the middle leaves to the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest

from batch_services import BatchServices, Told
from batch_tools import BAD, GOOD, plan, read_records
from lastcall.batches.bounds import Bounds, Halt, Why
from lastcall.batches.output import open_output
from lastcall.batches.provider_batch import Rounds
from lastcall.batches.provider_batch_ledger import ENDING, open_ledger
from lastcall.batches.rows import Row
from lastcall.batches.running import RowRunner
from lastcall.batches.tally import Tally
from lastcall.batches.work import BatchWork, fetched
from lastcall.errors import JournalError
from lastcall.nouns.result import Signal
from lastcall.providers.batch_apis import open_batch_api
from lastcall.providers.choose import ModelSettings, choose_provider
from lastcall.providers.clock import Clock
from lastcall.providers.http import HttpProvider


class QuickClock(Clock):
    """Time that passes by waiting; each wait lets the server's thread have a millisecond."""

    def __init__(self) -> None:
        self.at = 0.0

    def now(self) -> float:
        return self.at

    def ticks(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.at += seconds
        await anyio.sleep(0.001)


class Sitting:
    """One start of a batch over the services, in this process."""

    def __init__(self, services: BatchServices, folder: Path, api: str) -> None:
        self.services = services
        self.output = folder / "o.jsonl"
        self.api = api
        self.notes: list[str] = []
        self.clock = QuickClock()
        self.bounds = Bounds()
        self.most = 10_000
        self.while_running: Callable[[BatchWork], Any] = lambda _work: None

    @property
    def model(self) -> str:
        return {"anthropic": "anthropic:claude-haiku-4-5", "openai": "openai:gpt-4o-mini"}[self.api]

    def run(self, count: int) -> Halt | None:
        return anyio.run(self._run, count)

    async def _run(self, count: int) -> Halt | None:
        env = getattr(self.services, self.api)
        settings = ModelSettings(max_retries=3, clock=self.clock, progress=False)
        provider = choose_provider(self.model, env, settings)
        assert isinstance(provider, HttpProvider)
        tally = Tally(total=count)
        with open_output(str(self.output)) as file, open_ledger(str(self.output)) as ledger:
            file.begin()
            api = open_batch_api(provider, self.clock)
            rounds = Rounds(
                provider,
                api,
                ledger,
                running=lambda: tally.running,
                most=self.most,
                note=self.notes.append,
                clock=self.clock,
            )
            async with rounds:
                work = BatchWork(
                    RowRunner(self.plan, provider, lend_to=rounds.lend_to), file, tally,
                    made_by=self.plan.made_by, bounds=self.bounds, rows_at_once=10_000, spent_before_usd=Decimal(0),
                    is_done=file.done.__contains__, deliver=rounds.deliver,
                )  # fmt: skip
                rows = (Row(n + 1, {"text": f"row {n}."}, f"k{n}") for n in range(count))
                async with anyio.create_task_group() as beside:
                    beside.start_soon(self._beside, work)
                    await work.run(fetched(rows, at_once=1000))
                    beside.cancel_scope.cancel()
            await provider.aclose()
        return work.halt

    async def _beside(self, work: BatchWork) -> None:
        while not self.while_running(work):  # noqa: ASYNC110 -- what it looks at is in the server's thread
            await anyio.sleep(0.002)

    @property
    def plan(self) -> Any:
        return plan("Label {{ text }}")

    @property
    def records(self) -> dict[str, dict[str, Any]]:
        found = read_records(self.output) if self.output.exists() else []
        assert len({record["key"] for record in found}) == len(found)
        return {record["key"]: record for record in found}

    @property
    def ledger(self) -> Path:
        return Path(f"{self.output}{ENDING}")


APIS = pytest.mark.parametrize("api", ["anthropic", "openai"])


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Sitting]]:
    open_now: list[BatchServices] = []

    def start(api: str, reply: Callable[[int, int], Told] = lambda _row, _before: GOOD, **more: Any) -> Sitting:
        services = BatchServices(reply, **more).__enter__()
        open_now.append(services)
        return Sitting(services, tmp_path, api)

    yield start
    for services in open_now:
        services.__exit__(None, None, None)


@APIS
def test_rejected_rows_go_into_the_next_round_with_their_problems(serve: Callable[..., Sitting], api: str) -> None:
    sitting = serve(api, lambda row, before: BAD if row % 5 == 0 and before == 0 else GOOD)
    assert sitting.run(20) is None
    assert [len(batch.requests) for batch in sitting.services.batches.values()] == [20, 4]
    assert {record["outcome"] for record in sitting.records.values()} == {"answered"}
    assert [len(sitting.records[f"k{n}"]["attempts"]) for n in range(6)] == [2, 1, 1, 1, 1, 2]
    _, second = sitting.services.batches.values()
    for body in second.requests.values():  # the problem goes back with the call it belongs to
        assert "nonsense" in str(body["messages"])
        assert "label" in str(body["messages"][-1])
    assert not sitting.ledger.exists()


@APIS
def test_a_row_costs_what_the_batch_api_takes(serve: Callable[..., Sitting], api: str) -> None:
    """Half of 1 and 5 dollars a million tokens (Haiku 4.5), of 0.15 and 0.60 (gpt-4o-mini); 1,000 in, 200 out."""
    sitting = serve(api)
    sitting.run(1)
    expected = {"anthropic": 0.5 * (1000 * 1 + 200 * 5) / 1e6, "openai": 0.5 * (1000 * 0.15 + 200 * 0.60) / 1e6}
    assert sitting.records["k0"]["cost_usd"] == pytest.approx(expected[api])


@APIS
@pytest.mark.parametrize(
    ("told", "kind", "words"),
    [
        ("expired", "timeout", "batch"),
        ("canceled", "server", "batch"),
        ("errored:invalid_request_error", "bad_request", "invalid_request_error"),
    ],
)
def test_requests_that_were_not_processed_end_in_records(
    serve: Callable[..., Sitting], api: str, told: str, kind: str, words: str
) -> None:
    sitting = serve(api, lambda row, _before: told if row == 1 else GOOD)
    assert sitting.run(3) is None
    record = sitting.records["k1"]
    assert (record["outcome"], record["failure"]) == ("failed", kind)
    assert words in record["reason"]
    assert (sitting.records["k0"]["outcome"], sitting.records["k2"]["outcome"]) == ("answered", "answered")


def test_what_a_service_refuses_is_left_out_in_the_next_round(serve: Callable[..., Sitting]) -> None:
    sitting = serve("anthropic", lambda _row, before: "errored:invalid_request_error" if before == 0 else GOOD)
    assert sitting.run(3) is None
    first, second = (next(iter(batch.requests.values())) for batch in sitting.services.batches.values())
    assert any(tool.get("strict") for tool in first["tools"])
    assert not any(tool.get("strict") for tool in second["tools"])
    assert {record["outcome"] for record in sitting.records.values()} == {"answered"}


@APIS
def test_a_fault_of_the_service_is_asked_again_a_few_times_and_then_told(
    serve: Callable[..., Sitting], api: str
) -> None:
    sitting = serve(api, lambda row, _before: "errored:api_error" if row == 0 else GOOD)
    sitting.run(2)
    assert (sitting.records["k0"]["outcome"], sitting.records["k0"]["failure"]) == ("failed", "server")
    assert sitting.services.paid == Counter({0: 4, 1: 1})  # once, and three retries


@APIS
def test_a_result_that_is_missing_is_no_row_that_waits_for_ever(serve: Callable[..., Sitting], api: str) -> None:
    sitting = serve(api, lambda row, before: "lost" if row == 0 and before == 0 else GOOD)
    sitting.run(2)
    assert {record["outcome"] for record in sitting.records.values()} == {"answered"}
    assert sitting.services.paid == Counter({0: 2, 1: 1})


@APIS
def test_a_round_is_cut_where_a_batch_is_full(serve: Callable[..., Sitting], api: str) -> None:
    sitting = serve(api)
    sitting.most = 8
    sitting.run(20)
    assert [len(batch.requests) for batch in sitting.services.batches.values()] == [8, 8, 4]
    assert len(sitting.records) == 20


def test_with_a_budget_the_first_round_is_a_few_rows_and_the_rest_as_many_as_it_reaches_for(
    serve: Callable[..., Sitting],
) -> None:
    sitting = serve("anthropic")
    sitting.bounds = Bounds(max_budget_usd=Decimal("0.0105"))  # of rows that take 0.001 each
    halt = sitting.run(20)
    assert halt is not None
    assert halt.why is Why.BUDGET
    assert [len(batch.requests) for batch in sitting.services.batches.values()] == [4, 6]
    assert len(sitting.records) == 10


# -- going on ---------------------------------------------------------------------------------------------------------


def leave(after: int, sitting: Sitting) -> Callable[[BatchWork], bool]:
    """Ends the sitting as a second Ctrl-C does, once so many batches were taken."""

    def look(work: BatchWork) -> bool:
        if len(sitting.services.batches) < after or not any("submitted" in note for note in sitting.notes):
            return False
        work.stop(Halt(Why.INTERRUPTED, "The batch was interrupted."))
        work.interrupt(Signal.INTERRUPT)
        return True

    return look


@APIS
def test_what_was_submitted_is_collected_by_the_next_sitting_and_paid_once(
    serve: Callable[..., Sitting], api: str
) -> None:
    sitting = serve(api, lambda row, before: BAD if row % 4 == 0 and before == 0 else GOOD, polls=10**9)
    sitting.while_running = leave(1, sitting)
    halt = sitting.run(12)
    assert halt is not None
    assert (sitting.records, len(sitting.services.batches)) == ({}, 1)
    sitting.services.polls = 1
    next(iter(sitting.services.batches.values())).polls_left = 3
    sitting.while_running = lambda _work: None
    assert sitting.run(15) is None
    assert sitting.services.paid == Counter({n: 2 if n in (0, 4, 8, 12) else 1 for n in range(15)})
    assert {record["outcome"] for record in sitting.records.values()} == {"answered"}
    assert any("submitted before" in note for note in sitting.notes)
    assert not sitting.ledger.exists()


@APIS
def test_a_second_round_that_was_under_way_is_collected_too(serve: Callable[..., Sitting], api: str) -> None:
    sitting = serve(api, lambda row, before: BAD if row < 3 and before == 0 else GOOD)

    def look(work: BatchWork) -> bool:
        if len(sitting.services.batches) == 1:
            sitting.services.polls = 10**9
            return False
        return leave(2, sitting)(work)

    sitting.while_running = look
    sitting.run(6)
    assert set(sitting.records) == {"k3", "k4", "k5"}
    list(sitting.services.batches.values())[1].polls_left = 1
    sitting.services.polls = 1
    sitting.while_running = lambda _work: None
    assert sitting.run(6) is None
    assert sitting.services.paid == Counter({0: 2, 1: 2, 2: 2, 3: 1, 4: 1, 5: 1})
    assert [len(sitting.records[f"k{n}"]["attempts"]) for n in range(6)] == [2, 2, 2, 1, 1, 1]


@APIS
def test_an_order_whose_answer_was_lost_is_looked_for_and_not_given_twice(
    serve: Callable[..., Sitting], api: str
) -> None:
    sitting = serve(api)
    broken: list[str] = []

    def fail(method: str, path: str) -> int | None:
        if method == "POST" and path.endswith("/batches") and not broken:
            broken.append(path)
            return 0
        return None

    sitting.services.fail = fail
    assert sitting.run(5) is None
    assert sitting.services.paid == Counter(range(5))
    assert len(sitting.records) == 5


@APIS
@pytest.mark.parametrize("arrived", [True, False])
def test_an_order_that_was_never_confirmed_is_looked_for_by_the_next_sitting(
    serve: Callable[..., Sitting], api: str, arrived: bool
) -> None:
    sitting = serve(api)
    sitting.services.fail = lambda _method, path: (0 if arrived else 503) if path.endswith("/batches") else None

    def look(work: BatchWork) -> bool:
        if not any("looking whether" in note for note in sitting.notes):
            return False
        work.stop(Halt(Why.INTERRUPTED, "The batch was interrupted."))
        work.interrupt(Signal.INTERRUPT)
        return True

    sitting.while_running = look
    sitting.run(5)
    assert sitting.records == {}
    sitting.services.fail = lambda _method, _path: None
    sitting.while_running = lambda _work: None
    assert sitting.run(5) is None
    assert sitting.services.paid == Counter(range(5))
    assert len(sitting.records) == 5


def test_a_batch_that_is_gone_is_submitted_again(serve: Callable[..., Sitting]) -> None:
    sitting = serve("anthropic", polls=10**9)
    sitting.while_running = leave(1, sitting)
    sitting.run(3)
    sitting.services.batches.clear()
    sitting.services.polls = 1
    sitting.while_running = lambda _work: None
    assert sitting.run(3) is None
    assert len(sitting.records) == 3
    assert any("no longer there" in note for note in sitting.notes)


def test_the_same_row_done_again_is_asked_again(serve: Callable[..., Sitting]) -> None:
    sitting = serve("anthropic")
    sitting.run(2)
    sitting.output.unlink()
    sitting.run(2)
    assert sitting.services.paid == Counter({0: 2, 1: 2})


# -- what the service says of a batch as a whole ------------------------------------------------------------------------


def test_a_wrong_key_ends_the_batch_before_any_row_has_a_record(serve: Callable[..., Sitting]) -> None:
    sitting = serve("anthropic")
    sitting.services.fail = lambda _method, _path: 401
    halt = sitting.run(5)
    assert halt is not None
    assert halt.why is Why.REFUSED
    assert (sitting.records, sitting.ledger.exists()) == ({}, False)


def test_a_line_that_is_refused_spoils_no_other(serve: Callable[..., Sitting]) -> None:
    sitting = serve("openai")

    def faults(requests: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
        rows = ["row 2." in str(body["messages"]) for body in requests.values()]
        if True not in rows:
            return []
        return [{"code": "invalid", "line": rows.index(True) + 1, "message": "This line is not valid.", "param": None}]

    sitting.services.faults = faults
    assert sitting.run(5) is None
    assert {key: record["outcome"] for key, record in sitting.records.items()} == {
        "k0": "answered", "k1": "answered", "k2": "failed", "k3": "answered", "k4": "answered"
    }  # fmt: skip
    assert "This line is not valid." in sitting.records["k2"]["reason"]
    assert sitting.services.paid == Counter([0, 1, 3, 4])


def test_too_much_enqueued_is_waited_for_and_asked_in_smaller_rounds(serve: Callable[..., Sitting]) -> None:
    sitting = serve("openai")
    sitting.most = 8
    said = {"code": "token_limit_exceeded", "line": None, "message": "Enqueued token limit reached.", "param": None}
    sitting.services.faults = lambda requests: [said] if len(requests) > 4 else []
    assert sitting.run(8) is None
    assert {record["outcome"] for record in sitting.records.values()} == {"answered"}
    assert [len(batch.requests) for batch in sitting.services.batches.values()] == [8, 4, 4]
    assert sitting.clock.at > 60


def test_a_disk_that_cannot_take_the_names_of_batches_ends_it_before_anything_is_ordered(
    serve: Callable[..., Sitting], monkeypatch: pytest.MonkeyPatch
) -> None:
    sitting = serve("anthropic")

    def full(_fd: int, _content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lastcall.batches.provider_batch_ledger.write_all", full)
    with pytest.raises(BaseExceptionGroup) as caught:
        sitting.run(3)
    found = caught.value.subgroup(JournalError)
    assert found is not None
    assert "No space left" in str(found.exceptions)
    assert sitting.services.paid == Counter()
