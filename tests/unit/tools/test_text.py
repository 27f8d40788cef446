"""Ranges of lines out of files of any size and encoding."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastcall.tools import text as module
from lastcall.tools.seen import Range
from lastcall.tools.text import MAX_LINE_CHARS, Lines, NotText, read_lines


def read(content: bytes, offset=1, limit=None, cap=2_000, pulse=lambda: None):
    return read_lines(io.BytesIO(content), len(content), Range(offset, limit), cap=cap, pulse=pulse)


def test_the_part_after_the_last_line_feed_is_a_line():
    assert read(b"hello\n") == Lines(("hello", ""), 1, 2, cut=False)
    assert read(b"hello") == Lines(("hello",), 1, 1, cut=False)
    assert read(b"") == Lines(("",), 1, 1, cut=False)
    assert read(b"\n\n") == Lines(("", "", ""), 1, 3, cut=False)


def test_a_limit_of_the_caller_is_no_cut():
    assert read(b"hello\nthere\n", limit=1) == Lines(("hello",), 1, 3, cut=False)
    assert read(b"a\nb\nc\n", offset=2, limit=1) == Lines(("b",), 2, 4, cut=False)


def test_without_a_limit_the_cap_is_a_cut():
    assert read(b"a\nb\nc\n", cap=2) == Lines(("a", "b"), 1, 4, cut=True)
    assert read(b"a\nb", cap=2) == Lines(("a", "b"), 1, 2, cut=False)


def test_an_offset_after_the_end_tells_how_many_lines_there_are():
    assert read(b"a\nb\n", offset=3) == Lines(("",), 3, 3, cut=False)
    assert read(b"a\nb\n", offset=4) == Lines((), 4, 3, cut=False)
    assert read(b"a\nb\n", offset=10**30) == Lines((), 10**30, 3, cut=False)


def test_carriage_returns_are_kept():
    assert read(b"a\r\nb\rc\r\n").lines == ("a\r", "b\rc\r", "")
    assert read(b"a\r\nb").text == "a\r\nb"


@pytest.mark.parametrize(
    ("content", "lines", "said"),
    [
        (b"\xef\xbb\xbfh\xc3\xa9\n", ("hé", ""), ()),
        ("hé\nzwei".encode("utf-16"), ("hé", "zwei"), ("UTF-16",)),
        (b"\xfe\xff" + "hé\nzwei".encode("utf-16-be"), ("hé", "zwei"), ("UTF-16",)),
        ("hé\n".encode("utf-32"), ("hé", ""), ("UTF-32",)),
        (b"\x00\x00\xfe\xff" + "hé".encode("utf-32-be"), ("hé",), ("UTF-32",)),
        (b"\xff\xfeh\x00\x00\xd8", ("h\ufffd",), ("UTF-16",)),
        (b"h\xe9llo\n\xe4\n", ("héllo", "ä", ""), ("Latin-1",)),
        ("ü\u2028x\u0085y".encode(), ("ü\u2028x\u0085y",), ()),
    ],
)
def test_encodings_are_recognised_and_told(content, lines, said):
    found = read(content)
    assert found.lines == lines
    assert len(found.remarks) == len(said)
    for remark, word in zip(found.remarks, said, strict=True):
        assert word in remark


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"ab\0cd", "binary file"),
        (b"%PDF-1.7\n\0", "PDF"),
        (b"PK\x03\x04\0\0", "ZIP"),
        (b"\x1f\x8b\x08\0", "gzip"),
        (b"\x7fELF\x02\0", "executable"),
        (b"SQLite format 3\0", "SQLite"),
    ],
)
def test_binary_files_are_named_for_what_they_are(content, word):
    found = read(content)
    assert isinstance(found, NotText)
    assert word in found.why
    assert f"{len(content)} bytes" in found.why


def test_large_utf_16_is_refused_with_its_size(monkeypatch):
    monkeypatch.setattr(module, "MAX_RECODED_BYTES", 9)
    found = read("12345".encode("utf-16"))
    assert isinstance(found, NotText)
    assert "12 bytes" in found.why


def test_long_lines_are_cut_and_counted():
    long = b"x" * 5_000_000
    found = read(b"a\n" + long + b"\nb")
    assert found.lines == (
        "a",
        "x" * MAX_LINE_CHARS + f"… [{5_000_000 - MAX_LINE_CHARS:,} more bytes in this line]",
        "b",
    )
    assert found.remarks == ("1 line was longer than 2,000 characters and cut.",)
    assert (found.total, found.cut) == (3, False)


def test_a_long_line_is_cut_between_characters():
    found = read("é€😀".encode() * 3_000 + b"\n" + "é".encode() * 2_001)
    first, second = found.lines
    assert first.startswith("é€😀" * 600)
    assert "\ufffd" not in first
    assert first.endswith(f"[{3_000 * 9 - len(('é€😀' * 667)[:2_000].encode()):,} more bytes in this line]")
    assert second == "é" * 2_000 + "… [2 more bytes in this line]"
    assert found.remarks == ("2 lines were longer than 2,000 characters and cut.",)


def test_a_long_last_line_without_a_line_feed_is_the_end():
    assert read(b"x" * 100_000).total == 1


def test_reading_stops_after_the_line_that_fills_the_answer():
    line = b"y" * 999 + b"\n"
    found = read(line * 500)
    assert len(found.lines) == 100
    assert (found.total, found.cut) == (501, True)
    assert read(line * 500, limit=400).cut


def test_a_file_too_long_to_count_has_no_total(monkeypatch):
    monkeypatch.setattr(module, "MAX_COUNTED_BYTES", 10)
    monkeypatch.setattr(module, "_CHUNK_BYTES", 5)
    assert read(b"a\n" * 20, limit=1).total is None
    assert read(b"a\n" * 6, limit=1).total == 7


def test_what_is_appended_while_reading_is_not_chased():
    class Growing(io.BytesIO):
        def read(self, size=-1):
            return b"more\n" if super().tell() >= 4 else super().read(size)

    found = read_lines(Growing(b"a\nb\n"), 4, Range(1, 1), cap=10, pulse=lambda: None)
    assert found.total is None


def test_a_pulse_that_raises_stops_the_scan():
    class StopError(Exception):
        pass

    def stop():
        raise StopError

    for offset, limit in [(2, None), (1, 1)]:
        with pytest.raises(StopError):
            read(b"a\nb\n", offset=offset, limit=limit, pulse=stop)
    with pytest.raises(StopError):
        read(b"x" * 9_000, pulse=stop)


LINE = st.text(st.characters(blacklist_characters="\n", blacklist_categories=["Cs"]), max_size=12)


@settings(max_examples=300)
@given(
    lines=st.lists(LINE, min_size=1, max_size=30),
    offset=st.integers(1, 40),
    limit=st.none() | st.integers(1, 40),
    chunk=st.integers(1, 9),
)
def test_any_range_is_what_splitting_the_text_gives(lines, offset, limit, chunk):
    content = "\n".join(lines)
    if "\0" in content or content.startswith("\ufeff"):
        return
    old = module._CHUNK_BYTES
    module._CHUNK_BYTES = chunk
    try:
        found = read(content.encode(), offset=offset, limit=limit, cap=1_000)
    finally:
        module._CHUNK_BYTES = old
    end = None if limit is None else offset - 1 + limit
    assert found.lines == tuple(lines[offset - 1 : end])
    assert found.total == len(lines)
