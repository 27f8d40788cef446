"""The JSON grammar of RFC 8259, read step by step, so that every fault has a place and a cause.

This is the slow and exact reader behind `json_text.read_json`, which comes here when the standard library's scanner
refuses a text, when a text is nested too deeply for it, and when keys occur twice. It uses no recursion.

Must not go in here: repairing, guessing or completing anything. A fault is described, never mended.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import Any, Final

from msgspec import Struct

from lastcall.nouns.json import JsonValue
from lastcall.nouns.tools import UnreadableCause as Cause


class JsonFault(Struct, frozen=True):
    """Why a text is no JSON that lastcall takes.

    `message` is one sentence without the place. `line` and `column` count characters from 1, `offset` from 0.
    """

    cause: Cause
    message: str
    line: int
    column: int
    offset: int


class Read(Struct, frozen=True):
    """A JSON value, and the JSON Pointers of keys that occur more than once in their object (the last one counted)."""

    value: JsonValue
    duplicates: tuple[str, ...] = ()


class NumberFault(ValueError):  # noqa: N818 -- a fault, in this module's words; it never leaves the reader
    """A number that is JSON but out of the range that the reader takes."""


NumberReader = Callable[[str], JsonValue]

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_LITERALS: Final[dict[str, JsonValue]] = {"true": True, "false": False, "null": None}
_WORD = re.compile(r"-?[A-Za-z_$][A-Za-z0-9_$]*")
_NUMBER_LIKE = re.compile(r"[+-]?[0-9.][0-9A-Za-z_.+,-]*")
_KEY_AFTER = re.compile(r'"(?:[^"\\\n]|\\.)*"[ \t\n\r]*:')
_CUT_ESCAPE = re.compile(r"[0-9A-Fa-f]{0,3}")
_PYTHON = {"None": "null", "True": "true", "False": "false"}
_CONSTANTS = {"NaN", "Infinity", "-Infinity", "nan", "inf", "-inf"}
_TYPOGRAPHIC = "\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb"
_QUOTE_AHEAD = 200


def pointer_token(name: str | int) -> str:
    """One reference token of a JSON Pointer (RFC 6901), escaped, without its slash."""
    return str(name).replace("~", "~0").replace("/", "~1")


def fault_at(text: str, offset: int, cause: Cause, message: str) -> JsonFault:
    """A fault at a place of `text`; the end of the text is a place too."""
    line_start = text.rfind("\n", 0, offset) + 1
    return JsonFault(cause, message, text.count("\n", 0, offset) + 1, offset - line_start + 1, offset)


class _Stop(Exception):  # noqa: N818 -- not an error: it carries the fault out of the reader
    def __init__(self, offset: int, cause: Cause, message: str) -> None:
        super().__init__(message)
        self.offset = offset
        self.cause = cause
        self.message = message


def read_stepwise(text: str, *, integer: NumberReader, fraction: NumberReader) -> Read | JsonFault:
    """The value of a JSON text, or the first fault in it.

    `integer` and `fraction` turn a number's text (without, and with a fraction or exponent) into its value; they may
    raise `NumberFault`.
    """
    try:
        return _Reader(text, integer, fraction).document()
    except _Stop as stop:
        return fault_at(text, stop.offset, stop.cause, stop.message)


class _Reader:
    """One pass over one text. Open containers lie on `stack`, each with the key or index being filled."""

    def __init__(self, text: str, integer: NumberReader, fraction: NumberReader) -> None:
        self.text = text
        self.integer = integer
        self.fraction = fraction
        self.at = 0
        self.stack: list[tuple[Any, str | None]] = []
        self.duplicates: list[str] = []
        self.last_string = -1  # offset of the closing quote of the string just read, or -1

    def document(self) -> Read:
        self._skip()
        self._check_start()
        value = self._value()
        while self.stack or value is _OPEN:
            value = self._next() if value is _OPEN else self._put(value)
        self._skip()
        if self.at < len(self.text):
            raise self._trailing()
        return Read(value, tuple(dict.fromkeys(self.duplicates)))

    def _skip(self) -> None:
        match = _SPACE.match(self.text, self.at)
        assert match is not None
        self.at = match.end()

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    # -- values -----------------------------------------------------------------------------------------------------

    def _value(self) -> Any:
        """The scalar here; or `_OPEN` after a container was opened."""
        char = self._peek()
        self.last_string = -1
        if char == '"':
            return self._string()
        if char in ("{", "["):
            self.at += 1
            self.stack.append(({} if char == "{" else [], None))
            return _OPEN
        if char == "-" or char.isdigit():
            return self._number()
        for word, value in _LITERALS.items():
            if self.text.startswith(word, self.at) and not self._word_goes_on(self.at + len(word)):
                self.at += len(word)
                return value
        raise self._no_value()

    def _word_goes_on(self, at: int) -> bool:
        after = self.text[at : at + 1]
        return after.isalnum() or after in {"_", "$"}

    def _string(self) -> str:
        start = self.at
        try:
            value, self.at = scanstring(self.text, start + 1, True)
        except JSONDecodeError as error:
            raise self._bad_string(start, error) from None
        self.last_string = self.at - 1
        return str(value)

    def _number(self) -> JsonValue:
        match = _NUMBER.match(self.text, self.at)
        if match is None or self._number_goes_on(match.end()):
            raise self._bad_number(match)
        try:
            value = (self.fraction if match.group(1) or match.group(2) else self.integer)(match.group())
        except NumberFault as error:
            raise _Stop(self.at, Cause.NOT_A_NUMBER, str(error)) from None
        self.at = match.end()
        return value

    def _number_goes_on(self, at: int) -> bool:
        after = self.text[at : at + 1]
        return after.isalnum() or after in {".", "+", "_"} or (after == "-" and at > self.at)

    # -- containers -------------------------------------------------------------------------------------------------

    def _next(self) -> Any:
        """What follows an opening bracket: the end of an empty container, or its first member."""
        container = self.stack[-1][0]
        self._skip()
        if self._peek() == ("}" if isinstance(container, dict) else "]"):
            return self._close()
        return self._member()

    def _close(self) -> Any:
        self.at += 1
        self.last_string = -1
        return self.stack.pop()[0]

    def _member(self) -> Any:
        container = self.stack[-1][0]
        if isinstance(container, dict):
            self._key(container)
        return self._value()

    def _key(self, container: dict[str, Any]) -> None:
        if self._peek() != '"':
            raise self._no_key()
        key = self._string()
        self._skip()
        if self._peek() != ":":
            raise self._odd_char("a colon after the key") if self._peek() else self._end()
        self.at += 1
        self._skip()
        if key in container:
            self.duplicates.append(self._pointer(key))
        self.stack[-1] = (container, key)

    def _pointer(self, last: str) -> str:
        names: list[str | int] = [key if key is not None else len(container) for container, key in self.stack[:-1]]
        return "".join("/" + pointer_token(name) for name in (*names, last))

    def _put(self, value: Any) -> Any:
        """Puts a finished value into the open container and goes on to what follows it."""
        container, key = self.stack[-1]
        if isinstance(container, dict):
            container[key] = value
        else:
            container.append(value)
        self._skip()
        char = self._peek()
        if char == ",":
            self.at += 1
            self._skip()
            if self._peek() in ("}", "]"):
                raise _Stop(self.at, Cause.SYNTAX, "there is a trailing comma before the closing bracket")
            return self._member()
        if char == ("}" if isinstance(container, dict) else "]"):
            return self._close()
        raise self._after_value(container)

    # -- faults -----------------------------------------------------------------------------------------------------

    def _check_start(self) -> None:
        rest = self.text[self.at : self.at + 3]
        if not rest:
            raise _Stop(self.at, Cause.EMPTY, "the text is empty")
        if rest.startswith("\ufeff"):
            raise _Stop(self.at, Cause.SYNTAX, "the text begins with a byte order mark (U+FEFF)")
        if rest == "```":
            raise _Stop(self.at, Cause.FENCED, "the text is wrapped in a Markdown code fence")

    def _trailing(self) -> _Stop:
        if self.text.startswith("```", self.at):
            return _Stop(self.at, Cause.TRAILING_TEXT, "a Markdown code fence follows the JSON value")
        if self._peek() in ("{", "["):
            return _Stop(self.at, Cause.TRAILING_TEXT, "a second JSON value follows the first one")
        if self.last_string >= 0:
            return self._after_string("the end of the text")
        return _Stop(self.at, Cause.TRAILING_TEXT, "text follows the JSON value")

    def _bad_string(self, start: int, error: JSONDecodeError) -> _Stop:
        if error.msg.startswith("Invalid control character"):
            code = ord(self.text[error.pos])
            advice = {9: "\\t", 10: "\\n", 13: "\\r"}.get(code, f"\\u{code:04x}")
            return _Stop(
                error.pos,
                Cause.RAW_CONTROL,
                f"a string holds a raw control character (U+{code:04X}); it has to be written as {advice}",
            )
        if error.msg.startswith("Unterminated string"):
            return _Stop(len(self.text), Cause.TRUNCATED, "the text ends inside a string")
        backslash = self.text.rfind("\\", start, error.pos + 1)
        escape = self.text[backslash : backslash + 2]
        if escape == "\\u" and _CUT_ESCAPE.fullmatch(self.text, backslash + 2):
            return _Stop(len(self.text), Cause.TRUNCATED, "the text ends inside a \\u escape")
        what = "\\u without four hexadecimal digits" if escape == "\\u" else f"{escape}"
        return _Stop(
            backslash,
            Cause.BAD_ESCAPE,
            f"a string holds the invalid escape {what}; a backslash itself has to be written as \\\\",
        )

    def _bad_number(self, match: re.Match[str] | None) -> _Stop:
        rest = self.text[self.at :]
        if rest.startswith(("-I", "-i")):
            return self._bad_word(_WORD)
        end = self.at if match is None else match.end()
        if match is None and rest == "-":
            return _Stop(len(self.text), Cause.TRUNCATED, "the text ends inside a number")
        if match is not None and re.fullmatch(r"\.|\.?[0-9]*[eE][+-]?", self.text[end:]):
            return _Stop(len(self.text), Cause.TRUNCATED, "the text ends inside a number")
        return self._bad_word(_NUMBER_LIKE)

    def _bad_word(self, pattern: re.Pattern[str]) -> _Stop:
        match = pattern.match(self.text, self.at)
        word = match.group()[:40] if match else self._peek()
        if word in _CONSTANTS:
            return _Stop(self.at, Cause.NOT_A_NUMBER, f"{word} is no JSON value; JSON has no such number")
        if word in _PYTHON:
            return _Stop(self.at, Cause.SYNTAX, f"{word} is Python; JSON writes {_PYTHON[word]}")
        if word == "undefined":
            return _Stop(self.at, Cause.SYNTAX, "undefined is JavaScript; JSON writes null")
        if pattern is _NUMBER_LIKE:
            return _Stop(self.at, Cause.NOT_A_NUMBER, f"{word} is no JSON number")
        if any(literal.startswith(word) for literal in _LITERALS) and self.at + len(word) == len(self.text):
            return _Stop(len(self.text), Cause.TRUNCATED, "the text ends inside a literal")
        return _Stop(self.at, Cause.SYNTAX, f"{word} is no JSON value; text has to stand in double quotes")

    def _no_value(self) -> _Stop:
        char = self._peek()
        if not char:
            return self._end()
        if char in "+.":
            return self._bad_word(_NUMBER_LIKE)
        if _WORD.match(self.text, self.at):
            if not self.stack:
                word = self._bad_word(_WORD)
                if word.cause is Cause.SYNTAX and re.search(r"[\[{]", self.text[self.at :]):
                    return _Stop(self.at, Cause.SYNTAX, "other text stands before the JSON value")
                return word
            return self._bad_word(_WORD)
        return self._odd_char("a value")

    def _no_key(self) -> _Stop:
        char = self._peek()
        if not char:
            return self._end()
        if _WORD.match(self.text, self.at) and char != "-":
            return _Stop(self.at, Cause.SYNTAX, "a key has to stand in double quotes")
        return self._odd_char("a key in double quotes")

    def _after_value(self, container: Any) -> _Stop:
        close = "}" if isinstance(container, dict) else "]"
        return self._after_string(f"a comma or {close}")

    def _after_string(self, wanted: str) -> _Stop:
        """What is wrong where a string may have ended too early, at a quote that should have been escaped."""
        char = self._peek()
        if not char:
            return self._end()
        if self.last_string >= 0 and char not in "}]:{[,/#":
            missing_comma = char == '"' and _KEY_AFTER.match(self.text[self.at : self.at + _QUOTE_AHEAD])
            if not missing_comma:
                return _Stop(
                    self.last_string,
                    Cause.UNESCAPED_QUOTE,
                    'a quote inside a string is not escaped (it has to be written as \\"), or a comma is missing',
                )
        return self._odd_char(wanted)

    def _odd_char(self, wanted: str) -> _Stop:
        char = self._peek()
        if char == "'":
            message = "JSON has no single quotes; strings stand in double quotes"
        elif char in "/#":
            message = "JSON has no comments"
        elif char in _TYPOGRAPHIC:
            message = f"{char} is a typographic quote; strings stand in plain double quotes"
        elif char == ",":
            message = f"there is a comma where {wanted} was expected"
        elif char.isprintable() and not char.isspace():
            message = f"{wanted} was expected, not {char}"
        else:
            message = f"{wanted} was expected, not the character U+{ord(char):04X}"
        return _Stop(self.at, Cause.SYNTAX, message)

    def _end(self) -> _Stop:
        depth = len(self.stack)
        what = f"{depth} bracket{'s' if depth != 1 else ''} still open" if depth else "no value"
        return _Stop(len(self.text), Cause.TRUNCATED, f"the text ends with {what}")


_OPEN: Final = object()
