"""A range of lines out of a file of any size and encoding, under caps.

Lines end with a line feed; a carriage return stays part of its line, so what was CRLF is shown as CRLF. The part after
the last line feed is a line too, an empty one if the file ends with a line feed: that is how the reference counts.

Must not go in here: paths and opening (`tools.paths`), the answer's form (`tools.files`).
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable
from typing import BinaryIO

from msgspec import Struct

from lastcall.tools.seen import Range

MAX_TEXT_BYTES = 100_000
"""Bytes of text in one answer: about 25,000 tokens. Reading stops after the line that reaches it."""
MAX_LINE_CHARS = 2_000
_MAX_LINE_BYTES = MAX_LINE_CHARS * 4
_CHUNK_BYTES = 1 << 20
_SNIFFED_BYTES = 8_192
MAX_COUNTED_BYTES = 1 << 30
"""How far the lines after the range are counted, to say how many there are in all."""
MAX_RECODED_BYTES = 64 << 20
"""UTF-16 and UTF-32 files are converted whole, so they have a size limit."""

_MARKS = (
    # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16"),
)


class Lines(Struct, frozen=True):
    """The lines from number `first` on. `total` is the file's number of lines, `None` if it was too long to count.

    `cut` says that a cap of ours, not the caller's limit, ended the range. `remarks`: encoding, cut lines.
    """

    lines: tuple[str, ...]
    first: int
    total: int | None
    cut: bool
    remarks: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The lines as the file has them."""
        return "\n".join(self.lines)


class NotText(Struct, frozen=True):
    """Why the file cannot be shown as text."""

    why: str


class _Taken(Struct):
    """The lines of the range as bytes, and how the range ended."""

    bodies: list[bytes]
    dropped: list[int]
    at_end: bool = False
    capped: bool = False


def read_lines(file: BinaryIO, size: int, part: Range, *, cap: int, pulse: Callable[[], None]) -> Lines | NotText:
    """The lines of `part`; `cap` lines at most where it has no limit.

    `size` is the file's size in bytes when it was opened; what is appended meanwhile is not chased. `pulse` is called
    about once a megabyte and may raise to stop.
    """
    opened = _as_utf8(file, size)
    if isinstance(opened, NotText):
        return opened
    source, remarks = opened
    offset, limit = part.offset, part.limit
    skipped = _skip_lines(source, offset - 1, pulse)
    if skipped < offset - 1:
        return Lines((), offset, skipped + 1, cut=False, remarks=remarks)
    taken = _take(source, cap if limit is None else limit, pulse)
    lines, more = _decode(taken)
    total: int | None = offset - 1 + len(lines)
    if not taken.at_end:
        rest = _count_newlines(source, min(size, MAX_COUNTED_BYTES), pulse)
        total = None if rest is None else offset + len(lines) + rest
    cut = not taken.at_end and (taken.capped or limit is None)
    return Lines(lines, offset, total, cut, remarks + more)


def _as_utf8(file: BinaryIO, size: int) -> tuple[BinaryIO, tuple[str, ...]] | NotText:
    """The same text as a stream of UTF-8 (or of an unknown superset of ASCII), after its byte order mark."""
    head = file.read(_SNIFFED_BYTES)
    file.seek(0)
    for mark, codec, name in _MARKS:
        if head.startswith(mark):
            if size > MAX_RECODED_BYTES:
                return NotText(f"it is {name} text of {size:,} bytes; up to {MAX_RECODED_BYTES:,} could be converted")
            text = file.read(MAX_RECODED_BYTES)[len(mark) :].decode(codec, errors="replace")
            return io.BytesIO(text.encode()), (f"The file is {name} text.",)
    if b"\0" in head:
        return NotText(f"it is {_binary_kind(head)} of {size:,} bytes")
    if head.startswith(codecs.BOM_UTF8):
        file.seek(len(codecs.BOM_UTF8))
    return file, ()


_BINARY_KINDS = (
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive (or an office document)"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x7fELF", "an executable"),
    (b"SQLite format 3\0", "an SQLite database"),
)


def _binary_kind(head: bytes) -> str:
    return next((word for magic, word in _BINARY_KINDS if head.startswith(magic)), "a binary file")


def _skip_lines(source: BinaryIO, count: int, pulse: Callable[[], None]) -> int:
    """Move past `count` line feeds. The number that was found: fewer if the file ends before."""
    skipped = 0
    while skipped < count:
        pulse()
        chunk = source.read(_CHUNK_BYTES)
        if not chunk:
            break
        found = chunk.count(b"\n")
        if skipped + found < count:
            skipped += found
            continue
        at = -1
        for _ in range(count - skipped):
            at = chunk.index(b"\n", at + 1)
        source.seek(at + 1 - len(chunk), io.SEEK_CUR)
        skipped = count
    return skipped


def _count_newlines(source: BinaryIO, at_most_bytes: int, pulse: Callable[[], None]) -> int | None:
    """The line feeds from here on; `None` if there is more than that to read."""
    found = 0
    while at_most_bytes > 0:
        pulse()
        chunk = source.read(_CHUNK_BYTES)
        if not chunk:
            return found
        found += chunk.count(b"\n")
        at_most_bytes -= len(chunk)
    return found if not source.read(1) else None


def _take(source: BinaryIO, limit: int, pulse: Callable[[], None]) -> _Taken:
    taken = _Taken([], [])
    used = 0
    while len(taken.bodies) < limit:
        body = source.readline(_MAX_LINE_BYTES)
        dropped = 0
        ended = body.endswith(b"\n")
        if not ended and len(body) == _MAX_LINE_BYTES:
            dropped, ended = _drop_rest_of_line(source, pulse)
        taken.bodies.append(body.removesuffix(b"\n"))
        taken.dropped.append(dropped)
        used += len(body)
        if not ended:
            taken.at_end = True
            break
        if used >= MAX_TEXT_BYTES:
            taken.capped = True
            break
    return taken


def _drop_rest_of_line(source: BinaryIO, pulse: Callable[[], None]) -> tuple[int, bool]:
    """Move to the end of the line: how many bytes were passed over, and whether it ended with a line feed."""
    dropped = 0
    while True:
        pulse()
        piece = source.readline(_CHUNK_BYTES)
        if piece.endswith(b"\n"):
            return dropped + len(piece) - 1, True
        if not piece:
            return dropped, False
        dropped += len(piece)


def _decode(taken: _Taken) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The lines as text, and what is to be said about them."""
    remarks = []
    codec = "utf-8"
    if not all(_is_utf8(body, cut=bool(dropped)) for body, dropped in zip(taken.bodies, taken.dropped, strict=True)):
        codec = "latin-1"
        remarks.append("The file is not valid UTF-8; it is shown as Latin-1.")
    lines = []
    shortened = 0
    for body, dropped in zip(taken.bodies, taken.dropped, strict=True):
        line = body.decode(codec, errors="ignore")
        if dropped or len(line) > MAX_LINE_CHARS:
            shortened += 1
            rest = dropped + len(body) - len(line[:MAX_LINE_CHARS].encode(codec))
            line = f"{line[:MAX_LINE_CHARS]}… [{rest:,} more bytes in this line]"
        lines.append(line)
    if shortened:
        word = "line was" if shortened == 1 else "lines were"
        remarks.append(f"{shortened} {word} longer than {MAX_LINE_CHARS:,} characters and cut.")
    return tuple(lines), tuple(remarks)


def _is_utf8(body: bytes, *, cut: bool) -> bool:
    """Whether the line is UTF-8. A line that was cut may end within a character."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(body, final=not cut)
    except UnicodeDecodeError:
        return False
    return True
