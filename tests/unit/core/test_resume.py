"""A journal ends anywhere, and the run goes on from there."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from lastcall.contract import wording
from lastcall.core import events as e
from lastcall.core import records as r
from lastcall.core.actions import AskModel, RunChecks, RunTool
from lastcall.core.evolve import evolve
from lastcall.core.policy import compat, native
from lastcall.core.resume import resume
from lastcall.core.state import RunState, begin
from lastcall.core.step import Step
from lastcall.nouns.attachment import Problem
from lastcall.nouns.messages import TextBlock
from lastcall.nouns.result import Answered, Failed, FailureKind, Limit, Signal, Stopped
from lastcall.nouns.tools import Halt, ResultKind
from lastcall.wire.journal import JournalStep, decode_line, encode_step
from machine_tools import BAD, CHECKED, COMPAT_CONTRACT, GOOD, OTHER, WORSE, Play, call, decline, finish, kinds


def test_there_is_nothing_to_go_on_with_before_a_run_and_after_one():
    play = Play()
    assert resume(play.state) == Step(play.state, (), ())
    play.prompt()
    play.reply(finish("c1"))
    assert resume(play.state) == Step(play.state, (), ())


def test_a_request_without_a_reply_is_sent_again():
    play = Play()
    play.prompt()
    play.starts()
    play.says("half", finish("c1"))
    assert play.resume() == [r.Resumed(), r.Asked(2)]
    assert play.actions[-1] == AskModel(2)
    assert play.history() == [("user", ["go"])]
    assert play.hear(e.BlockEnded(1, play.message, TextBlock("late"), "u")) == []


def test_a_call_that_may_have_acted_is_told_as_unknown_and_one_that_only_reads_is_run_again():
    play = Play()
    play.prompt()
    play.reply(call("c1", "Bash"), call("c2", "Read"), call("c3", "Fly"), call("c4", "Read"))
    play.tool("c4")
    records = play.resume()
    assert kinds(records) == ["Resumed", "ToolStarted", "CallAnswered", "CallAnswered"]
    assert records[1] == r.ToolStarted("c2", "Read", read_only=True)
    assert [x.result.content for x in records[2:]] == [wording.interrupted_call(restarts=True)] * 2
    assert play.actions[-1] == RunTool(replace(call("c2"), message_id=play.message))
    assert play.tool("c1") == []
    assert kinds(play.tool("c2")) == ["CallAnswered", "Asked"]
    assert play.answers() == {
        "c4": ResultKind.OK, "c1": ResultKind.INTERRUPTED, "c3": ResultKind.INTERRUPTED, "c2": ResultKind.OK,
    }  # fmt: skip


def test_an_object_beside_a_call_whose_effect_is_unknown_is_not_taken():
    play = Play()
    play.prompt()
    play.reply(call("c1", "Bash"), finish("c2"))
    play.resume()
    assert play.verdicts == ["held"]
    assert play.state.outstanding


def test_checks_of_a_held_object_are_run_again():
    play = Play(contract=CHECKED)
    play.prompt()
    play.reply(finish("c1"))
    assert play.resume() == [r.Resumed()]
    assert play.actions[-1] == RunChecks("c1", GOOD)


def test_an_object_whose_checks_have_passed_waits_for_its_siblings_only():
    play = Play(contract=CHECKED)
    play.prompt()
    play.reply(call("c1"), finish("c2"))
    play.hear(e.ChecksFinished("c2", (), ()))
    before = len(play.actions)
    play.resume()
    assert [type(x) for x in play.actions[before:]] == [RunTool]
    play.tool("c1")
    assert play.verdicts == ["accepted"]


def test_compat_goes_on_from_what_was_answered_before_the_crash():
    play = Play(compat(), COMPAT_CONTRACT)
    play.prompt()
    play.starts()
    play.says(finish("c1", '{"title":1}'), call("c2", "Bash"))
    assert kinds(play.resume()) == ["Resumed", "CallAnswered", "Asked"]
    assert play.history()[1:] == [("model", ["call c1", "call c2"]), ("user", ["c1: rejected", "c2: interrupted"])]


# -- any cut of any run -----------------------------------------------------------------------------------------------


def long_run(policy: Any, contract: Any) -> Play:
    """A run with a bit of everything in it, and another after it."""
    play = Play(policy, contract)
    play.prompt()
    play.reply("let me see", call("c1", "Bash"), call("c2", "Read"))
    play.tool("c2")
    play.tool("c1", fails=True)
    play.starts()
    play.says("half", finish("c3"))
    play.falls_back(play.message)
    play.reply(finish("c4", BAD), decline("c5"))
    if contract is COMPAT_CONTRACT:
        play.tool("c5", fails=True)
    play.reply("prose")
    play.reply(finish("c6", WORSE), finish("c7", "nonsense"))
    play.reply(call("c8", "Read"), finish("c9"))
    play.tool("c8")
    play.hear(e.ChecksFinished("c9", (Problem("", "check", "no"),), ()))
    play.reply("and so on", stop="max_tokens")
    play.reply(finish("c10", OTHER))
    play.hear(e.ChecksFinished("c10", (), ()))
    play.prompt("again")
    play.reply(finish("c11"))
    play.hear(e.ChecksFinished("c11", (), ()))
    return play


def written_and_read(records: list[r.Record]) -> list[r.Record]:
    """Through the journal's own form."""
    line = decode_line(encode_step(records, at=1.0))
    assert isinstance(line, JournalStep)
    return list(line.records)


POLICIES = {"native": (native(max_attempts=9), CHECKED), "compat": (compat(max_attempts=9), COMPAT_CONTRACT)}


@pytest.mark.parametrize("profile", POLICIES)
def test_a_run_can_end_from_every_cut_of_its_journal(profile):
    whole = long_run(*POLICIES[profile])
    assert whole.outcome is not None
    journal = written_and_read(whole.records)
    for cut in range(len(journal) + 1):
        play = Play(*POLICIES[profile])
        state: RunState = begin(play.setting)
        for record in journal[:cut]:
            state = evolve(state, record)
        play.state, play.records = state, journal[:cut]
        if not state.run_id or state.outcome is not None:
            continue
        acted = {x.call_id for x in journal[:cut] if isinstance(x, r.ToolStarted) and x.name == "Bash"}
        attempts, nudges = len(state.attempts), state.nudges
        play.resume()
        for _ in range(20):
            if play.outcome is not None:
                break
            _settle(play)
        assert play.outcome is not None, cut
        assert [a.n for a in play.state.attempts][:attempts] == list(range(1, attempts + 1))
        assert play.state.nudges[: len(nudges)] == nudges
        assert play.state.nudges.count(r.NudgeKind.ENFORCE) <= 1
        again = {x.call.call_id for x in play.actions if isinstance(x, RunTool) and x.call.name == "Bash"}
        assert not again & acted, cut


def _settle(play: Play) -> None:
    waiting = [h.attachment.call_id for h in play.state.held if h.checking]
    if play.state.running:
        play.tool(play.state.running[0])
    elif waiting:
        play.hear(e.ChecksFinished(waiting[0], (), ()))
    else:
        play.reply("Done.")


@pytest.mark.parametrize(
    "ending",
    [
        e.Interrupted(Signal.TERMINATE, "u"),
        e.Faulted(Failed(FailureKind.JOURNAL, "no space left")),
        e.LimitHit(Limit.DEADLINE),
    ],
    ids=["signal", "disk", "deadline"],
)
def test_a_run_that_was_ended_from_outside_can_be_continued(ending):
    play = Play()
    play.prompt()
    play.reply(call("c1", "Bash"), finish("c2", BAD))
    play.hear(ending)
    assert play.outcome is not None
    assert play.resume() == []
    play.resume(reopens=True)
    assert play.outcome is None
    assert play.state.outstanding
    assert play.answers()["c1"] is ResultKind.INTERRUPTED
    assert play.verdicts == ["rejected"]
    play.reply(finish("c3"))
    assert isinstance(play.outcome, Answered)
    assert len(play.state.attempts) == 2


def test_a_run_out_of_turns_goes_on_when_it_has_more():
    play = Play(native(max_turns=1, reserves=False))
    play.prompt()
    play.reply(finish("c1", BAD))
    assert play.outcome == Stopped(Limit.TURNS, "1")
    play.resume(reopens=True)
    assert play.outcome == Stopped(Limit.TURNS, "1")
    play.state = replace(play.state, setting=replace(play.state.setting, policy=native(max_turns=2, reserves=False)))
    play.resume(reopens=True)
    play.reply(finish("c2"))
    assert isinstance(play.outcome, Answered)


def test_a_run_that_a_hook_ended_stays_ended():
    play = Play()
    play.prompt()
    stopped = evolve(play.state, r.Ended(Stopped(Limit.STOP_HOOK, "enough")))
    assert resume(stopped, reopens=True) == Step(stopped, (), ())


def test_what_was_to_end_a_run_that_crashed_still_does():
    play = Play()
    play.prompt()
    play.reply(call("c1", "Bash"))
    play.hear(e.LimitNear(Limit.DEADLINE))
    halted = replace(play.state, halt=Halt("enough"))
    assert evolve(halted, r.Resumed()).halt == Halt("enough")
    assert evolve(halted, r.Resumed()).limits_near == {Limit.DEADLINE}
    ended = evolve(halted, r.Ended(Stopped(Limit.DEADLINE, "1s")))
    assert evolve(ended, r.Resumed()).halt is None
