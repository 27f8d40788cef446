"""A union is explained by its closest branch."""

from __future__ import annotations

import time

import pytest

from lastcall.contract.closest import explained
from lastcall.contract.dialects import choose_dialect
from lastcall.contract.validator import compile_validator

SHAPES = {"circle": {"r": {"type": "number"}}, "rect": {"w": {"type": "number"}, "h": {"type": "number"}}}


def branch(kind, properties):
    return {
        "type": "object",
        "properties": {"kind": {"const": kind}, **properties},
        "required": ["kind", *properties],
        "additionalProperties": False,
    }


def told(schema, value):
    validator = compile_validator(schema, choose_dialect(schema, "native"), assert_formats=True)
    found = validator.problems(value)
    listed, left_out = explained(validator, value, found.listed)
    assert len(listed) + left_out == len(found.listed)
    return [(p.path, p.keyword) for p in listed], listed


UNION = [branch(kind, properties) for kind, properties in SHAPES.items()]


@pytest.mark.parametrize("key", ["anyOf", "oneOf"])
def test_the_branch_whose_mark_is_right_is_told_alone(key):
    schema = {"properties": {"shape": {key: [*UNION, {"type": "null"}]}}}
    places, listed = told(schema, {"shape": {"kind": "rect", "w": "3"}})
    assert places == [("/shape", "required"), ("/shape/w", "type"), ("/shape", key)]
    assert "branch 2 of 3" in listed[-1].params["hint"]


def test_without_a_right_mark_the_fewest_problems_decide():
    places, _ = told({"properties": {"shape": {"anyOf": UNION}}}, {"shape": {"kind": "oval", "r": 1}})
    assert places == [("/shape/kind", "const"), ("/shape", "anyOf")]


def test_where_no_branch_has_the_right_kind_every_kind_is_told_once():
    places, listed = told({"anyOf": [*UNION, {"type": "null"}]}, "x")
    assert places == [("", "type"), ("", "type"), ("", "anyOf")]
    assert "hint" not in listed[-1].params


def test_unions_in_unions_are_told_from_the_outside_in():
    inner = {
        "type": "object",
        "properties": {"of": {"anyOf": UNION}, "group": {"const": "yes"}},
        "required": ["group", "of"],
    }
    places, _ = told(
        {"properties": {"v": {"oneOf": [{"type": "array"}, inner]}}}, {"v": {"group": "yes", "of": {"kind": "circle"}}}
    )
    assert places == [("/v/of", "required"), ("/v/of", "anyOf"), ("/v", "oneOf")]


def test_problems_beside_a_union_and_unions_in_items_and_references_stay_in_order():
    schema = {
        "$defs": {"shape": {"allOf": [{"anyOf": UNION}]}},
        "properties": {"shapes": {"type": "array", "items": {"$ref": "#/$defs/shape"}}, "n": {"type": "integer"}},
    }
    value = {"n": "x", "shapes": [{"kind": "circle", "r": 1}, {"kind": "circle"}, {"kind": "rect", "w": 1}]}
    places, _ = told(schema, value)
    assert places == [
        ("/shapes/1", "required"), ("/shapes/1", "anyOf"), ("/shapes/2", "required"), ("/shapes/2", "anyOf"), ("/n", "type"),
    ]  # fmt: skip


def test_a_union_below_a_condition_is_found():
    schema = {"if": {"required": ["a"]}, "then": {"properties": {"a": {"anyOf": UNION}}}}
    places, _ = told(schema, {"a": {"kind": "circle"}})
    assert ("/a/r", "type") not in places
    assert ("/a", "required") in places
    assert ("/a", "anyOf") in places


def test_what_fits_and_what_has_no_union_is_left_as_it_is():
    assert told({"properties": {"a": {"type": "integer"}}}, {"a": "x"})[0] == [("/a", "type")]
    assert told({"oneOf": [{"type": "object"}, {"required": ["a"]}]}, {"a": 1})[0] == [("", "oneOf")]
    assert told({"anyOf": [False, False]}, 1)[0][-1] == ("", "anyOf")


def test_a_union_of_which_several_match_is_left_as_it_is_beside_one_of_which_none_does():
    several = {"oneOf": [{"type": "object"}, {"required": ["kind"]}]}
    twice = {"$ref": "#/$defs/u"}
    schema = {"properties": {"v": {"allOf": [several, twice, twice]}}, "$defs": {"u": {"anyOf": UNION}}}
    places, listed = told(schema, {"v": {"kind": "circle"}})
    assert places == [("/v", "oneOf"), ("/v", "required"), ("/v", "anyOf")]
    assert "hint" not in listed[0].params


def test_a_branch_that_cannot_be_checked_in_time_leaves_all_as_found():
    from lastcall.contract.budgets import BudgetExceeded
    from lastcall.contract.closest import _problems_of

    class Tired:
        def problems_at(self, node, value):
            raise BudgetExceeded("steps", "too much")

    assert _problems_of(Tired(), None, 1, "") == ()


def test_a_thousand_unions_take_no_time():
    schema = {"type": "array", "items": {"anyOf": UNION}}
    began = time.perf_counter()
    told(schema, [{"kind": "circle"}] * 1000)
    assert time.perf_counter() - began < 5
