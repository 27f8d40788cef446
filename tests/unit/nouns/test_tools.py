"""Tools and answers as values."""

from __future__ import annotations

import pytest

from lastcall.nouns.tools import ResultKind, ToolDefinition, ToolResult, define


def test_a_definition_holds_what_it_was_given():
    schema = {"type": "object"}
    assert define("Read", "Reads.", schema, read_only=True) == ToolDefinition("Read", "Reads.", schema, read_only=True)
    assert define("Finish", "Ends.", schema, finishing=True, strict_schema={"a": 1}).strict_schema == {"a": 1}
    assert not define("Read", "Reads.", schema).finishing


@pytest.mark.parametrize(("is_error", "failed"), [(None, False), (False, False), (True, True)])
def test_an_answer_failed_when_it_says_so(is_error, failed):
    assert ToolResult("c", ResultKind.OK, "x", is_error).failed is failed


@pytest.mark.parametrize("kind", ResultKind)
def test_only_the_contract_s_answers_are_of_a_finishing_call(kind):
    assert kind.of_finishing is (kind in {ResultKind.ACCEPTED, ResultKind.REJECTED, ResultKind.HELD})


@pytest.mark.parametrize("kind", ResultKind)
def test_only_a_tool_that_was_run_gives_its_own_answer(kind):
    assert kind.of_tool is (kind in {ResultKind.OK, ResultKind.FAILED})
