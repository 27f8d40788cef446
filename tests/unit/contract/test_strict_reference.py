"""What the written rules leave open, and its bounds; the rules themselves are tested in `test_strict`."""

from __future__ import annotations

from typing import Any

import pytest

from lastcall.contract.strict import REFERENCE
from lastcall.contract.strict_reference import MAX_LEVELS, reference_schema
from lastcall.contract.strict_terms import Unfit


def root(child: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": child}, "required": ["a"]}


@pytest.mark.parametrize(
    "child", [True, {}, {"description": "d"}, {"anyOf": []}, {"anyOf": "x"}, {"properties": 3}, {"required": []}]
)
def test_what_is_not_settled_and_not_harmless_is_refused(child: Any) -> None:
    with pytest.raises(Unfit):
        reference_schema(root(child), REFERENCE)


def test_types_in_a_list_are_taken() -> None:
    strict = reference_schema(root({"type": ["object", "null"], "properties": {}}), REFERENCE)
    assert strict["properties"]["a"] == {"type": ["object", "null"], "properties": {}, "additionalProperties": False}


def test_the_deepest_that_is_taken() -> None:
    def nested(levels: int) -> dict[str, Any]:
        child: dict[str, Any] = {"type": "string"}
        for _ in range(levels - 1):
            child = {"type": "array", "items": child}
        return root(child)

    assert reference_schema(nested(MAX_LEVELS), REFERENCE)
    with pytest.raises(Unfit, match="deeper than 32"):
        reference_schema(nested(MAX_LEVELS + 1), REFERENCE)
    with pytest.raises(Unfit, match="deeper than 32"):
        reference_schema(nested(9_000), REFERENCE)


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "array", "items": {"type": "string"}}, "the root is not an object"),
        ({"anyOf": [{"type": "object"}]}, "the root is not an object"),
        (root({"type": "string", "minLength": 1}), "keyword minLength"),
        (root({"type": "array", "items": [{"type": "string"}]}), "items is not a single schema"),
        (root({"anyOf": [{"type": "string"}], "type": "string"}), "anyOf next to type"),
        ({**root({"type": "string"}), "additionalProperties": True}, "additionalProperties is not false"),
        (root({"enum": [[1]]}), "enum"),
    ],
)
def test_a_refusal_names_what_is_in_the_way(schema: dict[str, Any], reason: str) -> None:
    with pytest.raises(Unfit, match=reason):
        reference_schema(schema, REFERENCE)


def test_the_branches_of_a_union_are_closed_too() -> None:
    branch = {"type": "object", "properties": {}}
    strict = reference_schema(root({"anyOf": [branch, {"type": "null"}], "description": "d"}), REFERENCE)
    closed = {**branch, "additionalProperties": False}
    assert strict["properties"]["a"] == {"anyOf": [closed, {"type": "null"}], "description": "d"}


def test_a_list_of_items_is_closed_too() -> None:
    strict = reference_schema(root({"type": "array", "items": {"type": "object", "properties": {}}}), REFERENCE)
    assert strict["properties"]["a"]["items"]["additionalProperties"] is False


def test_the_number_of_nodes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lastcall.contract.strict_reference.MAX_NODES", 3)
    assert reference_schema(root({"type": "array", "items": {"type": "string"}}), REFERENCE)
    with pytest.raises(Unfit, match="more than 3 nodes"):
        reference_schema(root({"anyOf": [{"type": "string"}, {"type": "null"}]}), REFERENCE)
