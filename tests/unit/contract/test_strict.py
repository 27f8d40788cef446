"""Strict forms: by the rules, and never shutting out what the contract accepts."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastcall.contract.parse import schema_from_value
from lastcall.contract.strict import to_strict
from lastcall.errors import LastcallBug
from lastcall.nouns.schema import NotStrict, OutputSchema, StrictSchema

DATA = Path(__file__).parents[2] / "data" / "strict" / "cases.jsonl"
CASES = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
RULES = ["reference", "anthropic", "openai", "grammar"]


def schema_of(case: dict[str, Any]) -> OutputSchema:
    if "schema" in case:
        return schema_from_value(case["schema"])
    names = range(case["schema_gen"]["object_with_string_properties"])
    value: dict[str, Any] = {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in names}}
    return OutputSchema("", "", value)


@pytest.mark.parametrize("case", CASES, ids=[f"{case['id']} {case['name']}" for case in CASES])
def test_the_references_written_rules(case: dict[str, Any]) -> None:
    strict = to_strict(schema_of(case), "reference")
    assert isinstance(strict, StrictSchema) is case["convertible"]
    if isinstance(strict, StrictSchema) and case["strict"] is not None:
        assert strict.value == case["strict"]
        assert json.loads(strict.text) == case["strict"]


def test_the_reason_says_which_rule_and_where() -> None:
    schema = {"type": "object", "properties": {"a/b": {"type": "array", "items": [{"type": "string"}]}}}
    assert to_strict(schema_from_value(schema), "reference") == NotStrict(
        "items is not a single schema", "/properties/a~1b/items"
    )


def test_rules_that_nobody_wrote_are_a_bug() -> None:
    with pytest.raises(LastcallBug):
        to_strict(schema_from_value({}), "gemini")


@pytest.mark.parametrize("rules", RULES)
def test_the_schema_is_not_touched(rules: str) -> None:
    value = {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "(?=x)x", "minLength": 1}},
        "required": ["a"],
    }
    schema = schema_from_value(value)
    to_strict(schema, rules)
    assert schema.value == value


SCALARS = st.sampled_from(
    [
        {"type": "string"}, {"type": "string", "minLength": 2}, {"type": "string", "pattern": "^a(?=b)"},
        {"type": "string", "pattern": "^[ab]+$", "maxLength": 3}, {"type": "string", "format": "email"},
        {"type": "string", "format": "uri"}, {"type": "integer", "minimum": 2}, {"type": "number", "multipleOf": 0.5},
        {"type": "boolean"}, {"type": "null"}, {"enum": ["a", 1, None]}, {"const": "b"}, {"type": ["string", "null"]},
        {"$ref": "#/$defs/d"}, {"$ref": "#/$defs/r"}, {"$ref": "#"}, {}, {"type": "string", "default": "x", "examples": ["y"]},
        {"type": "integer", "exclusiveMaximum": 3, "not": {"const": 1}},
    ]
)  # fmt: skip


def _larger(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    objects = st.fixed_dictionaries(
        {
            "type": st.just("object"),
            "properties": st.dictionaries(st.sampled_from("abc"), inner | st.booleans(), max_size=3),
        },
        optional={
            "required": st.lists(st.sampled_from("abc"), unique=True, max_size=2),
            "additionalProperties": st.sampled_from([False, False, True, {"type": "string"}]),
            "minProperties": st.just(1),
            "patternProperties": st.sampled_from([{}, {"^c": {}}]),
            "anyOf": st.sampled_from(
                [[{"required": ["a"]}], [{"required": ["b"]}, {"properties": {"c": {"type": "null"}}}]]
            ),
            "if": st.just({"required": ["a"]}),
            "then": st.just({"required": ["b"]}),
            "dependentRequired": st.just({"a": ["c"]}),
        },
    )
    arrays = st.fixed_dictionaries(
        {"type": st.just("array"), "items": inner},
        optional={
            "minItems": st.integers(0, 2),
            "maxItems": st.just(1),
            "uniqueItems": st.just(True),
            "contains": st.just({}),
        },
    )
    words = st.sampled_from(["anyOf", "oneOf"])
    unions = words.flatmap(lambda word: st.fixed_dictionaries({word: st.lists(inner, min_size=1, max_size=2)}))
    return objects | objects | arrays | unions


NODES = st.recursive(SCALARS, _larger, max_leaves=6)
ROOTS = st.fixed_dictionaries(
    {"type": st.just("object"), "properties": st.dictionaries(st.sampled_from("abc"), NODES, min_size=1, max_size=3)},
    optional={
        "required": st.sampled_from([["a"], ["a", "b"], ["a", "b", "c"]]),
        "additionalProperties": st.just(False),
    },
).map(
    lambda root: {
        **copy.deepcopy(root),
        "$defs": {
            "d": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
            "r": {
                "type": "object",
                "properties": {"b": {"anyOf": [{"$ref": "#/$defs/r"}, {"type": "null"}]}},
                "required": ["b"],
            },
        },
    }
)
VALUES = st.recursive(
    st.sampled_from([None, True, 1, 2, 3, 0.5, "a", "b", "ab", "aab", "", "x@y.org", "http://x/"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)


def closed_by_omission(node: Any) -> Any:
    """The truth of this test: the schema as written, objects closed where they only forgot to say so."""
    if isinstance(node, list):
        return [closed_by_omission(item) for item in node]
    if not isinstance(node, dict):
        return node
    out = {
        key: {name: closed_by_omission(child) for name, child in value.items()}
        if key in ("properties", "$defs")
        else closed_by_omission(value)
        if key in ("items", "anyOf", "oneOf")
        else value
        for key, value in node.items()
    }
    if out.get("type") == "object" and out.get("properties") and not out.get("patternProperties"):
        out.setdefault("additionalProperties", False)
    return out


@settings(max_examples=150, deadline=None)
@given(ROOTS, st.lists(OBJECTS, min_size=4, max_size=12))
def test_whatever_the_contract_accepts_every_strict_form_accepts(
    root: dict[str, Any], values: list[dict[str, Any]]
) -> None:
    truth = jsonschema_rs.validator_for(closed_by_omission(root), offline=True)
    schema = schema_from_value(root)
    for rules in RULES:
        strict = to_strict(schema, rules)
        if isinstance(strict, NotStrict):
            assert strict.reason
            assert rules != "grammar"
            continue
        checker = jsonschema_rs.validator_for(json.loads(strict.text), offline=True)
        for value in values:
            assert checker.is_valid(value) or not truth.is_valid(value), (rules, strict.text, value)


TIDY_SCALARS = st.sampled_from(
    [
        {"type": "string"}, {"type": "integer"}, {"type": "null"}, {"enum": ["a", 1, None]}, {"const": "b"},
        {"type": ["string", "null"], "description": "d"}, {"type": "string", "minLength": 2}, {"type": "number", "minimum": 2},
        {"type": "string", "pattern": "^a"}, {"type": "string", "format": "date"}, {"type": "integer", "multipleOf": 2},
    ]
)  # fmt: skip


def _tidy(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    objects = st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(
        lambda properties: {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
    )
    arrays = inner.map(lambda items: {"type": "array", "items": items})
    return (
        objects | objects | arrays | st.lists(inner, min_size=1, max_size=2).map(lambda branches: {"anyOf": branches})
    )


@st.composite
def values_of(draw: st.DrawFn, node: dict[str, Any]) -> Any:
    """Something of the right shape; whether it is right in all, the contract decides."""
    if "anyOf" in node:
        return draw(values_of(draw(st.sampled_from(node["anyOf"]))))
    if node.get("type") == "object":
        return {name: draw(values_of(child)) for name, child in node["properties"].items()}
    if node.get("type") == "array":
        return [draw(values_of(node["items"])) for _ in range(draw(st.integers(0, 2)))]
    return draw(st.sampled_from(["a", "b", "ab", "2020-01-01", 1, 2, 3, None]))


@settings(max_examples=150, deadline=None)
@given(st.recursive(TIDY_SCALARS, _tidy, max_leaves=6), st.data())
def test_tidy_schemas_are_strict_and_accept_what_the_contract_accepts(
    inner: dict[str, Any], data: st.DataObject
) -> None:
    root = {"type": "object", "properties": {"a": inner}, "required": ["a"], "additionalProperties": False}
    truth = jsonschema_rs.validator_for(root, offline=True)
    values = [data.draw(values_of(root)) for _ in range(4)]
    for rules in RULES:
        strict = to_strict(schema_from_value(root), rules)
        if isinstance(strict, NotStrict):
            assert rules == "reference" or "nests deeper" in strict.reason or "unions" in strict.reason
            continue
        checker = jsonschema_rs.validator_for(json.loads(strict.text), offline=True)
        assert [value for value in values if truth.is_valid(value) and not checker.is_valid(value)] == []
