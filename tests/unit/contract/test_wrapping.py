"""Roots on the wire: an object always, and every reference still means what it meant."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastcall.contract.positions import each_subschema
from lastcall.contract.references import MISSING, References
from lastcall.contract.wrapping import COMBINATORS, not_wrapped, wrap_root

ITEM = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


def wrapped(inner: Any, **beside: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"value": inner},
        "required": ["value"],
        "additionalProperties": False,
        **beside,
    }


@pytest.mark.parametrize(
    "root",
    [
        {"type": "array", "items": {"type": "string"}},
        {"type": "string"},
        {"type": ["object", "null"]},
        {"enum": ["a", "b"]},
        {"const": 1},
        {"minimum": 3},
        {"not": {}, "pattern": "x"},
        {"anyOf": [ITEM, {"type": "object", "properties": {"b": {}}}]},
        {"oneOf": [{"type": "string"}, {"type": "number"}]},
        {"allOf": [ITEM]},
        {"type": "object", "properties": {"k": {}}, "oneOf": [{"properties": {"k": {"const": 1}, "other": {}}}]},
        {"type": "object", "properties": {"k": {}}, "anyOf": [{"minProperties": 2}]},
        {"type": "object", "anyOf": [{"required": ["a"]}]},
    ],
)
def test_a_root_that_is_no_plain_object_is_wrapped(root: dict[str, Any]) -> None:
    assert wrap_root(copy.deepcopy(root)) == (wrapped(root), True)


@pytest.mark.parametrize(
    ("root", "wire"),
    [
        (ITEM, ITEM),
        ({}, {"type": "object"}),
        ({"description": "d"}, {"type": "object", "description": "d"}),
        ({"properties": {"a": {}}}, {"type": "object", "properties": {"a": {}}}),
        ({"type": ["object"]}, {"type": "object"}),
        ({"enum": [{"a": 1}, {"a": 2}]}, {"type": "object", "enum": [{"a": 1}, {"a": 2}]}),
        ({"const": {}}, {"type": "object", "const": {}}),
        ({"type": "object", "$schema": "https://json-schema.org/draft/2020-12/schema"}, {"type": "object"}),
    ],
)
def test_an_object_root_stays(root: dict[str, Any], wire: dict[str, Any]) -> None:
    assert wrap_root(root) == (wire, False)


def test_choices_among_declared_properties_leave_the_root() -> None:
    root = {
        "type": "object",
        "properties": {"id": {}, "name": {}, "query": {}},
        "anyOf": [{"required": ["name"]}, {"required": ["query"], "not": {"required": ["name"]}}, True],
        "oneOf": [{"properties": {"id": {"const": 1}}}],
        "required": ["id"],
    }
    wire, is_wrapped = wrap_root(root)
    assert wire == {"type": "object", "properties": {"id": {}, "name": {}, "query": {}}, "required": ["id"]}
    assert not is_wrapped


def test_a_root_reference_is_advertised_as_the_object_it_means() -> None:
    wire, is_wrapped = wrap_root({"$ref": "#/$defs/Item", "title": "T", "$defs": {"Item": ITEM}})
    assert not is_wrapped
    assert wire == {**ITEM, "title": "T", "$defs": {"Item": ITEM}}


def test_a_recursive_root_reference_stays_recursive() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/N"}, "root": {"$ref": "#"}}}
    wire, is_wrapped = wrap_root({"$ref": "#/$defs/N", "$defs": {"N": node}})
    assert (wire, is_wrapped) == ({**node, "$defs": {"N": node}}, False)


@pytest.mark.parametrize(
    "root",
    [
        {"$ref": "#/$defs/l", "$defs": {"l": {"type": "array"}}},
        {"$ref": "#/$defs/gone"},
        {"$ref": "#"},
        {"$ref": "#/$defs/o", "$defs": {"o": {"$id": "http://x/o", **ITEM}}},
    ],
)
def test_a_root_reference_that_is_no_plain_object_is_wrapped(root: dict[str, Any]) -> None:
    wire, is_wrapped = wrap_root(root)
    assert is_wrapped
    assert wire["type"] == "object"
    assert set(wire["properties"]) == {"value"}


def test_references_into_the_root_make_inlining_impossible() -> None:
    root = {
        "$ref": "#/$defs/Item",
        "properties": {"x": {"type": "string"}},
        "$defs": {"Item": {**ITEM, "properties": {"a": {"$ref": "#/properties/x"}}}},
    }
    wire, is_wrapped = wrap_root(root)
    assert is_wrapped
    assert wire["$defs"]["Item"]["properties"]["a"] == {"$ref": "#/properties/value/properties/x"}


def test_references_move_with_the_root() -> None:
    root = {
        "$id": "http://x/s",
        "type": "array",
        "items": {
            "anyOf": [
                {"$ref": "#"},
                {"$ref": "#/items/anyOf/3"},
                {"$ref": "#/$defs/d"},
                {"$ref": "#here", "$anchor": "here"},
                {"$ref": "http://x/s#/items"},
                {"$ref": "http://x/s"},
                {"$ref": "http://other/t#/items"},
                {"$recursiveRef": "#"},
                {"$dynamicRef": "#/items"},
                {"const": {"$ref": "#"}},
                {"properties": {"$ref": {"type": "string"}}},
            ]
        },
        "$defs": {"d": {"not": {"$ref": "#/items"}}, "own": {"$id": "http://x/own", "items": {"$ref": "#/$defs/q"}}},
    }
    wire, is_wrapped = wrap_root(root)
    assert is_wrapped
    assert wire["properties"]["value"]["items"]["anyOf"] == [
        {"$ref": "#/properties/value"},
        {"$ref": "#/properties/value/items/anyOf/3"},
        {"$ref": "#/$defs/d"},
        {"$ref": "#here", "$anchor": "here"},
        {"$ref": "http://x/s#/properties/value/items"},
        {"$ref": "http://x/s#/properties/value"},
        {"$ref": "http://other/t#/items"},
        {"$ref": "#/properties/value"},
        {"$dynamicRef": "#/properties/value/items"},
        {"const": {"$ref": "#"}},
        {"properties": {"$ref": {"type": "string"}}},
    ]
    assert wire["$id"] == "http://x/s"
    assert wire["$defs"] == {
        "d": {"not": {"$ref": "#/properties/value/items"}},
        "own": {"$id": "http://x/own", "items": {"$ref": "#/$defs/q"}},
    }


def test_the_callers_schema_is_not_touched_and_depth_is_no_matter() -> None:
    root: dict[str, Any] = {"type": "string"}
    for _ in range(9_000):
        root = {"not": root, "type": "array", "items": {"$ref": "#"}}
    wire, is_wrapped = wrap_root(root)
    assert is_wrapped
    assert root["items"] == {"$ref": "#"}
    assert wire["properties"]["value"]["items"] == {"$ref": "#/properties/value"}


LEAVES = st.sampled_from(
    [
        {"type": "string"}, {"type": "integer", "minimum": 2}, {"type": "null"}, {"$ref": "#"}, {"$ref": "#/$defs/d"},
        {"$ref": "#/$defs/o"}, {"enum": [1, "a"]}, {"const": {"k": 1}}, {}, {"$ref": "#a"},
    ]
)  # fmt: skip


def _larger(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    objects = st.fixed_dictionaries(
        {"properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2)},
        optional={
            "type": st.sampled_from(["object"]),
            "required": st.just(["a"]),
            "additionalProperties": st.booleans(),
        },
    )
    arrays = st.fixed_dictionaries({"items": inner}, optional={"type": st.just("array"), "minItems": st.just(1)})
    unions = st.sampled_from(COMBINATORS).flatmap(
        lambda word: st.fixed_dictionaries(
            {word: st.lists(inner, min_size=1, max_size=2)}, optional={"type": st.just("object")}
        )
    )
    return objects | arrays | unions


SCHEMAS = st.recursive(LEAVES, _larger, max_leaves=5).map(
    lambda root: {
        **copy.deepcopy(root),
        "$defs": {
            "d": {"type": "array", "items": {"$ref": "#"}},
            "o": {**ITEM},
            "e": {"$anchor": "a", "type": "boolean"},
        },
    }
)
VALUES = st.recursive(
    st.sampled_from([None, True, 1, 3, "a", "", {}, {"k": 1}, {"a": "x"}, []]),
    lambda v: st.lists(v, max_size=2) | st.dictionaries(st.sampled_from("abc"), v, max_size=2),
    max_leaves=5,
)


@settings(max_examples=250, deadline=None)
@given(SCHEMAS, VALUES)
def test_whatever_the_contract_accepts_the_wire_accepts(schema: dict[str, Any], value: Any) -> None:
    before = copy.deepcopy(schema)
    wire, is_wrapped = wrap_root(schema)
    assert schema == before
    assert wire["type"] == "object"
    assert not any(word in wire for word in COMBINATORS)
    assert all(
        References(wire).resolve(node["$ref"]) is not MISSING for _, node in each_subschema(wire) if "$ref" in node
    )
    if not is_wrapped and not isinstance(value, dict):
        return
    accepted = jsonschema_rs.validator_for(schema, offline=True).is_valid(value)
    on_wire = jsonschema_rs.validator_for(wire, offline=True).is_valid({"value": value} if is_wrapped else value)
    assert on_wire or not accepted
    if is_wrapped:
        assert on_wire == accepted


def test_an_untyped_root_that_is_meant_again_below_is_wrapped_since_a_type_would_narrow_that_too():
    schema = {"properties": {"b": {"anyOf": [{"$ref": "#"}]}}}
    wire, wrapped = wrap_root(schema)
    assert wrapped
    assert wire["properties"]["value"] == {"properties": {"b": {"anyOf": [{"$ref": "#/properties/value"}]}}}
    typed = {"type": "object", **schema}
    assert wrap_root(typed) == (typed, False)


def test_arguments_beside_the_wrapper_are_told_what_to_send():
    missing, other = not_wrapped({"items": [1]}), not_wrapped({"value": 1, "note": "x"})
    assert (missing.path, missing.keyword, missing.params["missingProperty"]) == ("", "required", "value")
    assert missing.message == "must have required property 'value'"
    assert (other.keyword, other.params["additionalProperty"]) == ("additionalProperties", "note")
    assert all('send {"value": ...}' in problem.params["hint"] for problem in (missing, other))
