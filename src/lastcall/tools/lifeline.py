"""Tying a command to this process: when this process is gone, however it went, the command's process group is ended.

The command's shell starts a sentry in its own process group that reads a pipe. Nobody ever writes to the pipe; it ends when
the last process that holds its other end has ended, and that is this one alone. A parent-death signal would reach only
the command itself, not what it started, and go by the thread that started it.

Must not go in here: running commands (`tools.bash`), ending them in the ordinary course (`tools.leftovers`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final, Self

_SENTRY: Final = '{ trap "" HUP INT TERM; read -r nothing <&3; kill -KILL 0; } >/dev/null 2>&1'
_SCRIPT: Final = f'exec 3<&0 </dev/null; {_SENTRY} & exec "$@" 3<&-'


class Lifeline:
    """One pipe for one command. `end` is to be the standard input of the command line that `tie` gives."""

    def __init__(self) -> None:
        self.end, self._held = os.pipe()

    def tie(self, words: Sequence[str]) -> list[str]:
        """A command line that runs `words` without input, in a process of the same number, and ends them with us."""
        return ["/bin/sh", "-c", _SCRIPT, "sh", *words]

    def started(self) -> None:
        """The command has its end of the pipe."""
        self._close_end()

    def _close_end(self) -> None:
        if self.end >= 0:
            os.close(self.end)
            self.end = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close_end()
        os.close(self._held)
