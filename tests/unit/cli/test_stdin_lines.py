"""Lines of standard input, however they arrive."""

import os
import threading

import anyio
import pytest

from lastcall.cli.stdin_lines import read_lines


async def collect(fd):
    return [line async for line in read_lines(fd)]


@pytest.mark.parametrize(
    ("pieces", "lines"),
    [
        ([b"one\ntwo\n"], ["one", "two"]),
        ([b"one\r\n\n  \ntwo"], ["one", "two"]),
        ([b"on", b"e\nt", b"wo\n"], ["one", "two"]),
        ([b"\xc3", b"\xa9\n"], ["é"]),
        ([b"\xff\n"], ["\ufffd"]),
        ([], []),
    ],
)
def test_lines_come_whole_in_any_pieces(pieces, lines):
    reading, writing = os.pipe()

    def write():
        for piece in pieces:
            os.write(writing, piece)
        os.close(writing)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert anyio.run(collect, reading) == lines
    finally:
        writer.join()
        os.close(reading)


def test_a_long_line_is_read_in_time_that_grows_with_its_length():
    reading, writing = os.pipe()
    line = b"x" * 5_000_000

    def write():
        with os.fdopen(writing, "wb") as out:
            out.write(line + b"\nend\n")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        first, last = anyio.run(collect, reading)
    finally:
        writer.join()
        os.close(reading)
    assert (len(first), last) == (len(line), "end")


def test_a_regular_file_is_standard_input_too(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"one\ntwo")
    with path.open("rb") as file:
        assert anyio.run(collect, file.fileno()) == ["one", "two"]


def test_a_closed_descriptor_has_no_lines():
    reading, writing = os.pipe()
    os.close(writing)
    os.close(reading)
    assert anyio.run(collect, reading) == []
