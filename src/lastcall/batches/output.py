"""The output, which is the checkpoint too: JSON Lines, one record a row, written by one process at a time.

Appending a record is one write; a kill leaves whole records, at worst a torn last one, which the next opening cuts off.
The last record of a key counts. Records of rows that could not be used count as never written: they cost nothing, and the
row may have been mended. What no longer counts is taken out when the file is opened and when it is closed.

Must not go in here: what a record is (`batches.records`), how the file is read and rewritten (`batches.stored`).
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Final, Self

from lastcall.batches.keys import KeySet
from lastcall.batches.records import BAD_ROW, MadeBy, Stored
from lastcall.batches.stored import mend_end, records_in, rewrite, words_of, write_all
from lastcall.errors import BadConfig, JournalError, JournalLocked

_ORIGINS_KEPT: Final = 4
_TRIES: Final = 5


class RecordFile:
    """The output of a batch. Made by `open_output`; `begin` before anything is appended, `close` at the end.

    `done` are the keys that need nothing more, `spent_usd` and `spent_tokens` what all the records in the file cost,
    `repaired_bytes` what was cut off of a torn record. `origins` are what the records came from, the first few of them;
    `kept` counts the outcomes of those that are done.
    """

    def __init__(self, fd: int, path: str) -> None:
        self.path = path
        self.done = KeySet()
        self.spent_usd = 0.0
        self.spent_tokens = 0
        self.repaired_bytes = 0
        self.origins: list[MadeBy] = []
        self.kept: Counter[str] = Counter()
        self._fd = fd
        self._size = 0
        self._is_clean = True
        self._replaces = False
        self._dirty = False

    def append(self, line: bytes) -> None:
        """Write one record, whole or not at all. Raises `JournalError`."""
        try:
            write_all(self._fd, line)
        except OSError as error:
            said = f"the output cannot be written: {words_of(error)}{self._take_back()}"
            hint = "Free some space and run the same command again: it goes on with what is missing."
            raise JournalError(said, hint=hint, where=self.path) from error
        self._size += len(line)
        self._dirty = True

    def sync(self) -> None:
        """Wait until what is written is on the disk. Raises `JournalError`."""
        if not self._dirty:
            return
        self._dirty = False
        try:
            os.fsync(self._fd)
        except OSError as error:
            raise JournalError(f"the output cannot be written: {words_of(error)}", where=self.path) from error

    def records(self) -> Iterator[Stored]:
        """The records that are in the file now."""
        for _, record in records_in(self._fd, self.path):
            yield record

    def lines(self) -> Iterator[bytes]:
        """The records that are in the file now, as they are written."""
        for line, _ in records_in(self._fd, self.path):
            yield line

    def survey(self) -> None:
        """Look through the file without changing it: what its records came from, whether all of them count.

        Raises `BadConfig` for a file of something else.
        """
        seen = KeySet()
        for record in self.records():
            if not seen.add(record.key) or record.outcome == BAD_ROW:
                self._is_clean = False
            if record.made_by not in self.origins and len(self.origins) < _ORIGINS_KEPT:
                self.origins.append(record.made_by)

    def begin(self, retry: Collection[str] = ()) -> None:
        """Take out what no longer counts, and note what is done; from now on records may be appended.

        Records whose outcome is in `retry` are not done; each is replaced by the one to come. Raises `JournalError`.
        """
        if not self._is_clean:
            self._fd = rewrite(self._fd, self.path, with_bad_rows=False)
        self._size = os.fstat(self._fd).st_size
        for record in self.records():
            self.spent_usd += record.cost_usd or 0.0
            self.spent_tokens += record.usage.total
            if record.outcome in retry:
                self._replaces = True
            else:
                self.done.add(record.key)
                self.kept[record.outcome] += 1

    def mend(self) -> None:
        """Cut off a torn last record. Raises `BadConfig`, `JournalError`."""
        try:
            self.repaired_bytes = mend_end(self._fd, self.path)
        except OSError as error:
            raise JournalError(f"the output cannot be read: {words_of(error)}", where=self.path) from error

    def settle(self) -> None:
        """Take out what was replaced. Raises `JournalError`."""
        if self._replaces:
            self._fd = rewrite(self._fd, self.path, with_bad_rows=True)
            self._size, self._replaces = os.fstat(self._fd).st_size, False
        self.sync()

    def close(self) -> None:
        """Settle, and let go of the file. Safe to call twice. Raises `JournalError`."""
        if self._fd < 0:
            return
        try:
            self.settle()
        finally:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take_back(self) -> str:
        """Cut off what a failed append left; what is to be told if that fails too: the next opening mends it."""
        try:
            os.ftruncate(self._fd, self._size)
        except OSError as error:
            return f"; nor can it be cut back: {words_of(error)}"
        return ""


def open_output(path: str) -> RecordFile:
    """The output, new or with what earlier sittings left in it, held for this process alone. Nothing is taken out yet.

    Raises `BadConfig` for a place that cannot be the output, `JournalLocked` while another process writes it,
    `JournalError`.
    """
    file = RecordFile(_open_locked(path), path)
    try:
        file.mend()
        file.survey()
    except BaseException:
        os.close(file._fd)  # noqa: SLF001 -- `close` would rewrite it
        raise
    return file


def _open_locked(path: str) -> int:
    """The descriptor of the file that has this name now, locked. Rewriting replaces the file under its name."""
    for _ in range(_TRIES):
        fd = _open(path)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            raise JournalLocked(
                "another process is writing this output", hint="Wait for it to end, or name another.", where=path
            ) from None
        except OSError as error:
            os.close(fd)
            hint = "Name a file on another file system."
            raise JournalError(f"the output cannot be locked: {words_of(error)}", hint=hint, where=path) from error
        try:
            if os.path.samestat(os.fstat(fd), os.stat(path)):  # noqa: PTH116 -- beside a descriptor
                return fd
        except OSError:
            pass  # it was taken away meanwhile
        os.close(fd)
    raise JournalLocked("another process is writing this output", hint="Wait for it to end.", where=path)


def _open(path: str) -> int:
    try:
        there = os.stat(path)  # noqa: PTH116
    except FileNotFoundError:
        there = None
    except (OSError, ValueError) as error:
        raise BadConfig(f"the output cannot be used: {error}", hint="Name a file.", where=path) from None
    if there is not None and not stat.S_ISREG(there.st_mode):
        what = "a folder" if stat.S_ISDIR(there.st_mode) else "no regular file"
        hint = "The output is the checkpoint too: name a file."
        raise BadConfig(f"the output cannot be used: this is {what}", hint=hint, where=path)
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        hint = "Make its folder first." if isinstance(error, FileNotFoundError) else "Name another place."
        raise BadConfig(f"the output cannot be written: {words_of(error)}", hint=hint, where=path) from None
