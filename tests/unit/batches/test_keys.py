"""Names of rows, and sets of them."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastcall.batches.keys import KeySet, Naming, content_key
from lastcall.batches.rows import BadRow, Row


def keys_of(rows: list[Any], column: str | None = None) -> list[str]:
    naming = Naming(column)
    return [row.key for row in naming.named(Row(n, values) for n, values in enumerate(rows, 1))]


@settings(max_examples=50)
@given(st.lists(st.text()))
def test_a_key_set_is_a_set(keys: list[str]) -> None:
    subject, truth = KeySet(), set[str]()
    for key in keys:
        assert subject.add(key) is (key not in truth)
        truth.add(key)
    assert len(subject) == len(truth)
    assert all(key in subject for key in truth)
    assert "no such key" not in subject or "no such key" in truth


def test_a_key_set_keeps_ten_thousand_keys_in_less_than_a_megabyte() -> None:
    subject = KeySet()
    for number in range(10_000):
        assert subject.add(f"key {number}")
    assert not subject.add("key 5000")
    assert len(subject) == 10_000
    assert len(subject._slots) * 8 < 1_000_000


def test_a_row_is_named_by_its_content_whatever_the_order_of_its_columns() -> None:
    first, second, third = keys_of([{"a": 1, "b": "x"}, {"b": "y", "a": 1}, {"b": {"d": 1, "c": 2}}])
    assert len({first, second, third}) == 3
    assert content_key({"b": "x", "a": 1}) == first
    assert content_key({"b": {"c": 2, "d": 1}}) == third


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": "1"}, {"a": 1}),
        ({"a": None}, {}),
        ({"a": True}, {"a": 1}),
        ({"a": Decimal("1.50")}, {"a": Decimal("1.51")}),
        ({"a": date(2026, 1, 1)}, {"a": date(2026, 1, 2)}),
        ({"a": ["b", "c"]}, {"a": "bc"}),
        ({"a": b"x"}, {"a": b"y"}),
    ],
)
def test_rows_that_differ_have_different_names(one: Any, other: Any) -> None:
    assert content_key(one) != content_key(other)


def test_a_row_is_named_by_its_column_if_asked() -> None:
    assert keys_of([{"id": "x7", "t": 1}, {"id": 12}], "id") == ["x7", "12"]


def test_rows_of_one_name_each_get_one_of_their_own_and_are_counted() -> None:
    naming = Naming("id")
    given_ids = ["a", "b", "a", "a#2", "a", "b"]
    named = [naming.name(Row(n, {"id": i})).key for n, i in enumerate(given_ids, 1)]
    assert named == ["a", "b", "a#2", "a#2#2", "a#3", "b#2"]
    assert len(set(named)) == 6
    assert naming.repeated == 4
    assert naming.examples == ["row 3 (a)", "row 4 (a#2)", "row 5 (a)"]


@pytest.mark.parametrize("value", [None, "", "  ", True, 1.5, [], {}, "x" * 1001])
def test_a_row_whose_key_column_holds_no_name_cannot_be_used(value: Any) -> None:
    row = Naming("id").name(Row(3, {"id": value}))
    assert isinstance(row, BadRow)
    assert "'id'" in row.problem
    assert row.key == "#3"


def test_a_row_that_cannot_be_used_keeps_its_number_as_its_name() -> None:
    bad = BadRow(4, "no JSON")
    assert Naming(None).name(bad) is bad
    assert bad.key == "#4"
