"""JSON text on one line for everybody: there are clients that take more than CR and LF for the end of a line.

Must not go in here: what is said in the lines.
"""

from __future__ import annotations

from typing import Final

_SEPARATORS: Final = {character: f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"}
_TABLE: Final = str.maketrans(_SEPARATORS)


def one_line(text: str) -> str:
    """The same JSON value without anything that some program ends a line at (such characters stand in strings alone)."""
    return text if text.isascii() else text.translate(_TABLE)
