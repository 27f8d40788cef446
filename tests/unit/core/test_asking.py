"""Asking again, or the end: the order of what leaves no room for another request."""

from __future__ import annotations

from msgspec.structs import replace

from lastcall.core import asking
from lastcall.core.actions import CancelCalls, CancelRequest
from lastcall.core.policy import compat, native
from lastcall.core.records import NudgeKind
from lastcall.core.step import Draft
from lastcall.nouns.request import Choice
from lastcall.nouns.result import GaveUp, Limit, OutOfAttempts, Stopped
from machine_tools import BAD, COMPAT_CONTRACT, Play, call, finish, kinds


def after_attempt(**choices):
    play = Play(native(**choices))
    play.prompt()
    play.reply(finish("f", BAD))
    return Draft(play.state)


def test_used_up_attempts_come_before_a_limit():
    draft = after_attempt(max_attempts=1, max_turns=1)
    assert draft.state.outcome == OutOfAttempts(1)


def test_a_limit_ends_the_run_instead_of_asking():
    play = Play(native(max_turns=1, reserves=False))
    play.prompt()
    play.reply(call("c1"))
    play.tool("c1")
    assert play.outcome == Stopped(Limit.TURNS, "1")


def test_where_there_is_room_the_next_number_is_asked():
    draft = after_attempt()
    assert not asking.over(draft)
    before = draft.state.asked
    asking.send(draft, Choice.FINISH)
    assert draft.state.asked == before + 1
    assert draft.state.choice is Choice.FINISH


def test_the_same_turn_is_asked_for_again_under_its_own_choice():
    play = Play()
    play.prompt()
    play.reply("no")
    assert play.state.choice is Choice.FINISH
    draft = Draft(play.state)
    asking.reask(draft)
    assert draft.state.choice is Choice.FINISH
    assert kinds(draft.records) == ["Asked"]


def test_attempts_that_are_used_up_end_the_run_whether_it_would_go_on_or_ask_again():
    play = Play(native(max_attempts=2))
    play.prompt()
    play.reply(finish("f1", BAD))
    used_up = replace(play.state, attempts=play.state.attempts * 2, outstanding=False)
    going_on, again = Draft(used_up), Draft(used_up)
    assert asking.over(going_on)
    asking.reask(again)
    assert (going_on.state.outcome, again.state.outcome) == (OutOfAttempts(2), OutOfAttempts(2))


def test_what_no_request_would_carry_is_not_said_but_by_the_reference():
    def nudged(policy):
        play = Play(policy, COMPAT_CONTRACT)
        play.prompt()
        draft = Draft(replace(play.state, outstanding=False))
        asking.nudge(draft, NudgeKind.ENFORCE, "call it now")
        return kinds(draft.records)

    assert nudged(native(max_turns=1)) == ["Ended"]
    assert nudged(native(max_turns=2)) == ["Nudged", "Asked"]
    assert nudged(compat(max_turns=1)) == ["Nudged", "Ended"]


def test_an_end_stops_what_is_under_way():
    play = Play()
    play.prompt()
    draft = Draft(play.state)
    asking.end(draft, GaveUp("no"))
    assert draft.step().actions == (CancelRequest(1),)
    play.reply(call("c1"))
    draft = Draft(play.state)
    asking.end(draft, GaveUp("no"))
    assert draft.step().actions == (CancelCalls(("c1",)),)
