"""Anthropic's and OpenAI's published rules."""

from __future__ import annotations

from typing import Any

import pytest

from lastcall.contract.strict import ANTHROPIC, OPENAI
from lastcall.contract.strict_closed import closed_schema
from lastcall.contract.strict_terms import Unfit

STRING = {"type": "string"}


def root(child: Any, **beside: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": child}, "required": ["a"], "additionalProperties": False, **beside}


def child_of(schema: dict[str, Any], rules: Any = ANTHROPIC) -> Any:
    return closed_schema(schema, rules)["properties"]["a"]


@pytest.mark.parametrize(
    ("child", "anthropic", "openai"),
    [
        ({"type": "string", "minLength": 1, "maxLength": 9}, STRING, STRING),
        ({"type": "string", "format": "uri"}, {"type": "string", "format": "uri"}, STRING),
        ({"type": "string", "format": "email"}, {"type": "string", "format": "email"}, {"type": "string", "format": "email"}),
        ({"type": "string", "format": "zip"}, STRING, STRING),
        ({"type": "string", "pattern": "^[a-z]{2}$"}, {"type": "string", "pattern": "^[a-z]{2}$"}, {"type": "string", "pattern": "^[a-z]{2}$"}),
        ({"type": "string", "pattern": "^(?=a)"}, STRING, STRING),
        ({"type": "string", "pattern": "\\bx"}, STRING, STRING),
        ({"type": "string", "pattern": "^a{1,5000}$"}, STRING, STRING),
        ({"type": "string", "pattern": "("}, STRING, STRING),
        ({"type": "integer", "minimum": 1, "multipleOf": 2}, {"type": "integer"}, {"type": "integer", "minimum": 1, "multipleOf": 2}),
        ({"type": "array", "items": STRING, "minItems": 3, "maxItems": 4}, {"type": "array", "items": STRING, "minItems": 1}, {"type": "array", "items": STRING, "minItems": 3, "maxItems": 4}),
        ({"type": "string", "default": "x", "title": "T"}, {"type": "string", "default": "x", "title": "T"}, {"type": "string", "title": "T"}),
        ({"oneOf": [STRING, {"const": 1}], "description": "d"}, {"anyOf": [STRING, {"const": 1}], "description": "d"}, {"anyOf": [STRING, {"const": 1}], "description": "d"}),
        ({"enum": ["a", None], "x-note": 1}, {"enum": ["a", None]}, {"enum": ["a", None]}),
        ({"type": "object", "enum": [1]}, {"type": "object", "enum": [1]}, {"type": "object", "enum": [1]}),
        ({"allOf": [{"type": "integer", "minimum": 1}], "title": "T"}, {"type": "integer", "title": "T"}, {"type": "integer", "minimum": 1, "title": "T"}),
        ({"$ref": "#/$defs/s", "description": "d"}, {"$ref": "#/$defs/s"}, {"$ref": "#/$defs/s"}),
    ],
)  # fmt: skip
def test_what_a_service_does_not_take_is_left_out(child: Any, anthropic: Any, openai: Any) -> None:
    schema = root(child, **{"$defs": {"s": STRING}})
    assert child_of(schema, ANTHROPIC) == anthropic
    assert child_of(schema, OPENAI) == openai


def test_objects_are_closed_where_nobody_said_that_they_are_open() -> None:
    inner = {"type": "object", "properties": {"b": STRING, "never": False}, "required": ["b"]}
    assert child_of(root(inner)) == {
        "type": "object",
        "properties": {"b": STRING},
        "required": ["b"],
        "additionalProperties": False,
    }
    assert child_of(root({**inner, "unevaluatedProperties": False})) == child_of(root(inner))
    empty = {"type": "object", "properties": {}, "additionalProperties": False}
    assert child_of(root(empty)) == {**empty, "required": []}


def test_all_of_is_put_together_where_its_branches_only_declare_properties() -> None:
    base = {"type": "object", "properties": {"x": STRING}, "required": ["x"], "title": "Base"}
    schema = root(
        {
            "description": "d",
            "allOf": [{"$ref": "#/$defs/base"}, {"properties": {"y": {"type": "integer"}}, "required": ["y"]}],
        },
        **{"$defs": {"base": base}},
    )
    assert child_of(schema, OPENAI) == {
        "description": "d",
        "type": "object",
        "properties": {"x": STRING, "y": {"type": "integer"}},
        "required": ["x", "y"],
        "additionalProperties": False,
    }


def test_only_definitions_that_are_reached_go_along() -> None:
    schema = root(
        {"$ref": "#/$defs/a~1b"},
        **{
            "$defs": {"a/b": {"type": "array", "items": {"$ref": "#/definitions/c"}}, "unused": {"not": {}}},
            "definitions": {"c": {"type": "null"}},
        },
    )
    strict = closed_schema(schema, ANTHROPIC)
    assert strict["$defs"] == {"a/b": {"type": "array", "items": {"$ref": "#/definitions/c"}}}
    assert strict["definitions"] == {"c": {"type": "null"}}


def test_recursion_is_openais_only() -> None:
    node = {
        "type": "object",
        "properties": {"next": {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}]}},
        "required": ["next"],
    }
    schema = root({"$ref": "#/$defs/n"}, **{"$defs": {"n": node}})
    assert closed_schema(schema, OPENAI)["$defs"]["n"]["additionalProperties"] is False
    with pytest.raises(Unfit, match="recursive"):
        closed_schema(schema, ANTHROPIC)
    to_root = root({"anyOf": [{"$ref": "#"}, {"type": "null"}]})
    assert child_of(to_root, OPENAI) == {"anyOf": [{"$ref": "#"}, {"type": "null"}]}
    with pytest.raises(Unfit, match="recursive"):
        closed_schema(to_root, ANTHROPIC)


OPEN = {"type": "object", "properties": {"x": STRING}}


@pytest.mark.parametrize(
    ("child", "reason", "path"),
    [
        (True, "boolean schema", ""),
        ({}, "without type", ""),
        ({"minimum": 1}, "without type", ""),
        ({"type": "object"}, "declare its properties", ""),
        ({"type": "object", "properties": {}}, "not known", ""),
        ({**OPEN, "additionalProperties": True}, "additionalProperties is not false", "/additionalProperties"),
        ({**OPEN, "unevaluatedProperties": {}}, "additionalProperties is not false", "/additionalProperties"),
        ({**OPEN, "patternProperties": {"^y": {}}}, "patternProperties", "/patternProperties"),
        ({**OPEN, "anyOf": [{"required": ["y"]}]}, "branches declare more", ""),
        ({**OPEN, "required": ["z"]}, "undeclared property z", "/required"),
        ({"type": "array"}, "items are not one schema", ""),
        ({"type": "array", "prefixItems": [STRING], "items": STRING}, "items are not one schema", ""),
        ({"enum": [[1]]}, "array or an object", "/enum"),
        ({"const": {}}, "const is", "/const"),
        ({"anyOf": []}, "not a list of schemas", "/anyOf"),
        ({"anyOf": [STRING], "properties": {}}, "properties beside it", ""),
        ({"$ref": "#/$defs/s", "properties": {}}, "beside it", ""),
        ({"$ref": "#/properties/a"}, "not to a definition", ""),
        ({"$ref": "http://x/s#/$defs/s"}, "not to a definition", ""),
        ({"$ref": "#/$defs/gone"}, "means nothing", ""),
        ({"$dynamicRef": "#x"}, "not to a definition", ""),
        ({"allOf": []}, "not a list", "/allOf"),
        ({"allOf": [True, OPEN]}, "not an object schema", "/allOf"),
        ({"allOf": [OPEN, STRING]}, "other things than objects", "/allOf"),
        ({"allOf": [OPEN, {"anyOf": [OPEN]}]}, "combined schemas", "/allOf"),
        ({"allOf": [OPEN, OPEN]}, "cannot be put together", "/allOf"),
        ({"allOf": [OPEN, {"additionalProperties": True}]}, "cannot be put together", "/allOf"),
        ({"allOf": [{"$ref": "#/properties/a"}]}, "deeper than", ""),
    ],
)
def test_what_cannot_be_left_out_is_told(child: Any, reason: str, path: str) -> None:
    with pytest.raises(Unfit) as caught:
        closed_schema(root(child, **{"$defs": {"s": STRING}}), ANTHROPIC)
    assert reason in caught.value.reason
    assert caught.value.path == f"/properties/a{path}"


@pytest.mark.parametrize(
    "schema", [STRING, {"anyOf": [OPEN]}, {"type": "object", "$ref": "#/$defs/x", "properties": {}}]
)
def test_the_root_has_to_be_a_plain_object(schema: dict[str, Any]) -> None:
    with pytest.raises(Unfit):
        closed_schema(schema, OPENAI)


def many(count: int, child: Any, *, required: bool) -> dict[str, Any]:
    names = [f"p{i}" for i in range(count)]
    return {
        "type": "object",
        "properties": dict.fromkeys(names, child),
        "required": names if required else [],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("schema", "rules", "fits"),
    [
        (many(24, STRING, required=False), ANTHROPIC, True),
        (many(25, STRING, required=False), ANTHROPIC, False),
        (many(16, {"type": ["string", "null"]}, required=True), ANTHROPIC, True),
        (many(17, {"anyOf": [STRING, {"type": "null"}]}, required=True), ANTHROPIC, False),
        (many(1, STRING, required=False), OPENAI, False),
        (many(5_000, STRING, required=True), OPENAI, True),
        (many(5_001, STRING, required=True), OPENAI, False),
        (many(1, {"enum": list(range(1_000))}, required=True), OPENAI, True),
        (many(1, {"enum": list(range(1_001))}, required=True), OPENAI, False),
        (many(1, {"enum": [f"{i:059}" for i in range(250)]}, required=True), OPENAI, True),
        (many(1, {"enum": [f"{i:060}" for i in range(251)]}, required=True), OPENAI, False),
        (many(1, {"const": "x" * 120_001}, required=True), OPENAI, False),
    ],
)
def test_the_limits_of_a_schema(schema: dict[str, Any], rules: Any, fits: bool) -> None:
    if fits:
        assert closed_schema(schema, rules)
    else:
        with pytest.raises(Unfit):
            closed_schema(schema, rules)


def test_depth_is_bounded_before_it_hurts() -> None:
    child: dict[str, Any] = STRING
    for _ in range(9_000):
        child = {"type": "array", "items": child}
    with pytest.raises(Unfit, match="deeper than 64"):
        closed_schema(root(child), ANTHROPIC)
