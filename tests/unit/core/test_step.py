"""A step in the making."""

from __future__ import annotations

from lastcall.core import records as r
from lastcall.core.actions import AskModel
from lastcall.core.policy import native
from lastcall.core.state import Setting, begin
from lastcall.core.step import Draft, Step
from lastcall.nouns.messages import TextBlock

STARTED = r.Started("run_1", (TextBlock("go"),), "u", 1.0)


def test_nothing_noted_is_an_empty_step():
    state = begin(Setting(native()))
    assert Draft(state).step() == Step(state, (), ())


def test_what_is_noted_is_true_at_once():
    draft = Draft(begin(Setting(native())))
    draft.note(STARTED)
    assert draft.state.run_id == "run_1"
    draft.note(r.Asked(1))
    draft.do(AskModel(1))
    step = draft.step()
    assert (step.records, step.actions) == ((STARTED, r.Asked(1)), (AskModel(1),))
    assert step.state == draft.state
