"""The limits that the core sees by itself: turns, money, tokens, going in circles. The deadline comes as an event.

Each is a question about the state. What a request will spend is taken to be what the dearest reply of the run spent.

Must not go in here: what a limit does to a run (`core.decide`), clocks.
"""

from __future__ import annotations

from decimal import Decimal

from lastcall.core.repeats import repeats
from lastcall.core.state import RunState
from lastcall.nouns.result import NO_USAGE, Limit, RunWarning, Usage

BLIND = "budget_blind"


def limit_reached(state: RunState) -> Limit | None:
    """The limit that leaves no room for another request."""
    policy = state.policy
    for limit in Limit:
        if limit in state.limits_hit:
            return limit
    if policy.max_turns is not None and state.replies >= policy.max_turns:
        return Limit.TURNS
    if over_budget(state):
        return Limit.BUDGET
    if policy.max_budget_tokens is not None and state.tokens >= policy.max_budget_tokens:
        return Limit.TOKENS
    return Limit.REPEATS if Limit.REPEATS in state.limits_near and _had_last_call(state) else None


def over_budget(state: RunState, more: Decimal | None = None) -> bool:
    """Whether the money is spent, with what a reply costs that is not counted yet."""
    budget = state.policy.max_budget_usd
    spent = (state.cost_usd or Decimal(0)) + (more or Decimal(0))
    return budget is not None and spent >= budget


def last_that_fits(state: RunState) -> bool:
    """Whether the request about to be sent is the last one before a limit."""
    policy = state.policy
    last_turn = policy.max_turns is not None and state.replies + 1 >= policy.max_turns
    return last_turn or _last_spending(state) or bool(state.limits_near)


def leaves_room_for_more(state: RunState) -> bool:
    """Whether a request beside the turns (a summary) still leaves the run its last call."""
    return not _last_spending(state) and not state.limits_near


def goes_in_circles(state: RunState) -> bool:
    """Whether the same calls got the same answers as often as the policy bears."""
    most = state.policy.max_repeats
    return most is not None and Limit.REPEATS not in state.limits_near and repeats(state) >= most


def budget_blind(state: RunState, usage: Usage, cost_usd: Decimal | None) -> RunWarning | None:
    """What to tell, once, of a budget that cannot be kept since nobody says what a reply spent."""
    policy = state.policy
    if policy.eager or any(warning.code == BLIND for warning in state.warnings):
        return None
    if policy.max_budget_usd is not None and cost_usd is None:
        return RunWarning(BLIND, "what a reply costs is not known, so the budget in dollars cannot be kept")
    if policy.max_budget_tokens is not None and usage == NO_USAGE:
        return RunWarning(
            BLIND, "the provider does not say how many tokens a reply took, so their budget cannot be kept"
        )
    return None


def _last_spending(state: RunState) -> bool:
    policy = state.policy
    spent, budget = state.cost_usd, policy.max_budget_usd
    last_money = budget is not None and spent is not None and spent + 2 * state.dearest_usd > budget
    tokens = policy.max_budget_tokens
    last_tokens = tokens is not None and state.tokens + 2 * state.dearest_tokens > tokens
    return last_money or last_tokens


def _had_last_call(state: RunState) -> bool:
    """Whether the last call was reserved, and not used; an attempt that was made in it may still be mended."""
    reserves = state.policy.reserves and state.contract is not None
    return not reserves or (state.reserved and all(attempt.request != state.asked for attempt in state.attempts))
