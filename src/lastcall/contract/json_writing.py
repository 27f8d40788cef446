"""JSON values written as text: minified, exact or as JavaScript prints them, without recursion.

Must not go in here: reading (`json_text`), pretty printing.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any, Final, Literal

from lastcall.errors import LastcallBug
from lastcall.nouns.json import JsonValue

Numbers = Literal["exact", "doubles"]

SURROGATE: Final = re.compile("[\ud800-\udfff]")
_ENCODER_DEPTH: Final = 200
"""Up to here the standard library's recursive encoder is used; beyond, a loop."""
_INT_DIGITS: Final = 4_000
"""Python refuses to print longer integers."""
_MAX_SAFE: Final = 2**53

_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":"))
_ARRAY_INDEX_DIGITS: Final = 10
_MAX_ARRAY_INDEX: Final = 2**32 - 2
_MAX_WRITE_DEPTH: Final = 100_000


def write_json(value: JsonValue, *, numbers: Numbers) -> str:
    """The value as minified JSON text, ready for UTF-8 (half pairs are escaped).

    `"exact"` keeps the order of keys and every digit; `"doubles"` prints as `JSON.stringify` does: numbers as doubles,
    integer-like keys first in ascending order, NaN and Infinity as `null`. Raises `LastcallBug` for what is no JSON
    value.
    """
    text = _ENCODER.encode(value) if _is_plain(value, numbers) else _write(value, numbers)
    if not text.isascii() and SURROGATE.search(text):
        return SURROGATE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
    return text


def _is_plain(value: JsonValue, numbers: Numbers) -> bool:
    """Whether the standard encoder writes this value as we want it, without trouble."""
    level: list[Any] = [value]
    for _ in range(_ENCODER_DEPTH):
        below: list[Any] = []
        for node in level:
            kind = type(node)
            if kind is dict:
                if not all(type(key) is str for key in node) or (numbers == "doubles" and _has_index(node)):
                    return False
                below.extend(node.values())
            elif kind is list:
                below.extend(node)
            elif kind is int:
                if not -_MAX_SAFE <= node <= _MAX_SAFE:
                    return False
            elif kind is not str and kind is not bool and node is not None:
                return False
        if not below:
            return True
        level = below
    return False


def _has_index(members: dict[str, Any]) -> bool:
    return any(_array_index(key) is not None for key in members)


def _array_index(key: str) -> int | None:
    """The number that JavaScript takes this key for, if any."""
    if not key.isascii() or not key.isdigit() or len(key) > _ARRAY_INDEX_DIGITS or (key[0] == "0" and key != "0"):
        return None
    index = int(key)
    return index if index <= _MAX_ARRAY_INDEX else None


def in_javascript_order(members: dict[str, Any]) -> list[str]:
    """The keys as a JavaScript object lists them: integer-like ones first, ascending, then as written."""
    indexes = sorted((key for key in members if _array_index(key) is not None), key=int)
    if not indexes:
        return list(members)
    return indexes + [key for key in members if _array_index(key) is None]


def _write(value: JsonValue, numbers: Numbers) -> str:
    """Writes with a stack of open iterators instead of recursion."""
    out: list[str] = []
    stack: list[tuple[Any, str]] = []
    _open(value, numbers, out, stack)
    while stack:
        members, close = stack[-1]
        member = next(members, None)
        if member is None:
            stack.pop()
            out.append(close)
            continue
        prefix, node = member
        out.append(prefix)
        _open(node, numbers, out, stack)
        if len(stack) > _MAX_WRITE_DEPTH:
            raise LastcallBug("a value nests without end")
    return "".join(out)


def _open(node: Any, numbers: Numbers, out: list[str], stack: list[tuple[Any, str]]) -> None:
    if isinstance(node, dict):
        keys = in_javascript_order(node) if numbers == "doubles" else list(node)
        out.append("{")
        stack.append((iter(_members(node, keys)), "}"))
    elif isinstance(node, (list, tuple)):
        out.append("[")
        stack.append((iter([("," if index else "", item) for index, item in enumerate(node)]), "]"))
    else:
        out.append(_scalar(node, numbers))


def _members(node: dict[str, Any], keys: list[str]) -> list[tuple[str, Any]]:
    if not all(isinstance(key, str) for key in keys):
        raise LastcallBug("a key of a JSON object is no string")
    return [(f"{',' if index else ''}{encode_basestring(key)}:", node[key]) for index, key in enumerate(keys)]


def _scalar(node: Any, numbers: Numbers) -> str:
    if isinstance(node, str):
        return str(encode_basestring(node))
    if node is None:
        return "null"
    if isinstance(node, bool):
        return "true" if node else "false"
    if isinstance(node, (int, float, Decimal)):
        return _double(_as_float(node)) if numbers == "doubles" else _exact(node)
    raise LastcallBug(f"{type(node).__name__} is no JSON value")


def _exact(number: float | Decimal) -> str:
    if isinstance(number, int):
        return str(number) if abs(number) < 10**_INT_DIGITS else str(Decimal(number))
    if number != number or number in (float("inf"), float("-inf")):  # noqa: PLR0124 -- NaN of either type
        raise LastcallBug("NaN and Infinity are no JSON values")
    return repr(number) if isinstance(number, float) else str(number)


def _as_float(number: float | Decimal) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf")


def _double(number: float) -> str:
    """A double as ECMAScript's Number::toString prints it (ECMA-262, 6.1.6.1.20)."""
    if number == 0:
        return "0"
    if number != number or number in (float("inf"), float("-inf")):  # noqa: PLR0124 -- NaN
        return "null"
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    assert isinstance(exponent, int)
    shown = "".join(map(str, digits))
    point = len(shown) + exponent
    if 0 < point <= 21:
        text = shown.ljust(point, "0") if point >= len(shown) else f"{shown[:point]}.{shown[point:]}"
    elif -6 < point <= 0:
        text = "0." + "0" * -point + shown
    else:
        mantissa = shown if len(shown) == 1 else f"{shown[0]}.{shown[1:]}"
        text = f"{mantissa}e{point - 1:+d}"
    return f"-{text}" if sign else text
