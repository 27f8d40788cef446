"""Rules and checks of the command line: refused before anything is sent, or usable."""

from __future__ import annotations

import os

import pytest

from lastcall.cli.rules import checks_of, rules_of
from lastcall.contract.parse import parse_schema
from lastcall.errors import BadConfig, BadRule
from lastcall.nouns.profile import Profile

SCHEMA = parse_schema(
    '{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}', profile=Profile.NATIVE
)
IMPOSSIBLE = parse_schema('{"type":"object","properties":{"n":false},"required":["n"]}', profile=Profile.NATIVE)


def checks(*commands, profile=Profile.NATIVE, timeout_s=None):
    return checks_of(commands, profile, cwd=".", environment=dict(os.environ), timeout_s=timeout_s)


def test_without_flags_there_is_nothing():
    assert rules_of((), SCHEMA, Profile.COMPAT) == checks(profile=Profile.COMPAT) == ()


def test_rules_and_checks_keep_their_order_and_names():
    assert [rule.name for rule in rules_of(["n > 1", "n < 9"], SCHEMA, Profile.NATIVE)] == ["n > 1", "n < 9"]
    assert [(c.name, c.timeout_s) for c in checks("true", "false", timeout_s=5)] == [("true", 5), ("false", 5)]
    assert checks("true")[0].timeout_s == 60


def test_a_name_that_no_object_has_is_refused():
    with pytest.raises(BadRule, match="undeclared reference to 'm'"):
        rules_of(["m > 1"], SCHEMA, Profile.NATIVE)


def test_a_schema_without_an_example_leaves_it_to_the_run():
    assert len(rules_of(["m > 1"], IMPOSSIBLE, Profile.NATIVE)) == 1


def test_the_reference_has_neither():
    with pytest.raises(BadConfig):
        rules_of(["n > 1"], SCHEMA, Profile.COMPAT)
    with pytest.raises(BadConfig):
        checks("true", profile=Profile.COMPAT)
