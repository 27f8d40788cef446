"""The words of the reference's JSON parser (JavaScriptCore's) for a text that is no JSON. Compat only.

The parser's messages depend on which token it meets in which state; this walks a text in the same states. Five messages
were recorded; the others follow the engine's published rules.

Must not go in here: reading values. Whether a text is JSON is decided by `json_text`.
"""

from __future__ import annotations

import re
from typing import Final

UNPARSABLE: Final = "Unable to parse JSON string"

_SPACE = re.compile(r"[ \t\r\n]*")
_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_SAFE = re.compile(r'[^"\\\x00-\x1f]*')
_HEX = re.compile(r"u[0-9A-Fa-f]{4}")
_PUNCTUATION: Final = "[]{}:,().=;"
_LITERALS: Final = frozenset({"true", "false", "null"})
_EXPONENT: Final = "Exponent symbols should be followed by an optional '+' or '-' and then by at least one number"
_COLON: Final = "Expected ':' before value in object property definition"


class _Stop(Exception):  # noqa: N818 -- carries the words out of the lexer
    pass


def parse_error(text: str) -> str:
    """What `JSON.parse` says of a text that is no JSON, without its prefix `JSON Parse error: `."""
    lexer = _Lexer(text)
    try:
        return _walk(lexer)
    except _Stop as stop:
        return str(stop)


class _Lexer:
    """Tokens: a punctuation mark, `"` for a string, `0` for a number, `t` for a literal, `a` for an identifier, `""`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.word = ""

    def next(self) -> str:
        self.at = self._match(_SPACE).end()
        char = self.text[self.at : self.at + 1]
        if not char or char in _PUNCTUATION:
            self.at += len(char)
            return char
        if char == '"':
            self._string()
            return '"'
        if char in "-0123456789":
            self._number()
            return "0"
        if char == "'":
            raise _Stop("Single quotes (') are not allowed in JSON")
        word = _IDENTIFIER.match(self.text, self.at)
        if word is None:
            raise _Stop(f"Unrecognized token '{char}'")
        self.at, self.word = word.end(), word.group()
        return "t" if self.word in _LITERALS else "a"

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        match = pattern.match(self.text, self.at)
        assert match is not None
        return match

    def _string(self) -> None:
        self.at += 1
        while True:
            self.at = self._match(_SAFE).end()
            char = self.text[self.at : self.at + 1]
            self.at += 1
            if char == '"':
                return
            if char != "\\" or self.at >= len(self.text):
                raise _Stop("Unterminated string")
            self._escape()

    def _escape(self) -> None:
        char = self.text[self.at]
        if char == "u":
            if len(self.text) - self.at < 5:
                raise _Stop("\\u must be followed by 4 hex digits")
            if not _HEX.match(self.text, self.at):
                raise _Stop(f'"\\{self.text[self.at : self.at + 5]}" is not a valid unicode escape')
        elif char not in '"\\/bfnrt':
            raise _Stop(f"Invalid escape character {char}")
        self.at += 1

    def _number(self) -> None:
        if self.text[self.at] == "-":
            self.at += 1
        if self.text.startswith("0", self.at):
            self.at += 1
        else:
            self._digits("Invalid number")
        if self.text.startswith(".", self.at):
            self.at += 1
            self._digits("Invalid digits after decimal point")
        if self.text[self.at : self.at + 1] in ("e", "E"):
            self.at += 1
            if self.text[self.at : self.at + 1] in ("+", "-"):
                self.at += 1
            self._digits(_EXPONENT)

    def _digits(self, otherwise: str) -> None:
        start = self.at
        while self.text[self.at : self.at + 1] in tuple("0123456789"):
            self.at += 1
        if self.at == start:
            raise _Stop(otherwise)


def _walk(lexer: _Lexer) -> str:
    """Follows the parser's states; every way out is a message."""
    stack: list[str] = []
    found = lexer.next()
    while True:
        if found == "{":
            found = lexer.next()
            if found == '"':
                stack.append("}")
                found = _colon(lexer)
                continue
            if found != "}":
                return "Expected '}'"
        elif found == "[":
            found = lexer.next()
            if found != "]":
                stack.append("]")
                continue
        elif found not in ('"', "0", "t"):
            return _no_value(found, lexer.word)
        found = _after_value(lexer, stack)
        if not found:
            return UNPARSABLE


def _colon(lexer: _Lexer) -> str:
    """The first found of a property's value."""
    if lexer.next() != ":":
        raise _Stop(_COLON)
    return lexer.next()


def _after_value(lexer: _Lexer, stack: list[str]) -> str:
    """The first found of the next value, closing what closes; `""` after the whole."""
    while stack:
        found = lexer.next()
        if found == stack[-1]:
            stack.pop()
        elif found != ",":
            raise _Stop(f"Expected '{stack[-1]}'")
        elif stack[-1] == "]":
            found = lexer.next()
            if found == "]":
                raise _Stop("Unexpected comma at the end of array expression")
            return found
        elif lexer.next() != '"':
            raise _Stop("Property name must be a string literal")
        else:
            return _colon(lexer)
    lexer.next()
    return ""


def _no_value(found: str, word: str) -> str:
    if not found:
        return "Unexpected EOF"
    return f'Unexpected identifier "{word}"' if found == "a" else f"Unexpected token '{found}'"
