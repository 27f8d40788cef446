"""Asking again, or the end: the order of what leaves no room for another request."""

from __future__ import annotations

from lastcall.core import asking
from lastcall.core.policy import native
from lastcall.core.step import Draft
from lastcall.nouns.request import Choice
from lastcall.nouns.result import Limit, OutOfAttempts, Stopped
from machine_tools import BAD, Play, call, finish, kinds


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
