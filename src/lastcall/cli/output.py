"""stdout and stderr of the command.

stdout is for machines: UTF-8 in any locale, whole lines, nothing else ever on it. A reader that goes away ends the
writing, not the run.

Must not go in here: what a frame or an envelope looks like.
"""

from __future__ import annotations

import os

from lastcall.cli.streams import say
from lastcall.runtime.veil import NO_VEIL, Veil
from lastcall.wire.frames import Frame
from lastcall.wire.json import encode_value


class Output:
    """Standard output as bytes. `failure` says why not everything could be written; a reader that left is none."""

    def __init__(self, fd: int = 1) -> None:
        self._fd = fd
        self.broken = False
        self.failure = ""

    def write(self, data: bytes) -> None:
        """All of it, or nothing more ever when the reader is gone."""
        view = memoryview(data)
        while view and not self.broken:
            try:
                view = view[os.write(self._fd, view) :]
            except BlockingIOError:
                _wait_writable(self._fd)
            except BrokenPipeError:
                self.broken = True  # the reader has seen enough
            except OSError as error:
                self.broken = True
                self.failure = os.strerror(error.errno) if error.errno else str(error)

    def line(self, value: object) -> None:
        """A JSON value as one line."""
        self.write(encode_value(value) + b"\n")

    def frame(self, frame: Frame) -> None:
        """A frame as one line."""
        self.line(frame)


def _wait_writable(fd: int) -> None:
    import select  # noqa: PLC0415 -- only when somebody made stdout non-blocking

    select.select([], [fd], [])


class Notes:
    """Lines for people, on stderr."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._veil = NO_VEIL

    def hide(self, veil: Veil) -> None:
        """Say everything without these secrets from now on."""
        self._veil = veil

    def say(self, line: str) -> None:
        """Something worth knowing."""
        if not self._quiet:
            self.error(line)

    def error(self, line: str) -> None:
        """Something that must be said even when quiet."""
        say(self._veil.text(line))
