"""Nodes: what is built, when, and for which values."""

from __future__ import annotations

from collections import OrderedDict
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Any

import pytest

from lastcall.contract import budgets
from lastcall.contract.checking import Run, drive, pointer
from lastcall.contract.dialects import DRAFT_04, DRAFT_07, DRAFT_2019_09, DRAFT_2020_12, REFERENCE, SchemaDialect
from lastcall.contract.nodes import NO_KIND, Space, has_keywords_for, kind_of, types_of
from lastcall.errors import SchemaTooBig


def errors(schema: Any, value: Any, dialect: SchemaDialect = DRAFT_2020_12) -> list[str]:
    space = Space(schema, dialect, assert_formats=True)
    run = Run(10**6, str)
    drive(space.root.enter(value, None, run), run, 10**4)
    return [f"{pointer(at)} {message}" for at, (_, message, _) in run.errors]


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    ONE = 1


@pytest.mark.parametrize(
    ("cls", "kind"),
    [
        (bool, "boolean"),
        (int, "number"),
        (float, "number"),
        (Decimal, "number"),
        (str, "string"),
        (list, "array"),
        (dict, "object"),
        (type(None), "null"),
        (Colour, "string"),
        (Level, "number"),
        (OrderedDict, "object"),
        (bytes, NO_KIND),
        (tuple, NO_KIND),
    ],
)
def test_each_class_is_of_one_json_type(cls: type, kind: str) -> None:
    assert kind_of(cls) == kind


def test_values_of_subclasses_are_checked_like_their_base() -> None:
    assert errors({"enum": ["red"], "minLength": 3}, Colour.RED) == []
    assert errors({"enum": ["blue"]}, Colour.RED) == [" must be equal to one of the allowed values"]
    assert errors({"const": 1, "type": "integer"}, Level.ONE) == []
    assert errors({"required": ["a"]}, OrderedDict()) == [" must have required property 'a'"]


def test_what_is_no_json_value_fits_no_type_and_passes_where_none_is_asked() -> None:
    assert errors({"type": ["string", "object"]}, b"x") == [" must be string,object"]
    assert errors({"minLength": 5}, b"x") == []
    assert errors({"const": "x"}, b"x") == [" must be equal to constant"]


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), Decimal("NaN"), Decimal("sNaN")])
def test_numbers_that_are_not_finite_are_no_numbers(odd: Any) -> None:
    assert errors({"type": "number", "minimum": 5}, odd) == [" must be number"]
    assert errors({"minimum": 5, "enum": [1], "anyOf": [{"type": "null"}]}, odd) == [
        " must be equal to one of the allowed values",
        " must be null",
        " must match a schema in anyOf",
    ]
    assert errors({"minimum": 5}, odd) == []
    assert errors({}, odd) == []


def test_numbers_are_told_apart_below_references_without_bound_too() -> None:
    schema = {"anyOf": [{"type": "number", "minimum": 2}, {"items": {"$ref": "#"}, "type": "array"}]}
    assert errors(schema, [[2.5], [float("inf")]]) != []
    assert errors(schema, [[2.5], [3.5]]) == []


@pytest.mark.parametrize(
    ("schema", "types"),
    [
        ({}, []),
        ({"type": "string"}, ["string"]),
        ({"type": ["string", "null"]}, ["string", "null"]),
        ({"type": "string", "nullable": True}, ["string", "null"]),
        ({"type": ["null"], "nullable": True}, ["null"]),
        ({"nullable": False, "type": "string"}, ["string"]),
    ],
)
def test_nullable_adds_a_type_in_the_reference(schema: Any, types: list[str]) -> None:
    assert types_of(schema, REFERENCE) == types
    assert "null" not in types_of({"type": "string", "nullable": True}, DRAFT_2020_12)


def test_nullable_is_obeyed_by_the_reference_alone() -> None:
    schema = {"type": "string", "nullable": True}
    assert errors(schema, None, REFERENCE) == []
    assert errors(schema, None) == [" must be string"]


def test_formats_belong_to_numbers_too_and_move_the_type_error() -> None:
    assert has_keywords_for({"format": "x"}, "number", DRAFT_07)
    assert not has_keywords_for({"format": "x"}, "array", DRAFT_07)
    assert not has_keywords_for({"minContains": 1}, "array", DRAFT_07)
    assert not has_keywords_for({}, "boolean", DRAFT_07)
    assert errors({"type": "number", "format": "x", "const": 1}, "a") == [
        " must be equal to constant",
        " must be number",
    ]
    assert errors({"type": "number", "const": 1}, "a") == [" must be number", " must be equal to constant"]


def test_keywords_beside_a_reference_count_from_2019_on() -> None:
    schema = {"$ref": "#/definitions/s", "maxLength": 1, "definitions": {"s": {"type": "string"}}}
    assert errors(schema, "ab", DRAFT_07) == []
    assert errors(schema, "ab", DRAFT_04) == []
    assert errors(schema, "ab", DRAFT_2019_09) == [" must NOT have more than 1 characters"]
    assert errors(schema, "ab", REFERENCE) == [" must NOT have more than 1 characters"]


def test_booleans_stand_for_everything_and_nothing() -> None:
    schema = {"properties": {"a": True, "b": False}, "items": {"not": True}}
    assert errors(schema, {"a": 1, "b": 2}) == ["/b boolean schema is false"]
    assert errors(schema, [1]) == ["/0 must NOT be valid"]
    assert errors({"additionalProperties": {}}, {"a": 1}) == []


def test_a_dynamic_reference_is_bound_to_the_outermost_anchor() -> None:
    tree = {
        "$id": "http://e.com/strict",
        "$dynamicAnchor": "node",
        "$ref": "tree",
        "unevaluatedProperties": False,
        "$defs": {
            "tree": {
                "$id": "tree",
                "$dynamicAnchor": "node",
                "properties": {"data": True, "children": {"items": {"$dynamicRef": "#node"}}},
            },
            "loose": {"$id": "loose", "$ref": "tree"},
        },
    }
    assert errors(tree, {"children": [{"daat": 1}]}) == ["/children/0 must NOT have unevaluated properties"]
    assert (
        errors({"$id": "http://e.com/main", "$ref": "loose", "$defs": tree["$defs"]}, {"children": [{"daat": 1}]}) == []
    )


def test_a_recursive_reference_is_bound_to_the_outermost_root_that_allows_it() -> None:
    def schema(*, outer: bool, inner: bool) -> dict[str, Any]:
        return {
            "$id": "http://e.com/outer",
            "$recursiveAnchor": outer,
            "required": ["name"],
            "$ref": "inner",
            "$defs": {
                "inner": {
                    "$id": "inner",
                    "$recursiveAnchor": inner,
                    "properties": {"next": {"$recursiveRef": "#"}},
                }
            },
        }

    value = {"name": 1, "next": {}}
    assert errors(schema(outer=True, inner=True), value, DRAFT_2019_09) == ["/next must have required property 'name'"]
    assert errors(schema(outer=True, inner=False), value, DRAFT_2019_09) == []
    assert errors(schema(outer=False, inner=True), value, DRAFT_2019_09) == []


def test_only_what_a_value_meets_is_built() -> None:
    space = Space({"properties": {"a": {"pattern": "("}, "b": {"type": "null"}}}, DRAFT_2020_12, assert_formats=True)
    run = Run(100, str)
    drive(space.root.enter({"b": 1}, None, run), run, 10)
    assert len(run.errors) == 1


def test_nodes_and_patterns_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "COMPILED_NODES", 3)
    with pytest.raises(SchemaTooBig, match="references multiply"):
        errors({"allOf": [{"type": "null"} for _ in range(5)]}, None)
    monkeypatch.setattr(budgets, "PATTERNS", 2)
    space = Space({}, DRAFT_2020_12, assert_formats=True)
    for text in ("a", "b", "a"):
        space.pattern(text)
    with pytest.raises(SchemaTooBig, match="2 different patterns"):
        space.pattern("c")


def test_below_not_and_if_the_reference_stops_at_the_first_error() -> None:
    schema = {"properties": {"a": {"not": {"type": "null", "items": {}, "allOf": [{"$ref": "#/definitions/d"}]}}}}
    endless = {"definitions": {"d": {"anyOf": [{"$ref": "#/definitions/d"}]}}}
    assert errors({**schema, **endless}, {"a": 1}, REFERENCE) == []
    inline = {"not": {"type": ["object", "null"], "properties": {"a": nested_properties(6)}}}
    assert errors(inline, {"a": {}}, REFERENCE) == [" must NOT be valid"]
    assert errors(inline, {"a": 1}, REFERENCE) == [" must NOT be valid"]
    assert errors(inline, 1, REFERENCE) == []


def nested_properties(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"properties": {"a": schema}}
    return schema


def test_a_reference_to_nowhere_has_no_node() -> None:
    space = Space({"$ref": "#/nothing"}, DRAFT_2020_12, assert_formats=True)
    assert space.root.referenced("$ref") is None
    assert space.root.height(4) == 0
