"""An output of part files, on this machine's file system through pyarrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import needs
from batch_tools import MADE_BY
from lastcall.batches.ray_parts import Parts, open_parts
from lastcall.batches.ray_places import Place, place_of
from lastcall.batches.records import record_of_bad
from lastcall.batches.rows import BadRow
from lastcall.errors import BadConfig, JournalError
from lastcall.wire.json import encode_value


@pytest.fixture(autouse=True)
def arrow() -> None:
    needs.package("pyarrow")


def line(key: str, outcome: str = "answered", **more: Any) -> bytes:
    made_by = {"prompt": MADE_BY.prompt, "contract": MADE_BY.contract, "model": MADE_BY.model}
    return encode_value({"key": key, "row": 1, "outcome": outcome, "cost_usd": 0.5, "made_by": made_by, **more}) + b"\n"


def opened(folder: Path, retry: frozenset[str] = frozenset()) -> Parts:
    parts = open_parts(place_of(str(folder), flag="--output"))
    parts.survey()
    parts.begin(retry)
    return parts


def keys(folder: Path) -> list[str]:
    parts = open_parts(place_of(str(folder), flag="--output"))
    found = [record.key for record in parts.records()]
    parts.close()
    return found


def test_the_next_sitting_knows_what_is_done_and_what_it_cost(tmp_path: Path) -> None:
    first = opened(tmp_path / "out")
    first.add(line("a") + line("b", "declined"))
    first.add(line("c", "failed"))
    first.close()
    again = opened(tmp_path / "out")
    assert ["a" in again.done, "b" in again.done, "c" in again.done, "d" in again.done] == [True, True, True, False]
    assert (again.spent_usd, again.kept, again.origins) == (1.5, {"answered": 1, "declined": 1, "failed": 1}, [MADE_BY])
    again.close()


def test_rows_done_again_replace_their_records_when_the_sitting_ends(tmp_path: Path) -> None:
    first = opened(tmp_path / "out")
    first.add(line("a") + line("b", "failed"))
    first.close()
    again = opened(tmp_path / "out", frozenset({"failed"}))
    assert ("a" in again.done, "b" in again.done) == (True, False)
    again.add(line("b"))
    assert keys_of(again) == ["a", "b", "b"]  # the old one stands until the new one is there
    again.settle()
    assert [(record.key, record.outcome) for record in again.records()] == [("a", "answered"), ("b", "answered")]
    again.close()


def keys_of(parts: Parts) -> list[str]:
    return [record.key for record in parts.records()]


def test_what_stands_twice_after_a_kill_counts_once(tmp_path: Path) -> None:
    first = opened(tmp_path / "out")
    first.add(line("a", reason="old"))
    first.add(line("a", reason="new") + line("b"))
    first.close()
    again = opened(tmp_path / "out")
    assert [(record.key, record.reason) for record in again.records()] == [("a", "new"), ("b", "")]
    assert again.spent_usd == 1.0
    again.close()


def test_records_of_rows_that_could_not_be_used_count_as_never_written(tmp_path: Path) -> None:
    first = opened(tmp_path / "out")
    first.add(line("a") + record_of_bad(BadRow(2, "line 2 is no JSON"), "line 2 is no JSON", MADE_BY).line)
    first.close()
    again = opened(tmp_path / "out")
    again.close()
    assert keys(tmp_path / "out") == ["a"]


def test_a_part_that_was_not_finished_is_no_part(tmp_path: Path) -> None:
    first = opened(tmp_path / "out")
    first.add(line("a"))
    first.close()
    (tmp_path / "out" / ".part-9-000001.jsonl.part").write_bytes(line("b")[:20])
    assert keys(tmp_path / "out") == ["a"]


def test_parts_are_private_and_there_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = opened(tmp_path / "out")
    parts.add(line("a"))
    [part] = (tmp_path / "out").glob("part-*")
    assert part.stat().st_mode & 0o777 == 0o600

    def full(_fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lastcall.batches.ray_places.os.fsync", full)
    with pytest.raises(JournalError, match="No space left"):
        parts.add(line("b"))
    parts.close()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [".lock", part.name]


def test_a_file_or_a_folder_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(BadConfig, match="this is a file"):
        open_parts(place_of(str(tmp_path / "file"), flag="--output"))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "part-1.jsonl").write_text('{"mine": 1}\n')
    parts = open_parts(place_of(str(tmp_path / "out"), flag="--output"))
    with pytest.raises(BadConfig, match="no record of a batch"):
        parts.survey()
    parts.close()
    assert (tmp_path / "out" / "part-1.jsonl").read_text() == '{"mine": 1}\n'


def test_a_store_without_renaming_is_written_at_once(tmp_path: Path) -> None:
    """pyarrow's file system in memory stands for a store: nothing of this machine is used."""
    from pyarrow.fs import _MockFileSystem

    store = _MockFileSystem()
    parts = open_parts(Place("mock://out", "out", store))
    parts.survey()
    parts.begin()
    parts.add(line("a"))
    parts.close()
    again = open_parts(Place("mock://out", "out", store))
    again.survey()
    again.begin()
    assert ("a" in again.done, again.names()) == (True, parts.names())
    again.close()
