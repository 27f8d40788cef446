"""Equality of JSON values, and the order of keys."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastcall.contract.arithmetic import DOUBLES, EXACT
from lastcall.contract.equality import Interned, is_index, js_order, scalar_key

scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b", "1"])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(values, values)
def test_values_are_equal_exactly_when_their_sorted_json_is(left: Any, right: Any) -> None:
    interned = Interned(EXACT)
    number = interned.add(left)
    same = json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)
    assert (interned.number_of(right) == number) is same


def test_numbers_are_compared_by_value_and_never_equal_booleans() -> None:
    interned = Interned(EXACT)
    one = interned.add([1])
    assert interned.number_of([1.0]) == one
    assert interned.number_of([Decimal("1.00")]) == one
    assert interned.number_of([True]) is None
    assert interned.number_of([2**53 + 1]) is None


def test_as_doubles_large_integers_collapse() -> None:
    interned = Interned(DOUBLES)
    assert interned.add([2**53]) == interned.add([2**53 + 1])


def test_a_value_of_which_a_part_is_unknown_is_not_found() -> None:
    interned = Interned(EXACT)
    interned.add({"a": [1, {"b": 2}]})
    assert interned.number_of({"a": [1, {"b": 3}]}) is None
    assert interned.number_of({"a": {"b": 2}}) is None
    assert interned.number_of({"b": 2}) is not None
    assert interned.number_of("z") is None


def test_values_of_any_depth_are_compared() -> None:
    left: Any = 0
    right: Any = 0
    for _ in range(100_000):
        left, right = [left], [right]
    interned = Interned(EXACT)
    assert interned.add(left) == interned.add(right)


def test_what_is_no_json_value_equals_nothing() -> None:
    assert scalar_key(b"x", EXACT) != scalar_key(b"y", EXACT)
    assert scalar_key(float("nan"), EXACT) != scalar_key(float("inf"), EXACT)
    assert scalar_key(Decimal("sNaN"), EXACT) != scalar_key(None, EXACT)


@pytest.mark.parametrize(
    ("key", "index"),
    [
        ("0", True),
        ("10", True),
        ("4294967294", True),
        ("4294967295", False),
        ("01", False),
        ("-1", False),
        ("1a", False),
        ("1.5", False),
        ("٣", False),
        ("1٣", False),
        ("", False),
        ("a", False),
    ],
)
def test_only_canonical_array_indices_are_listed_first(key: str, index: bool) -> None:
    assert is_index(key) is index


def test_keys_come_as_javascript_lists_them() -> None:
    assert js_order(["b", "10", "a", "2", "01"]) == ["2", "10", "b", "a", "01"]
    assert js_order(["b", "a"]) == ["b", "a"]
