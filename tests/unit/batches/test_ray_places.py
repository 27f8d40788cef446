"""Addresses and the files behind them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import needs
from lastcall.batches import ray_places
from lastcall.batches.ray_places import PartFiles, Place, open_rows, place_of
from lastcall.batches.rows import BadInput, BadRow, Row
from lastcall.errors import BadConfig


@pytest.fixture(autouse=True)
def arrow() -> None:
    needs.package("pyarrow")


def test_a_path_and_an_address_of_this_machine_are_one_place(tmp_path: Path) -> None:
    by_path = place_of(str(tmp_path), flag="-o")
    by_address = place_of(f"file://{tmp_path}", flag="-o")
    assert (by_path.path, by_path.is_local) == (by_address.path, by_address.is_local) == (str(tmp_path), True)


@pytest.mark.parametrize("given", ["nowhere://x/y", "s3:/x://"])
def test_an_address_that_means_nothing_is_one_sentence(given: str) -> None:
    with pytest.raises(BadConfig, match="this address cannot be used"):
        place_of(given, flag="-o")


def test_an_address_of_this_machine_reads_as_the_path_does(tmp_path: Path) -> None:
    (tmp_path / "i.jsonl").write_text('{"n": 1.50}\nnonsense\n')
    assert [str(row) for row in open_rows(f"file://{tmp_path}/i.jsonl", None).rows()] == [
        str(row) for row in open_rows(f"{tmp_path}/i.jsonl", None).rows()
    ]


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Place:
    """A store that is not this machine: pyarrow's file system in memory."""
    from pyarrow.fs import _MockFileSystem

    files = _MockFileSystem()
    files.create_dir("rows")
    place = Place("mock://rows", "rows", files)
    monkeypatch.setattr(
        ray_places, "place_of", lambda given, *, flag: Place(given, given.removeprefix("mock://"), files)
    )
    return place


def put(store: Place, name: str, content: bytes) -> None:
    with store.files.open_output_stream(store.below(name)) as stream:
        stream.write(content)


def test_a_file_in_a_store_is_read_as_one_here_is_and_again(store: Place) -> None:
    put(store, "i.jsonl", b'{"text": "one"}\nnonsense\n{"text": "two"}\n')
    source = open_rows("mock://rows/i.jsonl", None)
    for _ in range(2):
        found = list(source.rows())
        assert [row.number for row in found] == [1, 2, 3]
        assert [type(row) for row in found] == [Row, BadRow, Row]


def test_a_folder_in_a_store_is_files_of_rows_numbered_through(store: Place) -> None:
    put(store, "b.csv", b"text\ntwo\nthree\n")
    put(store, "a.csv", b"text\none\n")
    put(store, "_SUCCESS", b"")
    source = open_rows("mock://rows", None)
    assert source.columns == ("text",)
    assert list(source.rows()) == [Row(1, {"text": "one"}), Row(2, {"text": "two"}), Row(3, {"text": "three"})]


def test_parts_with_other_columns_are_refused(store: Place) -> None:
    put(store, "a.csv", b"text\none\n")
    put(store, "b.csv", b"words\ntwo\n")
    source = open_rows("mock://rows", None)
    assert isinstance(source, PartFiles)
    with pytest.raises(BadInput, match="columns are others"):
        list(source.rows())


def test_parquet_in_a_store_is_read(store: Place) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(pa.table({"text": ["one"]}), sink)
    put(store, "i.parquet", sink.getvalue().to_pybytes())
    assert list(open_rows("mock://rows/i.parquet", None).rows()) == [Row(1, {"text": "one"})]


def test_an_empty_folder_and_a_folder_of_texts_in_a_store_are_refused(store: Place) -> None:
    with pytest.raises(BadInput, match="no files here"):
        open_rows("mock://rows", None)
    put(store, "a.txt", json.dumps("text").encode())
    with pytest.raises(BadInput, match="has to be on this machine"):
        open_rows("mock://rows", "folder")
