"""Keywords for numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from lastcall.contract.checking import At, Check, Fault, Run
from lastcall.nouns.json import JsonValue

if TYPE_CHECKING:
    from lastcall.contract.nodes import Builder, Node

Comparison = Callable[[Any, Any], bool]

_BOUNDS: Final[dict[str, tuple[str, Comparison]]] = {
    "maximum": ("<=", operator.gt),
    "minimum": (">=", operator.lt),
    "exclusiveMaximum": ("<", operator.ge),
    "exclusiveMinimum": (">", operator.le),
}
"""How each bound is written, and what breaks it."""

_FLAGS: Final = {"maximum": "exclusiveMaximum", "minimum": "exclusiveMinimum"}


def _bound(keyword: str) -> Builder:
    def build(node: Node, cls: type) -> Check | None:
        limit = node.schema[keyword]
        sign, breaks = _BOUNDS[keyword]
        if node.dialect.flag_exclusives:
            if keyword not in _FLAGS:
                # draft-04: a flag of the other keyword, which is reported under the name that later dialects give it
                return None
            if node.schema.get(_FLAGS[keyword]) is True:
                sign, breaks = _BOUNDS[_FLAGS[keyword]]
        return _limited(node, cls, (keyword, sign, limit), breaks)

    return build


def _limited(node: Node, cls: type, said: tuple[str, str, JsonValue], breaks: Comparison) -> Check:
    keyword, sign, limit = said
    arithmetic = node.dialect.arithmetic
    fault: Fault = (keyword, f"must be {sign} {arithmetic.text(limit)}", {"comparison": sign, "limit": limit})  # type: ignore[arg-type]
    read_limit = arithmetic.read(limit)  # type: ignore[arg-type]
    reading = arithmetic.readings.get(cls)
    if reading is None:

        def check(value: Any, at: At, run: Run) -> None:
            if breaks(value, read_limit):
                run.errors.append((at, fault))

        return check

    def check_read(value: Any, at: At, run: Run) -> None:
        if breaks(reading(value), read_limit):
            run.errors.append((at, fault))

    return check_read


def _multiple_of(node: Node, _cls: type) -> Check:
    factor = node.schema["multipleOf"]
    arithmetic = node.dialect.arithmetic
    is_multiple = arithmetic.is_multiple
    fault: Fault = ("multipleOf", f"must be multiple of {arithmetic.text(factor)}", {"multipleOf": factor})  # type: ignore[arg-type]

    def check(value: Any, at: At, run: Run) -> None:
        if not is_multiple(value, factor):  # type: ignore[arg-type]
            run.errors.append((at, fault))

    return check


BUILDERS: Final[dict[str, Builder]] = {keyword: _bound(keyword) for keyword in _BOUNDS} | {"multipleOf": _multiple_of}
