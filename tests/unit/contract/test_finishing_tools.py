"""The two tools that end a run."""

from __future__ import annotations

import pytest

from lastcall.contract.finishing_tools import (
    NAMES,
    DeclineWords,
    decline_tool,
    finish_tool,
    is_finishing,
    is_revision,
    read_decline,
)
from lastcall.nouns.attachment import Problem
from lastcall.nouns.tools import Arguments, Unreadable, UnreadableCause


def test_their_names_are_the_only_ones_and_the_decline_can_be_left_out():
    assert [is_finishing(n, declines=True) for n in ("StructuredOutput", "DeclineOutput", "Read")] == [
        True,
        True,
        False,
    ]
    assert [is_finishing(n, declines=False) for n in ("StructuredOutput", "DeclineOutput")] == [True, False]


def test_the_finishing_tool_carries_the_schema_it_is_given():
    schema, strict = {"type": "object"}, {"type": "object", "properties": {}}
    tool = finish_tool(schema, notes="Dates are ISO 8601.", strict_schema=strict)
    assert (tool.name, tool.input_schema, tool.strict_schema, tool.finishing) == (
        "StructuredOutput",
        schema,
        strict,
        True,
    )
    assert tool.description.endswith(" Dates are ISO 8601.")
    assert finish_tool(schema).description == finish_tool(schema).description.strip()


def test_the_decline_tool_wants_a_reason():
    tool = decline_tool()
    assert (tool.name, tool.finishing, tool.input_schema["required"]) == ("DeclineOutput", True, ["reason"])


def test_a_decline_says_why_and_what_is_missing():
    assert read_decline(Arguments('{"reason":" no log ","missing":["a","b"]}')) == DeclineWords("no log", ("a", "b"))
    assert read_decline(Arguments('{"reason":"no log","extra":1}')) == DeclineWords("no log", ())


@pytest.mark.parametrize(
    ("arguments", "path", "keyword"),
    [
        (Arguments("{}"), "/reason", "required"),
        (Arguments('{"reason":" "}'), "/reason", "required"),
        (Arguments('{"reason":1}'), "/reason", "required"),
        (Arguments('{"reason":"a","missing":"b"}'), "/missing", "type"),
        (Arguments('{"reason":"a","missing":[1]}'), "/missing", "type"),
        (Arguments("[]"), "", "type"),
        (Arguments("{"), "", "unreadable"),
        (Unreadable("{", UnreadableCause.TRUNCATED, "ends", 1, 2, 1, 1), "", "unreadable"),
    ],
)
def test_a_decline_that_does_not_say_why_is_not_heard(arguments, path, keyword):
    problem = read_decline(arguments)
    assert isinstance(problem, Problem)
    assert (problem.path, problem.keyword) == (path, keyword)


def test_a_revision_is_known_by_its_name_and_finishes_only_where_it_is_on_offer():
    assert [is_revision(name) for name in NAMES] == [False, False, True]
    assert is_finishing("RevisedOutput", declines=False, revises=True)
    assert not is_finishing("RevisedOutput", declines=True)
