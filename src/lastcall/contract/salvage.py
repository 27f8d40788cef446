"""Objects in prose, for `--salvage` alone: what a model may have meant as the object, in the order in which it is tried.

The whole text; the inside of a fenced block; from the first `{` to the last `}` (and `[` to `]`); and that with the
brackets closed that are open. Nothing of this is ever done unasked, and what is found passes the whole contract or is
nothing.

Must not go in here: judging.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

MOST_CHARS: Final = 1_000_000
"""Longer texts are not looked at."""
_FENCED: Final = re.compile(r"```[a-zA-Z]*[ \t]*\n(.*?)\n?```", re.DOTALL)
_PAIRS: Final = {"{": "}", "[": "]"}
_MOST_OPEN: Final = 200


def candidates(text: str) -> Iterator[str]:
    """JSON texts that may be the object, each once, the surest first. They need not be JSON."""
    if len(text) > MOST_CHARS:
        return
    seen: set[str] = set()
    for candidate in _candidates(text.strip()):
        if candidate and candidate not in seen:
            seen.add(candidate)
            yield candidate


def _candidates(text: str) -> Iterator[str]:
    yield text
    yield from (match.group(1).strip() for match in _FENCED.finditer(text))
    for opening, closing in _PAIRS.items():
        start, end = text.find(opening), text.rfind(closing)
        if 0 <= start < end:
            yield text[start : end + 1]
    starts = [at for at in map(text.find, _PAIRS) if at >= 0]
    if starts:
        yield _closed(text[min(starts) :].removesuffix("```").rstrip())


def _closed(text: str) -> str:
    """A text with its open string and brackets closed; `""` where they do not pair or none is open."""
    open_brackets: list[str] = []
    in_string = escaped = False
    for character in text:
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_string = True
        elif character in _PAIRS:
            open_brackets.append(_PAIRS[character])
        elif character in _PAIRS.values() and (not open_brackets or open_brackets.pop() != character):
            return ""
    if not 0 < len(open_brackets) <= _MOST_OPEN:
        return ""
    return text + ('"' if in_string else "") + "".join(reversed(open_brackets))
