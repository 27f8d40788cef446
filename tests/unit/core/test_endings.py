"""Ends as values: each limit with its bound, each loss with its kind."""

from __future__ import annotations

from decimal import Decimal

import pytest
from msgspec.structs import replace

from lastcall.core.endings import gave_up, lost, prompt_stopped, spent, stop_bound_reached, stopped
from lastcall.core.policy import compat, native
from lastcall.core.state import Reply
from lastcall.nouns.hooks import NOTHING_SAID, HookVerdict
from lastcall.nouns.result import (
    Attempt,
    Failed,
    FailureKind,
    GaveUp,
    Limit,
    OutOfAttempts,
    Retracted,
    Stopped,
    VerdictKind,
    reason,
)
from machine_tools import Play, call

POLICY = native(
    max_turns=3, max_budget_usd=Decimal("0.5"), budget_words="$0.50", max_budget_tokens=9_000, deadline_s=90.0,
    deadline_words="90s",
)  # fmt: skip


@pytest.mark.parametrize(
    ("limit", "bound", "words"),
    [
        (Limit.TURNS, "3", "3 turns"),
        (Limit.BUDGET, "$0.50", "budget of $0.50"),
        (Limit.TOKENS, "9000", "budget of 9000 tokens"),
        (Limit.REPEATS, "10", "went in circles: 10 replies in a row"),
        (Limit.WINDOW, "", "no longer fits the model's window"),
        (Limit.DEADLINE, "90s", "deadline of 90s"),
        (Limit.TOOL_HOOK, "", "A hook ended the run"),
    ],
)
def test_a_limit_is_named_with_its_bound(limit, bound, words):
    outcome = stopped(Play(POLICY).state, limit)
    assert outcome == Stopped(limit, bound)
    assert words in reason(outcome)


TOO_LONG = Failed(FailureKind.TOO_LONG, "prompt is too long")


def test_a_first_prompt_that_is_too_long_is_refused_a_conversation_is_at_its_limit():
    play = Play()
    play.prompt()
    assert lost(play.state, TOO_LONG) == TOO_LONG
    play.reply(call("c1"))
    play.tool("c1")
    assert lost(play.state, TOO_LONG) == Stopped(Limit.WINDOW, "prompt is too long")


def test_the_reference_calls_both_a_failure():
    play = Play(compat())
    play.prompt()
    play.reply(call("c1"))
    play.tool("c1")
    assert lost(play.state, TOO_LONG) == TOO_LONG


def test_hooks_let_a_prompt_through_or_say_why_not():
    assert prompt_stopped(NOTHING_SAID) is None
    assert prompt_stopped(HookVerdict(blocked=("a", "b"))) == Stopped(Limit.PROMPT_HOOK, "a\nb")
    assert prompt_stopped(HookVerdict(halt="enough")) == Stopped(Limit.PROMPT_HOOK, "enough")


def test_stop_hooks_have_a_bound_natively_only():
    assert stop_bound_reached(Play(native(stop_blocks=0)).state, HookVerdict(blocked=("no",))).limit is Limit.STOP_HOOK
    assert stop_bound_reached(Play(native(stop_blocks=0)).state, HookVerdict(halt="x")).bound.endswith("x")
    assert stop_bound_reached(Play(compat()).state, HookVerdict(blocked=("no",))) is None
    assert stop_bound_reached(Play(native(stop_blocks=1)).state, HookVerdict(blocked=("no",))) is None


def attempts(play, *verdicts):
    tried = tuple(
        Attempt(n, f"c{n}", "m", verdict, before=V.ACCEPTED if verdict is V.RETRACTED else None)
        for n, verdict in enumerate(verdicts, 1)
    )
    return replace(play.state, attempts=tried, reply=Reply(text="That is all."))


V = VerdictKind


@pytest.mark.parametrize(
    ("policy", "verdicts", "given_up", "used_up"),
    [
        (native(), (V.REJECTED,), GaveUp("That is all."), OutOfAttempts(5)),
        (
            native(),
            (V.REJECTED, V.RETRACTED),
            Retracted(2, 1, exhausted=False),
            Retracted(2, 1, exhausted=True),
        ),
        (compat(), (V.RETRACTED,), Retracted(1, 1, exhausted=False), Retracted(1, 1, exhausted=True)),
    ],
)
def test_an_object_that_was_taken_back_is_told_from_one_that_never_was(policy, verdicts, given_up, used_up):
    state = attempts(Play(policy), *verdicts)
    assert (gave_up(state), spent(state)) == (given_up, used_up)
