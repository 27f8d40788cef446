"""What a session has seen is what tools answered, and nothing that the model or lastcall said."""

from __future__ import annotations

from lastcall.contract.seen import ToolSeen
from lastcall.core import events as e
from lastcall.core.sight import sight_of
from lastcall.nouns.attachment import Problem
from lastcall.nouns.tools import ResultKind, ToolResult
from machine_tools import BAD, OneCheck, Play, call, contract_of, finish

QUOTES = contract_of({"type": "object", "properties": {"line": {"type": "string", "x-lastcall": {"quote": "tools"}}}})
SECRET = contract_of(
    {"type": "object", "properties": {"pin": {"type": "string", "maxLength": 3, "x-lastcall": {"secret": True}}}}
)


def play_of(contract=None):
    play = Play(contract=contract) if contract is not None else Play()
    play.prompt()
    return play


def done(play, result):
    play.hear(e.ToolFinished(result, "u"))


def test_closed_and_pending_answers_count_with_the_input_of_their_calls():
    play = play_of()
    play.reply(call("c1"))
    done(play, ToolResult("c1", ResultKind.OK, "line one"))
    play.reply(call("c2"), finish("c3", BAD))
    done(
        play,
        ToolResult("c2", ResultKind.FAILED, '[{"type":"text","text":"two"},{"type":"image"},3]', True, blocks=True),
    )
    tools = sight_of(play.state).tools
    assert [(t.tool, t.text, t.ok) for t in tools] == [("Read", "line one", True), ("Read", "two", False)]
    assert all(isinstance(t, ToolSeen) and t.arguments.startswith("{") for t in tools)
    assert sight_of(play.state).prompt == play.state.prompt_text != ""


def test_blocks_that_are_no_blocks_say_nothing():
    play = play_of()
    play.reply(call("c1"), call("c2"))
    done(play, ToolResult("c1", ResultKind.OK, "{", blocks=True))
    done(play, ToolResult("c2", ResultKind.DENIED, "secret words", True))
    assert [t.text for t in sight_of(play.state).tools] == [""]


def test_an_object_is_judged_by_what_was_seen_before_it():
    play = play_of(QUOTES)
    play.reply(finish("c1", '{"line":"disk full"}'))
    assert play.verdicts == ["rejected"]
    play.reply(call("c2"))
    done(play, ToolResult("c2", ResultKind.OK, "ERROR disk full"))
    play.reply(finish("c3", '{"line":"disk full"}'))
    assert play.verdicts == ["rejected", "accepted"]
    assert [(c.name, c.passed, c.call_id) for c in play.state.checks] == [
        ("x-lastcall", False, "c1"),
        ("x-lastcall", True, "c3"),
    ]


def test_secret_values_are_in_no_answer_and_in_no_problem():
    play = play_of(SECRET)
    records = play.reply(finish("c1", '{"pin":"hunter2"}'), finish("c2", '{"pin":"hunter2'))
    told = [x for x in records if type(x).__name__ in ("CallAnswered", "Attempted")]
    assert "hunter2" not in repr([getattr(x, "result", None) or x.attempt.problems for x in told])


def test_a_secret_in_the_words_of_a_check_is_hidden():
    contract = contract_of(
        {"type": "object", "properties": {"pin": {"type": "string", "x-lastcall": {"secret": True}}}},
        checks=(OneCheck(),),
    )
    play = play_of(contract)
    play.reply(finish("c1", '{"pin":"hunter2"}'))
    assert play.state.checking
    records = play.hear(e.ChecksFinished("c1", (Problem("", "check", "no user hunter2"),), ()))
    assert "hunter2" not in repr(records)
    assert play.state.attempts[0].problems == (Problem("", "check", "no user [secret]"),)
