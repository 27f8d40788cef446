"""The n-th write, sync or truncation fails, for every n: what is left loads, and is a prefix of what was told."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys

import pytest

from lastcall.core import records as r
from lastcall.errors import JournalError
from lastcall.journal.load import load
from lastcall.journal.store import DiskFile, FileJournal, create_journal, reopen_journal

STEPS = [[r.Asked(n), r.Nudged(r.NudgeKind.ENFORCE, "x" * 40 * n)] for n in range(1, 9)]


class Failing(DiskFile):
    """A real file whose `fail_at`-th call fails, after taking a part of what it was given; and every later one if told."""

    def __init__(self, fd, *, fail_at, taken, for_good):
        super().__init__(fd)
        self.calls = 0
        self.fail_at, self.taken, self.for_good = fail_at, taken, for_good

    def _count(self):
        self.calls += 1
        return self.calls == self.fail_at or (self.for_good and self.calls > self.fail_at)

    def write(self, line):
        if not self._count():
            # short writes are ordinary
            return super().write(line[: max(1, len(line) // 2)])
        super().write(line[: int(len(line) * self.taken)])
        raise OSError(errno.ENOSPC, "No space left on device")

    def sync(self):
        if self._count():
            raise OSError(errno.EIO, "Input/output error")
        super().sync()

    def truncate(self, size):
        if self._count():
            raise OSError(errno.EIO, "Input/output error")
        super().truncate(size)


def play(path, file_class):
    """Append all steps as far as that goes: the number of steps that were acknowledged, the file and the journal."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    file = file_class(fd)
    journal = FileJournal(file, size=0, path=str(path))
    acknowledged = 0
    for records in STEPS:
        try:
            journal.append(records, at=1.0, durable=True)
        except JournalError:
            break
        acknowledged += 1
    return acknowledged, file, journal


def calls_of_a_run_without_faults(tmp_path):
    acknowledged, file, journal = play(tmp_path / "whole", lambda fd: Failing(fd, fail_at=0, taken=0, for_good=False))
    journal.close()
    assert acknowledged == len(STEPS)
    return file.calls


@pytest.mark.parametrize("for_good", [False, True])
@pytest.mark.parametrize("taken", [0, 0.5, 1])
def test_whatever_call_fails_the_journal_loads_and_holds_all_that_was_acknowledged(tmp_path, taken, for_good):
    calls = calls_of_a_run_without_faults(tmp_path)
    assert calls > 3 * len(STEPS)
    for n in range(1, calls + 1):
        path = tmp_path / f"{n}"
        acknowledged, _, journal = play(path, lambda fd, n=n: Failing(fd, fail_at=n, taken=taken, for_good=for_good))
        assert acknowledged < len(STEPS)
        with pytest.raises(JournalError, match="cannot be written"):
            journal.append([r.Resumed()], at=2.0)
        journal.close()
        kept = [list(step.records) for step in load(str(path)).steps]
        assert kept[:acknowledged] == STEPS[:acknowledged]
        # a line that was written whole and could not be taken back may stay: it is a true step that nobody acted on
        assert kept == STEPS[: len(kept)]
        assert len(kept) <= acknowledged + 1


def test_after_any_fault_the_journal_can_be_gone_on_with(tmp_path):
    calls = calls_of_a_run_without_faults(tmp_path)
    for n in range(1, calls + 1):
        path = tmp_path / f"{n}"
        _, _, journal = play(path, lambda fd, n=n: Failing(fd, fail_at=n, taken=0.7, for_good=True))
        journal.close()
        again, loaded = reopen_journal(str(path))
        again.append([r.Resumed()], at=2.0)
        again.close()
        assert load(str(path)).records == (*loaded.records, r.Resumed())


def test_the_fault_is_told_with_the_place_and_the_remedy(tmp_path):
    fd = os.open(tmp_path / "j", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    journal = FileJournal(Failing(fd, fail_at=1, taken=0.5, for_good=True), size=0, path="j.jsonl")
    with pytest.raises(JournalError) as caught:
        journal.append([r.Resumed()], at=1.0)
    words = str(caught.value)
    assert words.startswith("j.jsonl: the journal cannot be written: No space left on device")
    assert "--no-session-persistence" in words
    journal.close()


def test_a_full_disk_leaves_whole_lines(tmp_path):
    """A real limit of the operating system instead of a fake: no file of this process may grow past 2,000 bytes."""
    path = str(tmp_path / "s.jsonl")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    journal = create_journal(path)
    acknowledged = 0
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, hard))
        fault = None
        for records in STEPS * 5:
            try:
                journal.append(records, at=1.0)
            except JournalError as error:
                fault = error
                break
            acknowledged += 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, old)
        journal.close()
    assert "File too large" in str(fault)
    loaded = load(path)
    assert acknowledged >= 3
    assert [list(step.records) for step in loaded.steps] == (STEPS * 5)[:acknowledged]
    assert loaded.torn_bytes == 0


KILLED = """
import os, signal, sys
from lastcall.core import records as r
from lastcall.journal.store import create_journal
journal = create_journal(sys.argv[1])
n = 0
while True:
    n += 1
    journal.append([r.Asked(n)], at=1.0, durable=n % 2 == 0)
    os.write(1, b"%d\\n" % n)
"""


def test_a_killed_writer_loses_nothing_that_it_acknowledged(tmp_path):
    for kill_after in (1, 2, 7, 40):
        path = str(tmp_path / f"{kill_after}.jsonl")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen([sys.executable, "-c", KILLED, path], stdout=subprocess.PIPE, env=environment) as writer:
            last = 0
            while last < kill_after:
                last = int(writer.stdout.readline())
            writer.kill()
            told = [last, *(int(line) for line in writer.stdout.read().split(b"\n")[:-1])]
        loaded = load(path)
        assert [record.number for record in loaded.records][: told[-1]] == list(range(1, told[-1] + 1))
        again, _ = reopen_journal(path)
        again.close()
