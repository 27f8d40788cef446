"""A run that is killed, signalled or cut off from its disk at any moment: nothing acknowledged is lost, nothing repeated."""

from __future__ import annotations

import errno
import os
import signal
import tempfile
from pathlib import Path

import anyio
import pytest

from kill_tools import (
    BY_MCP,
    SESSION,
    TURNS,
    Counter,
    acknowledged,
    child,
    effects,
    in_child,
    journal_records,
    play,
    tallied,
)
from lastcall.cli.run import with_signals
from lastcall.core.records import Ended, Started
from lastcall.journal.store import DiskFile
from lastcall.nouns.result import Failed, FailureKind

pytest.importorskip("mcp")  # imported once, here, and not in each fork

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


@pytest.fixture
def world():
    """A new folder and counting service for each run; a Unix socket's path has to be short."""
    made = []

    def make():
        folder = tempfile.TemporaryDirectory(prefix="lc")
        counter = Counter(Path(folder.name) / "s")
        made.append((folder, counter))
        return folder.name, counter

    yield make
    for folder, counter in made:
        counter.close()
        folder.cleanup()


def moments_of_a_run(world, *, mcp=True):
    folder, counter = world()
    out, tell = os.pipe()
    assert child(folder, counter.path, resumes=False, tell=tell, mcp=mcp) == 0
    assert effects(folder, counter) == list(range(TURNS))
    assert sorted(acknowledged(folder)) == list(range(TURNS))
    assert tallied(folder) == [(turn, f"{SESSION}:call_{turn}") for turn in sorted(BY_MCP if mcp else ())]
    seen = int(os.read(out, 100))
    os.close(out)
    os.close(tell)
    return seen


def check_after(folder, counter, code):
    """The promises, once the run was taken up again (`code` is how that ended)."""
    done, told = effects(folder, counter), acknowledged(folder)
    assert len(done) == len(set(done)), "an effect was repeated"
    keys = [key for _, key in tallied(folder)]
    assert len(keys) == len(set(keys)), "two effects under one key"
    # an id that comes again, because its first reply was not whole, gets a number after it
    assert all(key.split("_")[:2] == [f"{SESSION}:call", str(turn)] for turn, key in tallied(folder))
    assert len(told) == len(set(told))
    assert set(told) <= set(done), "an acknowledged result was lost"
    if code == 2:  # refused: there was nothing yet to go on with, or nothing left to do
        records = journal_records(folder)
        ended = [x for x in records if isinstance(x, Ended)]
        assert ended or (not done and not any(isinstance(x, Started) for x in records))
    else:
        assert code == 0, "the resumed run did not end in the object"


def kill_and_resume(world, moments, *, again=0):
    """How many were really killed. `again`: the resumed run is killed as well, so many moments after it began."""
    killed = 0
    for moment in moments:
        folder, counter = world()
        code = child(folder, counter.path, resumes=False, moment=moment)
        killed += code == -signal.SIGKILL
        if again:
            child(folder, counter.path, resumes=True, moment=again)
        check_after(folder, counter, child(folder, counter.path, resumes=True))
    return killed


def spread(count, most):
    return sorted({1 + round(i * (most - 1) / (count - 1)) for i in range(count)})


def test_a_run_killed_at_a_few_moments_goes_on_to_the_same_object(world):
    assert kill_and_resume(world, spread(4, moments_of_a_run(world) - 20)) >= 3


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_run_killed_at_two_hundred_moments_goes_on_to_the_same_object(world):
    moments = spread(220, moments_of_a_run(world))
    assert kill_and_resume(world, moments) >= 200


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("again", [20, 60])
def test_a_run_killed_twice_goes_on_to_the_same_object(world, again):
    assert kill_and_resume(world, spread(15, moments_of_a_run(world)), again=again) >= 12


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("count", [3, pytest.param(25, marks=[pytest.mark.slow, pytest.mark.timeout(900)])])
def test_a_run_ended_by_a_signal_goes_on_to_the_same_object(world, number, count):
    most = moments_of_a_run(world, mcp=False)
    ended = 0
    for moment in spread(count, most - 10):
        folder, counter = world()
        code = child(folder, counter.path, resumes=False, moment=moment, number=number, around=with_signals, mcp=False)
        ended += code in (1, -number)
        check_after(folder, counter, child(folder, counter.path, resumes=True, mcp=False))
    assert ended >= count * 2 // 3


def fail_at(nth, what, error):
    """The n-th call of the disk's `what` fails, and so do all after it."""
    real = getattr(DiskFile, what)
    seen = 0

    def failing(file, *arguments):
        nonlocal seen
        seen += 1
        if seen >= nth:
            if arguments:
                real(file, arguments[0][:7])  # a part of it got there
            raise OSError(error, os.strerror(error))
        return real(file, *arguments)

    setattr(DiskFile, what, failing)


def run_with_a_failing_disk(folder, counter, nth, what, error):
    def work():
        from lastcall.errors import JournalError

        fail_at(nth, what, error)
        try:
            result = anyio.run(lambda: play(folder, counter.path, resumes=False, mcp=False))
        except JournalError:
            return 3  # not even begun
        if result.ok:
            return 0
        failed = isinstance(result.outcome, Failed) and result.outcome.kind is FailureKind.JOURNAL
        return 1 if failed else 70

    return in_child(work)


@pytest.mark.parametrize(
    ("what", "error"), [("write", errno.ENOSPC), ("write", errno.EIO), ("sync", errno.EIO), ("sync", errno.ENOSPC)]
)
@pytest.mark.parametrize("step", [9, pytest.param(1, marks=[pytest.mark.slow, pytest.mark.timeout(900)])])
def test_a_disk_that_fails_ends_the_run_so_that_it_can_go_on(world, what, error, step):
    nth = 1
    while True:
        folder, counter = world()
        code = run_with_a_failing_disk(folder, counter, nth, what, error)
        assert code in (0, 1, 3), nth
        if code == 0:
            break
        check_after(folder, counter, child(folder, counter.path, resumes=True, mcp=False))
        nth += step
    assert nth > 9


def test_a_session_that_came_to_its_end_is_not_run_again(world):
    folder, counter = world()
    assert child(folder, counter.path, resumes=False) == 0
    assert child(folder, counter.path, resumes=True) == 2
    assert SESSION
    assert effects(folder, counter) == list(range(TURNS))
