r"""Regular expressions of ECMA-262 in Unicode mode, read by the standard's own grammar.

JSON Schema's `pattern` is ECMA-262's, and engines differ in what `\d`, `$`, `.`, `\b` mean and in what they refuse. Here
a pattern is read (faults in the words of the reference's engine) into a piece that says the same without ambiguity.

Must not go in here: an engine (`patterns`), recursion.
"""

from __future__ import annotations

import re
from typing import Final, NoReturn

from msgspec import structs

from lastcall.contract.ecma_names import BINARY, GENERAL, GENERAL_KEYS, SCRIPT_KEYS
from lastcall.contract.ecma_pieces import (
    BOUNDARY,
    MAX_CODE,
    NOT_BOUNDARY,
    SURROGATES,
    CharClass,
    Example,
    Piece,
    Plain,
    Ranges,
    choice,
    class_piece,
    complement,
    literal,
    repeated,
    sequence,
)

_DIGITS: Final[Ranges] = ((0x30, 0x39),)
WORDS: Final[Ranges] = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_SPACES: Final[Ranges] = (
    (0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F),
    (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF),
)  # fmt: skip
_LINE_ENDS: Final[Ranges] = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
_RANGED: Final[dict[str, Ranges]] = {"Any": ((0, MAX_CODE),), "Surrogate": (SURROGATES,), "Cs": (SURROGATES,)}
"""Properties that the engine cannot be asked for."""
_CONTROLS: Final = {"f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}
_SYNTAX_CHARS: Final = "^$\\.*+?()[]{}|/"
_QUANTIFIER = re.compile(r"\{([0-9]+)(,([0-9]*))?\}")
_GROUPS = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]?|\((?:\?<(?![=!])(?P<name>[^>()]{0,200})>|(?!\?))", re.DOTALL)
_MAX_NAME: Final = 200
_MAX_COUNT: Final = 2**31 - 1
MAX_LENGTH: Final = 65_536
MAX_NESTING: Final = 100
"""The engine's own bound is 250 levels, and some of ours take two."""


class BadSyntax(ValueError):  # noqa: N818 -- a fault of the pattern, in the reference's words
    """The pattern is no regular expression of ECMA-262 (Unicode mode). `at` counts code points from 0."""

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.at = at


def read_pattern(pattern: str) -> Piece:
    """The pattern as one piece. Raises `BadSyntax`."""
    return _Parser(pattern).read()


# -- the grammar ----------------------------------------------------------------------------------------------------


class _Frame:
    """An open group: the alternatives that are finished, and the one being read."""

    def __init__(self, opener: str, capture: int = 0, name: str = "") -> None:
        self.opener = opener
        self.capture = capture
        self.name = name
        self.done: list[Piece] = []
        self.now: list[Piece] = []

    def finish(self) -> Piece:
        self.done.append(sequence(self.now))
        self.now = []
        return choice(self.done)


class _Parser:
    """Reads a pattern from left to right, with the open groups on a stack."""

    def __init__(self, pattern: str) -> None:
        self.at = 0
        self.text = pattern
        if len(pattern) > MAX_LENGTH:
            self.fail("Regular expression too large")
        self.text = _PAIR.sub(_joined_pair, pattern)
        self.named: dict[str, int] = {}
        self.closed: set[int] = set()
        self.uncertain: set[int] = set()
        self.taken: set[str] = set()
        self.total = 0
        for match in _GROUPS.finditer(self.text):
            if match.group().startswith("("):
                self.total += 1
                self.named.setdefault(_name(match.group("name") or ""), self.total)
        self.opened = 0
        self.later = ""  # faults of names are told only if the rest is right, as the reference's engine does
        self.stack = [_Frame("")]

    def fail(self, reason: str) -> NoReturn:
        raise BadSyntax(reason, self.at)

    def read(self) -> Piece:
        while self.at < len(self.text):
            self._term()
        if len(self.stack) > 1:
            self.fail("Unterminated group")
        if self.later:
            self.fail(self.later)
        return self.stack[0].finish()

    def _peek(self, ahead: int = 0) -> str:
        return self.text[self.at + ahead : self.at + ahead + 1]

    def _add(self, piece: Piece) -> None:
        """Puts a piece, with the quantifier that follows it, at the end of the open alternative."""
        self.stack[-1].now.append(self._quantified(piece))

    # -- terms ------------------------------------------------------------------------------------------------------

    def _term(self) -> None:
        char = self._peek()
        if char == "|":
            self.at += 1
            frame = self.stack[-1]
            self.uncertain.update(index for piece in frame.now for index in piece.captures)
            frame.done.append(sequence(frame.now))
            frame.now = []
        elif char == "(":
            self._open()
        elif char == ")":
            self._close()
        elif char in "*+?":
            self.fail("Nothing to repeat")
        elif char in "{}]":
            self.fail("Nothing to repeat" if _QUANTIFIER.match(self.text, self.at) else "Lone quantifier brackets")
        else:
            self._add(self._atom(char))

    def _atom(self, char: str) -> Piece:
        if char == "[":
            return self._class()
        if char == "\\":
            return self._escape()
        self.at += 1
        if char == "^":
            return Piece("^", Plain("^"), anchored=True, quantifiable=None, example=Example(""), zero_width=True)
        if char == "$":
            return Piece("$", Plain("\\Z"), quantifiable=None, example=Example(""), zero_width=True)
        if char == ".":
            return class_piece(CharClass(_LINE_ENDS), negated=True)
        return literal(ord(char))

    def _quantified(self, piece: Piece) -> Piece:
        low, high = self._quantifier()
        if low < 0:
            return piece
        if piece.quantifiable is None:
            self.fail("Nothing to repeat")
        if not piece.quantifiable:
            self.fail("Invalid quantifier")
        lazy = self._peek() == "?"
        self.at += int(lazy)
        if low == 0:
            self.uncertain.update(piece.captures)
        return repeated(piece, low, high, lazy=lazy)

    def _quantifier(self) -> tuple[int, int | None]:
        """The bounds of the quantifier here; `-1` where there is none."""
        char = self._peek()
        if char and char in "*+?":
            self.at += 1
            return int(char == "+"), 1 if char == "?" else None
        if char != "{":
            return -1, None
        match = _QUANTIFIER.match(self.text, self.at)
        if match is None:
            self.fail("Incomplete quantifier")
        low = _count(match.group(1))
        high = low if match.group(2) is None else _count(match.group(3)) if match.group(3) else None
        self.at = match.end()
        if high is not None and high < low:
            self.fail("numbers out of order in {} quantifier")
        return low, high

    # -- groups -----------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        if len(self.stack) > MAX_NESTING:
            self.fail("Regular expression too large")
        rest = self.text[self.at : self.at + 4]
        for opener in ("(?:", "(?=", "(?!", "(?<=", "(?<!"):
            if rest.startswith(opener):
                self.at += len(opener)
                self.stack.append(_Frame(opener))
                return
        if rest.startswith("(?") and not rest.startswith("(?<"):
            self.fail("Invalid group")
        self.opened += 1
        self.at += int(not rest.startswith("(?<"))
        name = self._group_name() if rest.startswith("(?<") else ""
        self.stack.append(_Frame("(", self.opened, name))

    def _group_name(self) -> str:
        end = self.text.find(">", self.at)
        name = _name(self.text[self.at + 3 : end]) if end > 0 else ""
        if not name:
            self.fail("Invalid capture group name")
        self.at = end + 1
        return name

    def _close(self) -> None:
        if len(self.stack) == 1:
            self.fail("Unmatched ')'")
        self.at += 1
        frame = self.stack.pop()
        alternatives = len(frame.done) + 1
        body = frame.finish()
        if alternatives > 1 or frame.opener in ("(?!", "(?<!"):
            self.uncertain.update(body.captures)
        if frame.capture:
            self.closed.add(frame.capture)
        if frame.name in self.taken:
            self.fail("Duplicate capture group name")
        self.taken.update([frame.name] if frame.name else [])
        self._add(_grouped(body, frame))

    # -- escapes ----------------------------------------------------------------------------------------------------

    def _escape(self) -> Piece:
        char = self._peek(1)
        if not char:
            self.fail("\\ at end of pattern")
        if char in "bB":
            self.at += 2
            return Piece(
                BOUNDARY if char == "b" else NOT_BOUNDARY, quantifiable=None, example=Example(""), zero_width=True
            )
        if char in "123456789":
            return self._numbered_reference()
        if char == "k":
            return self._named_reference()
        found = self._class_escape(in_class=False)
        return class_piece(found) if isinstance(found, CharClass) else literal(found)

    def _numbered_reference(self) -> Piece:
        match = re.compile(r"[0-9]+").match(self.text, self.at + 1)
        assert match is not None
        index = int(match.group()[:9])
        if index > self.total:
            self.fail("Invalid escape")
        self.at = match.end()
        return self._reference(index)

    def _named_reference(self) -> Piece:
        match = re.compile(r"\\k<([^>]*)>").match(self.text, self.at)
        name = _name(match.group(1)) if match else ""
        if match is None or not name:
            self.fail("Invalid named reference")
        self.at = match.end()
        if name not in self.named:
            self.later = "Invalid named capture referenced"
            return Piece("(?:)", example=Example(""), zero_width=True)
        return self._reference(self.named[name])

    def _reference(self, index: int) -> Piece:
        if index not in self.closed:
            return Piece(
                "(?:)", example=Example(""), zero_width=True
            )  # a group that has not matched yet stands for nothing
        if index in self.uncertain:
            self.later = self.later or "back-reference to a group that may not take part in the match"
        return Piece(f"\\{index}", backtracks=True)

    def _class_escape(self, *, in_class: bool) -> CharClass | int:
        """The set or the code point of an escape that may stand in a class too."""
        char = self._peek(1)
        if char in "dDsSwW":
            self.at += 2
            ranges = {"d": _DIGITS, "s": _SPACES, "w": WORDS}[char.lower()]
            return CharClass(ranges if char.islower() else complement(ranges))
        if char in "pP":
            return self._property(in_class=in_class)
        if char == "0" and not self._peek(2).isdigit():
            self.at += 2
            return 0
        if char.isascii() and char.isdigit():
            self.fail("Invalid class escape" if in_class else "Invalid decimal escape")
        if char in _CONTROLS:
            self.at += 2
            return _CONTROLS[char]
        if char == "c":
            return self._control()
        if char in "xu":
            return self._hexadecimal(char)
        if char not in _SYNTAX_CHARS and not (in_class and char == "-"):
            self.fail("Invalid escape")
        self.at += 2
        return ord(char)

    def _control(self) -> int:
        letter = self._peek(2)
        if not (letter.isascii() and letter.isalpha()):
            self.fail("Invalid Unicode escape")
        self.at += 3
        return ord(letter) % 32

    def _hexadecimal(self, kind: str) -> int:
        form = r"\\x([0-9A-Fa-f]{2})" if kind == "x" else r"\\u(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{4}))"
        match = re.compile(form).match(self.text, self.at)
        code = int((match.group(1) or match.group(2)).lstrip("0")[:8] or "0", 16) if match else MAX_CODE + 1
        if match is None or code > MAX_CODE:
            self.fail("Invalid escape" if kind == "x" else "Invalid Unicode escape")
        self.at = match.end()
        return code

    def _property(self, *, in_class: bool) -> CharClass:
        match = re.compile(r"\\([pP])\{(?:(\w+)=)?(\w+)\}", re.ASCII).match(self.text, self.at)
        if match is None or not _is_property(match.group(2), match.group(3)):
            self.fail("Invalid property name" + (" in character class" if in_class else ""))
        self.at = match.end()
        letter, key, value = match.groups()
        if value in _RANGED:
            ranges = _RANGED[value]
            return CharClass(ranges if letter == "p" else complement(ranges))
        return CharClass((), (f"\\{letter}{{{key + '=' if key else ''}{value}}}",))

    # -- classes ----------------------------------------------------------------------------------------------------

    def _class(self) -> Piece:
        self.at += 1
        negated = self._peek() == "^"
        self.at += int(negated)
        ranges: list[tuple[int, int]] = []
        properties: list[str] = []
        while self._peek() != "]":
            first = self._class_atom()
            if self._peek() != "-" or self._peek(1) in ("]", ""):
                _collect(first, ranges, properties)
                continue
            self.at += 1
            last = self._class_atom()
            if isinstance(first, CharClass) or isinstance(last, CharClass):
                self.fail("Invalid character class")
            if last < first:
                self.fail("Range out of order in character class")
            ranges.append((first, last))
        self.at += 1
        return class_piece(CharClass(tuple(ranges), tuple(properties)), negated=negated)

    def _class_atom(self) -> CharClass | int:
        char = self._peek()
        if not char:
            self.fail("Unterminated character class")
        if char != "\\":
            self.at += 1
            return ord(char)
        if not self._peek(1):
            self.fail("\\ at end of pattern")
        if self._peek(1) == "b":
            self.at += 2
            return 8
        return self._class_escape(in_class=True)


def _grouped(body: Piece, frame: _Frame) -> Piece:
    if frame.opener in ("(?:", "("):
        captures = (*body.captures, frame.capture) if frame.capture else body.captures
        plain = (
            None if body.plain is None else structs.replace(body.plain, text=f"(?:{body.plain.text})", one_char=False)
        )
        engine = f"{frame.opener}{body.engine})"
        zero = body.zero_width
        return Piece(engine, plain, body.backtracks, body.anchored, captures, example=body.example, zero_width=zero)
    engine = f"{frame.opener}{body.engine})"
    return Piece(
        engine,
        backtracks=True,
        captures=body.captures,
        quantifiable=False,
        example=Example(""),
        zero_width=True,
    )


def _collect(item: CharClass | int, ranges: list[tuple[int, int]], properties: list[str]) -> None:
    if isinstance(item, CharClass):
        ranges.extend(item.ranges)
        properties.extend(item.properties)
    else:
        ranges.append((item, item))


def _count(digits: str) -> int:
    return min(int(digits[:12]), _MAX_COUNT) if len(digits) <= 12 else _MAX_COUNT


def _is_property(key: str | None, value: str) -> bool:
    if key is None:
        return value in GENERAL or value in BINARY
    if key in GENERAL_KEYS:
        return value in GENERAL
    return key in SCRIPT_KEYS and value[:1].isupper()  # which scripts there are, the engine knows


_PAIR = re.compile(r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9A-Fa-f]{2})\\u([dD][c-fC-F][0-9A-Fa-f]{2})")
_NAME_ESCAPE = re.compile(r"\\u(?:\{([0-9A-Fa-f]{1,6})\}|([0-9A-Fa-f]{4}))")


def _joined_pair(match: re.Match[str]) -> str:
    """In Unicode mode two escapes that make a surrogate pair are one character."""
    high, low = int(match.group(2), 16), int(match.group(3), 16)
    return f"{match.group(1)}\\u{{{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):X}}}"


def _name(text: str) -> str:
    """A group's name with its escapes read; `""` if it is none."""
    read = _NAME_ESCAPE.sub(lambda match: chr(min(int(match.group(1) or match.group(2), 16), MAX_CODE)), text)
    return read if read.replace("$", "_").isidentifier() and len(read) <= _MAX_NAME else ""
