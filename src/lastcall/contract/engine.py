"""The one door to `jsonschema_rs`: its regular expressions and its format checks, on one string at a time.

The library is imported when the first thing is asked of it (some 40 ms), never fetches (`offline`), and sees strings only:
its own validation of documents is not used, because it can hang and crash on hostile input. Its exceptions end here.

Must not go in here: what patterns and formats mean (`ecma`, `patterns`, `formats`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from lastcall.contract.ecma_pieces import SURROGATE_SHIFT

BACKTRACK_LIMIT: Final = 1_000_000
"""Steps of one search that needs backtracking: some 20 ms."""

_HALF_PAIR = re.compile("[\ud800-\udfff]")


class NotCompiled(ValueError):  # noqa: N818 -- the caller says what is wrong in its own words
    """The engine does not take this expression."""


class SearchBudget(Exception):  # noqa: N818 -- neither a match nor a fault: there is no answer
    """The search would take more steps than it may."""


def linear_search(expression: str) -> Callable[[str], bool]:
    """A search in time linear in the text. Raises `NotCompiled`."""
    is_valid = _validator({"pattern": expression}, pattern_options=_library().RegexOptions()).is_valid
    return lambda text: bool(is_valid(_carried(text)))


def backtracking_search(expression: str) -> Callable[[str], bool]:
    """A search with look-around and back-references; it raises `SearchBudget` at its limit. Raises `NotCompiled`."""
    options = _library().FancyRegexOptions(backtrack_limit=BACKTRACK_LIMIT)
    iter_errors = _validator({"pattern": expression}, pattern_options=options).iter_errors
    exceeded = _library().ValidationErrorKind.BacktrackLimitExceeded

    def search(text: str) -> bool:
        error = next(iter(iter_errors(_carried(text))), None)
        if error is not None and isinstance(error.kind, exceeded):
            raise SearchBudget
        return error is None

    return search


def format_check(name: str) -> Callable[[str], bool]:
    """Whether a string has a format of the specification; a string with half a surrogate pair has none."""
    is_valid = _validator({"format": name}, validate_formats=True).is_valid
    return lambda text: not _HALF_PAIR.search(text) and bool(is_valid(text))


def _library() -> Any:
    import jsonschema_rs  # noqa: PLC0415 -- heavy; most runs do without

    return jsonschema_rs


def _validator(schema: dict[str, str], **options: Any) -> Any:
    library = _library()
    try:
        return library.validator_for(schema, offline=True, **options)
    except (ValueError, library.ValidationError):
        raise NotCompiled from None


def _carried(text: str) -> str:
    """The text as the engine takes it: half pairs shown as private code points (as `ecma` shows them in a pattern)."""
    if text.isascii() or not _HALF_PAIR.search(text):
        return text
    return _HALF_PAIR.sub(lambda match: chr(ord(match.group()) + SURROGATE_SHIFT), text)
