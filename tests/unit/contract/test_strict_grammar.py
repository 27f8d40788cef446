"""The grammar's copy: nothing in it that the engine drops silently, and bounds on everything."""

from __future__ import annotations

from typing import Any

import pytest

from lastcall.contract.positions import each_subschema
from lastcall.contract.strict_grammar import GUIDANCE, grammar_schema, is_understood
from lastcall.contract.strict_terms import Unfit

STRING = {"type": "string", "maxLength": 2_000}


def child_of(child: Any, **beside: Any) -> Any:
    return grammar_schema({"type": "object", "properties": {"a": child}, **beside})["properties"]["a"]


@pytest.mark.parametrize(
    ("child", "copy"),
    [
        ({"type": "string"}, STRING),
        ({"type": "string", "maxLength": 9}, {"type": "string", "maxLength": 9}),
        ({"type": "string", "minLength": 5_000}, {"type": "string", "minLength": 5_000, "maxLength": 5_000}),
        ({"type": "string", "pattern": "^a+$"}, {**STRING, "pattern": "^a+$"}),
        ({"type": "string", "pattern": "^(?=a)"}, STRING),
        ({"type": "string", "pattern": "(a)\\1"}, STRING),
        ({"type": "string", "pattern": "\\bx"}, STRING),
        ({"type": "string", "format": "date"}, {"type": "string", "format": "date"}),
        ({"type": "string", "format": "uri"}, {"type": "string"}),
        ({"enum": ["a"], "type": "string"}, {"enum": ["a"], "type": "string"}),
        ({"type": "integer"}, {"type": "integer", "minimum": -(10**15), "maximum": 10**15}),
        ({"type": "number", "exclusiveMinimum": 0}, {"type": "number", "exclusiveMinimum": 0, "maximum": 10**15}),
        ({"type": "integer", "minimum": 10**16}, {"type": "integer", "minimum": 10**16, "maximum": 11 * 10**15}),
        ({"type": "integer", "maximum": -(10**16)}, {"type": "integer", "maximum": -(10**16), "minimum": -11 * 10**15}),
        ({"type": "integer", "minimum": 1, "maximum": 2}, {"type": "integer", "minimum": 1, "maximum": 2}),
        ({"type": "array", "items": {"type": "null"}, "minItems": 200}, {"type": "array", "items": {"type": "null"}, "minItems": 200, "maxItems": 200}),
        ({"type": ["array", "null"], "uniqueItems": True}, {"type": ["array", "null"], "maxItems": 100}),
        ({"type": "object"}, {"type": "object", "maxProperties": 50}),
        ({"type": "object", "properties": {"b": {"type": "null"}}}, {"type": "object", "properties": {"b": {"type": "null"}}, "additionalProperties": False}),
        (
            {"type": "object", "patternProperties": {"^a": {"type": "null"}}},
            {"type": "object", "patternProperties": {"^a": {"type": "null"}}, "maxProperties": 50},
        ),
        (
            {"type": "object", "patternProperties": {"(?=a)": {}}, "additionalProperties": False},
            {"type": "object", "additionalProperties": True},
        ),
        ({"$ref": "http://x/y"}, {}),
        ({"$ref": "#/$defs/gone"}, {}),
        ({"$ref": "#/$defs/d"}, {"$ref": "#/$defs/d"}),
        (True, True),
    ],
)  # fmt: skip
def test_what_becomes_of_a_node(child: Any, copy: Any) -> None:
    assert child_of(child, **{"$defs": {"d": {"type": "null"}}}) == copy


def test_the_engines_options_stand_at_the_top() -> None:
    assert grammar_schema({"type": "null"})["x-guidance"] == GUIDANCE
    assert GUIDANCE["lenient"] is True


def test_keywords_that_drop_the_whole_grammar_are_gone_at_every_depth() -> None:
    words = {
        "uniqueItems": True, "contains": {}, "propertyNames": {}, "if": {}, "then": {}, "else": {}, "not": {},
        "dependentRequired": {}, "dependentSchemas": {}, "unevaluatedProperties": False, "unevaluatedItems": False,
        "$dynamicRef": "#x", "$recursiveRef": "#", "contentSchema": {},
    }  # fmt: skip
    copy = grammar_schema({"anyOf": [{"items": {**words, "title": "t"}}]})
    assert copy["anyOf"] == [{"items": {"title": "t"}}]


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{"type": "object", "properties": {"a": {}}}, {"type": "object", "properties": {"b": {}}}]},
        {"properties": {"a": {}}, "anyOf": [{"type": "object", "properties": {"b": {}}}]},
        {"properties": {"x": {"$ref": "#/$defs/d", "properties": {"a": {}}}}, "$defs": {"d": {"type": "object", "properties": {"b": {}}}}},
        {"type": "object", "properties": {"a": {}}, "then": {"properties": {"b": {}}}, "if": {}},
    ],
)  # fmt: skip
def test_objects_that_are_described_in_several_places_are_not_closed(schema: dict[str, Any]) -> None:
    assert all("additionalProperties" not in node for _, node in each_subschema(grammar_schema(schema)))


def test_a_schema_that_is_too_deep_is_told() -> None:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(500):
        schema = {"type": "object", "properties": {"a": schema}}
    with pytest.raises(Unfit, match="deeper"):
        grammar_schema(schema)


def test_patterns_that_the_engine_takes() -> None:
    assert is_understood("^\\p{L}+[0-9]{2,}$")
    assert not is_understood("(")
    assert not is_understood(7)
