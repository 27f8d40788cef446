"""`unevaluatedProperties` and `unevaluatedItems`, by the specification."""

from __future__ import annotations

from typing import Any

import pytest

from keyword_tools import params, problems
from lastcall.contract.dialects import DRAFT_2019_09

NAMES = [
    ({}, {"a": 1}, ["a"]),
    ({"properties": {"a": {}}}, {"a": 1, "b": 1}, ["b"]),
    ({"patternProperties": {"^a": {}}}, {"ab": 1, "b": 1}, ["b"]),
    ({"additionalProperties": {}}, {"a": 1}, []),
    ({"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}, {"a": 1, "b": 1, "c": 1}, ["c"]),
    ({"anyOf": [{"properties": {"a": {"type": "null"}}}, {"properties": {"b": {}}}]}, {"a": 1, "b": 1}, ["a"]),
    ({"oneOf": [{"properties": {"a": {"type": "null"}}}, {"properties": {"b": {}}}]}, {"a": 1, "b": 1}, ["a"]),
    ({"not": {"not": {"properties": {"a": {}}}}}, {"a": 1}, ["a"]),
    ({"if": {"properties": {"a": {}}}, "then": {"properties": {"b": {}}}}, {"a": 1, "b": 1, "c": 1}, ["c"]),
    ({"if": {"required": ["z"], "properties": {"a": {}}}, "else": {"properties": {"b": {}}}}, {"a": 1, "b": 1}, ["a"]),
    ({"if": {"required": ["z"]}, "then": {"properties": {"a": {}}}}, {"a": 1}, ["a"]),
    ({"dependentSchemas": {"a": {"properties": {"b": {}}}}}, {"b": 1}, ["b"]),
    ({"dependentSchemas": {"a": {"properties": {"a": {}, "b": {}}}}}, {"a": 1, "b": 1}, []),
    ({"dependencies": {"a": {"properties": {"a": {}}}, "x": ["a"]}}, {"a": 1}, []),
    ({"$ref": "#/$defs/d", "$defs": {"d": {"properties": {"a": {}}}}}, {"a": 1, "b": 1}, ["b"]),
    ({"allOf": [{"unevaluatedProperties": {}}]}, {"a": 1}, []),
    ({"allOf": [True]}, {"10": 1, "b": 1, "2": 1}, ["2", "10", "b"]),
    ({"$dynamicRef": "#d", "$defs": {"d": {"$dynamicAnchor": "d", "properties": {"a": {}}}}}, {"a": 1}, []),
]


@pytest.mark.parametrize(("schema", "value", "left"), NAMES)
def test_properties_that_nothing_has_looked_at(schema: Any, value: Any, left: list[str]) -> None:
    found = [
        given
        for keyword, given in params({**schema, "unevaluatedProperties": False}, value)
        if keyword.startswith("un")
    ]
    assert found == [{"unevaluatedProperty": name} for name in left]
    checked = problems({**schema, "unevaluatedProperties": {"type": "null"}}, value)
    assert [line for line in checked if line.endswith("must be null")] == [f"/{name} must be null" for name in left]
    assert problems({**schema, "unevaluatedProperties": True}, value) == problems(schema, value)


ITEMS = [
    ({}, [1], [0]),
    ({"prefixItems": [True]}, [1, 2], [1]),
    ({"prefixItems": [True, True]}, [1], []),
    ({"items": {}}, [1, 2], []),
    ({"contains": {"type": "string"}}, ["a", 1, "b"], [1]),
    ({"contains": {"type": "string"}, "minContains": 0}, [1], [0]),
    ({"allOf": [{"prefixItems": [True]}, {"unevaluatedItems": True}]}, [1, 2], []),
    ({"anyOf": [{"prefixItems": [{"type": "null"}]}, True]}, [1], [0]),
    ({"if": {"prefixItems": [{"const": 1}]}, "then": {"prefixItems": [True, True]}}, [1, 2, 3], [2]),
]


@pytest.mark.parametrize(("schema", "value", "left"), ITEMS)
def test_items_that_nothing_has_looked_at(schema: Any, value: Any, left: list[int]) -> None:
    found = params({**schema, "unevaluatedItems": False}, value)
    assert found == ([("unevaluatedItems", {"limit": left[0]})] if left else [])
    checked = problems({**schema, "unevaluatedItems": {"const": "z"}}, value)
    assert checked == [f"/{index} must be equal to constant" for index in left]
    assert problems({**schema, "unevaluatedItems": {}}, value) == []


def test_in_2019_09_tuples_count_and_contains_does_not() -> None:
    schema = {"items": [True], "unevaluatedItems": False}
    assert problems(schema, [1], DRAFT_2019_09) == []
    assert problems(schema, [1, 2], DRAFT_2019_09) == [" must NOT have more than 1 items"]
    assert problems({**schema, "additionalItems": True}, [1, 2], DRAFT_2019_09) == []
    assert problems({"contains": {"type": "string"}, "unevaluatedItems": False}, ["a"], DRAFT_2019_09) == [
        " must NOT have more than 0 items"
    ]


def test_contained_items_may_be_without_bound() -> None:
    schema = {
        "contains": {"$ref": "#/$defs/deep"},
        "unevaluatedItems": False,
        "$defs": {"deep": {"type": "array", "items": {"$ref": "#/$defs/deep"}}},
    }
    assert problems(schema, [[[]], []]) == []
    assert problems(schema, [[[]], 1]) == [" must NOT have more than 1 items"]


def test_subschemas_without_bound_may_hold_and_be_unevaluated() -> None:
    tree = {
        "$ref": "#/$defs/node",
        "$defs": {
            "node": {
                "anyOf": [{"$ref": "#/$defs/leaf"}, {"properties": {"next": {"$ref": "#/$defs/node"}}}],
                "dependentSchemas": {"w": {"$ref": "#/$defs/leaf"}},
                "if": {"$ref": "#/$defs/leaf"},
                "unevaluatedProperties": {"$ref": "#/$defs/node"},
                "unevaluatedItems": {"$ref": "#/$defs/node"},
            },
            "leaf": {"required": ["v"], "properties": {"v": {"contains": {"$ref": "#/$defs/node"}}}},
        },
    }
    assert problems(tree, {"next": {"v": [{}], "w": 1}}) == []
    assert problems(tree, [[{"next": [{}]}]]) == []
    # `v` is looked at by no branch that accepts, and left for `unevaluatedProperties`, which takes it
    assert problems(tree, {"next": {"v": [], "next": 0}}) == []
