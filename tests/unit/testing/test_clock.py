"""A clock that moves when it is told to."""

from __future__ import annotations

import anyio
import pytest

from lastcall.testing import FakeClock


def test_time_stands_still_until_it_is_moved():
    clock = FakeClock(wall=1000.0)
    assert (clock.wall(), clock.monotonic(), clock.now(), clock.ticks()) == (1000.0, 0.0, 1000.0, 0.0)
    clock.advance(2.5)
    assert (clock.wall(), clock.monotonic(), clock.now(), clock.ticks()) == (1002.5, 2.5, 1002.5, 2.5)
    with pytest.raises(ValueError, match="forward"):
        clock.advance(-1)


def test_whoever_waits_wakes_when_the_time_has_come_and_not_before():
    woken = []

    async def sleeper(clock, at):
        await clock.sleep_until(at)
        woken.append(at)

    async def main():
        clock = FakeClock()
        async with anyio.create_task_group() as tasks:
            for at in (5.0, 1.0, 0.0):
                tasks.start_soon(sleeper, clock, at)
            await anyio.wait_all_tasks_blocked()
            assert woken == [0.0]
            clock.advance(1)
            await anyio.wait_all_tasks_blocked()
            assert woken == [0.0, 1.0]
            await clock.sleep(10)
        assert woken == [0.0, 1.0, 5.0]
        assert clock.slept == [10]

    anyio.run(main)


def test_chance_and_names_are_the_same_every_time():
    clock = FakeClock()
    assert (clock.chance(), clock.mint(), clock.mint()) == (0.5, "id-1", "id-2")
