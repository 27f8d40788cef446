"""Broken inputs and outputs: one clear sentence each, nothing sent for what cannot be used, nothing lost."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from batch_tools import SCHEMA, RowEndpoint, read_records
from lastcall.cli.subcommands import run_subcommand

ROW = b'{"id": 1, "text": "row 1."}\n'
LONG = b'{"text": "' + b"x" * (100 << 20) + b'"}\n'


def parquet_of(kind: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns = {"bytes": pa.array([b"row 1."]), "missing": pa.array(["x"])}
        pq.write_table(pa.table({"text" if kind == "bytes" else "other": columns[kind]}), path)

    return write


WHOLE = [
    ("quote-not-closed", "i.csv", b'id,text\n1,"row 1.\n2,row 2.\n', "quoting does not add up in lines 2 to 3"),
    ("quote-in-the-middle", "i.csv", b'id,text\n1,"row 1." x\n', "quoting does not add up in line 2"),
    ("utf-16", "i.csv", "id,text\n1,row 1.\n".encode("utf-16"), "UTF-16"),
    ("utf-16-without-a-mark", "i.csv", "id,text\n1,row 1.\n".encode("utf-16-le"), "NUL bytes"),
    ("header-in-latin-1", "i.csv", b"id,text,pr\xe9nom\n1,row 1.,x\n", "header is not UTF-8"),
    ("wrong-separator", "i.csv", b"id;text\n1;row 1.\n", "separated by ';'"),
    ("column-missing", "i.csv", b"id,txt\n1,row 1.\n", "'text', which is no column; the columns are: id, txt"),
    ("column-twice", "i.csv", b"text,text\n1,row 1.\n", "names 'text' twice"),
    ("only-blank-lines", "i.csv", b"\n\n", "no header"),
    ("only-a-header", "i.csv", b"id,text\n", "no rows"),
    ("line-of-100-mb-in-a-table", "i.csv", b"text\n" + LONG, "line 2 is longer than 8 MiB"),
    ("no-key-matches", "i.jsonl", b'{"txt": "row 1."}\n', "no row can be used; row 1: the row has no 'text'"),
    ("one-array", "i.jsonl", b'[{"text": "row 1."}]', "one JSON array"),
    ("empty", "i.jsonl", b"", "empty"),
    ("gzip", "i.jsonl", b"\x1f\x8b\x08\x00", "gzip"),
    ("spreadsheet", "i.csv", b"PK\x03\x04", "spreadsheet"),
    ("no-parquet", "i.parquet", b"PAR1 but not really PAR1", "no Parquet file"),
    ("parquet-of-bytes", "i.parquet", parquet_of("bytes"), "holds bytes, not text"),
    ("parquet-without-the-column", "i.parquet", parquet_of("missing"), "no column"),
    ("unknown-ending", "i.xlsx", b"x", "--input-format"),
]
"""What cannot be used as a whole: refused before anything is sent."""

ROWS = [
    ("no-json", "i.jsonl", ROW + b"{oops\n", "line 2 is no JSON"),
    ("latin-1", "i.jsonl", ROW + b'{"text": "caf\xe9"}\n', "line 2 is not UTF-8"),
    ("nul", "i.jsonl", ROW + b" " * 5000 + b'{"text": "a\x00b"}\n', "line 2 holds a NUL"),
    ("line-of-100-mb", "i.jsonl", ROW + LONG, "line 2 is longer than 8 MiB"),
    ("key-missing", "i.jsonl", ROW + b'{"id": 2}\n', "the row has no 'text'"),
    ("half-a-character", "i.jsonl", ROW + b'{"text": "\\ud83d"}\n', "half a character"),
    ("cut-short", "i.jsonl", ROW + b'{"text": "row 2', "line 2 is no JSON"),
    ("latin-1-in-a-table", "i.csv", b"id,text\n1,row 1.\n2,caf\xe9\n", "not UTF-8 (column 'text')"),
    ("too-many-fields", "i.csv", b"id,text\n1,row 1.\n2,a,b\n", "3 fields, the header 2"),
    ("too-few-fields", "i.csv", b"\xef\xbb\xbfid,text\n1,row 1.\n2\n", "1 fields, the header 2"),
    ("blank-prompt", "i.tsv", b"id\ttext\n1\trow 1.\n2\t \n", "the prompt is empty"),
]
"""What spoils one row: the others are done, and the row's record says why it is not."""


def cases(case: Any) -> Any:
    """A case with its name; what takes long is slow."""
    name, *given = case
    return pytest.param(*given, id=name, marks=[pytest.mark.slow] if "100-mb" in name else [])


@pytest.fixture(scope="module")
def endpoint() -> Iterator[RowEndpoint]:
    with RowEndpoint() as serving:
        yield serving


@pytest.fixture
def command(tmp_path: Path, endpoint: RowEndpoint, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    endpoint.asked.clear()
    for name, value in endpoint.environment.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))

    def run(name: str, output: str | Path = tmp_path / "o.jsonl", *more: str) -> int:
        words = [str(tmp_path / name), "-o", str(output), "--prompt", "{{ text }}"]
        return run_subcommand("batch", [*words, "--json-schema", f"@{tmp_path}/schema.json", *more])

    return run


@pytest.mark.parametrize(("name", "content", "said"), [cases(case) for case in WHOLE])
def test_an_input_that_cannot_be_used_is_one_sentence_and_nothing_is_sent(
    tmp_path: Path, endpoint: RowEndpoint, command: Callable[..., int], capfd: pytest.CaptureFixture[str],
    name: str, content: bytes | Callable[[Path], None], said: str,
) -> None:  # fmt: skip
    if isinstance(content, bytes):
        (tmp_path / name).write_bytes(content)
    else:
        content(tmp_path / name)
    assert command(name) == 2
    told = capfd.readouterr()
    assert told.out == ""
    assert told.err.startswith("lastcall: ")
    assert told.err.count("\n") == 1
    assert said in told.err
    assert endpoint.asked == {}
    assert not (tmp_path / "o.jsonl").exists()


@pytest.mark.parametrize(("name", "content", "said"), [cases(case) for case in ROWS])
def test_a_row_that_cannot_be_used_gets_a_record_that_says_why_and_the_others_are_done(
    tmp_path: Path, endpoint: RowEndpoint, command: Callable[..., int], capfd: pytest.CaptureFixture[str],
    name: str, content: bytes, said: str,
) -> None:  # fmt: skip
    (tmp_path / name).write_bytes(content)
    assert command(name) == 1
    assert said in capfd.readouterr().err.splitlines()[0]
    records = {record["row"]: record for record in read_records(tmp_path / "o.jsonl")}
    assert {row: record["outcome"] for row, record in records.items()} == {1: "answered", 2: "bad_row"}
    assert said in records[2]["reason"]
    assert endpoint.asked == {1: 1}


def unwritable(tmp_path: Path) -> Path:
    """A folder in which nothing can be made, for root neither."""
    if os.geteuid() == 0:
        return Path("/sys")
    folder = tmp_path / "read-only"
    folder.mkdir(mode=0o500)
    return folder


def test_an_output_that_cannot_be_written_is_refused_before_anything_is_sent(
    tmp_path: Path, endpoint: RowEndpoint, command: Callable[..., int], capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "i.jsonl").write_bytes(ROW)
    (tmp_path / "notes.jsonl").write_bytes(b"my notes\n")
    places = {unwritable(tmp_path) / "o.jsonl": "cannot be written", tmp_path: "a folder", tmp_path / "no" / "o": "No such file",
              tmp_path / "notes.jsonl": "holds something else"}  # fmt: skip
    for place, said in places.items():
        assert command("i.jsonl", place) == 2
        told = capfd.readouterr().err
        assert said in told
        assert told.count("\n") == 1
    assert endpoint.asked == {}
    assert (tmp_path / "notes.jsonl").read_bytes() == b"my notes\n"


@pytest.mark.slow
def test_a_full_disk_keeps_whole_records_and_the_next_sitting_pays_for_nothing_twice(
    tmp_path: Path, endpoint: RowEndpoint, command: Callable[..., int]
) -> None:
    rows = "".join(json.dumps({"text": f"row {n}."}) + "\n" for n in range(40))
    (tmp_path / "i.jsonl").write_text(rows)
    words = [
        sys.executable,
        "-m",
        "lastcall",
        "batch",
        f"{tmp_path}/i.jsonl",
        "-o",
        f"{tmp_path}/o.jsonl",
        "--prompt",
        "{{ text }}",
    ]
    words += ["--json-schema", f"@{tmp_path}/schema.json", "--concurrency", "1"]

    def small_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (6_000, 6_000))

    ran = subprocess.run(words, preexec_fn=small_disk, capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 14
    assert ran.stdout == ""
    assert "the output cannot be written: File too large" in ran.stderr
    assert "Traceback" not in ran.stderr
    kept = read_records(tmp_path / "o.jsonl")
    assert 3 < len(kept) < 40
    lost = sum(endpoint.asked.values()) - len(kept)
    assert lost <= 2  # the one that found the disk full, and the one that had begun by then
    assert command("i.jsonl") == 0
    assert len(read_records(tmp_path / "o.jsonl")) == 40
    assert sum(endpoint.asked.values()) == 40 + lost


def test_two_processes_on_one_output_are_refused(
    tmp_path: Path, command: Callable[..., int], capfd: pytest.CaptureFixture[str]
) -> None:
    from lastcall.batches.output import open_output

    (tmp_path / "i.jsonl").write_bytes(ROW)
    with open_output(str(tmp_path / "o.jsonl")):
        assert command("i.jsonl") == 2
    assert "another process is writing this output" in capfd.readouterr().err
