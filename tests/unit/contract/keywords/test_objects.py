"""Keywords for objects."""

from __future__ import annotations

from typing import Any

import pytest

from keyword_tools import params, problems
from lastcall.contract.dialects import DRAFT_07, DRAFT_2020_12, REFERENCE

DEFS = {"deep": {"type": "object", "additionalProperties": {"$ref": "#/$defs/deep"}}}
DEEP = {"$ref": "#/$defs/deep"}


def test_numbers_of_properties() -> None:
    assert problems({"maxProperties": 1}, {"a": 1, "b": 2}) == [" must NOT have more than 1 properties"]
    assert problems({"minProperties": 1}, {}) == [" must NOT have fewer than 1 properties"]
    assert problems({"minProperties": 1, "maxProperties": 1}, {"a": 1}) == []
    assert params({"maxProperties": 0}, {"a": 1}) == [("maxProperties", {"limit": 0})]
    assert params({"minProperties": 2}, {"a": 1}) == [("minProperties", {"limit": 2})]


def test_required_names_come_in_the_schemas_order() -> None:
    assert problems({"required": ["b", "1", "a"]}, {"1": 0}) == [
        " must have required property 'b'",
        " must have required property 'a'",
    ]
    assert params({"required": ["a"]}, {}) == [("required", {"missingProperty": "a"})]
    assert problems({"required": []}, {}) == []
    assert len(problems({"required": [f"k{index}" for index in range(40)]}, {})) == 40


def test_inherited_names_satisfy_the_reference_alone() -> None:
    schema = {"required": ["constructor", "__proto__", "real"]}
    assert len(problems(schema, {})) == 3
    assert problems(schema, {}, REFERENCE) == [" must have required property 'real'"]
    assert problems({"required": ["toString"]}, {}, REFERENCE) == []


def test_inherited_values_are_checked_by_the_reference() -> None:
    schema = {"properties": {"constructor": {"type": "string"}, "__proto__": {"type": "string"}, "a": {"type": "null"}}}
    assert problems(schema, {}, REFERENCE) == ["/constructor must be string"]
    assert problems(schema, {"constructor": "x"}, REFERENCE) == []
    assert problems(schema, {}) == []
    assert problems(schema, {"__proto__": 1}) == ["/__proto__ must be string"]


def test_names_are_checked_as_strings_at_the_objects_place() -> None:
    schema = {"properties": {"o": {"propertyNames": {"pattern": "^[a-z]+$"}}}}
    value = {"o": {"B": 1, "10": 1, "2": 1, "ok": 1}}
    told = ['/o must match pattern "^[a-z]+$"', "/o property name must be valid"]
    assert problems(schema, value) == told * 3
    assert [given for keyword, given in params(schema, value) if keyword == "propertyNames"] == [
        {"propertyName": "2"},
        {"propertyName": "10"},
        {"propertyName": "B"},
    ]
    assert problems({"propertyNames": True}, {"a": 1}) == []
    assert problems({"propertyNames": {"anyOf": [DEEP, {"const": "a"}]}, "$defs": DEFS}, {"a": 1}) == []


def test_properties_come_in_the_schemas_order_integers_first() -> None:
    schema = {"properties": {"b": {"type": "null"}, "10": {"type": "null"}, "2": {"type": "null"}, "free": {}}}
    assert problems(schema, {"10": 1, "b": 1, "2": 1}) == ["/2 must be null", "/10 must be null", "/b must be null"]
    assert problems({"properties": {"free": True}}, {"free": 1}) == []
    assert problems({"properties": {"d": DEEP}, "$defs": DEFS}, {"d": {"e": {"f": 1}}}) == ["/d/e/f must be object"]


def test_pattern_properties_go_by_pattern_then_by_name() -> None:
    schema = {"patternProperties": {"b": {"type": "null"}, "^a": {"type": "string"}, "free": True}}
    assert problems(schema, {"ab": 1, "2b": 1, "a": "x"}) == [
        "/ab must be null",
        "/2b must be null",
        "/ab must be string",
    ]
    assert problems({"patternProperties": {"x": {}}}, {"x": 1}) == []
    assert problems({"patternProperties": {"x": DEEP}, "$defs": DEFS}, {"x": {"y": 1}}) == ["/x/y must be object"]


def test_additional_properties_are_those_that_nothing_names() -> None:
    schema = {"properties": {"a": {}}, "patternProperties": {"^p": {}}, "additionalProperties": False}
    assert problems(schema, {"a": 1, "p1": 1}) == []
    assert params(schema, {"z": 1, "10": 1, "a": 1, "2": 1}) == [
        ("additionalProperties", {"additionalProperty": name}) for name in ("2", "10", "z")
    ]
    assert problems({"additionalProperties": False}, {"a": 1}) == [" must NOT have additional properties"]
    assert problems({"additionalProperties": {"type": "null"}}, {"a": 1, "b": None}) == ["/a must be null"]
    assert problems({"additionalProperties": True}, {"a": 1}) == []
    assert problems({"additionalProperties": DEEP, "$defs": DEFS}, {"a": {"b": 1}}) == ["/a/b must be object"]


@pytest.mark.parametrize("keyword", ["dependencies", "dependentRequired"])
def test_a_property_may_need_others(keyword: str) -> None:
    schema = {keyword: {"a": ["b", "c"], "x": ["y"], "free": []}}
    assert problems(schema, {"a": 1, "b": 2, "x": 1, "free": 1}) == [
        " must have properties b, c when property a is present",
        " must have property y when property x is present",
    ]
    assert params(schema, {"a": 1, "b": 2})[0] == (
        keyword,
        {"property": "a", "missingProperty": "c", "depsCount": 2, "deps": "b, c"},
    )
    assert problems(schema, {}) == []
    assert problems({keyword: {}}, {}) == []


@pytest.mark.parametrize("keyword", ["dependencies", "dependentSchemas"])
def test_a_property_may_need_a_subschema(keyword: str) -> None:
    schema: Any = {keyword: {"a": {"required": ["b"]}, "d": DEEP, "free": True}, "$defs": DEFS}
    assert problems(schema, {"a": 1}) == [" must have required property 'b'"]
    assert problems(schema, {"d": {}, "e": 1}) == ["/e must be object"]
    assert problems(schema, {"free": 1}) == []


def test_lists_come_before_subschemas() -> None:
    schema = {"dependencies": {"a": {"required": ["b"]}, "c": ["d"]}}
    assert problems(schema, {"a": 1, "c": 1}, DRAFT_07) == [
        " must have property d when property c is present",
        " must have required property 'b'",
    ]


def test_inherited_names_are_present_and_never_missing_in_the_reference() -> None:
    schema = {"dependencies": {"constructor": ["a", "toString"]}}
    assert problems(schema, {}, REFERENCE) == [" must have properties a, toString when property constructor is present"]
    assert problems(schema, {}, DRAFT_2020_12) == []
