"""Standard input of the command.

Must not go in here: what is read from it (`cli.prompts`, `cli.schemas`).
"""

from __future__ import annotations

import sys

from lastcall.errors import BadConfig

_STDIN_LIMIT = 64 * 1024 * 1024


class Stdin:
    """Standard input, read at most once."""

    def __init__(self) -> None:
        self._text: str | None = None

    @property
    def piped(self) -> bool:
        """Whether something other than a terminal is there."""
        return sys.stdin is not None and not sys.stdin.closed and not sys.stdin.isatty()

    def read(self) -> str:
        """All of it as text (UTF-8, a byte order mark left out)."""
        if self._text is None:
            raw = sys.stdin.buffer.read(_STDIN_LIMIT + 1)
            if len(raw) > _STDIN_LIMIT:
                raise BadConfig(
                    f"standard input is longer than {_STDIN_LIMIT >> 20} MiB", hint="Shorten it.", where="stdin"
                )
            self._text = raw.decode("utf-8-sig", "replace")
        return self._text
