"""JSON text in, values out, and back: strict, exact, bounded. The one reader and writer of the pure layers.

Two kinds of numbers: `"exact"` (integers as `int`, other numbers as `Decimal`; what a double cannot reach, such as
`1e400`, is refused) and `"doubles"` (what JavaScript's `JSON.parse` and `JSON.stringify` do). NaN and Infinity are no
JSON in either. Lone surrogates are kept, and `lone_surrogates` finds them.

Must not go in here: schemas, calls, repairs. How faults are told apart is `json_grammar`'s.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from itertools import accumulate
from typing import Any, Final

from lastcall.contract.json_grammar import (
    JsonFault,
    NumberFault,
    NumberReader,
    Read,
    fault_at,
    pointer_token,
    read_stepwise,
)
from lastcall.contract.json_writing import SURROGATE, Numbers, write_json
from lastcall.nouns.json import JsonValue
from lastcall.nouns.tools import UnreadableCause

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "JsonFault",
    "Numbers",
    "Read",
    "excerpt",
    "has_lone_surrogates",
    "lone_surrogates",
    "nesting",
    "pointer_token",
    "read_json",
    "write_json",
]

MAX_DEPTH: Final = 200
MAX_BYTES: Final = 10 * 1024 * 1024
MAX_DIGITS: Final = 10_000
"""Digits of one number. Conversion of a decimal integer is not linear; this keeps ten million of them near a second."""

_SCANNER_DEPTH: Final = 200
"""Up to here the standard library's recursive scanner and encoder are used; beyond, loops."""
_INT_DIGITS: Final = 4_000
"""Python refuses to convert longer texts at once."""
_MAX_SAFE: Final = 2**53
_LARGEST: Final = Decimal("1.7976931348623157e308")
_SMALLEST_EXPONENT: Final = -10_000

# -- numbers --------------------------------------------------------------------------------------------------------


def _integer(text: str) -> int:
    if len(text) <= _INT_DIGITS:
        return int(text)
    if len(text) > MAX_DIGITS:
        raise NumberFault(f"the number has {len(text)} digits; at most {MAX_DIGITS} are taken")
    return -_digits(text[1:]) if text[0] == "-" else _digits(text)


def _digits(text: str) -> int:
    if len(text) <= _INT_DIGITS:
        return int(text)
    low = len(text) // 2
    power: int = 10**low
    return _digits(text[:-low]) * power + _digits(text[-low:])


def _fraction(text: str) -> Decimal:
    if len(text) < 100 and "e" not in text and "E" not in text:
        return Decimal(text)
    if len(text) > MAX_DIGITS:
        raise NumberFault(f"the number has {len(text)} digits; at most {MAX_DIGITS} are taken")
    mantissa, _, exponent = text.lower().partition("e")
    if len(exponent) > 8:
        raise NumberFault("the number is out of range")
    value = Decimal(text)
    if abs(value) > _LARGEST:
        raise NumberFault("the number is out of range (larger than 1.8e308)")
    if mantissa.strip("-0.") and value.adjusted() < _SMALLEST_EXPONENT:
        raise NumberFault("the number is out of range (closer to zero than 1e-10000)")
    return value


def _double_integer(text: str) -> int | float:
    if len(text) < 16:
        return int(text)
    value = float(text)
    return int(value) if abs(value) <= _MAX_SAFE else value


def _no_constant(text: str) -> JsonValue:
    raise NumberFault(text)


class _DuplicateKey(Exception):  # noqa: N818 -- a signal to the slow reader, not an error
    pass


def _unique(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _DuplicateKey
    return members


_READERS: Final[dict[str, tuple[NumberReader, NumberReader]]] = {
    "exact": (_integer, _fraction),
    "doubles": (_double_integer, float),
}
_SCANNERS: Final = {
    numbers: json.JSONDecoder(
        parse_int=integer, parse_float=fraction, parse_constant=_no_constant, object_pairs_hook=_unique
    )
    for numbers, (integer, fraction) in _READERS.items()
}

# -- reading --------------------------------------------------------------------------------------------------------

_NOT_BRACKETS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[^\[\]{}"]+', re.DOTALL)
_STEP: Final = {"{": 1, "[": 1, "}": -1, "]": -1}


def nesting(text: str, enough: int) -> int:
    """How deep a JSON text nests; a number up to `enough` may be only an upper bound. Linear, no recursion."""
    bound = text.count("{") + text.count("[")
    if bound <= enough:
        return bound
    brackets = _NOT_BRACKETS.sub("", text)
    return max(accumulate(map(_STEP.__getitem__, brackets)), default=0)


def read_json(
    text: str, *, numbers: Numbers, max_depth: int = MAX_DEPTH, max_bytes: int = MAX_BYTES
) -> Read | JsonFault:
    """The value of a JSON text, or why it cannot be read.

    `max_bytes` bounds the UTF-8 length; `max_depth` counts containers inside each other and is checked before reading.
    """
    if len(text) > max_bytes or (not text.isascii() and _utf8_length(text) > max_bytes):
        return fault_at(text, max_bytes, UnreadableCause.TOO_LONG, f"the text is longer than {max_bytes} bytes")
    depth = nesting(text, min(max_depth, _SCANNER_DEPTH))
    if depth > max_depth:
        offset = _too_deep_at(text, max_depth)
        return fault_at(text, offset, UnreadableCause.TOO_DEEP, f"the text nests deeper than {max_depth} levels")
    if depth <= _SCANNER_DEPTH:
        try:
            return Read(_SCANNERS[numbers].decode(text))
        except (ValueError, RecursionError, _DuplicateKey):
            pass  # the slow reader says what is wrong and where
    integer, fraction = _READERS[numbers]
    return read_stepwise(text, integer=integer, fraction=fraction)


def _utf8_length(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


_STRING_OR_BRACKET = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)


def _too_deep_at(text: str, max_depth: int) -> int:
    marks = _STRING_OR_BRACKET.finditer(text)
    depth = 0
    for mark in marks:  # pragma: no branch -- the caller measured it
        depth += _STEP.get(mark.group(), 0)
        if depth > max_depth:
            break
    return mark.start()


def excerpt(text: str, offset: int, *, around: int = 20) -> str:
    """The characters around a place on one line, control characters written out, `…` where it was cut."""
    start, end = max(0, offset - around), min(len(text), offset + around)
    shown = "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text[start:end])
    return f"{'…' if start else ''}{shown}{'…' if end < len(text) else ''}"


# -- surrogates -----------------------------------------------------------------------------------------------------


def has_lone_surrogates(text: str) -> bool:
    """Whether a string holds half a pair, which no UTF-8 can carry."""
    return not text.isascii() and SURROGATE.search(text) is not None


def lone_surrogates(value: JsonValue) -> tuple[str, ...]:
    """The JSON Pointers of strings and keys that hold half a pair, in document order."""
    found: list[str] = []
    todo: list[tuple[str, Any]] = [("", value)]
    while todo:
        path, node = todo.pop()
        if isinstance(node, str):
            if has_lone_surrogates(node):
                found.append(path)
        elif isinstance(node, dict):
            for key, member in reversed(node.items()):
                place = f"{path}/{pointer_token(key)}"
                todo += ((place, member), (place, key))
        elif isinstance(node, list):
            todo.extend((f"{path}/{index}", node[index]) for index in range(len(node) - 1, -1, -1))
    return tuple(dict.fromkeys(found))
