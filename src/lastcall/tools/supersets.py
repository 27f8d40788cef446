r"""A regular expression for ripgrep that finds at least the lines that one of ours finds.

The two dialects and the two ways to read broken text differ in detail. So nothing is translated exactly: what is certain
(letters, `|`, repetition, sets of ASCII) is kept, the rest becomes "any character", anchors and looking around become
nothing. A file in which the wider expression finds nothing need not be read here. Any character is up to four bytes, as
a replaced broken sequence stands for up to three and a character for up to four.

Must not go in here: running ripgrep (`tools.ripgrep`).
"""

from __future__ import annotations

import re

_BEYOND_ASCII = r"(?-u:[\x80-\xff]){1,4}"
_ANY = r"(?:(?-u:[^\n]){1,4})"
_WORD = frozenset(map(ord, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"))
_DIGITS = frozenset(map(ord, "0123456789"))
_SPACES = frozenset({0x09, 0x0B, 0x0C, 0x0D, 0x1C, 0x1D, 0x1E, 0x1F, 0x20})
_CLASSES = {"w": _WORD, "d": _DIGITS, "s": _SPACES}
_CONTROLS = {"t": "\t", "r": "\r", "f": "\f", "v": "\v"}
_FOLDED_BEYOND_ASCII = frozenset("iks")
"""Letters that have a variant outside of ASCII when case is ignored."""
_QUANTIFIER = re.compile(r"(?:[*+?]|\{(\d{1,3})\}|\{(\d{0,3}),(\d{0,3})\})[?+]?")
_MAX_LENGTH = 1_000
_MAX_DEPTH = 50


class _TooOdd(Exception):  # noqa: N818 -- never leaves this module
    """Something that this does not follow."""


def superset(pattern: str, *, ignore_case: bool) -> str | None:
    """The wider expression, or `None` where there is none that is certain. `pattern` is known to compile."""
    if len(pattern) > _MAX_LENGTH or "\n" in pattern:
        return None
    reader = _Reader(pattern, ignore_case=ignore_case)
    try:
        wider = reader.alternatives(_MAX_DEPTH)
    except _TooOdd:
        return None
    return wider if reader.at == len(pattern) else None


class _Reader:
    """A pattern that is read from left to right."""

    def __init__(self, pattern: str, *, ignore_case: bool) -> None:
        self.at = 0
        self._pattern = pattern
        self._ignore_case = ignore_case

    def alternatives(self, depth: int) -> str:
        """Up to the bracket that closes, or the end."""
        if not depth:
            raise _TooOdd
        out = ""
        while self.at < len(self._pattern) and self._pattern[self.at] != ")":
            if self._pattern[self.at] == "|":
                self.at += 1
                out += "|"
            else:
                atom = self._atom(depth)
                out += f"(?:{atom}){self._quantifier()}"
        return out

    def _take(self) -> str:
        if self.at >= len(self._pattern):
            raise _TooOdd
        self.at += 1
        return self._pattern[self.at - 1]

    def _quantifier(self) -> str:
        match = _QUANTIFIER.match(self._pattern, self.at)
        if match is None:
            if self._pattern[self.at : self.at + 1] == "{":
                raise _TooOdd
            return ""
        self.at = match.end()
        if self._pattern[self.at : self.at + 1] and self._pattern[self.at] in "*+?{":
            raise _TooOdd
        if match.group(0).startswith("{") and match.group(1) is None:
            if not match.group(2) and not match.group(3):
                raise _TooOdd
            return f"{{{match.group(2) or 0},{match.group(3)}}}"
        return f"{{{match.group(1)}}}" if match.group(1) else match.group(0)[0]

    def _atom(self, depth: int) -> str:
        character = self._take()
        match character:
            case "^" | "$":
                return ""
            case ".":
                return _ANY
            case "(":
                return self._group(depth)
            case "[":
                return self._set()
            case "\\":
                return self._escape(self._take())
            case "*" | "+" | "?" | "{":
                raise _TooOdd
            case _:
                return self._literal(character)

    def _group(self, depth: int) -> str:
        looks = False
        if self._pattern.startswith("?", self.at):
            match = re.compile(r"\?(?::|P?<[A-Za-z_]\w*>|(<?[=!]))").match(self._pattern, self.at)
            if match is None:
                raise _TooOdd
            self.at = match.end()
            looks = match.group(1) is not None
        inner = self.alternatives(depth - 1)
        if self._take() != ")":
            raise _TooOdd
        return "" if looks else f"(?:{inner})"

    def _escape(self, character: str) -> str:
        if character in "bB":
            return ""
        if character in _CLASSES:
            return _bytes_of(_CLASSES[character], beyond=True)
        if character in "WDS":
            return _ANY
        if character in _CONTROLS:
            return self._literal(_CONTROLS[character])
        if character.isalnum():
            raise _TooOdd
        return self._literal(character)

    def _literal(self, character: str) -> str:
        if ord(character) > 0x7F:
            return _ANY if self._ignore_case or not _is_plain(character) else f"\\x{{{ord(character):x}}}"
        if not self._ignore_case or not character.isalpha():
            return f"\\x{{{ord(character):02x}}}"
        return self._bytes_in_any_case({ord(character)}, beyond=False)

    def _set(self) -> str:
        """A set of characters; what is excluded by one is anything."""
        negated = self._pattern.startswith("^", self.at)
        self.at += negated
        members: set[int] = set()
        beyond = first = False
        while (character := self._take()) != "]" or not first:
            first = True
            if character == "[" or self._pattern[self.at - 1 : self.at + 1] in {"--", "&&", "||", "~~"}:
                raise _TooOdd
            found = self._member(character)
            if isinstance(found, frozenset):
                members |= found
                beyond = True
                continue
            last = self._end_of_range(found)
            members |= set(range(ord(found), min(ord(last), 0x7F) + 1))
            beyond = beyond or ord(last) > 0x7F
        return _ANY if negated else self._bytes_in_any_case(members, beyond=beyond)

    def _member(self, character: str) -> str | frozenset[int]:
        if character != "\\":
            return character
        escaped = self._take()
        if escaped in _CLASSES:
            return _CLASSES[escaped]
        if escaped in _CONTROLS:
            return _CONTROLS[escaped]
        if escaped.isalnum():
            raise _TooOdd
        return escaped

    def _end_of_range(self, start: str) -> str:
        if not self._pattern.startswith("-", self.at) or self._pattern[self.at + 1 : self.at + 2] in {"]", ""}:
            return start
        self.at += 1
        last = self._member(self._take())
        if isinstance(last, frozenset) or last == "[" or ord(last) < ord(start):
            raise _TooOdd
        return last

    def _bytes_in_any_case(self, members: set[int], *, beyond: bool) -> str:
        if self._ignore_case:
            letters = {chr(m) for m in members if chr(m).isalpha()}
            members = members | {ord(x) for letter in letters for x in (letter.lower(), letter.upper())}
            if beyond:
                return _ANY  # a character from beyond may have variants in ASCII
            beyond = any(letter.lower() in _FOLDED_BEYOND_ASCII for letter in letters)
        return _bytes_of(frozenset(members), beyond=beyond)


def _is_plain(character: str) -> bool:
    """Whether it is written in UTF-8 as it is, and stands for no broken text."""
    return character != "\N{REPLACEMENT CHARACTER}" and not "\ud800" <= character <= "\udfff"


def _bytes_of(members: frozenset[int], *, beyond: bool) -> str:
    """One of these ASCII characters; with `beyond`, any other character as well."""
    listed = "".join(f"\\x{{{member:02x}}}" for member in sorted(members) if member != 0x0A)
    if not beyond:
        return f"[{listed}]" if listed else _ANY
    return f"(?:[{listed}]|{_BEYOND_ASCII})" if listed else _BEYOND_ASCII
