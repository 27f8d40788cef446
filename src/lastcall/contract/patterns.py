"""Patterns that search in linear or bounded time, whatever the pattern and the text; the only file with an engine.

A pattern is read by `ecma`. What is provably cheap there is searched by the standard library; everything else by the
engine in `jsonschema_rs` (imported only then: it costs some 40 ms), which is linear, and bounded by a count of steps where
look-around and back-references need backtracking.

Must not go in here: the grammar (`ecma`), what a failed search means.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from lastcall.contract.ecma import BadSyntax, read_pattern
from lastcall.contract.ecma_pieces import BOUNDARY, NOT_BOUNDARY, SURROGATE_SHIFT, Piece, Plain

BACKTRACK_LIMIT: Final = 1_000_000
"""Steps of one search that needs backtracking: some 20 ms."""

_PLAIN_COST: Final = 200
"""Steps a character that the standard library may take in the worst case."""
_WORD: Final = "[0-9A-Z_a-z]"
_LINEAR_WORDS: Final = {BOUNDARY: "(?-u:\\b)", NOT_BOUNDARY: "(?-u:\\B)"}
_BACKTRACKING_WORDS: Final = {
    BOUNDARY: f"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))",
    NOT_BOUNDARY: f"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))",
}
_SCRIPT = re.compile(r"\\[pP]\{\w+=\w+\}")
_HALF_PAIR = re.compile("[\ud800-\udfff]")


class BadPattern(ValueError):  # noqa: N818 -- a fault of the schema, told as one
    """The text is no regular expression of ECMA-262 in Unicode mode, or one that no bounded engine can search.

    `str()` is the sentence that the reference says of it.
    """

    def __init__(self, pattern: str, reason: str) -> None:
        super().__init__(f"Invalid regular expression: /{pattern}/u: {reason}")
        self.pattern = pattern
        self.reason = reason


class PatternBudget(Exception):  # noqa: N818 -- neither a match nor a fault: there is no answer
    """The search would take more steps than it may."""


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
    import jsonschema_rs  # noqa: PLC0415 -- heavy, and simple patterns do without

    text = piece.engine
    for mark, spelling in (_BACKTRACKING_WORDS if piece.backtracks else _LINEAR_WORDS).items():
        text = text.replace(mark, spelling)
    options = (
        jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACK_LIMIT)
        if piece.backtracks
        else jsonschema_rs.RegexOptions()
    )
    try:
        validator = jsonschema_rs.validator_for({"pattern": text}, offline=True, pattern_options=options)
    except (ValueError, jsonschema_rs.ValidationError):
        if not _SCRIPT.search(text) or all(map(_is_known, _SCRIPT.findall(text))):
            raise BadPattern(source, "Regular expression too large, or not supported") from None
        raise BadPattern(source, "Invalid property name") from None
    if piece.backtracks:
        return Pattern(source, "backtracking", _bounded_search(validator))
    is_valid = validator.is_valid
    return Pattern(source, "linear", lambda subject: bool(is_valid(_carried(subject))))


def _is_known(script: str) -> bool:
    import jsonschema_rs  # noqa: PLC0415 -- loaded already

    try:
        jsonschema_rs.validator_for({"pattern": script}, offline=True)
    except (ValueError, jsonschema_rs.ValidationError):
        return False
    return True


def _bounded_search(validator: Any) -> Callable[[str], bool]:
    import jsonschema_rs  # noqa: PLC0415 -- loaded already

    exceeded = jsonschema_rs.ValidationErrorKind.BacktrackLimitExceeded

    def search(text: str) -> bool:
        error = next(iter(validator.iter_errors(_carried(text))), None)
        if error is not None and isinstance(error.kind, exceeded):
            raise PatternBudget
        return error is None

    return search


def _carried(text: str) -> str:
    """The text as the engine takes it: half pairs shown as private code points (as `ecma` shows them in the pattern)."""
    if text.isascii() or not _HALF_PAIR.search(text):
        return text
    return _HALF_PAIR.sub(lambda match: chr(ord(match.group()) + SURROGATE_SHIFT), text)
