"""Expressions as rules of a schema: refused before anything is sent, or usable."""

from __future__ import annotations

import pytest

from lastcall.contract.expressions import cel_rules
from lastcall.contract.parse import parse_schema
from lastcall.errors import BadRule
from lastcall.nouns.profile import Profile

SCHEMA = parse_schema(
    '{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}', profile=Profile.NATIVE
)
IMPOSSIBLE = parse_schema('{"type":"object","properties":{"n":false},"required":["n"]}', profile=Profile.NATIVE)


def test_without_expressions_there_are_no_rules():
    assert cel_rules((), SCHEMA) == ()


def test_the_rules_judge_in_the_order_of_the_expressions():
    big, small = cel_rules(["n > 1", "n < 9"], SCHEMA)
    assert (big.name, small.name) == ("n > 1", "n < 9")
    assert not big.problems({"n": 5})
    assert big.problems({"n": 1})
    assert small.problems({"n": 9})


def test_a_name_that_no_object_of_the_schema_has_is_refused():
    with pytest.raises(BadRule, match="undeclared reference to 'm'"):
        cel_rules(["n > 1", "m > 1"], SCHEMA)


def test_what_cannot_be_tried_on_a_sample_is_left_to_the_run():
    assert [rule.name for rule in cel_rules(["m > 1"], IMPOSSIBLE)] == ["m > 1"]
