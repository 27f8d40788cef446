"""A journal as it grows: every whole line that was not read yet, and whether somebody is writing it.

Nothing is locked and nothing is changed. Half a line at the end is left for later; a damaged line ends the reading, with a
note, and what stood before it is shown.

Must not go in here: what the steps mean (`viewer.story`), waiting (`viewer.serving`).
"""

from __future__ import annotations

import os
import time
from typing import Final

from lastcall.errors import JournalError, JournalTooNew
from lastcall.viewer.story import Story
from lastcall.wire.journal import Damaged, decode_line

_PIECE: Final = 1 << 22
_RECENT_S: Final = 15
"""Where locks cannot be looked at, a file that was written so lately is taken to be in use."""
_LOCKS: Final = "/proc/locks"


class Tail:
    """One journal and its story. `read` takes in what is new."""

    def __init__(self, path: str, session_id: str = "") -> None:
        self.path = path
        self._session_id = session_id
        self._begin()

    def _begin(self) -> None:
        self.story = Story(self._session_id)
        self._offset = 0
        self._rest = b""
        self._lines = 0
        self._stopped = False

    def read(self) -> bool:
        """Whether there was anything new. A file that became shorter is read anew, as a story of its own.

        Raises `JournalError` when the file cannot be read.
        """
        try:
            with open(self.path, "rb") as file:  # noqa: PTH123 -- a path as the sessions give it
                if os.fstat(file.fileno()).st_size < self._offset:
                    self._begin()
                file.seek(self._offset)
                grown = False
                while not self._stopped and (piece := file.read(_PIECE)):
                    self._offset += len(piece)
                    grown = self._take(piece) or grown
        except OSError as error:
            words = os.strerror(error.errno) if error.errno else str(error)
            raise JournalError(f"the journal cannot be read: {words}", where=self.path) from error
        return grown

    def mark_torn(self) -> None:
        """Tell of half a line at the end, for a file that nobody writes any more."""
        if self._rest and not self._stopped:
            self.story.note(f"Half a line of {len(self._rest):,} bytes at the end: a crash in the middle of a step.")

    @property
    def live(self) -> bool:
        """Whether the story goes on: its run has not ended, and somebody holds the journal."""
        return not self._stopped and not self.story.over and in_use(self.path)

    def _take(self, piece: bytes) -> bool:
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            self._lines += 1
            fault = self._take_line(line)
            if fault:
                self.story.note(f"Line {self._lines} cannot be read: {fault}. What stands before it is shown.")
                self._stopped = True
                break
        return bool(lines)

    def _take_line(self, line: bytes) -> str:
        try:
            step = decode_line(line)
        except JournalTooNew as error:
            return error.message
        if isinstance(step, Damaged):
            return step.why
        self.story.tell(step)
        return ""


def in_use(path: str) -> bool:
    """Whether a process holds the lock of this journal, as far as that can be seen without taking it."""
    try:
        status = os.stat(path)  # noqa: PTH116
        recent = time.time() - status.st_mtime < _RECENT_S
        with open(_LOCKS, encoding="ascii", errors="replace") as locks:  # noqa: PTH123
            return recent or any(f":{status.st_ino} " in line and " WRITE " in line for line in locks)
    except OSError:
        return _recent(path)


def _recent(path: str) -> bool:
    try:
        return time.time() - os.stat(path).st_mtime < _RECENT_S  # noqa: PTH116
    except OSError:
        return False
