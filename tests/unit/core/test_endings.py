"""Ends as values: each limit with its bound, each loss with its kind."""

from __future__ import annotations

from decimal import Decimal

import pytest

from lastcall.core.endings import lost, prompt_stopped, stop_bound_reached, stopped
from lastcall.core.policy import compat, native
from lastcall.nouns.hooks import NOTHING_SAID, HookVerdict
from lastcall.nouns.result import Failed, FailureKind, Limit, Stopped, reason
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
