"""What a reply spent, added to what the run spent.

Must not go in here: budgets (`core.limits`), prices.
"""

from __future__ import annotations

from decimal import Decimal

from msgspec.structs import replace

from lastcall.core import records as r
from lastcall.core.state import RunState
from lastcall.nouns.result import NO_USAGE, Usage


def paid(state: RunState, record: r.ReplyClosed) -> RunState:
    """The state with what a complete reply spent."""
    total = state.usage + record.usage if record.counted else state.usage
    return replace(
        _added(state, state.reply.model, record.usage, record.cost_usd),
        usage=total,
        dearest_usd=max(state.dearest_usd, record.cost_usd or Decimal(0)),
        dearest_tokens=max(state.dearest_tokens, record.usage.total),
        api_ms=state.api_ms + record.took_ms,
    )


def paid_in_vain(state: RunState, model: str, usage: Usage, cost_usd: Decimal | None = None) -> RunState:
    """Tokens of a reply that came to nothing were paid for all the same; they count by model only, as in the reference."""
    return state if usage == NO_USAGE and cost_usd is None else _added(state, model, usage, cost_usd)


def _added(state: RunState, model: str, usage: Usage, cost_usd: Decimal | None) -> RunState:
    by_model = dict(state.usage_by_model)
    by_model[model] = by_model.get(model, NO_USAGE) + usage
    cost = state.cost_usd if cost_usd is None else (state.cost_usd or Decimal(0)) + cost_usd
    return replace(state, usage_by_model=tuple(by_model.items()), cost_usd=cost)
