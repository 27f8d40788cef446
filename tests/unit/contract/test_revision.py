"""A revision makes a whole of a kept draft, or says what stands in the way."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastcall.contract import compile_contract
from lastcall.contract.finishing_tools import NAMES, is_finishing, is_revision
from lastcall.contract.parse import schema_from_value
from lastcall.contract.revision import Kept, Revised, revise, revise_tool
from lastcall.contract.verdicts import Accepted, CannotRead, Rejected
from lastcall.nouns.profile import Profile
from lastcall.nouns.tools import Arguments, Unreadable, UnreadableCause

KEPT = (Kept(1, "toolu_1", '{"n": 1.10, "z": 0, "a": [1]}'), Kept(3, "toolu_3", '{"n":3}'))
GONE = ((2, "toolu_2"),)


def revised(value: Any) -> Any:
    return revise(Arguments(value if isinstance(value, str) else json.dumps(value)), KEPT, GONE)


def problem(value: Any) -> tuple[str, str, str]:
    verdict = revised(value)
    assert isinstance(verdict, Rejected)
    first = verdict.problems[0]
    return first.path, first.keyword, first.message


@pytest.mark.parametrize("base", [1, "1", "toolu_1"])
def test_a_draft_is_named_by_its_number_or_its_call(base):
    made = revised({"base": base, "patch": [{"op": "add", "path": "/a/-", "value": 2}]})
    assert made == Revised('{"n":1.10,"z":0,"a":[1,2]}', KEPT[0])


def test_an_exact_one_is_a_number_like_any_other_spelling_of_it():
    assert revised('{"base": 3.0, "patch": []}') == Revised('{"n":3}', KEPT[1])


@pytest.mark.parametrize(
    ("value", "place", "why"),
    [
        ({"base": 9, "patch": []}, "/base", "there is no kept draft of that name; kept: 1, 3"),
        ({"base": "toolu_9", "patch": []}, "/base", "there is no kept draft of that name; kept: 1, 3"),
        ({"base": 2, "patch": []}, "/base", "that draft was taken back together with its reply; kept: 1, 3"),
        ({"base": "toolu_2", "patch": []}, "/base", "that draft was taken back together with its reply; kept: 1, 3"),
        ({"base": True, "patch": []}, "/base", "must be the number of a kept draft; kept: 1, 3"),
        ({"base": None, "patch": []}, "/base", "must be the number of a kept draft; kept: 1, 3"),
        ({"patch": []}, "", "must have base"),
        ({"base": 1}, "", "must have patch"),
        ([1], "", "must be an object with base and patch"),
        ({"base": 1, "patch": [], "x/y": 1}, "/x~1y", "is neither base nor patch"),
        ('{"base": 1, "patch": [], "base": 3}', "/base", "the key occurs more than once in its object"),
        ('{"base": 1, "patch": [{"op": "remove", "path": "/n", "path": "/z"}]}', "/patch/0/path", "the key occurs more than once in its object"),
        ({"base": 1, "patch": {}}, "/patch", "must be an array of operations, and is an object of 0 members"),
        ({"base": 1, "patch": [{"op": "remove", "path": "/n"}, {"op": "remove", "path": "/q"}]}, "/patch/1/path", "there is no member 'q' in the object at the root (2 members)"),
    ],
)  # fmt: skip
def test_what_cannot_be_applied_is_a_problem_of_the_revision(value, place, why):
    assert problem(value) == (place, "patch", why)


def test_where_nothing_is_kept_it_says_so():
    verdict = revise(Arguments('{"base":1,"patch":[]}'), ())
    assert isinstance(verdict, Rejected)
    assert verdict.problems[0].message.endswith("kept: none")


def test_what_cannot_be_read_is_told_as_unreadable():
    broken = Unreadable('{"base"', UnreadableCause.TRUNCATED, "the text ends", 1, 8, 7, 7)
    assert revise(broken, KEPT) == CannotRead(broken)
    late = revised('{"base": 1, "patch": [NaN]}')
    assert isinstance(late, CannotRead)
    assert (late.fault.cause, late.fault.length) == (UnreadableCause.NOT_A_NUMBER, 27)


def test_a_draft_is_as_it_was_after_a_revision():
    for _ in range(2):
        made = revised({"base": 1, "patch": [{"op": "add", "path": "/a/-", "value": 2}]})
        assert isinstance(made, Revised)
        assert made.text.endswith('"a":[1,2]}')


def test_it_is_a_finishing_tool_only_where_it_is_on_offer():
    assert NAMES == ("StructuredOutput", "DeclineOutput", "RevisedOutput")
    assert is_revision("RevisedOutput")
    assert not is_revision("StructuredOutput")
    assert is_finishing("RevisedOutput", declines=False, revises=True)
    assert not is_finishing("RevisedOutput", declines=True)


@pytest.mark.parametrize(
    ("rules", "strict"), [("none", False), ("reference", False), ("anthropic", False), ("openai", False)]
)
def test_the_tool_wants_a_base_and_a_patch_and_a_value_may_be_anything(rules, strict):
    tool = revise_tool(rules)
    assert (tool.name, tool.finishing, tool.input_schema["required"]) == ("RevisedOutput", True, ["base", "patch"])
    assert (tool.strict_schema is not None) == strict
    contract = compile_contract(schema_from_value(dict(tool.input_schema), profile=Profile.NATIVE))
    for value in (None, 1, "x", [1], {"a": {}}):
        sent = {"base": 1, "patch": [{"op": "add", "path": "/a", "value": value}]}
        assert isinstance(contract.judge(Arguments(json.dumps(sent))), Accepted)
