"""Questions about schema nodes that every converter asks."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from lastcall.contract.strict_terms import (
    Unfit,
    below,
    checked_enum,
    checked_properties,
    checked_required,
    declares_elsewhere,
    identity,
    is_primitive,
)


def test_json_values_are_told_apart_as_json_does() -> None:
    assert identity(1) == identity(1.0) == identity(Decimal("1.00"))
    assert len({identity(v) for v in (1, True, "1", None, "null", 0, False, 10**5000)}) == 8
    assert is_primitive(None)
    assert not is_primitive([])


def test_places_are_pointers() -> None:
    assert below("/a", "b/c", 0, "~") == "/a/b~1c/0/~0"


@pytest.mark.parametrize(
    ("node", "elsewhere"),
    [
        ({"properties": {"a": {}}}, False),
        ({"properties": {"a": {}}, "anyOf": [{"required": ["a"]}, True]}, False),
        ({"properties": {"a": {}}, "anyOf": [{"required": ["b"]}]}, True),
        ({"properties": {"a": {}}, "oneOf": [{"properties": {"b": {}}}]}, True),
        ({"properties": {"a": {}}, "allOf": [{"anyOf": [{"patternProperties": {"^x": {}}}]}]}, True),
        ({"properties": {"a": {}}, "if": {"required": ["a"]}, "then": {"else": {"required": ["z"]}}}, True),
        ({"properties": {"a": {}}, "dependentSchemas": {"a": {"required": ["q"]}}}, True),
        ({"properties": {"a": {}}, "dependentRequired": {"a": ["q"]}}, True),
        ({"properties": {"a": {}}, "dependencies": {"a": ["a"]}}, False),
        ({"allOf": [{"$ref": "#/$defs/x"}]}, True),
        ({"allOf": 3, "dependencies": 3}, False),
    ],
)
def test_whether_branches_declare_more(node: dict[str, Any], elsewhere: bool) -> None:
    assert declares_elsewhere(node) is elsewhere


@pytest.mark.parametrize("node", [{}, {"properties": []}])
def test_properties_have_to_be_there(node: dict[str, Any]) -> None:
    with pytest.raises(Unfit):
        checked_properties(node, "")


@pytest.mark.parametrize("required", ["a", [1], ["a", "a"], ["b"]])
def test_required_names_declared_properties_once(required: object) -> None:
    assert checked_required({"required": ["a"]}, {"a": {}}, "") == ["a"]
    with pytest.raises(Unfit) as caught:
        checked_required({"required": required}, {"a": {}}, "/x")
    assert caught.value.path == "/x/required"


@pytest.mark.parametrize("values", [[], "a", [[1]], [1, 1.0]])
def test_enums_hold_different_primitives(values: object) -> None:
    assert checked_enum([1, "1", None], "") == [1, "1", None]
    with pytest.raises(Unfit):
        checked_enum(values, "")


@pytest.mark.parametrize("properties", [None, [], "a"])
def test_an_object_has_to_declare_its_properties(properties: object) -> None:
    assert checked_properties({"properties": {"a": True}}, "/x") == {"a": True}
    with pytest.raises(Unfit, match="declare its properties") as caught:
        checked_properties({"properties": properties}, "/x")
    assert caught.value.path == "/x"
