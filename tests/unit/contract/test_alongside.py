"""Which nodes of a schema speak about which part of a value."""

from __future__ import annotations

from lastcall.contract.alongside import always, branches, items, members, single
from lastcall.contract.dialects import choose_dialect
from lastcall.contract.engine import SearchBudget
from lastcall.contract.validator import compile_validator

A, B, C = {"title": "a"}, {"title": "b"}, {"title": "c"}


def root(schema):
    return compile_validator(schema, choose_dialect(schema, "native"), assert_formats=True).root


def titles(steps):
    return [(node.schema["title"], path, part) for node, path, part in steps]


def test_references_and_all_of_hold_for_the_same_value():
    schema = {
        "$ref": "#/$defs/a",
        "$dynamicRef": "#d",
        "allOf": [B, True],
        "$defs": {"a": A, "c": {"$dynamicAnchor": "d", **C}},
    }
    assert [node.schema["title"] for node in always(root(schema))] == ["a", "c", "b"]
    assert list(always(root({}))) == []


def test_lists_and_single_subschemas_are_those_that_are_objects():
    assert branches({"anyOf": [A, True]}, "anyOf") == [A]
    assert branches({"anyOf": A}, "anyOf") == branches({}, "anyOf") == []
    assert single({"then": A}, "then") == [A]
    assert single({"then": True}, "then") == single({}, "then") == []


def test_members_are_those_declared_and_the_rest_that_no_pattern_names():
    node = root({"properties": {"x": A, "y": True}, "patternProperties": {"^n": B}, "additionalProperties": C})
    assert titles(members(node, "/p", {"x": 1, "y": 2, "n1": 3, "a/b": 4})) == [("a", "/p/x", 1), ("c", "/p/a~1b", 4)]
    assert titles(members(root({}), "", {"x": 1})) == []


def test_a_pattern_that_is_given_up_counts_as_found():
    node = root({"patternProperties": {"^n": B}, "additionalProperties": C})

    def give_up(text):
        raise SearchBudget

    node.space.pattern("^n").search = give_up
    assert titles(members(node, "", {"x": 1})) == []


def test_items_are_by_position_and_then_the_rest():
    assert titles(items(root({"prefixItems": [A, True], "items": C}), "/p", [1, 2, 3])) == [
        ("a", "/p/0", 1),
        ("c", "/p/2", 3),
    ]
    assert titles(items(root({"items": B}), "", [1])) == [("b", "/0", 1)]
    old = {"$schema": "http://json-schema.org/draft-07/schema#", "items": [A], "additionalItems": C}
    assert titles(items(root(old), "", [1, 2])) == [("a", "/0", 1), ("c", "/1", 2)]
    assert titles(items(root({}), "", [1])) == []
