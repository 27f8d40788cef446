"""What was paid for is added up, by model and in all."""

from __future__ import annotations

from decimal import Decimal

from lastcall.core.records import ReplyClosed
from lastcall.core.spending import paid, paid_in_vain
from lastcall.nouns.result import NO_USAGE, Usage
from machine_tools import Play


def closed(usage, cost=None, *, counted=True):
    return ReplyClosed(1, "m1", "end_turn", usage, cost_usd=cost, took_ms=7, counted=counted)


def test_a_reply_is_added_to_the_total_to_its_model_and_to_the_cost():
    state = paid(Play().state, closed(Usage(10, 2, 3, 4), Decimal("0.25")))
    state = paid(state, closed(Usage(1, 1), Decimal("0.5")))
    assert state.usage == Usage(11, 3, 3, 4)
    assert state.usage_by_model == (("", Usage(11, 3, 3, 4)),)
    assert state.cost_usd == Decimal("0.75")
    assert (state.dearest_usd, state.dearest_tokens) == (Decimal("0.5"), 19)
    assert (state.tokens, state.api_ms) == (21, 14)


def test_what_does_not_count_is_paid_for_all_the_same():
    state = paid(Play().state, closed(Usage(10, 2), counted=False))
    assert state.usage == NO_USAGE
    assert state.tokens == 12


def test_what_was_in_vain_counts_by_model_and_an_unknown_cost_stays_unknown():
    state = paid_in_vain(Play().state, "m", Usage(5, 1))
    assert (state.usage, state.tokens, state.cost_usd) == (NO_USAGE, 6, None)
    assert paid_in_vain(state, "m", NO_USAGE, Decimal(1)).cost_usd == Decimal(1)
    assert paid_in_vain(state, "m", NO_USAGE) is state
