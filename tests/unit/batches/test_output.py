"""The output as checkpoint, and how it lies on the disk."""

from __future__ import annotations

import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batch_tools import MADE_BY, read_records
from lastcall.batches import output as module
from lastcall.batches.output import RecordFile, open_output
from lastcall.batches.records import MadeBy, record_of_bad
from lastcall.batches.rows import BadRow
from lastcall.errors import BadConfig, JournalError, JournalLocked


def line(key: str, outcome: str = "answered", made_by: MadeBy = MADE_BY, **more: Any) -> bytes:
    value = {"key": key, "row": 1, "outcome": outcome, "output": None, **more, "made_by": msgspec.to_builtins(made_by)}
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def begun(path: Path, retry: tuple[str, ...] = ()) -> RecordFile:
    file = open_output(str(path))
    file.begin(retry)
    return file


def kept(path: Path) -> list[tuple[str, str]]:
    return [(record["key"], record["outcome"]) for record in read_records(path)]


def test_a_new_output_is_its_owners_alone_and_empty(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl"
    with begun(path) as file:
        assert (len(file.done), file.origins, file.repaired_bytes) == (0, [], 0)
        file.append(line("a"))
    assert path.stat().st_mode & 0o777 == 0o600
    assert kept(path) == [("a", "answered")]


def test_what_is_there_is_known_when_it_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl"
    path.write_bytes(line("a", cost_usd=0.25) + line("b", "failed", cost_usd=0.5))
    with begun(path) as file:
        assert ("a" in file.done, "b" in file.done, "c" in file.done) == (True, True, False)
        assert (file.spent_usd, dict(file.kept), file.origins) == (0.75, {"answered": 1, "failed": 1}, [MADE_BY])


def test_what_the_records_came_from_is_known_before_anything_is_changed(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl"
    other = MadeBy("q" * 64, "c" * 64, "other")
    before = line("a", "bad_row") + line("b", made_by=other) + line("b")
    path.write_bytes(before)
    file = open_output(str(path))
    assert file.origins == [MADE_BY, other]
    file.close()
    assert path.read_bytes() == before
    assert MADE_BY.changes_since([MADE_BY]) == []
    assert MADE_BY.changes_since([MADE_BY, other]) == ["the prompt", "the model (now scripted)"]
    assert other.changes_since([MadeBy("q" * 64, "d", "other")]) == ["the contract"]


@settings(max_examples=30)
@given(st.data())
def test_a_record_that_is_torn_anywhere_is_cut_off_and_the_others_stand(
    tmp_path_factory: Any, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("o") / "o.jsonl"
    whole = line("a") + line("b")
    last = line("c", reason="é" * 5)
    cut = data.draw(st.integers(0, len(last) - 2))
    path.write_bytes(whole + last[:cut])
    with begun(path) as file:
        assert file.repaired_bytes == cut
        assert len(file.done) == 2
        file.append(last)
    assert path.read_bytes() == whole + last


def test_a_whole_record_without_its_line_feed_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl"
    path.write_bytes(line("a") + line("b")[:-1])
    with begun(path) as file:
        assert (file.repaired_bytes, "b" in file.done) == (0, True)
    assert path.read_bytes() == line("a") + line("b")


@pytest.mark.parametrize(
    "content",
    [
        b"hello",
        b"hello\n",
        b'{"key":"a","value":1}\n',
        b'{"key":"a","value":1}',
        b'{"key":"a","val\n{"key":',
        b'{"id":1}\n{"key":"a',
        line("a") + b"x\n" + line("b"),
        line("a") + b"\n",
        b"\x00\xff\n",
    ],
)
def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_bytes(content)
    with pytest.raises(BadConfig, match="holds something else"):
        open_output(str(path))
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["notes.jsonl"]


def test_rows_that_ended_in_what_is_to_be_retried_are_not_done_and_their_records_replaced(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl"
    path.write_bytes(line("a", "declined") + line("b") + line("c", "failed"))
    with begun(path, ("declined",)) as file:
        assert [key in file.done for key in "abc"] == [False, True, True]
        assert dict(file.kept) == {"answered": 1, "failed": 1}
        file.append(line("a"))
    assert kept(path) == [("b", "answered"), ("c", "failed"), ("a", "answered")]


def test_a_retry_that_never_came_to_an_end_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl"
    path.write_bytes(line("a", "declined") + line("b", "declined"))
    with begun(path, ("declined",)) as file:
        file.append(line("b"))
        before = path.read_bytes()  # as a kill would leave it
    path.write_bytes(before)
    with begun(path, ("declined",)) as file:
        assert [key in file.done for key in "ab"] == [False, True]
    assert kept(path) == [("a", "declined"), ("b", "answered")]


def test_records_of_rows_that_could_not_be_used_are_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl"
    bad = record_of_bad(BadRow(2, "line 2 is no JSON"), "line 2 is no JSON", MADE_BY)
    assert (bad.outcome, bad.cost_usd, bad.attempts) == ("bad_row", Decimal(0), 0)
    with begun(path) as file:
        file.append(line("a"))
        file.append(bad.line)
    assert kept(path) == [("a", "answered"), ("#2", "bad_row")]
    with begun(path) as file:
        assert "#2" not in file.done
    assert kept(path) == [("a", "answered")]


def test_two_processes_never_write_one_output(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl"
    with begun(path, ("declined",)) as file:
        with pytest.raises(JournalLocked, match="another process"):
            open_output(str(path))
        file.append(line("a", "declined"))
    path.write_bytes(line("a", "declined"))
    with begun(path, ("declined",)) as file:
        file.append(line("a"))
        file.settle()  # the file under the name is another one now
        with pytest.raises(JournalLocked):
            open_output(str(path))
        file.append(line("b"))
    assert kept(path) == [("a", "answered"), ("b", "answered")]


def test_a_file_that_is_replaced_while_it_is_opened_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "o.jsonl"
    path.write_bytes(line("old"))
    real, swapped = module.fcntl.flock, []

    def swap(fd: int, how: int) -> None:
        real(fd, how)
        if not swapped:
            swapped.append(True)
            (tmp_path / "new").write_bytes(line("new"))
            os.replace(tmp_path / "new", path)

    monkeypatch.setattr(module.fcntl, "flock", swap)
    with begun(path) as file:
        assert "new" in file.done


@pytest.mark.parametrize(
    ("place", "said"),
    [("nowhere/o.jsonl", "No such file"), (".", "a folder"), ("fifo", "no regular file"), ("a\0b", "cannot be used")],
)
def test_a_place_that_cannot_be_the_output_is_refused(tmp_path: Path, place: str, said: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(BadConfig, match=said):
        open_output(f"{tmp_path}/{place}")


def test_a_full_disk_leaves_whole_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "o.jsonl"
    real = os.write
    with begun(path) as file:
        file.append(line("a"))

        def full(fd: int, content: Any) -> int:
            if len(content) < 10:
                raise OSError(28, os.strerror(28))
            return real(fd, bytes(content)[: len(content) // 2])

        monkeypatch.setattr("lastcall.batches.stored.os.write", full)
        with pytest.raises(JournalError, match=r"No space left on device.*run the same command again"):
            file.append(line("b"))
        monkeypatch.undo()
        assert path.read_bytes() == line("a")
        file.append(line("c"))
    assert kept(path) == [("a", "answered"), ("c", "answered")]


def test_a_full_disk_that_cannot_be_cut_back_either_says_so_and_is_mended_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "o.jsonl"
    real = os.write

    def full(fd: int, content: Any) -> int:
        if len(content) < 20:
            raise OSError(28, "")
        return real(fd, bytes(content)[:-15])

    def stuck(fd: int, size: int) -> None:
        raise OSError(5, "")

    with begun(path) as file:
        monkeypatch.setattr("lastcall.batches.stored.os.write", full)
        monkeypatch.setattr("lastcall.batches.output.os.ftruncate", stuck)
        with pytest.raises(JournalError, match="nor can it be cut back"):
            file.append(line("a"))
        monkeypatch.undo()
    assert path.read_bytes() == line("a")[:-15]
    with begun(path) as file:
        assert file.repaired_bytes == len(line("a")) - 15


def test_a_rewriting_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "o.jsonl"
    before = line("a") + line("#2", "bad_row")
    path.write_bytes(before)

    def broken(source: str, target: str) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("lastcall.batches.stored.os.replace", broken)
    file = open_output(str(path))
    with pytest.raises(JournalError, match="cannot be rewritten: No space"):
        file.begin()
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["o.jsonl"]
    file.close()


def test_what_cannot_be_brought_to_the_disk_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(fd: int) -> None:
        raise OSError(5, os.strerror(5))

    with begun(tmp_path / "o.jsonl") as file:
        file.sync()
        file.append(line("a"))
        monkeypatch.setattr("lastcall.batches.output.os.fsync", broken)
        with pytest.raises(JournalError, match="Input/output error"):
            file.sync()
        monkeypatch.undo()


def test_a_rewritten_file_keeps_its_rights(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl"
    path.write_bytes(line("a") + line("a"))
    path.chmod(0o640)
    begun(path).close()
    assert path.stat().st_mode & 0o777 == 0o640
    assert kept(path) == [("a", "answered")]


def test_lines_longer_than_what_is_read_at_once_are_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lastcall.batches.stored._READ_BYTES", 64)
    path = tmp_path / "o.jsonl"
    long = line("b", reason="x" * 3_000)
    path.write_bytes(line("a") + long + line("c", reason="y" * 3_000)[:-1])
    with begun(path) as file:
        assert [record.key for record in file.records()] == ["a", "b", "c"]
        assert list(file.lines())[1] == long
