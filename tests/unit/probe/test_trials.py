"""One trial through the real machine: its word, its ledger and what the model said."""

from __future__ import annotations

from decimal import Decimal

import anyio
import pytest

from lastcall.probe.endings import Ending
from lastcall.probe.suites import contract_of
from lastcall.probe.trials import Reply, Said, run_trial
from lastcall.providers.scripted import scripted_provider
from lastcall.testing import FakeClock
from probe_tools import BEHAVIOURS, RIGHT, WRONG, Dear, case, config


def tried(script, made=None, **changes):
    made = made or case()
    provider = script if isinstance(script, Dear) else scripted_provider(script)

    async def one():
        return await run_trial(
            made, config(contract=contract_of(made), **changes), provider, number=2, seed=8, clock=FakeClock()
        )

    return anyio.run(one)


@pytest.mark.parametrize(("ending", "script"), BEHAVIOURS.items(), ids=[e.value for e in BEHAVIOURS])
def test_a_model_that_behaves_so_ends_so(ending, script):
    found = tried(script, max_attempts=3)
    assert found.ending is ending
    assert (found.case, found.round, found.seed) == ("level", 2, 8)
    assert found.counted is (ending is not Ending.FAILED)
    assert (found.object_text is not None) is (ending in (Ending.ACCEPTED_FIRST, Ending.REPAIRED, Ending.DEGENERATE))


def test_a_repaired_object_shows_what_was_rejected_and_every_reply_as_it_came():
    found = tried([WRONG, RIGHT])
    assert [(a.n, a.verdict.value, [p.keyword for p in a.problems]) for a in found.attempts] == [
        (1, "rejected", ["enum"]),
        (2, "accepted", []),
    ]
    assert (found.input_tokens, found.output_tokens) == (200, 40)
    assert found.replies == (
        Reply(1, "scripted", "tool_use", (Said("call", '{"level": "middling"}', "StructuredOutput"),)),
        Reply(2, "scripted", "tool_use", (Said("call", '{"level": "low"}', "StructuredOutput"),)),
    )


def test_arguments_that_are_no_json_are_kept_as_they_came():
    broken = {"content": [{"type": "tool_use", "name": "StructuredOutput", "id": "t", "raw": '{"level": "lo'}]}
    found = tried([broken, RIGHT])
    assert found.replies[0].blocks == (Said("call", '{"level": "lo', "StructuredOutput"),)
    assert [a.verdict.value for a in found.attempts] == ["unreadable", "accepted"]


def test_text_and_thinking_are_kept_beside_the_call():
    said = {"content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "Here:"},
                        {"type": "tool_use", "id": "t", "name": "StructuredOutput", "input": {"level": "low"}}]}  # fmt: skip
    assert [(b.kind, b.text) for b in tried([said]).replies[0].blocks] == [
        ("thinking", "hm"),
        ("text", "Here:"),
        ("call", '{"level": "low"}'),
    ]


def test_a_decline_that_was_challenged_and_then_an_object_is_repaired():
    found = tried([BEHAVIOURS[Ending.DECLINED][0], RIGHT])
    assert (found.ending, len(found.attempts)) == (Ending.REPAIRED, 2)


def test_a_trial_that_met_the_budget_on_its_way_does_not_count_though_it_ended_in_an_object():
    found = tried(Dear([WRONG, RIGHT], Decimal("0.40")), max_budget_usd=Decimal("0.60"), budget_words="$0.60")
    assert (found.ending, found.counted) == (Ending.STOPPED, False)
    assert found.cost_usd is not None
    assert found.cost_usd >= Decimal("0.40")


def test_a_failure_keeps_its_kind_and_the_services_words():
    found = tried(BEHAVIOURS[Ending.FAILED])
    assert (found.failure.value, found.counted) == ("authentication", False)
    assert "no such key" in found.reason


def test_a_provider_that_is_lent_stays_open():
    dear = Dear([RIGHT], None)
    tried(dear)
    assert dear.closed == 0
