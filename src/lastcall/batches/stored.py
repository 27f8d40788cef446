"""A file of records as it lies on the disk: reading it line by line, mending its end, rewriting it.

Must not go in here: what counts as done (`batches.output`), what a record is (`batches.records`).
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import msgspec

from lastcall.batches.keys import KeySet
from lastcall.batches.records import BAD_ROW, Stored, read_record
from lastcall.errors import BadConfig, JournalError

_READ_BYTES: Final = 1 << 20
_BEGINS: Final = b'{"key":'


def records_in(fd: int, path: str) -> Iterator[tuple[bytes, Stored]]:
    """The lines of a file of whole records, and what they say. Raises `BadConfig` for a line that is no record."""
    for number, line in enumerate(_lines(fd), 1):
        record = read_record(line)
        if record is None:
            raise foreign(path, number)
        yield line, record


def _lines(fd: int) -> Iterator[bytes]:
    """The lines with their line feeds, from the beginning, whatever the descriptor's position."""
    at, rest = 0, b""
    while chunk := os.pread(fd, _READ_BYTES, at):
        at += len(chunk)
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line + b"\n"
    if rest:
        yield rest


def mend_end(fd: int, path: str) -> int:
    """Cut off a torn last record, give a whole one its line feed; how many bytes were cut.

    Raises `BadConfig` where the file does not end in a record, torn or whole: it is something else, and left alone.
    """
    size = os.fstat(fd).st_size
    tail = _after_last_feed(fd, size)
    if not tail:
        return 0
    if read_record(tail) is not None:
        write_all(fd, b"\n")
        return 0
    first = next(_lines(fd), b"")
    if not _is_torn(tail) or (len(tail) < size and read_record(first) is None):
        raise foreign(path)
    os.ftruncate(fd, size - len(tail))
    return len(tail)


def _is_torn(tail: bytes) -> bool:
    """Whether this is the beginning of a record: it begins like one, and is no whole JSON value of somebody else's."""
    if not (tail.startswith(_BEGINS) or _BEGINS.startswith(tail)):
        return False
    try:
        msgspec.json.decode(tail)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return True
    return False


def _after_last_feed(fd: int, size: int) -> bytes:
    """What stands behind the last line feed."""
    tail, at = b"", size
    while at > 0 and b"\n" not in tail:
        length = min(_READ_BYTES, at)
        at -= length
        tail = os.pread(fd, length, at) + tail
    return tail.rpartition(b"\n")[2]


def rewrite(fd: int, path: str, *, with_bad_rows: bool) -> int:
    """Put in place of the file one with the last record of each key; the new descriptor, locked like the old.

    The old file stands until the new one is on the disk. `fd` is closed only then. Raises `JournalError`.
    """
    times = _times(fd, path)
    part = f"{path}.{os.getpid()}.part"
    new = -1
    try:
        mode = os.fstat(fd).st_mode & 0o777
        new = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, mode)
        fcntl.flock(new, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for line, record in records_in(fd, path):
            if record.key in times:
                times[record.key] -= 1
            if not times.get(record.key) and (with_bad_rows or record.outcome != BAD_ROW):
                write_all(new, line)
        os.fsync(new)
        os.replace(part, path)  # noqa: PTH105 -- no pathlib for descriptors
    except OSError as error:
        if new >= 0:
            os.close(new)
            with suppress(OSError):
                os.unlink(part)  # noqa: PTH108
        raise JournalError(f"the output cannot be rewritten: {words_of(error)}", where=path) from error
    os.close(fd)
    return new


def _times(fd: int, path: str) -> dict[str, int]:
    """How often each key stands in the file that stands there more than once."""
    seen, times = KeySet(), dict[str, int]()
    for _, record in records_in(fd, path):
        if not seen.add(record.key):
            times[record.key] = times.get(record.key, 1) + 1
    return times


def write_all(fd: int, content: bytes) -> None:
    """Write all of it. Raises `OSError`."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(fd, rest) :]


def words_of(error: OSError) -> str:
    """The system's words."""
    return os.strerror(error.errno) if error.errno else str(error)


def foreign(path: str, number: int | None = None) -> BadConfig:
    """The refusal of a file that is no batch's output."""
    place = f"line {number}" if number is not None else "its last line"
    return BadConfig(
        f"the output is there already and holds something else ({place} is no record of a batch)",
        hint="Name another file; nothing was changed.",
        where=path,
    )
