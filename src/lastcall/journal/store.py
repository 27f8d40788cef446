"""Writing a journal: one line a step, whole or not at all.

A journal is a prefix of the truth: after an append that failed nothing more is ever written, so that no later step can
stand in the file without the one before it. What a failed append left behind is taken away, or else by whoever opens
the file next.

Must not go in here: reading (`journal.load`), where journals lie (`journal.sessions`), what a line looks like
(`wire.journal`).
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
from collections.abc import Sequence
from typing import Protocol

from lastcall.core.records import Record
from lastcall.errors import JournalError, JournalLocked
from lastcall.journal.load import Loaded, load_bytes
from lastcall.nouns.result import JournalSeal
from lastcall.wire.journal import JournalStep, encode_step

_FULL_SYNC = getattr(fcntl, "F_FULLFSYNC", None)
"""On macOS `fsync` stops at the drive's cache; this does not."""
_NO_SPACE = "Free some space, set LASTCALL_STATE_DIR to another place, or use --no-session-persistence."


class Journal(Protocol):
    """Where a session's steps go."""

    def append(self, records: Sequence[Record], *, at: float, durable: bool = False) -> None:
        """Write one step. `at` is seconds since the epoch; with `durable` it is on the disk when this returns.

        Raises `JournalError`; the step then counts as never written, and so will every later one.
        """
        ...

    def seal(self) -> JournalSeal | None:
        """What is written so far, as a digest; `None` where nothing is kept."""
        ...

    def close(self) -> None:
        """Let go of the file and its lock. Safe to call twice."""
        ...


class MemoryJournal:
    """A journal that nobody finds later: for `--no-session-persistence` and for tests."""

    def __init__(self) -> None:
        self.steps: list[JournalStep] = []

    def append(self, records: Sequence[Record], *, at: float, durable: bool = False) -> None:  # noqa: ARG002 -- protocol
        """Keep the step."""
        self.steps.append(JournalStep(at, tuple(records)))

    def seal(self) -> JournalSeal | None:
        """Nobody will find it, so there is nothing to compare with."""
        return None

    def close(self) -> None:
        """Nothing to let go of."""


class DiskFile:
    """A file of the operating system, opened for appending. Every method may raise `OSError`."""

    def __init__(self, fd: int, *, folder: str = "") -> None:
        """`folder` is where the file is new: its name has to last as well, from the first `sync` on."""
        self._fd = fd
        self._folder = folder

    def write(self, line: bytes) -> int:
        """Append bytes; how many were taken."""
        return os.write(self._fd, line)

    def sync(self) -> None:
        """Wait until everything is on the disk."""
        if _FULL_SYNC is None:
            os.fsync(self._fd)
        else:
            fcntl.fcntl(self._fd, _FULL_SYNC)
        if self._folder:
            _sync_directory(self._folder)
            self._folder = ""

    def truncate(self, size: int) -> None:
        """Cut to this size."""
        os.ftruncate(self._fd, size)

    def close(self) -> None:
        """Close the descriptor, which also lets go of the lock."""
        os.close(self._fd)


class FileJournal:
    """A journal in a file that this process alone writes. `size` is the length in bytes of the whole lines."""

    def __init__(self, file: DiskFile, *, size: int, path: str, before: bytes = b"") -> None:
        self.path = path
        self.size = size
        self._digest = hashlib.sha256(before)
        self._file: DiskFile | None = file
        self._fault = ""

    def append(self, records: Sequence[Record], *, at: float, durable: bool = False) -> None:
        """Write one step as one line; with `durable` it is on the disk when this returns.

        Raises `JournalError`, from then on always.
        """
        if self._file is None or self._fault:
            raise JournalError(self._fault or "the journal is closed", where=self.path)
        line = encode_step(records, at=at)
        try:
            _write_all(self._file, line)
            if durable:
                self._file.sync()
        except OSError as error:
            self._fault = f"the journal cannot be written: {_words(error)}"
            self._take_back()
            raise JournalError(self._fault, hint=_NO_SPACE, where=self.path) from error
        self.size += len(line)
        self._digest.update(line)

    def seal(self) -> JournalSeal:
        """The digest of the whole lines."""
        return JournalSeal(self._digest.hexdigest(), self.size)

    def close(self) -> None:
        """Let go of the file and its lock. Safe to call twice."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _take_back(self) -> None:
        """Cut off what a failed append left. If that fails too, the file ends in half a line, which readers know."""
        if self._file is None:
            return
        try:
            self._file.truncate(self.size)
        except OSError as error:
            self._fault += f"; nor can it be cut back: {_words(error)}"


def _write_all(file: DiskFile, line: bytes) -> None:
    rest = memoryview(line)
    while rest:
        rest = rest[file.write(bytes(rest)) :]


def _words(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error)


# -- opening --------------------------------------------------------------------------------------------------------


def create_journal(path: str) -> FileJournal:
    """A new journal, readable by its owner alone; missing directories are made, for the owner alone too.

    Raises `JournalError` when there is such a file already or it cannot be made.
    """
    folder = os.path.dirname(path)  # noqa: PTH120 -- no pathlib on the way to the first request
    try:
        make_private_directory(folder)
        fd = _open(path, os.O_CREAT | os.O_EXCL)
    except OSError as error:
        if os.path.lexists(path):
            raise JournalError("there is a journal of this name already", where=path) from None
        raise JournalError(f"the journal cannot be made: {_words(error)}", hint=_NO_SPACE, where=path) from error
    _lock(fd, path)
    return FileJournal(DiskFile(fd, folder=folder), size=0, path=path)


def reopen_journal(path: str) -> tuple[FileJournal, Loaded]:
    """An existing journal for going on, and what is in it. Half a line at its end is cut off.

    Raises `JournalLocked` while another process writes it, `JournalCorrupt`, `JournalTooNew`, `JournalError`.
    """
    try:
        fd = _open(path, 0)
    except OSError as error:
        raise JournalError(f"the journal cannot be opened: {_words(error)}", where=path) from error
    _lock(fd, path)
    try:
        with open(os.dup(fd), "rb") as file:  # noqa: PTH123 -- a descriptor, not a path
            content = file.read()
            loaded = load_bytes(content, where=path)
        if loaded.torn_bytes:
            os.ftruncate(fd, loaded.whole_bytes)
    except OSError as error:
        os.close(fd)
        raise JournalError(f"the journal cannot be read: {_words(error)}", where=path) from error
    except JournalError:
        os.close(fd)
        raise
    return FileJournal(DiskFile(fd), size=loaded.whole_bytes, path=path, before=content[: loaded.whole_bytes]), loaded


def _open(path: str, more_flags: int) -> int:
    flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | more_flags
    return os.open(path, flags, 0o600)


def _lock(fd: int, path: str) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(fd)
        if isinstance(error, BlockingIOError):
            raise JournalLocked(
                "another process is writing this session",
                hint="Wait for it to end, or go on in a copy with --fork-session.",
                where=path,
            ) from None
        raise JournalError(f"the journal cannot be locked: {_words(error)}", where=path) from error


def make_private_directory(path: str) -> None:
    """The directory and those above it; the ones that are made belong to the owner alone. Raises `OSError`."""
    if os.path.isdir(path):  # noqa: PTH112
        return
    above = os.path.dirname(path)  # noqa: PTH120
    if above != path:
        make_private_directory(above)
    try:
        os.mkdir(path, 0o700)  # noqa: PTH102
    except FileExistsError:
        if not os.path.isdir(path):  # noqa: PTH112
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path) from None


def _sync_directory(path: str) -> None:
    """Make the new file's name last; file systems that cannot do so have no such need."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError:
        return
    finally:
        os.close(fd)
