from __future__ import annotations

import fcntl
import os

import pytest

from journals import Writer
from lastcall.errors import JournalError
from lastcall.viewer import tailing
from lastcall.viewer.tailing import Tail, in_use


def grown(path, content):
    with open(path, "ab") as file:
        file.write(content)


def test_each_look_takes_the_whole_lines_that_are_new(tmp_path):
    path, w = tmp_path / "a.jsonl", Writer()
    path.write_bytes(w.opened())
    tail = Tail(str(path), "s1")
    assert tail.read()
    assert not tail.read()
    line = w.prompt("x")
    grown(path, line[:50])
    assert not tail.read()
    grown(path, line[50:])
    assert tail.read()
    assert [run.prompt for run in tail.story.changes().runs] == ["x"]


@pytest.mark.parametrize("cut", range(0, 2000, 171))
def test_any_cut_of_a_journal_gives_the_same_story_in_the_end(tmp_path, cut):
    path, content = tmp_path / "a.jsonl", Writer().whole()
    path.write_bytes(content[:cut])
    tail = Tail(str(path), "s1")
    tail.read()
    grown(path, content[cut:])
    tail.read()
    other = tmp_path / "b.jsonl"
    other.write_bytes(content)
    at_once = Tail(str(other), "s1")
    at_once.read()
    assert tail.story.changes() == at_once.story.changes()


def test_half_a_line_that_nobody_ends_is_told(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(Writer().opened() + b'{"v":1,')
    tail = Tail(str(path))
    tail.read()
    tail.mark_torn()
    assert tail.story.changes().session.note.startswith("Half a line of 7 bytes at the end")


@pytest.mark.parametrize(("line", "why"), [(b"garbage\n", "no JSON"), (b'{"v":99,"kind":"step"}\n', "of format 99")])
def test_a_damaged_line_ends_the_reading_and_what_stood_before_is_shown(tmp_path, line, why):
    path, w = tmp_path / "a.jsonl", Writer()
    path.write_bytes(w.opened() + w.prompt("before") + line + w.accepted({}))
    tail = Tail(str(path))
    tail.read()
    changes = tail.story.changes()
    assert changes.session.note.startswith("Line 3 cannot be read")
    assert why in changes.session.note
    assert [run.prompt for run in changes.runs] == ["before"]
    assert not tail.live
    assert not tail.read()


def test_a_file_that_became_shorter_is_read_anew(tmp_path):
    path, w = tmp_path / "a.jsonl", Writer()
    path.write_bytes(w.opened() + w.prompt("old") * 3)
    tail = Tail(str(path))
    tail.read()
    path.write_bytes(Writer().opened() + Writer().prompt("new"))
    tail.read()
    assert [run.prompt for run in tail.story.changes().runs] == ["new"]


def test_a_file_that_is_gone_is_one_clear_error(tmp_path):
    with pytest.raises(JournalError, match="cannot be read: No such file"):
        Tail(str(tmp_path / "gone")).read()


def test_a_run_is_live_until_it_ends(tmp_path):
    path, w = tmp_path / "a.jsonl", Writer()
    path.write_bytes(w.opened() + w.prompt("x"))
    tail = Tail(str(path))
    tail.read()
    assert tail.live
    grown(path, w.accepted({}))
    tail.read()
    assert not tail.live


@pytest.mark.skipif(not os.path.exists("/proc/locks"), reason="locks can be looked at on Linux alone")
def test_an_old_file_is_in_use_while_somebody_holds_its_lock_and_looking_takes_none(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"x")
    os.utime(path, (1, 1))
    assert not in_use(str(path))
    with open(path, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert in_use(str(path))
    assert not in_use(str(path))


def test_without_a_list_of_locks_a_file_that_was_just_written_is_in_use(tmp_path, monkeypatch):
    monkeypatch.setattr(tailing, "_LOCKS", str(tmp_path / "none"))
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"x")
    assert in_use(str(path))
    os.utime(path, (1, 1))
    assert not in_use(str(path))
    assert not in_use(str(tmp_path / "gone"))
