"""The words that version 2.1.332 of the reference adds; expected sentences are from the recorded differences."""

from __future__ import annotations

import pytest

from lastcall.contract import compile_contract
from lastcall.contract.later_words import in_later_words
from lastcall.contract.parse import schema_from_value
from lastcall.contract.verdicts import Rejected
from lastcall.nouns.attachment import Problem
from lastcall.nouns.profile import Profile, Reference
from lastcall.nouns.tools import Arguments


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (
            {"enum": ["low", "medium", "high"]},
            '"x"',
            'must be equal to one of the allowed values: ["low","medium","high"]',
        ),
        ({"const": "a"}, '"b"', 'must be equal to constant: "a"'),
        ({"const": 1}, "2", "must be equal to constant: 1"),
        ({"const": {"a": 1, "b": [2]}}, "{}", 'must be equal to constant: {"a":1,"b":[2]}'),
        ({"type": "string", "maxLength": 2}, '"abc"', "must NOT have more than 2 characters (got 3)"),
        ({"type": "string", "minLength": 5}, '"abc"', "must NOT have fewer than 5 characters (got 3)"),
        ({"type": "array", "maxItems": 1}, "[1,2]", "must NOT have more than 1 items (got 2)"),
        ({"type": "array", "minItems": 3}, "[1,2]", "must NOT have fewer than 3 items (got 2)"),
        ({"type": "object", "minProperties": 1}, "{}", "must NOT have fewer than 1 properties (got 0)"),
        ({"type": "integer"}, '"x"', "must be integer"),
    ],
)
def test_each_keyword_says_what_was_found(schema, value, message):
    whole = {"type": "object", "properties": {"v": schema}}
    contract = compile_contract(
        schema_from_value(whole, profile=Profile.COMPAT), profile=Profile.COMPAT, reference=Reference.LATER
    )
    verdict = contract.judge(Arguments(f'{{"v":{value}}}'))
    assert isinstance(verdict, Rejected)
    assert [p.message for p in verdict.problems] == [message]


def test_a_name_that_is_too_much_is_said_and_the_length_of_a_name_is_not():
    unknown = Problem(
        "", "additionalProperties", "must NOT have additional properties", {"additionalProperty": "owner"}
    )
    name = Problem("", "maxLength", "must NOT have more than 3 characters", {"limit": 3})
    assert [p.message for p in in_later_words((unknown, name), {"owner": 1})] == [
        "must NOT have additional properties ('owner' is not allowed)",
        "must NOT have more than 3 characters",
    ]


def test_a_long_list_is_cut():
    problem = Problem("", "enum", "must be one of", {"allowedValues": ["x" * 50] * 20})
    (said,) = in_later_words((problem,), 1)
    assert said.message.endswith("…")
    assert len(said.message) < 330


def test_the_recorded_version_says_less():
    schema = schema_from_value({"type": "object", "properties": {"v": {"const": 1}}}, profile=Profile.COMPAT)
    verdict = compile_contract(schema, profile=Profile.COMPAT).judge(Arguments('{"v":2}'))
    assert isinstance(verdict, Rejected)
    assert verdict.problems[0].message == "must be equal to constant"
