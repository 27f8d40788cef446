"""The desk of a cluster and its workers, in one process: the same questions, without Ray between them."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

import needs
from batch_tools import MADE_BY, plan, read_records
from lastcall.batches.bounds import Bounds, Halt, Left, Why
from lastcall.batches.ray_desk import LEASE_S, Desk, Verdict
from lastcall.batches.ray_parts import open_parts
from lastcall.batches.ray_places import place_of
from lastcall.batches.ray_worker import Equipment, FarFlow, Worker, pack, unpack
from lastcall.batches.records import Record, record_of_bad
from lastcall.batches.rows import AnyRow, BadRow, Row
from lastcall.nouns.result import Usage
from lastcall.providers.flow import Flow
from lastcall.providers.scripted import scripted_provider
from lastcall.runtime.clock import SystemClock
from lastcall.runtime.ports import Clock


@pytest.fixture(autouse=True)
def arrow() -> None:
    needs.package("pyarrow")


def record(key: str, *, tokens: int = 100) -> Record:
    bad = record_of_bad(BadRow(1, "x"), "x", MADE_BY)
    line = (
        bad.line.replace(b'"key":"#1"', f'"key":"{key}"'.encode())
        .replace(b"bad_row", b"answered")
        .replace(b'"input_tokens":0', b'"input_tokens":%d' % tokens)
    )
    return Record(key, "answered", "", 1, Usage(tokens, 0, 0, 0), Decimal(1), line)


class QuickClock:
    """Twenty seconds a second (`runtime.ports.Clock`): a dead worker is found out in half a second."""

    def wall(self) -> float:
        return self.monotonic()

    def monotonic(self) -> float:
        return time.monotonic() * 20

    async def sleep_until(self, monotonic: float) -> None:
        await anyio.sleep(max(0.0, monotonic - self.monotonic()) / 20)


class Place:
    """A desk whose output is in a folder, and what runs beside it."""

    def __init__(self, folder: Path, clock: Clock | None = None, **bounds: Any) -> None:
        self.folder = folder
        self.clock = clock or SystemClock()  # on the quick one a busy machine's workers would count as dead
        self.concurrency = 4
        self.bounds = Bounds(**bounds)

    def run(self, do: Callable[[Desk], Awaitable[Any]]) -> Any:
        async def sitting() -> Any:
            place = place_of(str(self.folder / "out"), flag="-o")
            desk = Desk(partial(open_parts, place), self.bounds, self.concurrency, clock=self.clock)
            await desk.survey()
            await desk.begin_sitting(frozenset())
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(desk.run)
                found = await do(desk)
                tasks.cancel_scope.cancel()
            await desk.end_sitting()
            return found

        return anyio.run(sitting)

    @property
    def keys(self) -> list[str]:
        parts = sorted((self.folder / "out").glob("part-*"))
        return [found["key"] for part in parts for found in read_records(part)]


def test_a_record_counts_when_it_is_in_a_part_and_only_once(tmp_path: Path) -> None:
    place = Place(tmp_path)

    async def do(desk: Desk) -> Any:
        assert (await desk.begin("w1", "a")).verdict is Verdict.GO
        await desk.keep("w1", record("a"))
        assert place.keys == ["a"]
        await desk.keep("w2", record("a"))  # a row that was run twice, because its worker was thought dead
        assert (await desk.begin("w2", "a")).verdict is Verdict.DONE
        return (await desk.progress()).counts

    counts = place.run(do)
    assert place.keys == ["a"]
    assert (counts["outcomes"], counts["tokens_in"], counts["running"]) == ({"answered": 1}, 100, 0)


def test_the_next_sitting_leaves_out_what_has_a_record(tmp_path: Path) -> None:
    place = Place(tmp_path)

    async def first(desk: Desk) -> None:
        await desk.keep("w1", record("a"))

    place.run(first)

    async def second(desk: Desk) -> Any:
        return await desk.missing(["a", "b"]), (await desk.progress()).counts["skipped"]

    assert place.run(second) == ([False, True], 1)


def test_a_budget_is_for_all_workers_and_all_sittings_together(tmp_path: Path) -> None:
    place = Place(tmp_path, max_budget_tokens=350)

    async def do(desk: Desk) -> Any:
        for key in ("a", "b"):
            assert (await desk.begin("w1", key)).verdict is Verdict.GO
            await desk.keep("w1", record(key))
        return await desk.begin("w2", "c")

    begun = place.run(do)
    assert (begun.verdict, begun.left.tokens) == (Verdict.GO, 150)

    async def later(desk: Desk) -> Any:
        assert (await desk.begin("w1", "d")).verdict is Verdict.GO  # 150 are left, and nobody knows what a row takes
        await desk.keep("w1", record("d"))
        halted = await desk.begin("w2", "e")
        return halted.verdict, (await desk.progress()).halt, await desk.missing(["f"])

    verdict, halt, missing = place.run(later)
    assert (verdict, halt.why, missing) == (Verdict.HALTED, Why.BUDGET, None)


def test_a_row_that_may_not_begin_yet_waits_for_one_that_ends(tmp_path: Path) -> None:
    place = Place(tmp_path, max_budget_tokens=10_000)

    async def do(desk: Desk) -> Any:
        for key in "abcd":
            await desk.begin("w1", key)
        verdicts: list[Verdict] = []

        async def fifth() -> None:
            verdicts.append((await desk.begin("w1", "e")).verdict)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fifth)
            await anyio.wait_all_tasks_blocked()
            before = list(verdicts)
            await desk.keep("w1", record("a"))
        return before, verdicts

    assert place.run(do) == ([], [Verdict.GO])


def test_requests_of_all_workers_share_one_pace(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.concurrency = 2

    async def do(desk: Desk) -> Any:
        await desk.enter("w1", 1)
        await desk.enter("w2", 1)
        passed: list[int] = []

        async def third() -> None:
            await desk.enter("w1", 2)
            passed.append(1)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(third)
            await anyio.wait_all_tasks_blocked()
            before = list(passed)
            await desk.leave("w2", 1, refused=False, wait_s=None)
        await desk.leave("w1", 1, refused=True, wait_s=None)
        return before, passed, (await desk.progress()).limit

    assert place.run(do) == ([], [1], 1.0)


def test_what_a_dead_worker_held_is_free_again(tmp_path: Path) -> None:
    place = Place(tmp_path, QuickClock())
    place.concurrency = 1

    async def do(desk: Desk) -> Any:
        await desk.begin("dead", "a")
        await desk.enter("dead", 1)
        running = (await desk.progress()).counts["running"]
        for _ in range(int(LEASE_S) + 3):
            await place.clock.sleep_until(place.clock.monotonic() + 1.0)
            await desk.beat("alive")
        await desk.enter("alive", 1)  # the one place there is
        progress = await desk.progress()
        return running, progress.counts["running"], progress.workers

    assert place.run(do) == (1, 0, 1)


def test_a_disk_that_is_full_ends_it_and_whoever_waits_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(tmp_path)

    def full(_fd: int) -> None:
        raise OSError(28, "No space left on device")

    async def do(desk: Desk) -> Any:
        monkeypatch.setattr("lastcall.batches.ray_places.os.fsync", full)
        await desk.keep("w1", record("a"))
        return (await desk.progress()).halt

    halt = place.run(do)
    assert (halt.why, "No space left" in halt.words) == (Why.OUTPUT, True)


def test_a_deadline_ends_it(tmp_path: Path) -> None:
    place = Place(tmp_path, QuickClock(), deadline_s=5)

    async def do(desk: Desk) -> Any:
        for _ in range(8):
            await place.clock.sleep_until(place.clock.monotonic() + 1.0)
        return (await desk.begin("w1", "a")).verdict, (await desk.progress()).halt

    verdict, halt = place.run(do)
    assert (verdict, halt.why) == (Verdict.HALTED, Why.DEADLINE)


# -- a worker -----------------------------------------------------------------------------------------------------------


def equip(flow: Flow, script: list[dict[str, Any]]) -> Equipment:
    del flow
    return Equipment(plan(), scripted_provider(script), Left())


def test_a_worker_runs_a_block_and_does_nothing_twice(tmp_path: Path) -> None:
    place = Place(tmp_path)
    rows: list[AnyRow] = [Row(1, {"text": "a"}, "a"), BadRow(2, "line 2 is no JSON"), Row(3, {"text": "c"}, "c")]

    async def do(desk: Desk) -> Any:
        script = [{"object": {"label": "bug"}}, {"object": {"label": "praise"}}]
        first = Worker("w1", desk, lambda flow: equip(flow, script), MADE_BY)
        await first.do(rows)
        again = Worker("w2", desk, lambda flow: equip(flow, []), MADE_BY)  # it has nothing to answer with
        await again.do(rows)
        return (await desk.progress()).counts

    counts = place.run(do)
    assert sorted(place.keys) == ["#2", "a", "c"]
    assert (counts["outcomes"], counts["running"]) == ({"answered": 2, "bad_row": 1}, 0)


def test_a_worker_begins_nothing_after_the_end(tmp_path: Path) -> None:
    place = Place(tmp_path)

    async def do(desk: Desk) -> None:
        await desk.stop(Halt(Why.INTERRUPTED, "The batch was interrupted."))
        await Worker("w1", desk, lambda flow: equip(flow, []), MADE_BY).do([Row(1, {"text": "a"}, "a")])

    place.run(do)
    assert place.keys == []


def test_a_request_tells_the_desk_what_the_service_said_of_the_load(tmp_path: Path) -> None:
    place = Place(tmp_path)

    async def do(desk: Desk) -> Any:
        async with FarFlow("w1", desk).sending() as sending:
            sending.refused(None)
        progress = await desk.progress()
        return progress.refusals, progress.limit

    assert place.run(do) == (1, 2.0)


@pytest.mark.parametrize("row", [Row(1, {"n": Decimal("1.50"), "t": "é"}, "k"), BadRow(2, "no JSON")])
def test_a_row_travels_as_it_is(row: AnyRow) -> None:
    assert unpack(pack(row)) == row
