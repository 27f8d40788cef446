"""A sitting: every wanted trial once, within the bounds, whatever cuts it short."""

from __future__ import annotations

from decimal import Decimal

import anyio
import pytest

from lastcall.errors import BadConfig
from lastcall.probe.endings import Ending
from lastcall.probe.running import Bounds, Stop, sit
from lastcall.probe.sheet import open_sheet
from lastcall.providers import Deployment
from lastcall.providers.lending import Lent
from lastcall.providers.scripted import scripted_provider
from lastcall.testing import FakeClock
from probe_tools import BEHAVIOURS, RIGHT, WRONG, Dear, case, config, plan

CASES = (case("a"), case("b"), case("c"))


class Sitting:
    def __init__(self, path, script=None, *, provider=None, cases=CASES, clock=None, **changes):
        self.seeds = []
        self.told = []
        self.clock = clock or FakeClock()
        self.path = path
        self.plan = plan(*cases, **changes)
        self.provider = provider or (lambda: scripted_provider(script or [RIGHT]))
        self.opened = []

    def open(self, seed):
        self.seeds.append(seed)
        self.opened.append(self.provider())
        return self.opened[-1]

    def __call__(self, trials=2, **bounds):
        sheet = open_sheet(self.path, self.plan)

        async def one():
            return await sit(
                sheet,
                config(),
                self.open,
                bounds=Bounds(**bounds),
                trials=trials,
                tell=lambda t, done, of: self.told.append((t.case, t.round, t.ending, done, of)),
                clock=self.clock,
            )

        try:
            self.sat = anyio.run(one)
            return self.sat.stop
        finally:
            self.trials = sheet.trials
            self.counted = sheet.sheet.counted
            sheet.close()


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "p.jsonl")


def made(trials):
    return [(t.case, t.round) for t in trials]


def test_every_case_is_tried_once_a_round_with_the_rounds_seed(path):
    sitting = Sitting(path)
    assert sitting() is Stop.DONE
    assert made(sitting.trials) == [("a", 1), ("b", 1), ("c", 1), ("a", 2), ("b", 2), ("c", 2)]
    assert [t.seed for t in sitting.trials] == [7, 7, 7, 8, 8, 8]
    assert sitting.seeds == [7, 8]
    assert sitting.told[-1] == ("c", 2, Ending.ACCEPTED_FIRST, 6, 6)


def test_what_is_done_is_not_done_again_and_more_rounds_may_follow(path):
    Sitting(path)(trials=1)
    again = Sitting(path)
    assert again(trials=3) is Stop.DONE
    assert made(again.trials) == [(name, number) for number in (1, 2, 3) for name in "abc"]
    assert again.seeds == [8, 9]
    idle = Sitting(path)
    assert idle(trials=3) is Stop.DONE
    assert (idle.seeds, idle.told) == ([], [])


def test_several_at_once_make_the_same_trials(path):
    sitting = Sitting(path)
    assert sitting(concurrency=3) is Stop.DONE
    assert sorted(made(sitting.trials)) == [(name, number) for name in "abc" for number in (1, 2)]


def test_trials_that_share_a_provider_do_not_share_a_conversation(path):
    """Each request begins with its own case's prompt, also where trials run at once."""
    heard = []

    def say(body):
        heard.append(len([m for m in body["messages"] if m["role"] == "user"]))
        return WRONG if heard[-1] == 1 else RIGHT

    sitting = Sitting(path, say)
    sitting(trials=1, concurrency=3)
    assert sorted(heard) == [1, 1, 1, 2, 2, 2]
    assert [t.ending for t in sitting.trials] == [Ending.REPAIRED] * 3


def test_the_budget_ends_the_sitting_before_it_is_passed_and_a_larger_one_goes_on(path):
    dear = Sitting(path, provider=lambda: Dear([RIGHT], Decimal("0.10")))
    assert dear(max_budget_usd=Decimal("0.35")) is Stop.BUDGET
    assert made(dear.counted) == [("a", 1), ("b", 1), ("c", 1)]
    assert sum(t.cost_usd for t in dear.trials) == Decimal("0.30")
    assert [p.closed for p in dear.opened] == [1] * len(dear.opened)
    again = Sitting(path, provider=lambda: Dear([RIGHT], Decimal("0.10")))
    assert again(max_budget_usd=Decimal("0.35")) is Stop.BUDGET
    assert again.told == []
    assert again(max_budget_usd=Decimal(2)) is Stop.DONE
    assert len(again.counted) == 6


def test_a_trial_that_the_budget_cut_is_kept_for_what_it_cost_and_made_again(path):
    dear = Sitting(
        path, provider=lambda: Dear([WRONG, {"object": {"level": "x"}}, RIGHT], Decimal("0.10")), cases=(case(),)
    )
    assert dear(trials=1, max_budget_usd=Decimal("0.15")) is Stop.BUDGET
    assert [(t.ending, t.counted) for t in dear.trials] == [(Ending.STOPPED, False)]
    assert dear.trials[0].cost_usd >= Decimal("0.10")
    assert dear(trials=1, max_budget_usd=Decimal(3)) is Stop.DONE
    assert [t.ending for t in dear.counted] == [Ending.REPAIRED]


class OfUnknownPrice(Lent):
    @property
    def deployment(self):
        return Deployment("anthropic", "a-model-of-no-list")


def test_prices_that_nobody_knows_are_told_and_those_of_a_script_are_known(path, tmp_path):
    unknown = Sitting(path, provider=lambda: OfUnknownPrice(scripted_provider([RIGHT])))
    unknown(trials=1)
    assert unknown.sat.unpriced
    known = Sitting(str(tmp_path / "q"))
    known(trials=1)
    assert not known.sat.unpriced


def test_time_that_is_up_ends_the_sitting_and_what_it_cut_is_made_again(path):
    clock = FakeClock()

    def say(_body):
        clock.advance(4)
        return RIGHT

    sitting = Sitting(path, say, clock=clock)
    assert sitting(deadline_s=9) is Stop.DEADLINE
    done = len(sitting.counted)
    assert 1 <= done <= 3
    assert all(t.ending is Ending.STOPPED for t in sitting.trials if not t.counted)
    assert Sitting(path)() is Stop.DONE


def test_a_service_that_refuses_everybody_ends_it_at_once(path):
    sitting = Sitting(path, BEHAVIOURS[Ending.FAILED])
    assert sitting() is Stop.SERVICE
    assert len(sitting.trials) == 1
    assert sitting.sat.last == sitting.trials[0]
    assert sitting.counted == ()


def test_a_service_that_fails_three_times_in_a_row_ends_it_and_one_that_recovers_does_not(path, tmp_path):
    down = {"status": 529, "error": {"type": "overloaded_error", "message": "Overloaded"}}
    sitting = Sitting(path, [down])
    assert sitting() is Stop.SERVICE
    assert len(sitting.trials) == 3
    cut = {"status": 400, "error": {"type": "invalid_request_error", "message": "no"}}
    other = Sitting(str(tmp_path / "q"), [cut])
    assert other() is Stop.DONE
    assert {t.ending for t in other.counted} == {Ending.FAILED}


def test_a_schema_that_cannot_be_used_is_refused_before_anything_is_asked(path):
    sitting = Sitting(path, cases=(case("a"), case("bad", schema_text='{"type":"objekt"}')))
    with pytest.raises(BadConfig, match="bad: its schema cannot be used"):
        sitting()
    assert sitting.seeds == []


def test_a_provider_that_cannot_be_opened_is_the_callers_to_hear(path):
    sitting = Sitting(path)

    def refuse(_seed):
        raise BadConfig("there is no model")

    sitting.open = refuse
    with pytest.raises(BadConfig, match="there is no model"):
        sitting()


def test_a_file_that_can_take_no_more_ends_it_with_a_sentence(path, monkeypatch):
    import os

    def full(*_):
        raise OSError(28, "No space left on device")

    sitting = Sitting(path)
    sheet = open_sheet(path, sitting.plan)
    sheet.close()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BadConfig, match="No space left"):
        sitting(concurrency=2)
    monkeypatch.undo()
    assert Sitting(path)() is Stop.DONE
