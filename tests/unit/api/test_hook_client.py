"""Hooks about rejected attempts and about the end, and failures of hooks."""

from __future__ import annotations

import json
import logging
import re

import anyio
import pytest

import lastcall
from lastcall.testing import ScriptedModel

COUNT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
GOOD = {"object": {"n": 8}}
BAD = {"object": {"n": "eight"}}
UNREADABLE = {"content": [{"type": "tool_use", "id": "t", "name": "StructuredOutput", "raw": '{"n": 8'}]}


def act() -> str:
    """Act."""
    return "done"


def test_a_rejected_attempt_is_shown_with_its_problems_and_the_model_reads_the_advice():
    seen = []

    @lastcall.hook("rejected")
    def advise(question):
        seen.append(question)
        return f"Use digits for {question.attempt.problems[0].path}, {question.deps}."

    model = ScriptedModel(BAD, GOOD)
    result = lastcall.run("x", output=COUNT, model=model, hooks=[advise], deps="please")
    assert result.output == {"n": 8}
    [question] = seen
    attempt = question.attempt
    assert (attempt.n, attempt.verdict, attempt.draft) == (1, "rejected", '{"n": "eight"}')
    assert [(problem.path, problem.keyword) for problem in attempt.problems] == [("/n", "type")]
    assert question.session_id == result.session_id
    problem, advice = model.prompts[1].index("must be integer"), model.prompts[1].index("Use digits for /n, please.")
    assert problem < advice


def test_an_attempt_that_could_not_be_read_is_shown_too():
    verdicts = []
    hooks = [lastcall.hook("rejected")(lambda question: verdicts.append(question.attempt.verdict))]
    assert lastcall.run("x", output=COUNT, model=ScriptedModel(UNREADABLE, GOOD), hooks=hooks).ok
    assert verdicts == ["unreadable"]


def test_what_a_rule_refuses_is_shown_too():
    def small(value):
        return value["n"] < 5 or "n is too large"

    words = []
    hooks = [lastcall.hook("rejected")(lambda question: words.extend(p.message for p in question.attempt.problems))]
    model = ScriptedModel(GOOD, {"object": {"n": 3}})
    assert lastcall.run("x", output=COUNT, model=model, rules=[small], hooks=hooks).output == {"n": 3}
    assert words == ["n is too large"]


def test_the_end_is_told_once_with_the_result_whatever_it_is():
    seen = []

    @lastcall.hook("ended")
    async def note(end):
        seen.append((end.result.ok, end.result.reason, end.deps))

    good = lastcall.run("x", output=COUNT, model=ScriptedModel(GOOD), hooks=[note], deps=1)
    bad = lastcall.run("x", output=COUNT, model=ScriptedModel("no"), hooks=[note], deps=2)
    assert seen == [(True, good.reason, 1), (False, bad.reason, 2)]


@pytest.mark.parametrize("point", ["after_tool", "rejected", "end", "ended"])
def test_what_a_hook_raises_afterwards_is_a_warning_and_the_object_is_there(point):
    @lastcall.hook(point)
    def broken(_):
        raise ZeroDivisionError("x")

    model = ScriptedModel({"call": {"name": "act", "input": {}}}, BAD, GOOD)
    result = lastcall.run("x", output=COUNT, model=model, tools=[act], hooks=[broken])
    assert result.output == {"n": 8}
    [(code, words)] = {(w.code, w.message) for w in result.warnings}
    assert code == "hook_failed"
    told = rf"the hook broken \({point}\) failed: ZeroDivisionError in test_hook_client\.py, line \d+"
    assert re.fullmatch(told, words)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ConnectionError("https://bob:hunter2-in-a-url@db/"), "ConnectionError in test_hook_client.py, line "),
        (ValueError("no vendor of ours"), "ValueError: no vendor of ours"),
        (ValueError("key sk-ant-hunter2-hunter2"), "ValueError: key [redacted"),
    ],
)
def test_of_what_a_hook_raises_no_secret_is_told(error, told, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-hunter2-hunter2")

    @lastcall.hook("ended")
    def broken(_):
        raise error

    result = lastcall.run("x", output=COUNT, model=ScriptedModel(GOOD), hooks=[broken])
    [warning] = result.warnings
    assert told in warning.message
    assert "hunter2" not in json.dumps(result.envelope())


def test_an_answer_of_another_kind_is_a_warning_afterwards_and_an_error_before():
    def wrong(_):
        return 3

    model = ScriptedModel(BAD, GOOD)
    result = lastcall.run("x", output=COUNT, model=model, hooks=[lastcall.hook("rejected")(wrong)])
    assert result.output == {"n": 8}
    [warning] = result.warnings
    assert "wrong (rejected) answered with int" in warning.message
    with pytest.raises(lastcall.UsageError, match=r"wrong \(before_tool\) answered with int"):
        lastcall.run("x", model=ScriptedModel({"call": {"name": "act", "input": {}}}), tools=[act], hooks=[lastcall.hook("before_tool")(wrong)])  # fmt: skip


def test_failures_of_one_run_are_not_told_in_the_next():
    fails = [True]

    @lastcall.hook("ended")
    def broken(_):
        if fails.pop():
            raise ZeroDivisionError
        fails.append(False)

    async def talk():
        async with lastcall.Session(COUNT, model=ScriptedModel(GOOD), hooks=[broken]) as session:
            first = await session.run("one")
            fails.append(False)
            return first, await session.run("two")

    first, second = anyio.run(talk)
    assert (len(first.warnings), len(second.warnings)) == (1, 0)


def test_a_matcher_where_there_is_no_tool_is_refused():
    with pytest.raises(lastcall.UsageError, match="about no tool"):
        lastcall.hook("prompt", matcher="Read")


def test_a_failed_hook_is_logged_without_what_it_said(caplog):
    @lastcall.hook("ended")
    def broken(_):
        raise ZeroDivisionError("secret words")

    with caplog.at_level(logging.WARNING, "lastcall"):
        lastcall.run("x", output=COUNT, model=ScriptedModel(GOOD), hooks=[broken])
    assert [r.getMessage() for r in caplog.records] == ["the hook broken (ended) failed: ZeroDivisionError"]
    assert "secret words" not in caplog.text
