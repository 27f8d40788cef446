"""Writing journals: whole lines, one writer, for the owner alone."""

from __future__ import annotations

import os
import stat
import subprocess
import sys

import pytest

from lastcall.core import records as r
from lastcall.errors import JournalCorrupt, JournalError, JournalLocked
from lastcall.journal import store
from lastcall.journal.load import load
from lastcall.journal.store import MemoryJournal, create_journal, reopen_journal
from lastcall.wire.journal import JournalStep


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "state" / "sessions" / "-w" / "s1.jsonl")


def test_what_is_appended_is_in_the_file(path):
    journal = create_journal(path)
    journal.append([r.Asked(1)], at=1.0)
    journal.append([r.Resumed(), r.Asked(2)], at=2.0, durable=True)
    assert load(path).steps == (JournalStep(1.0, (r.Asked(1),)), JournalStep(2.0, (r.Resumed(), r.Asked(2))))
    assert journal.size == os.path.getsize(path)
    journal.close()


def test_file_and_directories_are_for_the_owner_alone(path, tmp_path):
    old = os.umask(0)
    try:
        create_journal(path).close()
    finally:
        os.umask(old)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    folder = os.path.dirname(path)
    while folder != str(tmp_path):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        folder = os.path.dirname(folder)


def test_a_journal_that_exists_is_not_overwritten(path):
    create_journal(path).close()
    with pytest.raises(JournalError, match="already"):
        create_journal(path)


def test_two_writers_of_one_journal_cannot_be(path):
    journal = create_journal(path)
    with pytest.raises(JournalLocked, match="another process") as caught:
        reopen_journal(path)
    assert "--fork-session" in caught.value.hint
    journal.close()
    reopen_journal(path)[0].close()


def test_the_lock_holds_against_another_process(path):
    journal = create_journal(path)
    code = "import sys; from lastcall.journal.store import reopen_journal; reopen_journal(sys.argv[1])"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, env=environment, check=False
    )
    assert "JournalLocked" in ran.stderr
    journal.close()


def test_a_journal_goes_on_where_it_ended(path):
    journal = create_journal(path)
    journal.append([r.Asked(1)], at=1.0)
    journal.close()
    journal, loaded = reopen_journal(path)
    assert loaded.records == (r.Asked(1),)
    journal.append([r.Asked(2)], at=2.0)
    journal.close()
    assert load(path).records == (r.Asked(1), r.Asked(2))


@pytest.mark.parametrize("torn", [b'{"v":1,"kin', b"\0\0\0", b"x"])
def test_half_a_line_is_cut_off_before_the_next_one(path, torn):
    journal = create_journal(path)
    journal.append([r.Asked(1)], at=1.0)
    journal.close()
    with open(path, "ab") as file:
        file.write(torn)
    journal, loaded = reopen_journal(path)
    assert loaded.torn_bytes == len(torn)
    journal.append([r.Asked(2)], at=2.0)
    journal.close()
    assert load(path).records == (r.Asked(1), r.Asked(2))


def test_a_damaged_journal_is_neither_opened_nor_changed_nor_locked(path):
    create_journal(path).close()
    with open(path, "wb") as file:
        file.write(b"{}\nhalf")
    for _ in range(2):
        with pytest.raises(JournalCorrupt, match="line 1"):
            reopen_journal(path)
    with open(path, "rb") as file:
        assert file.read() == b"{}\nhalf"


def test_a_closed_journal_takes_nothing(path):
    journal = create_journal(path)
    journal.close()
    journal.close()
    with pytest.raises(JournalError, match="closed"):
        journal.append([r.Asked(1)], at=1.0)


def test_what_is_in_the_way_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(JournalError, match="cannot be made") as caught:
        create_journal(str(tmp_path / "file" / "s.jsonl"))
    assert "LASTCALL_STATE_DIR" in caught.value.hint
    with pytest.raises(JournalError, match="cannot be opened: No such file"):
        reopen_journal(str(tmp_path / "none.jsonl"))
    (tmp_path / "link.jsonl").symlink_to("file")
    with pytest.raises(JournalError, match="cannot be opened"):
        reopen_journal(str(tmp_path / "link.jsonl"))
    with pytest.raises(JournalError, match="cannot be opened: Is a directory"):
        reopen_journal(str(tmp_path))


def test_a_journal_in_memory_keeps_the_same_steps():
    journal = MemoryJournal()
    journal.append([r.Asked(1)], at=1.0, durable=True)
    journal.close()
    assert journal.steps == [JournalStep(1.0, (r.Asked(1),))]


def test_a_new_journals_name_is_on_the_disk_with_the_first_step_that_has_to_be(tmp_path, monkeypatch):
    """Before that nothing has been promised, and the first request need not wait for the disk."""
    synced = []
    real = os.fsync

    def note(fd):
        synced.append(stat.S_ISDIR(os.fstat(fd).st_mode))
        real(fd)

    monkeypatch.setattr(os, "fsync", note)
    monkeypatch.setattr(store, "_FULL_SYNC", None)
    journal = create_journal(str(tmp_path / "new" / "j.jsonl"))
    journal.append([], at=1.0)
    assert synced == []
    journal.append([], at=2.0, durable=True)
    journal.append([], at=3.0, durable=True)
    journal.close()
    assert synced == [False, True, False]
