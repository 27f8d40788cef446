"""The limits that the core sees by itself."""

from __future__ import annotations

from decimal import Decimal

import pytest
from msgspec.structs import replace

from lastcall.core.limits import BLIND, budget_blind, leaves_room_for_more, limit_reached
from lastcall.core.policy import compat, native
from lastcall.nouns.result import NO_USAGE, Answered, Limit, OutOfAttempts, Stopped, Usage, reason
from machine_tools import BAD, COMPAT_CONTRACT, Play, call, finish, kinds

BIG = Usage(800, 100, 50, 50)
"""A thousand tokens, all told."""


def turn(play, n, **more):
    """One more read, answered."""
    new = play.reply(call(f"c{n}", text=f'{{"n":{n}}}'), usage=more.pop("usage", BIG), **more)
    return new + play.tool(f"c{n}")


def test_before_the_budget_of_tokens_is_passed_the_last_call_is_reserved():
    play = Play(native(max_budget_tokens=4_500))
    play.prompt()
    turn(play, 1)
    turn(play, 2)
    assert not play.state.reserved
    turn(play, 3)  # 3,000 are spent, another two would not fit
    assert play.state.reserved
    play.reply(finish("f"), usage=BIG)
    assert isinstance(play.outcome, Answered)
    assert play.state.tokens == 4_000


def test_a_spent_budget_of_tokens_stops_the_run_and_is_named():
    play = Play(native(max_budget_tokens=2_000))
    play.prompt()
    turn(play, 1)
    assert play.state.reserved
    turn(play, 2)
    assert play.outcome == Stopped(Limit.TOKENS, "2000")
    assert "budget of 2000 tokens" in reason(play.outcome)


def test_cached_and_lost_tokens_count_as_they_are_billed():
    play = Play(native(max_budget_tokens=100_000))
    play.prompt()
    turn(play, 1, usage=Usage(10, 20, 30, 40))
    assert play.state.tokens == 100


def test_what_was_spent_is_remembered_after_a_crash():
    play = Play(native(max_budget_tokens=2_000))
    play.prompt()
    turn(play, 1)
    play.resume()
    turn(play, 2)
    assert play.outcome == Stopped(Limit.TOKENS, "2000")


def test_a_new_prompt_has_the_whole_budget_again():
    play = Play(native(max_budget_tokens=2_000))
    play.prompt()
    turn(play, 1)
    play.reply(finish("f"), usage=BIG)
    play.prompt()
    assert play.state.tokens == 0
    turn(play, 3)
    assert play.outcome is None


def test_compat_stops_too_though_without_a_reserved_call():
    play = Play(compat(max_budget_tokens=1_500), contract=COMPAT_CONTRACT)
    play.prompt()
    turn(play, 1)
    assert not play.state.reserved
    turn(play, 2)
    assert play.outcome == Stopped(Limit.TOKENS, "1500")


@pytest.mark.parametrize(
    ("choices", "usage", "cost"),
    [({"max_budget_usd": Decimal(1)}, BIG, None), ({"max_budget_tokens": 9}, NO_USAGE, Decimal(0))],
)
def test_a_budget_that_nobody_can_keep_is_said_to_be_so_once(choices, usage, cost):
    play = Play(native(**choices))
    play.prompt()
    first = turn(play, 1, usage=usage, cost_usd=cost)
    again = turn(play, 2, usage=usage, cost_usd=cost)
    assert kinds(first).count("Warned") == 1
    assert "Warned" not in kinds(again)
    assert [w.code for w in play.state.warnings] == [BLIND]


def test_a_budget_that_can_be_kept_is_not_warned_of():
    state = Play(native(max_budget_usd=Decimal(1), max_budget_tokens=9)).state
    assert budget_blind(state, BIG, Decimal(1)) is None
    assert budget_blind(Play().state, NO_USAGE, None) is None
    assert budget_blind(Play(compat(max_budget_usd=Decimal(1))).state, NO_USAGE, None) is None


def test_a_request_beside_the_turns_has_to_leave_the_last_call():
    play = Play(native(max_budget_tokens=3_500))
    play.prompt()
    turn(play, 1)
    assert leaves_room_for_more(play.state)
    turn(play, 2)
    assert not leaves_room_for_more(play.state)


# -- in circles -----------------------------------------------------------------------------------------------------


def read_again(play, n, content="the same"):
    return [*play.reply(call(f"r{n}")), *play.tool(f"r{n}", content)]


def circles(most=4, **setting):
    play = Play(native(max_repeats=most), **setting)
    play.prompt()
    return play


def test_a_model_that_goes_in_circles_is_told_then_gets_its_last_call_then_is_stopped():
    play = circles()
    told = [kinds(read_again(play, n)).count("Nudged") for n in range(5)]
    assert told == [0, 0, 1, 0, 1]  # after half of the four repetitions, and with the last call
    assert play.state.reserved
    assert Limit.REPEATS in play.state.limits_near
    read_again(play, 9)
    assert play.outcome == Stopped(Limit.REPEATS, "4")


def test_an_object_in_the_last_call_is_an_answer():
    play = circles()
    for n in range(5):
        read_again(play, n)
    play.reply(finish("f"))
    assert isinstance(play.outcome, Answered)


def test_an_object_that_is_rejected_in_the_last_call_may_be_mended():
    play = circles()
    for n in range(5):
        read_again(play, n)
    play.reply(finish("f", BAD))
    assert play.outcome is None
    assert play.state.reserved
    play.reply(finish("g"))
    assert isinstance(play.outcome, Answered)


def test_even_then_the_attempts_are_counted():
    play = circles()
    for n in range(5):
        read_again(play, n)
    for n in range(5):
        play.reply(finish(f"f{n}", f'{{"count":"{n}"}}'))
    assert isinstance(play.outcome, OutOfAttempts)


def test_prose_in_the_last_call_is_the_end():
    play = circles()
    for n in range(5):
        read_again(play, n)
    play.reply("I cannot.")
    assert play.outcome == Stopped(Limit.REPEATS, "4")


def test_without_a_contract_there_is_no_last_call_to_reserve():
    play = circles(contract=None)
    for n in range(5):
        read_again(play, n)
    assert play.outcome == Stopped(Limit.REPEATS, "4")


def test_another_answer_is_no_circle():
    play = circles()
    for n in range(30):
        read_again(play, n, content=f"line {n}")
    assert play.outcome is None


@pytest.mark.parametrize("policy", [native(max_repeats=None), compat()])
def test_where_nobody_looks_for_circles_there_are_none(policy):
    play = Play(policy, contract=COMPAT_CONTRACT if policy.eager else play_contract())
    play.prompt()
    for n in range(30):
        read_again(play, n)
    assert play.outcome is None
    assert play.state.exchanges == ()


def play_contract():
    return Play().state.contract


def test_a_run_that_was_stopped_for_it_can_be_taken_up():
    play = circles()
    for n in range(6):
        read_again(play, n)
    play.resume(reopens=True)
    assert play.outcome is None
    assert not play.state.reserved


def test_the_limit_that_leaves_no_room_is_named():
    play = Play(native(max_turns=1, max_budget_tokens=900, max_repeats=2))
    play.prompt()
    assert limit_reached(replace(play.state, voided=1)) is None
    assert limit_reached(play.state) is Limit.TURNS
    turns_left = replace(play.state, voided=1)
    spent = replace(turns_left, usage_by_model=(("m", BIG),))
    assert limit_reached(spent) is Limit.TOKENS
    assert limit_reached(replace(spent, limits_hit=frozenset({Limit.DEADLINE}))) is Limit.DEADLINE
    near = replace(turns_left, limits_near=frozenset({Limit.REPEATS}), reserved=False)
    assert limit_reached(near) is None
    assert limit_reached(replace(near, reserved=True)) is Limit.REPEATS
    assert limit_reached(Play(native(max_budget_usd=Decimal(1))).state) is None
    dear = replace(Play(native(max_budget_usd=Decimal(1))).state, cost_usd=Decimal(1))
    assert limit_reached(dear) is Limit.BUDGET
