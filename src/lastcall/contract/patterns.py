"""Patterns that search in linear or bounded time, whatever the pattern and the text.

A pattern is read by `ecma`. What is provably cheap there is searched by the standard library; everything else by
`engine`, which is linear, and bounded by a count of steps where look-around and back-references need backtracking.

Must not go in here: the grammar (`ecma`), what a failed search means.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from lastcall.contract.ecma_pieces import BOUNDARY, NOT_BOUNDARY, Piece, Plain
from lastcall.contract.engine import NotCompiled, SearchBudget, backtracking_search, linear_search

PatternBudget = SearchBudget
"""Raised by a search that would take more steps than it may: there is no answer."""

_PLAIN_COST: Final = 200
"""Steps a character that the standard library may take in the worst case."""
_WORD: Final = "[0-9A-Z_a-z]"
_LINEAR_WORDS: Final = {BOUNDARY: "(?-u:\\b)", NOT_BOUNDARY: "(?-u:\\B)"}
_BACKTRACKING_WORDS: Final = {
    BOUNDARY: f"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))",
    NOT_BOUNDARY: f"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))",
}
_SCRIPT = re.compile(r"\\[pP]\{\w+=\w+\}")


class BadPattern(ValueError):  # noqa: N818 -- a fault of the schema, told as one
    """The text is no regular expression of ECMA-262 in Unicode mode, or one that no bounded engine can search.

    `str()` is the sentence that the reference says of it.
    """

    def __init__(self, pattern: str, reason: str) -> None:
        super().__init__(f"Invalid regular expression: /{pattern}/u: {reason}")
        self.pattern = pattern
        self.reason = reason


class Pattern:
    """A compiled pattern. `engine` says who searches: `plain`, `linear` or `backtracking`."""

    __slots__ = ("engine", "search", "source")

    def __init__(self, source: str, engine: str, search: Callable[[str], bool]) -> None:
        self.source = source
        self.engine = engine
        self.search = search
        """Whether the pattern is found anywhere in a text. Raises `PatternBudget`, and nothing else."""

    def __repr__(self) -> str:
        return f"Pattern({self.source!r}, {self.engine})"


def compile_pattern(pattern: str) -> Pattern:
    """The pattern, ready to search. Raises `BadPattern`."""
    from lastcall.contract.ecma import BadSyntax, read_pattern  # noqa: PLC0415 -- most schemas have no pattern

    try:
        piece = read_pattern(pattern)
    except BadSyntax as error:
        raise BadPattern(pattern, error.reason) from None
    if piece.plain is not None and _is_cheap(piece.plain, anchored=piece.anchored):
        found = re.compile(piece.plain.text).search
        return Pattern(pattern, "plain", lambda text: found(text) is not None)
    return _engine_pattern(pattern, piece)


def _is_cheap(plain: Plain, *, anchored: bool) -> bool:
    """Whether the standard library's backtracking stays within a constant number of steps a character.

    From one place it takes at most `ways` paths of at most `length` characters besides one unbounded run, and with an
    anchor there is but one place to begin.
    """
    if plain.unbounded > 1 or (plain.unbounded and not anchored):
        return False
    return plain.ways * max(1, plain.length) <= _PLAIN_COST


def _engine_pattern(source: str, piece: Piece) -> Pattern:
    text = piece.engine
    for mark, spelling in (_BACKTRACKING_WORDS if piece.backtracks else _LINEAR_WORDS).items():
        text = text.replace(mark, spelling)
    try:
        search = (backtracking_search if piece.backtracks else linear_search)(text)
    except NotCompiled:
        unknown = not all(map(_is_known, _SCRIPT.findall(text)))
        reason = "Invalid property name" if unknown else "Regular expression too large, or not supported"
        raise BadPattern(source, reason) from None
    return Pattern(source, "backtracking" if piece.backtracks else "linear", search)


def _is_known(script: str) -> bool:
    try:
        linear_search(script)
    except NotCompiled:
        return False
    return True
