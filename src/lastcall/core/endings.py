"""How a run ended, as a value, for the ends that need more than one fact.

Must not go in here: when a run ends (`core.decide`), wording for people (`nouns.result`).
"""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from lastcall.contract import hook_words
from lastcall.core.state import RunState
from lastcall.nouns.hooks import HookVerdict
from lastcall.nouns.result import Failed, FailureKind, GaveUp, Limit, Outcome, OutOfAttempts, Retracted, Stopped


def gave_up(state: RunState) -> Outcome:
    """The model stopped by itself, without an object or with one that was taken back."""
    if _taken_back(state):
        return Retracted(len(state.attempts), state.retracted_attempts, exhausted=False)
    return GaveUp(state.reply.text)


def spent(state: RunState) -> Outcome:
    """The attempts are used up: by the model, or by fallbacks that took objects back."""
    if _taken_back(state):
        return Retracted(len(state.attempts), state.retracted_attempts, exhausted=True)
    return OutOfAttempts(state.policy.max_attempts)


def stopped(state: RunState, limit: Limit) -> Stopped:
    """A limit ended the run."""
    policy = state.policy
    match limit:
        case Limit.TURNS:
            return Stopped(limit, str(policy.max_turns))
        case Limit.BUDGET:
            return Stopped(limit, policy.budget_words)
        case Limit.TOKENS:
            return Stopped(limit, str(policy.max_budget_tokens))
        case Limit.REPEATS:
            return Stopped(limit, str(policy.max_repeats))
        case Limit.WINDOW:
            return Stopped(limit, "")
        case Limit.DEADLINE:
            return Stopped(limit, policy.deadline_words)
        case Limit.PROMPT_HOOK | Limit.TOOL_HOOK | Limit.STOP_HOOK:
            return Stopped(limit, state.halt.reason if state.halt is not None else "")
        case _:
            assert_never(limit)


def lost(state: RunState, failure: Failed) -> Outcome:
    """A request came to nothing. What the window does not hold: of a conversation a limit, of a first prompt a refusal."""
    if failure.kind is FailureKind.TOO_LONG and state.policy.stops_at_window and len(state.messages) > 1:
        return Stopped(Limit.WINDOW, failure.detail)
    return replace(failure, mid_reply=state.reply.blocks > 0)


def prompt_stopped(verdict: HookVerdict) -> Stopped | None:
    """Hooks do not let the prompt through."""
    if verdict.blocked:
        return Stopped(Limit.PROMPT_HOOK, "\n".join(verdict.blocked))
    return Stopped(Limit.PROMPT_HOOK, verdict.halt) if verdict.halt is not None else None


def stop_bound_reached(state: RunState, verdict: HookVerdict) -> Stopped | None:
    """Hooks kept the run from ending as often as they may."""
    most = state.policy.stop_blocks
    if most is None or state.stop_blocks < most:
        return None
    words = "; ".join(verdict.blocked) or verdict.halt or ""
    return Stopped(Limit.STOP_HOOK, hook_words.stop_bound(most, words))


def _taken_back(state: RunState) -> bool:
    return state.lost_object or (state.policy.eager and state.retracted_attempts > 0)
