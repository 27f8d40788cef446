"""Lines of bytes, from a file or a pipe, each of bounded length: no input is ever in memory as a whole.

Must not go in here: what a line means (`json_lines`, `tables`).
"""

from __future__ import annotations

import io
import os
import select
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from msgspec import Struct

from lastcall.batches.rows import MAX_ROW_BYTES, BadInput

_HEAD_BYTES: Final = 4096
_LOOK_UP_S: Final = 0.2
_BOM: Final = b"\xef\xbb\xbf"
_MAGIC: Final = (
    (b"PAR1", "Parquet"),
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "zip (or a spreadsheet)"),
    (b"%PDF", "PDF"),
)


class Line(Struct, frozen=True):
    """One line without its end. `cut`: it was longer than `MAX_ROW_BYTES`, and only its beginning is here."""

    number: int
    content: bytes
    cut: bool = False


class LineFile:
    """The lines of a file, which can be read again."""

    rereadable = True

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path

    def __iter__(self) -> Iterator[Line]:
        try:
            with self._path.open("rb") as file:
                yield from _lines(file, self.name)
        except OSError as error:
            raise BadInput(f"the input cannot be read: {_words(error)}", where=self.name) from error

    def close(self) -> None:
        """A file keeps nobody waiting."""


class Piped:
    """The lines of a pipe, which can be read once."""

    rereadable = False
    name = "stdin"

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._waiting: _Waiting | None = None

    def __iter__(self) -> Iterator[Line]:
        try:
            self._waiting = _Waiting(self._stream.fileno())
        except OSError:
            lines: BinaryIO = self._stream  # no pipe of the system's; it never makes anybody wait
        else:
            lines = io.BufferedReader(self._waiting, 1 << 16)
        try:
            yield from _lines(lines, self.name)
        except OSError as error:
            raise BadInput(f"the input cannot be read: {_words(error)}", where=self.name) from error

    def close(self) -> None:
        """End a reading that waits for more, in whatever thread it is: a process cannot leave while it waits."""
        if self._waiting is not None:
            self._waiting.is_over = True


class _Waiting(io.RawIOBase):
    """A pipe that is read only when there is something; it ends when nobody wants more (`is_over`)."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.is_over = False

    def readable(self) -> bool:
        """It is there to be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """What there is, 0 at the end."""
        while not self.is_over:
            ready, _, _ = select.select([self._fd], [], [], _LOOK_UP_S)
            if ready:
                some = os.read(self._fd, len(buffer))
                buffer[: len(some)] = some
                return len(some)
        return 0


def _lines(file: BinaryIO, name: str) -> Iterator[Line]:
    number = 0
    while raw := file.readline(MAX_ROW_BYTES + 2):
        number += 1
        if number == 1:
            _check_head(raw[:_HEAD_BYTES], name)
            raw = raw.removeprefix(_BOM)
        whole = raw.endswith(b"\n") or len(raw) <= MAX_ROW_BYTES
        while not whole:
            more = file.readline(1 << 20)
            whole = not more or more.endswith(b"\n")
        content = raw.removesuffix(b"\n").removesuffix(b"\r")
        yield Line(number, content, cut=len(content) > MAX_ROW_BYTES)


def _check_head(head: bytes, name: str) -> None:
    """Refuses what is no UTF-8 text from its first bytes on. Raises `BadInput`."""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise BadInput("the input is UTF-16", hint="Save it as UTF-8.", where=name)
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            raise BadInput(f"this is {kind}, not lines of text", hint="Unpack or convert it first.", where=name)
    if b"\x00" in head:
        raise BadInput(
            "the input holds NUL bytes: it is binary, or UTF-16 without a mark", hint="Save it as UTF-8.", where=name
        )


def _words(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error)
