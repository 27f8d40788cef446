"""Patterns for paths below a directory, as regular expressions.

`*` and `?` stay within a name, `**` crosses directories, `[abc]` and `{a,b}` choose. A pattern without a slash is meant at
any depth. Must not go in here: permission rules, whose patterns have a grammar of their own (`tools.permissions`).
"""

from __future__ import annotations

import re
from typing import Any

MATCH_S = 0.1
"""For one path; a pattern of many stars that nearly matches could take for ever."""


class BadPattern(ValueError):  # noqa: N818 -- named as the other errors are, for what it says
    """A pattern that cannot be read; the text says why."""


class PathMatcher:
    """A pattern, ready to be asked about paths."""

    def __init__(self, compiled: Any) -> None:
        """`compiled` is a pattern of `regex`, which has no types of its own."""
        self._compiled = compiled

    def matches(self, path: str) -> bool:
        """Whether the whole path is meant. Raises `TimeoutError`."""
        return self._compiled.fullmatch(path, timeout=MATCH_S, concurrent=True) is not None


def path_matcher(pattern: str) -> PathMatcher:
    """The pattern for relative paths with `/` between names. Raises `BadPattern`."""
    import regex  # noqa: PLC0415 -- 10 ms that only searches need

    body = pattern.removeprefix("./").lstrip("/")
    if not body:
        raise BadPattern("the pattern is empty")
    if "/" not in body:
        body = f"**/{body}"
    try:
        return PathMatcher(regex.compile(_translate(body), regex.DOTALL | regex.VERSION0))
    except regex.error as error:
        raise BadPattern(f"{pattern!r} cannot be read: {error}") from None


def _translate(body: str) -> str:  # noqa: C901 -- one line a character of the grammar
    out, at, depth = "", 0, 0
    while at < len(body):
        character = body[at]
        if body.startswith("**/", at):
            out, at = out + "(?:[^/]+/)*", at + 3
            continue
        if body.startswith("**", at):
            out, at = out + ".*", at + 2
            continue
        at += 1
        match character:
            case "*":
                out += "[^/]*"
            case "?":
                out += "[^/]"
            case "[":
                piece, at = _class(body, at)
                out += piece
            case "{":
                out, depth = out + "(?:", depth + 1
            case "}" if depth:
                out, depth = out + ")", depth - 1
            case "," if depth:
                out += "|"
            case "\\" if at < len(body):
                out, at = out + re.escape(body[at]), at + 1
            case _:
                out += re.escape(character)
    if depth:
        raise BadPattern(f"a brace in {body!r} is not closed")
    return out


def _class(body: str, at: int) -> tuple[str, int]:
    """The character class that begins before `at`, and where it ends; a bracket that is never closed is a bracket."""
    start = at + 1 if body[at : at + 1] in {"!", "^"} else at
    end = body.find("]", start + 1)
    if end < 0:
        return re.escape("["), at
    inner = re.sub(r"([\\\[&~|])", r"\\\1", body[start:end])
    return f"(?!/)[{'^' if start > at else ''}{inner}]", end + 1
