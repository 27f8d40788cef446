"""Keywords for arrays."""

from __future__ import annotations

from typing import Any

import pytest

from keyword_tools import params, problems
from lastcall.contract.dialects import DRAFT_07, DRAFT_2019_09, DRAFT_2020_12, REFERENCE

DEFS = {"deep": {"type": "array", "items": {"$ref": "#/$defs/deep"}}}
DEEP = {"$ref": "#/$defs/deep"}


def test_numbers_of_items() -> None:
    assert problems({"maxItems": 1}, [1, 2]) == [" must NOT have more than 1 items"]
    assert problems({"minItems": 1}, []) == [" must NOT have fewer than 1 items"]
    assert problems({"minItems": 1, "maxItems": 1}, [1]) == []
    assert params({"maxItems": 1}, [1, 2]) == [("maxItems", {"limit": 1})]
    assert params({"minItems": 1}, []) == [("minItems", {"limit": 1})]


def test_every_item_is_checked() -> None:
    assert problems({"items": {"type": "integer"}}, [1, "a", 2, None]) == ["/1 must be integer", "/3 must be integer"]
    assert problems({"items": False}, [1, 2]) == ["/0 boolean schema is false", "/1 boolean schema is false"]
    assert problems({"items": True}, [1]) == []
    assert problems({"items": DEEP, "$defs": DEFS}, [[[]], [1]]) == ["/1/0 must be array"]


@pytest.mark.parametrize(
    ("schema", "dialect", "keyword"),
    [
        (
            {"items": [{"type": "integer"}, True, {"type": "string"}], "additionalItems": False},
            DRAFT_07,
            "additionalItems",
        ),
        ({"prefixItems": [{"type": "integer"}, True, {"type": "string"}], "items": False}, DRAFT_2020_12, "items"),
    ],
)
def test_a_tuple_has_a_subschema_for_each_place(schema: Any, dialect: Any, keyword: str) -> None:
    assert problems(schema, [1, None, "a"], dialect) == []
    assert problems(schema, [1], dialect) == []
    first = ["/0 must be integer", "/2 must be string"]
    last = [" must NOT have more than 3 items"]
    found = problems(schema, ["a", 1, 2, 3, 4], dialect)
    assert found == (last + first if keyword == "additionalItems" else first + last)
    assert (keyword, {"limit": 3}) in params(schema, ["a", 1, 2, 3], dialect)


def test_the_rest_of_a_tuple_has_a_subschema() -> None:
    assert problems({"prefixItems": [True], "items": {"type": "integer"}}, ["a", "b", 1]) == ["/1 must be integer"]
    assert problems({"items": [True], "additionalItems": {"type": "integer"}}, ["a", "b"], DRAFT_07) == [
        "/1 must be integer"
    ]
    assert problems({"items": {}, "additionalItems": False}, ["a"], DRAFT_07) == []
    assert problems({"additionalItems": False}, ["a"], DRAFT_07) == []
    assert problems({"items": [True, True]}, ["a"], DRAFT_07) == []
    assert problems({"prefixItems": [DEEP, DEEP], "$defs": DEFS}, [[[]], [1]]) == ["/1/0 must be array"]


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({}, [], [" must contain at least 1 valid item(s)"]),
        ({}, [1, "a"], []),
        ({}, [1], ["/0 must be string", " must contain at least 1 valid item(s)"]),
        ({"minContains": 2}, ["a", 1], ["/1 must be string", " must contain at least 2 valid item(s)"]),
        ({"minContains": 2}, ["a", 1, "b", 2], []),
        ({"minContains": 0}, [1], []),
        ({"minContains": 0, "maxContains": 1}, [], []),
        ({"maxContains": 1}, ["a", "b", 1], [" must contain at least 1 and no more than 1 valid item(s)"]),
        ({"minContains": 0, "maxContains": 1}, [1, "a"], []),
        ({"minContains": 3, "maxContains": 1}, ["a"], [" must contain at least 3 and no more than 1 valid item(s)"]),
    ],
)
def test_contains_counts_matching_items(schema: Any, value: list[Any], expected: list[str]) -> None:
    assert problems({"contains": {"type": "string"}, **schema}, value) == expected
    assert problems({"contains": {"type": "string"}, **schema}, value, DRAFT_2019_09) == expected


def test_before_2019_contains_has_no_bounds() -> None:
    assert problems({"contains": {"type": "string"}, "minContains": 2}, ["a"], DRAFT_07) == []
    assert params({"contains": False, "maxContains": 2}, []) == [("contains", {"minContains": 1, "maxContains": 2})]
    assert problems({"contains": DEEP, "$defs": DEFS}, [[1], [[]]]) == []


@pytest.mark.parametrize(
    ("items", "value", "pair"),
    [
        # without scalar types in `items`: the last item that has an equal one before it, and the nearest such one
        ({}, [1, 2, 1, 2], (3, 1)),
        ({}, [1, 1, 1], (2, 1)),
        ({}, [{"a": 1}, [1], {"a": 1.0}], (2, 0)),
        ({}, [1, True, "1", [1], None, 0, False], None),
        (True, ["a", "a"], (1, 0)),
        ({"type": "object"}, [{}, {}], (1, 0)),
        # with scalar types: the last item that has an equal one after it
        ({"type": "integer"}, [1, 2, 1, 2], (1, 3)),
        ({"type": "integer"}, [1.5, 1.5, "a", "a", True, True], None),
        ({"type": "number"}, [1.5, 2, 1.5], (0, 2)),
        ({"type": ["string", "null"]}, ["a", None, "b", None, 1, 1], (1, 3)),
        ({"type": "boolean"}, [True, False, True, [1], [1]], (0, 2)),
        ({"type": "string"}, ["a", "a"], (0, 1)),
    ],
)
def test_equal_items_are_told_as_the_reference_tells_them(
    items: Any, value: list[Any], pair: tuple[int, int] | None
) -> None:
    found = [
        given for keyword, given in params({"uniqueItems": True, "items": items}, value) if keyword == "uniqueItems"
    ]
    assert found == ([] if pair is None else [{"i": pair[0], "j": pair[1]}])


def test_equal_items_are_named_in_the_message() -> None:
    assert problems({"uniqueItems": True}, ["a", "b", "a"]) == [
        " must NOT have duplicate items (items ## 0 and 2 are identical)"
    ]
    assert problems({"uniqueItems": False}, [1, 1]) == []
    assert problems({"uniqueItems": True}, [1]) == []


def test_a_nullable_item_type_counts_in_the_reference() -> None:
    schema = {"uniqueItems": True, "items": {"type": "string", "nullable": True}}
    assert problems(schema, [None, None], REFERENCE) == [
        " must NOT have duplicate items (items ## 1 and 0 are identical)"
    ]


def test_the_references_slip_below_not_and_if() -> None:
    """Recorded from AJV 8.20: a tuple of which no checked place is there ends the array's keywords."""
    inner = {"items": [{"type": "string"}], "contains": {"type": "null"}, "uniqueItems": True}
    assert problems({"not": inner}, [], REFERENCE) == [" must NOT be valid"]
    assert problems({"not": inner}, ["a"], REFERENCE) == []
    assert problems({"not": inner}, [], DRAFT_07) == []
    assert problems({"not": {"items": [True, True], "contains": {"type": "null"}}}, [], REFERENCE) == []
