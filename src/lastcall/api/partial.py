"""An object while it is being written: text in pieces to a best-effort value.

Reading all text again for every piece would cost the square of its length. A short text is read with every piece. Of a
longer one two rules say when it is read: always once it is eight times as long as at the last reading, so that all readings
together cost little more than reading it once; and in between whenever the last reading took less than a fiftieth of
the time since then. A model writes slowly, and its object is shown piece by piece at the price of two percent of a core; a
text that is there at once is read a few times.

Must not go in here: judging; what comes out of here is never verified.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

import jiter

_EVERY_PIECE: Final = 512
"""Up to this many characters every piece is read."""
_GROWTH: Final = 8
_SHARE: Final = 50
"""Readings between those that growth brings take at most one part in so many of the time."""
_CHARACTERS_A_LOOK: Final = 1_024
"""Between two looks at the clock comes one piece more for every so many characters: even a look is no trifle."""
_SHORT: Final = 4_096
"""Up to this many characters a value is compared with the last one; of longer texts it is another one in all likelihood."""
_OF_NUMBERS: Final = "0123456789+-.eE"

NOTHING: Final = object()
"""There is no value yet, or no other than before."""


class PartialText:
    """The text of one object in the making.

    Whoever hears of a piece appends it to `pieces`, and calls `look` once there are `due` of them: a call for each would
    cost as much as reading the whole text.
    """

    __slots__ = ("_again", "_clock", "_counted", "_last", "_length", "_next", "due", "pieces")

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.pieces: list[str] = []
        self.due = 1
        self._clock = clock
        self._counted = self._length = 0
        self._next = 1
        self._again = 0.0
        self._last: Any = NOTHING

    def look(self) -> Any:
        """The value so far if the text is read now and shows another one than before, else `NOTHING`.

        A number or a literal that may go on is left out, a string may be cut short.
        """
        pieces = self.pieces
        self._length += sum(map(len, pieces[self._counted :]))
        self._counted = len(pieces)
        if self._length >= self._next or self._clock() >= self._again:
            return self._read()
        self.due = self._counted + 1 + self._length // _CHARACTERS_A_LOOK
        return NOTHING

    def _read(self) -> Any:
        text = "".join(self.pieces)
        self.pieces, self._counted, self.due = [text], 1, 2
        began = self._clock()
        value = read_partial(text)
        now = self._clock()
        self._next = self._length + 1 if self._length < _EVERY_PIECE else self._length * _GROWTH
        self._again = now + (now - began) * _SHARE
        if value is NOTHING or (self._length <= _SHORT and value == self._last):
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
