"""Strings and numbers for samples: by format, by pattern, within bounds.

Must not go in here: arrays, objects, choices among branches.
"""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from lastcall.contract.ecma import BadSyntax, read_pattern
from lastcall.contract.patterns import BadPattern, Pattern, PatternBudget, compile_pattern
from lastcall.contract.sample_terms import NoSample
from lastcall.nouns.json import JsonValue

_MAX_LENGTH: Final = 100_000
_FORMATS: Final[dict[str, str]] = {
    "date-time": "2025-01-{:02d}T09:30:00Z",
    "date": "2025-01-{:02d}",
    "time": "09:30:{:02d}Z",
    "duration": "P{}D",
    "email": "name{}@example.com",
    "idn-email": "name{}@example.com",
    "hostname": "host{}.example.com",
    "idn-hostname": "host{}.example.com",
    "ipv4": "192.0.2.{}",
    "ipv6": "2001:db8::{}",
    "uri": "https://example.com/{}",
    "uri-reference": "/path/{}",
    "iri": "https://example.com/{}",
    "iri-reference": "/path/{}",
    "uuid": "00000000-0000-4000-8000-{:012d}",
    "json-pointer": "/{}",
    "relative-json-pointer": "{}",
    "regex": "^a{{{}}}$",
    "uri-template": "/items/{{id{}}}",
}
_MOST_VARIANTS: Final = 28
"""The days of a month that every month has."""


def text_like(node: dict[str, Any], variant: int) -> str:
    """The n-th string that a node's `format`, `pattern`, `minLength` and `maxLength` ask for."""
    least, most = int(node.get("minLength", 0)), int(node.get("maxLength", _MAX_LENGTH))
    if least > _MAX_LENGTH:
        raise NoSample
    shape = _FORMATS.get(str(node.get("format")))
    if shape is not None and "pattern" not in node:
        if variant >= _MOST_VARIANTS:
            raise NoSample
        return shape.format(variant + 1)
    if "pattern" in node:
        return _by_pattern(str(node["pattern"]), least, most, variant)
    text = "text" if not variant else f"text {variant}"
    if len(text) > most:
        text = _short(variant)
    return text.ljust(least, ".")


def _short(variant: int) -> str:
    """Different texts that are as short as they can be."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    text = "" if not variant else letters[(variant - 1) % 26]
    return text * (1 + (variant - 1) // 26)


def _by_pattern(pattern: str, least: int, most: int, variant: int) -> str:
    try:
        example = read_pattern(pattern).example
    except BadSyntax:
        raise NoSample from None
    if example is None:
        raise NoSample
    shortest = example.text(least)
    text = example.text(len(shortest) + variant)
    if len(text) < least:
        text = next((t for t in (text.ljust(least, "a"), text.rjust(least, "a")) if matches(pattern, t)), text)
    if variant and text == shortest:
        text = _changed(pattern, text, variant)
    if not least <= len(text) <= most or not matches(pattern, text):
        raise NoSample
    return text


def _changed(pattern: str, text: str, variant: int) -> str:
    """Another text of the same length that matches: digits and letters counted on, from the end."""
    found = 0
    for index in range(len(text) - 1, -1, -1):
        for char in "123456789bcdefghijBCDEFGHIJ":
            other = text[:index] + char + text[index + 1 :]
            if other != text and matches(pattern, other):
                found += 1
                if found == variant:
                    return other
    raise NoSample


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Pattern:
    return compile_pattern(pattern)


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern is found in a text; a pattern that cannot be searched ends the try."""
    try:
        return _compiled(pattern).search(text)
    except (BadPattern, PatternBudget):
        raise NoSample from None


def number_between(node: dict[str, Any], variant: int, *, whole: bool) -> JsonValue:
    """The n-th number that a node's bounds and `multipleOf` allow, near zero or the lower bound."""
    step = Decimal(str(node.get("multipleOf", 1 if whole else "0.5" if _is_narrow(node) else 1)))
    low, high = _low(node, step), _high(node)
    start = low if low is not None and low > 0 else Decimal(0)
    if high is not None and start > high:
        start = high if low is None else low
    aligned = (start / step).to_integral_value(rounding="ROUND_CEILING" if low is not None else "ROUND_FLOOR") * step
    value = aligned + step * variant
    if high is not None and value > high:
        value = aligned - step * variant
    if whole and value != value.to_integral_value():
        raise NoSample
    return int(value) if value == value.to_integral_value() else value


def _is_narrow(node: dict[str, Any]) -> bool:
    low, high = node.get("minimum", node.get("exclusiveMinimum")), node.get("maximum", node.get("exclusiveMaximum"))
    return low is not None and high is not None and high - low <= 1


def _low(node: dict[str, Any], step: Decimal) -> Decimal | None:
    bounds = [Decimal(str(node["minimum"]))] if "minimum" in node else []
    if "exclusiveMinimum" in node:
        edge = Decimal(str(node["exclusiveMinimum"]))
        bounds.append(edge + step if (edge / step) == (edge / step).to_integral_value() else edge)
    return max(bounds, default=None)


def _high(node: dict[str, Any]) -> Decimal | None:
    bounds = [Decimal(str(node["maximum"]))] if "maximum" in node else []
    if "exclusiveMaximum" in node:
        bounds.append(Decimal(str(node["exclusiveMaximum"])).next_minus())
    return min(bounds, default=None)
