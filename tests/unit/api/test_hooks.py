"""Hooks that are Python functions."""

from __future__ import annotations

import json

import pytest

import lastcall
from lastcall.nouns.result import Limit, Stopped
from lastcall.testing import ScriptedModel

COUNT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
DOUBLE = {"call": {"name": "double", "input": {"n": 4}}}


def double(n: int) -> int:
    """Twice the number."""
    return n * 2


def played(*hooks, deps=None):
    model = ScriptedModel(DOUBLE, {"object": {"n": 8}})
    result = lastcall.run("Double four.", output=COUNT, model=model, tools=[double], hooks=hooks, deps=deps)
    return result, model


def test_a_hook_is_asked_at_its_point_about_what_happens_there():
    asked = []

    def note(question):
        asked.append(question)

    points = ("prompt", "before_tool", "after_tool", "end")
    result, _ = played(*(lastcall.hook(point)(note) for point in points), deps="D")
    assert result.output == {"n": 8}
    [prompt, before, after, *_] = asked
    assert (prompt.point, prompt.prompt, prompt.deps) == ("prompt", "Double four.", "D")
    assert (before.point, before.tool, before.arguments) == ("before_tool", "double", {"n": 4})
    assert (after.point, after.answer, after.call_id) == ("after_tool", "8", before.call_id)
    assert {question.session_id for question in asked} == {result.session_id}


def test_a_sentence_refuses_the_call_and_the_model_reads_it():
    @lastcall.hook("before_tool", matcher="double")
    async def refuse(question):
        return f"no {question.tool} today"

    _, model = played(refuse)
    assert "no double today" in model.prompts[1]


def test_a_matcher_leaves_other_tools_alone():
    @lastcall.hook("before_tool", matcher="Read|Grep")
    def refuse(question):
        return "no"

    assert played(refuse)[1].prompts[1] == "8"


def test_arguments_can_be_changed_and_are_checked_again():
    @lastcall.hook("before_tool", matcher="double")
    def larger(question):
        return lastcall.HookAnswer(arguments={"n": question.arguments["n"] + 1})

    assert played(larger)[1].prompts[1] == "10"

    @lastcall.hook("before_tool", matcher="double")
    def wrong(question):
        return lastcall.HookAnswer(arguments={"n": "five"})

    assert "n" in played(wrong)[1].prompts[1]


def test_words_for_the_model_come_after_the_answer():
    @lastcall.hook("after_tool")
    def add(question):
        return lastcall.HookAnswer(tell="Round it.")

    assert "Round it." in json.dumps(played(add)[1].requests[1]["messages"])


def test_a_hook_can_stop_the_run_and_its_reason_is_the_outcomes():
    @lastcall.hook("before_tool", matcher="double")
    def halt(question):
        return lastcall.HookAnswer(refuse="no", stop="the budget office is closed")

    result, _ = played(halt)
    assert result.outcome == Stopped(Limit.TOOL_HOOK, "the budget office is closed")


def test_a_failure_is_a_point_of_its_own():
    asked = []

    @lastcall.hook("after_failure", matcher="broken")
    def note(question):
        asked.append(question.answer)

    def broken() -> None:
        raise LookupError("gone")

    model = ScriptedModel({"call": {"name": "broken", "input": {}}}, "Done.")
    lastcall.run("x", model=model, tools=[broken], hooks=[note])
    assert asked == ["broken failed: LookupError: gone"]


def test_an_allowing_hook_lets_a_call_through_that_the_rules_leave_open(tmp_path):
    @lastcall.hook("before_tool", matcher="Write")
    def allow(question):
        return lastcall.HookAnswer(allow=True)

    place = tmp_path / "a.txt"
    write = {"call": {"name": "Write", "input": {"file_path": str(place), "content": "one"}}}
    config = lastcall.RunConfig(cwd=str(tmp_path))
    lastcall.run("x", model=ScriptedModel(write, "Done."), tools=["Write"], config=config)
    assert not place.exists()
    lastcall.run("x", model=ScriptedModel(write, "Done."), tools=["Write"], config=config, hooks=[allow])
    assert place.read_text("utf-8") == "one"


def test_what_a_hook_raises_is_raised_to_the_caller_and_the_call_is_not_made():
    made = []

    @lastcall.hook("before_tool")
    def broken(question):
        raise ZeroDivisionError

    def act() -> None:
        made.append(1)

    with pytest.raises(ZeroDivisionError):
        lastcall.run("x", model=ScriptedModel({"call": {"name": "act", "input": {}}}, "x"), tools=[act], hooks=[broken])
    assert made == []


def test_a_point_that_there_is_not_is_refused():
    with pytest.raises(lastcall.UsageError, match="before_tool"):
        lastcall.hook("sometimes")
