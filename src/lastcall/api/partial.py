"""An object while it is being written: text in pieces to a best-effort value.

Reading all text again for every piece would cost the square of its length. While the text is short each piece is read;
after that only when the text has doubled, so that all readings together cost less than reading it twice over.

Must not go in here: judging; what comes out of here is never verified.
"""

from __future__ import annotations

from typing import Any, Final

import jiter

_EVERY_PIECE: Final = 1024
"""Up to this many characters each piece is read."""
_GROWTH: Final = 2
_OF_NUMBERS: Final = "0123456789+-.eE"

NOTHING: Final = object()
"""There is no value yet."""


class PartialText:
    """The text of one object in the making."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._next = 1
        self._last: Any = NOTHING

    def add(self, piece: str) -> Any:
        """The value so far if it is another one than the last, else `NOTHING`.

        A number or a literal that may go on is left out, a string may be cut short.
        """
        self._pieces.append(piece)
        self._length += len(piece)
        if self._length < self._next:
            return NOTHING
        self._next = self._length + 1 if self._length < _EVERY_PIECE else self._length * _GROWTH
        text = "".join(self._pieces)
        self._pieces = [text]
        value = read_partial(text)
        if value is NOTHING or value == self._last:
            return NOTHING
        self._last = value
        return value


def read_partial(text: str) -> Any:
    """The value that the beginning of a JSON text shows, `NOTHING` if it shows none."""
    sure = text.rstrip(_OF_NUMBERS)  # inside a string this only shortens it
    try:
        return jiter.from_json(sure.encode("utf-8", "replace"), partial_mode="trailing-strings", cache_mode="keys")
    except ValueError:
        return NOTHING
