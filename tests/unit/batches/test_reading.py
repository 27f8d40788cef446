"""Opening inputs, and the lines of bytes below them."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pytest

from lastcall.batches import lines, parquet_rows
from lastcall.batches.folders import Folder
from lastcall.batches.json_lines import JsonLines
from lastcall.batches.lines import LineFile, Piped
from lastcall.batches.parquet_rows import ParquetRows
from lastcall.batches.reading import open_source
from lastcall.batches.rows import MAX_ROW_BYTES, BadInput, BadRow, Row, Source
from lastcall.batches.tables import Table


def place(tmp_path: Path, name: str, content: bytes) -> str:
    path = tmp_path / name
    path.write_bytes(content)
    return str(path)


def values_of(source: Source) -> list[Any]:
    return [row.values if isinstance(row, Row) else row.problem for row in source.rows()]


@pytest.mark.parametrize(
    ("name", "kind"), [("a.jsonl", JsonLines), ("a.NDJSON", JsonLines), ("a.csv", Table), ("a.tsv", Table)]
)
def test_the_name_says_what_a_file_holds(tmp_path: Path, name: str, kind: type) -> None:
    assert isinstance(open_source(place(tmp_path, name, b"a\n1\n")), kind)


def test_what_is_said_counts_more_than_the_name(tmp_path: Path) -> None:
    assert isinstance(open_source(place(tmp_path, "a.csv", b'{"a":1}\n'), format_="jsonl"), JsonLines)


def test_a_folder_is_a_folder(tmp_path: Path) -> None:
    place(tmp_path, "b.txt", b"b")
    assert isinstance(open_source(str(tmp_path)), Folder)


def test_standard_input_is_json_lines_unless_said_and_can_be_read_once() -> None:
    source = open_source("-", stdin=io.BytesIO(b'{"a":1}\n{"a":2}'))
    assert not source.rereadable
    assert values_of(source) == [{"a": 1}, {"a": 2}]
    table = open_source("-", format_="tsv", stdin=io.BytesIO(b"a\tb\n1\t2\n"))
    assert table.columns == ("a", "b")
    assert values_of(table) == [{"a": "1", "b": "2"}]


def test_a_file_can_be_read_twice(tmp_path: Path) -> None:
    for source in (
        open_source(place(tmp_path, "a.jsonl", b'{"a":"1"}\n')),
        open_source(place(tmp_path, "a.csv", b"a\n1\n")),
    ):
        assert source.rereadable
        assert values_of(source) == values_of(source) == [{"a": "1"}]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", b"", "empty"),
        ("a.dat", b"x", "--input-format"),
        ("a.jsonl", b'[{"a":1}]', "JSON array"),
        ("a.jsonl", b'\xff\xfe{\x00"', "UTF-16"),
        ("a.csv", b"a\x00,\x00", "NUL"),
        ("a.csv", b"PAR1xxxx", "Parquet"),
        ("a.csv", b"PK\x03\x04xx", "spreadsheet"),
        ("a.jsonl", b"\x1f\x8bxx", "gzip"),
        ("a.csv", b"\n\n", "no header"),
        ("a.csv", b"a,b,a\n1,2,3\n", "'a' twice"),
        ("a.csv", b"a;b\n1;2\n", "separated by ';'"),
        ("a.csv", b"a,\xe9\n1,2\n", "header is not UTF-8"),
        ("a.csv", b'a,b\n1,"x\n2,y\n', "lines 2 to 3"),
        ("a.csv", b'a,b\n1,"x" y\n', "line 2"),
        ("a.csv", b"a,b\n" + b"1," + b"x" * (MAX_ROW_BYTES + 1) + b"\n", "8 MiB"),
        ("a.parquet", b"not parquet at all", "no Parquet"),
    ],
)
def test_what_cannot_be_read_as_a_whole_is_refused_in_one_sentence(
    tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    path = place(tmp_path, name, content)
    with pytest.raises(BadInput, match=said) as caught:
        list(open_source(path).rows())
    assert caught.value.where == path
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "format_", "said"),
    [
        ("nowhere.jsonl", None, "No such file"),
        (".", "jsonl", "a folder, not a file"),
        ("/dev/null", "csv", "no regular"),
    ],
)
def test_what_is_no_file_is_refused(tmp_path: Path, given: str, format_: str | None, said: str) -> None:
    path = given if given == "/dev/null" else str(tmp_path / given)
    with pytest.raises(BadInput, match=said):
        open_source(path, format_=format_)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="a file, not a folder"):
        open_source(place(tmp_path, "a.csv", b"a"), format_="folder")


def test_standard_input_that_is_not_there_or_cannot_hold_a_format_is_refused() -> None:
    with pytest.raises(BadInput, match="no standard input"):
        open_source("-")
    with pytest.raises(BadInput, match="cannot hold parquet"):
        open_source("-", format_="parquet", stdin=io.BytesIO())


class Failing(io.RawIOBase):
    def readline(self, size: int | None = -1, /) -> bytes:
        raise OSError(5, os.strerror(5))


def test_a_pipe_or_a_file_that_fails_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="Input/output error"):
        list(Piped(Failing()))  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="cannot be read"):
        list(LineFile(tmp_path))


def test_a_byte_order_mark_is_no_part_of_the_first_row(tmp_path: Path) -> None:
    assert values_of(open_source(place(tmp_path, "a.jsonl", b'\xef\xbb\xbf{"a":1}\n'))) == [{"a": 1}]
    assert open_source(place(tmp_path, "a.csv", b"\xef\xbb\xbfa,b\r\n1,2\r\n")).columns == ("a", "b")


def test_a_long_line_is_read_past_and_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_ROW_BYTES", 1000)
    path = place(tmp_path, "a.jsonl", b'{"a":1}\n"' + b"x" * (3 << 20) + b'"\n{"a":2}\n')
    assert [len(line.content) <= 1002 for line in LineFile(Path(path))] == [True] * 3
    first, long, last = open_source(path).rows()
    assert isinstance(first, Row)
    assert long == BadRow(2, "line 2 is longer than 8 MiB")
    assert last == Row(3, {"a": 2})


def test_the_longest_line_that_is_taken_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_ROW_BYTES", 1000)
    for length, kind in ((1000, Row), (1001, BadRow)):
        most = b'{"a":"' + b"x" * (length - 8) + b'"}'
        assert len(most) == length
        (row,) = open_source(place(tmp_path, "a.jsonl", most + b"\n")).rows()
        assert isinstance(row, kind)


def test_a_pipe_of_the_systems_is_read_to_its_end_or_until_nobody_wants_more() -> None:
    end, start = os.pipe()
    with open(end, "rb") as piped, open(start, "wb") as writing:
        source = open_source("-", stdin=piped)
        rows = source.rows()
        writing.write(b'{"a":1}\n{"a"')
        writing.flush()
        assert next(rows) == Row(1, {"a": 1})
        writing.write(b":2}\n")
        writing.flush()
        assert next(rows) == Row(2, {"a": 2})
        source.close()
        assert list(rows) == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", "no JSON"),
        (b'{"a":1,"a":2}', "'a' twice"),
        (b"[1]", "an array"),
        (b"null", "null"),
        (b"true", "a boolean"),
        (b"3", "a number"),
        (b'"x"', "a string"),
        (b'{"a":"\xff"}', "not UTF-8"),
        (b'{"a":"\x00"}', "NUL"),
        (b'{"a":"\\ud800"}', "half a character"),
        (b'{"\\udc00":["x"]}', "half a character"),
        (b'{"a":[' * 300, "no JSON"),
        (b'{"a":NaN}', "no JSON"),
    ],
)
def test_a_bad_line_of_json_lines_spoils_no_other(tmp_path: Path, line: bytes, said: str) -> None:
    rows = list(
        open_source(place(tmp_path, "a.jsonl", b'{"a":1}\n' + line + b'\n\n{"a":[1.50,"x",{"b":null}]}')).rows()
    )
    first, bad, last = rows
    assert isinstance(first, Row)
    assert isinstance(bad, BadRow)
    assert said in bad.problem
    assert "line 2" in bad.problem
    assert isinstance(last, Row)
    assert (last.number, str(last.values["a"][0])) == (3, "1.50")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"1", "has 1 fields, the header 2"),
        (b"1,2,3", "has 3 fields, the header 2"),
        (b"1,caf\xe9", "not UTF-8 (column 'b')"),
        (b"1,x\x00y", "NUL character (column 'b')"),
    ],
)
def test_a_bad_row_of_a_table_spoils_no_other(tmp_path: Path, line: bytes, said: str) -> None:
    padding = b"1," + b"y" * 5000 + b"\n"  # NUL bytes at the beginning of a file are another matter
    rows = list(open_source(place(tmp_path, "a.csv", b"a,b\n" + padding + line + b"\n\n3,4\n")).rows())
    assert isinstance(rows[1], BadRow)
    assert said in rows[1].problem
    assert "line 3" in rows[1].problem
    assert rows[2] == Row(3, {"a": "3", "b": "4"})


def test_quoted_fields_may_hold_commas_quotes_and_lines(tmp_path: Path) -> None:
    path = place(tmp_path, "a.csv", b'a,b\n"x, ""y""","one\ntwo"\n,\n')
    assert values_of(open_source(path)) == [{"a": 'x, "y"', "b": "one\ntwo"}, {"a": "", "b": ""}]


def test_files_of_a_folder_are_rows_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name, content in {
        "b.txt": b"two",
        "a.txt": b"\xef\xbb\xbfone",
        ".hidden": b"x",
        "c.bin": b"\x00",
        "d.txt": b"\xe9",
    }.items():
        place(tmp_path, name, content)
    (tmp_path / "below").mkdir()
    (tmp_path / "e.txt").write_bytes(b"x" * (MAX_ROW_BYTES + 1))
    source = open_source(str(tmp_path))
    assert (source.columns, source.key_column) == (("name", "text"), "name")
    one, two, *bad = values_of(source)
    assert (one, two) == ({"name": "a.txt", "text": "one"}, {"name": "b.txt", "text": "two"})
    for problem, said in zip(bad, ["c.bin holds NUL", "d.txt is not UTF-8", "e.txt is longer"], strict=True):
        assert said in problem


def test_a_file_that_went_away_spoils_no_other(tmp_path: Path) -> None:
    for name in "ab":
        place(tmp_path, name, b"x")
    source = open_source(str(tmp_path))
    (tmp_path / "a").unlink()
    assert values_of(source) == ["the file a cannot be read: No such file or directory", {"name": "b", "text": "x"}]


def test_a_folder_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no files"):
        open_source(str(tmp_path))


def test_parquet_is_read_with_its_types(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    table = pa.table({"id": [1, 2], "text": ["x", None], "raw": [b"\x00", b"y"]})
    pq.write_table(table, path)
    source = open_source(str(path))
    assert isinstance(source, ParquetRows)
    assert (source.columns, source.not_text, source.rereadable) == (("id", "text", "raw"), {"raw"}, True)
    assert values_of(source) == [{"id": 1, "text": "x", "raw": b"\x00"}, {"id": 2, "text": None, "raw": b"y"}]


def test_a_parquet_file_that_is_cut_is_refused(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": list(range(1000))}), path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadInput, match="no Parquet file that can be read"):
        open_source(str(path))
    path.write_bytes(whole[:4] + b"\xff" * 200 + whole[204:])
    with pytest.raises(BadInput, match="damaged after row 0"):
        list(open_source(str(path)).rows())


def test_a_parquet_row_that_is_too_long_spoils_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    monkeypatch.setattr(parquet_rows, "MAX_ROW_BYTES", 1 << 20)
    pq.write_table(pa.table({"t": ["x" * ((1 << 20) + 1), "y"]}), path)
    assert values_of(open_source(str(path))) == ["row 1 is longer than 1 MiB", {"t": "y"}]


def test_parquet_without_its_package_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from lastcall.errors import MissingExtra

    path = place(tmp_path, "a.parquet", b"x")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtra, match=r"pip install 'lastcall\[parquet\]'"):
        open_source(path)
