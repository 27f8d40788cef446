"""How many requests at once."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import anyio
import pytest

from lastcall.batches.pacing import LONGEST_PAUSE_S, Pace
from lastcall.testing import FakeClock


async def rounds(pace: Pace, count: int, refuse: Any = lambda n: False) -> None:
    """So many times as many requests at once as the limit allows."""
    for _ in range(count):
        together = int(pace.limit)
        all_in = anyio.Event()

        async def one(n: int, together: int = together, all_in: anyio.Event = all_in) -> None:
            async with pace.sending() as request:
                if pace.in_flight == together:
                    all_in.set()
                await all_in.wait()
                if refuse(n):
                    request.refused(None)

        async with anyio.create_task_group() as tasks:
            for n in range(together):
                tasks.start_soon(one, n)


def limits(ceiling: int, first: int, *steps: Any) -> list[float]:
    clock = FakeClock()
    pace = Pace(ceiling, clock=clock, first=first)
    found = [pace.limit]

    async def main() -> None:
        for refuse in steps:
            clock.advance(1)
            await rounds(pace, 1, refuse)
            found.append(pace.limit)

    anyio.run(main)
    return found


def good(n: int) -> bool:
    return False


def test_the_limit_doubles_each_round_up_to_its_ceiling() -> None:
    assert limits(20, 2, good, good, good, good, good) == [2, 4, 8, 16, 20, 20]


def test_a_refusal_halves_it_once_for_all_that_were_under_way() -> None:
    assert limits(64, 64, lambda n: True)[-1] == 32
    assert limits(64, 64, lambda n: True, lambda n: n < 5)[1:] == [32, pytest.approx(16, abs=1)]


def test_it_never_falls_below_one() -> None:
    assert limits(8, 8, *[lambda n: True] * 6)[-1] == 1


def test_after_a_refusal_it_grows_by_a_tenth_of_the_ceiling_a_round() -> None:
    found = limits(100, 100, lambda n: True, *[good] * 5)
    assert found[1] == 50
    for before, after in pairwise(found[1:]):
        assert 8 <= after - before <= 10.5
    assert limits(100, 100, lambda n: True, *[good] * 8)[-1] == 100


def test_a_limit_that_is_not_used_does_not_grow() -> None:
    pace = Pace(64, clock=FakeClock(), first=8)

    async def main() -> None:
        for _ in range(50):
            async with pace.sending():
                pass

    anyio.run(main)
    assert pace.limit == 8


def test_no_more_than_the_limit_are_ever_under_way_and_all_get_their_turn() -> None:
    pace = Pace(5, clock=FakeClock())
    most: list[int] = []
    done: list[int] = []

    async def one(n: int) -> None:
        async with pace.sending():
            most.append(pace.in_flight)
            await anyio.lowlevel.checkpoint()
        done.append(n)

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            for n in range(200):
                tasks.start_soon(one, n)

    anyio.run(main)
    assert max(most) == 5
    assert sorted(done) == list(range(200))
    assert pace.in_flight == 0


def test_a_wait_that_was_asked_for_holds_for_every_request() -> None:
    clock = FakeClock()
    pace = Pace(4, clock=clock)
    sent: list[float] = []

    async def main() -> None:
        async with pace.sending() as request:
            request.refused(30.0)
        async with pace.sending() as request:
            sent.append(clock.ticks())
            request.refused(5.0)
            request.refused(2.0)
        async with pace.sending():
            sent.append(clock.ticks())

    anyio.run(main)
    assert sent == [30.0, 35.0]
    assert (pace.refusals, pace.paused_s) == (3, 35.0)


def test_a_wait_is_bounded() -> None:
    pace = Pace(4, clock=FakeClock())
    pace.refused(0.0, 1e9)
    assert pace.pause_s == LONGEST_PAUSE_S


def test_who_stops_waiting_leaves_its_place_to_the_next() -> None:
    pace = Pace(1, clock=FakeClock())
    done: list[str] = []

    async def hold(release: anyio.Event) -> None:
        async with pace.sending():
            await release.wait()

    async def wait(name: str, scope: anyio.CancelScope) -> None:
        with scope:
            async with pace.sending():
                done.append(name)

    async def main() -> None:
        release, first, second = anyio.Event(), anyio.CancelScope(), anyio.CancelScope()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hold, release)
            await anyio.lowlevel.checkpoint()
            for name, scope in (("first", first), ("second", second), ("third", anyio.CancelScope())):
                tasks.start_soon(wait, name, scope)
            await anyio.wait_all_tasks_blocked()
            second.cancel()
            await anyio.wait_all_tasks_blocked()
            release.set()
            first.cancel()

    anyio.run(main)
    assert "third" in done
    assert "second" not in done
    assert pace.in_flight == 0
