"""When two JSON values are equal, and the order in which JavaScript lists an object's keys.

Values are compared by interning: every distinct part gets a small number, so that a value of any depth and size is
compared without recursion and in linear time. Must not go in here: keywords.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Final

from lastcall.contract.arithmetic import Arithmetic

_ABSENT: Final = -1

_LARGEST_INDEX: Final = "4294967294"
"""The largest array index of JavaScript; a key up to it counts as an integer."""


class Interned:
    """A set of JSON values in which members are found by value.

    Mutable while it is filled (`add`), then only asked (`number_of`). Numbers are compared as `arithmetic` reads them,
    booleans and numbers are never equal, the order of keys plays no part.
    """

    __slots__ = ("_arithmetic", "_numbers")

    def __init__(self, arithmetic: Arithmetic) -> None:
        self._arithmetic = arithmetic
        self._numbers: dict[Hashable, int] = {}

    def add(self, value: Any) -> int:
        """The number of this value, given to it now if it is new."""
        return self._intern(value, grow=True)

    def number_of(self, value: Any) -> int | None:
        """The number of this value, `None` if no equal one was added."""
        number = self._intern(value, grow=False)
        return None if number == _ABSENT else number

    def _intern(self, value: Any, *, grow: bool) -> int:
        if not isinstance(value, (list, dict)):
            return self._lookup(self._scalar(value), grow=grow)
        # post-order over a stack of our own: (container, iterator over its children, numbers of the children so far)
        stack: list[tuple[Any, Any, list[int]]] = [(value, iter(_children(value)), [])]
        while True:
            container, rest, done = stack[-1]
            for child in rest:
                if isinstance(child, (list, dict)):
                    stack.append((child, iter(_children(child)), []))
                    break
                number = self._lookup(self._scalar(child), grow=grow)
                if number == _ABSENT:
                    return _ABSENT
                done.append(number)
            else:
                stack.pop()
                number = self._lookup(_shape(container, done), grow=grow)
                if number == _ABSENT or not stack:
                    return number
                stack[-1][2].append(number)

    def _lookup(self, key: Hashable, *, grow: bool) -> int:
        if grow:
            return self._numbers.setdefault(key, len(self._numbers))
        return self._numbers.get(key, _ABSENT)

    def _scalar(self, value: Any) -> Hashable:
        return scalar_key(value, self._arithmetic)


def scalar_key(value: Any, arithmetic: Arithmetic) -> Hashable:
    """A key that is equal for equal scalars: strings and numbers stand for themselves, the rest is marked."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return ("literal", value)
    if isinstance(value, (int, float)) or type(value) in arithmetic.may_be_infinite:
        return arithmetic.read(value) if arithmetic.is_number(value) else ("odd", id(value))
    return ("foreign", id(value))


def _children(container: list[Any] | dict[str, Any]) -> Iterable[Any]:
    return container if isinstance(container, list) else container.values()


def _shape(container: list[Any] | dict[str, Any], numbers: list[int]) -> Hashable:
    if isinstance(container, list):
        return ("array", *numbers)
    return frozenset(zip(container, numbers, strict=True))


# -- the order of keys ----------------------------------------------------------------------------------------------


def is_index(key: str) -> bool:
    """Whether JavaScript lists this key among the integers: canonical decimal digits up to 2^32 - 2."""
    if not ("0" <= key[:1] <= "9") or not (key.isascii() and key.isdigit()) or (key[0] == "0" and len(key) > 1):
        return False
    return (len(key), key) <= (len(_LARGEST_INDEX), _LARGEST_INDEX)


def js_order(keys: Iterable[str]) -> list[str]:
    """The keys as JavaScript lists them: integers first, ascending, then the others as they came."""
    plain: list[str] = []
    indices: list[str] = []
    for key in keys:
        (indices if is_index(key) else plain).append(key)
    if not indices:
        return plain
    indices.sort(key=lambda key: (len(key), key))
    return indices + plain
