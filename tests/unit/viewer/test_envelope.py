from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastcall.viewer.entries import Form
from lastcall.viewer.envelope import story_of_envelope
from lastcall.viewer.pages import encode

FRAME = {
    "type": "result", "duration_ms": 1500, "num_turns": 3, "session_id": "s", "total_cost_usd": Decimal("0.25"),
    "usage": {"input_tokens": 10, "output_tokens": 5}, "modelUsage": {"m": {}},
    "structured_output": {"a": Decimal("1.10")},
    "lastcall": {
        "outcome": "answered", "reason": "The object passed the contract.",
        "attempts": [
            {"n": 1, "call_id": "c1", "model": "m", "verdict": "rejected", "problems": [{"path": "/a", "keyword": "type", "message": "must be number"}]},
            {"n": 2, "call_id": "c2", "model": "m", "verdict": "accepted", "problems": []},
        ],
        "checks": [{"name": "a > 0", "passed": True, "message": "", "took_ms": 3, "call_id": "c2"}],
        "warnings": [{"code": "x", "message": "odd", "path": "/a"}], "side_effects": [{"tool": "Bash", "call_id": "c0", "status": "ok"}],
        "contract": {"digest": "abc", "dialect": "2020-12", "wire": "strict"},
    },
}  # fmt: skip


def test_an_envelope_is_told_as_far_as_it_goes():
    story = story_of_envelope(FRAME)
    [run] = story.runs
    assert (run.outcome, run.word, run.turns, run.cost_usd, run.input_tokens) == ("answered", "Answered", 3, 0.25, 10)
    assert run.ended_at == 1.5
    assert [(e.title, e.word) for e in story.entries] == [
        ("Attempt 1", "rejected"),
        ("Attempt 2", "accepted"),
        ("Answered", ""),
    ]
    assert story.entries[0].parts[0].points == ("/a: must be number",)
    assert [(c.name, c.attempt) for c in run.checks] == [("a > 0", 2)]
    assert (run.warnings, run.effects) == (("/a: odd",), ("Bash: ok",))
    assert run.answer.text == '{"a":1.10}'
    assert "drafts" in story.session.note


def test_a_failed_run_shows_its_best_draft():
    frame = {"lastcall": {"outcome": "out_of_attempts", "draft": {"a": 1}, "attempts": []}}
    [run] = story_of_envelope(frame).runs
    assert run.answer.label == "The best draft, which did not pass"


def test_prose_is_shown_as_prose():
    [run] = story_of_envelope({"result": "words", "lastcall": {"outcome": "answered"}}).runs
    assert (run.answer.form, run.answer.text) == (Form.PROSE, "words")


junk = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=40)
@given(
    st.dictionaries(st.sampled_from(list(FRAME)), junk), st.dictionaries(st.sampled_from(list(FRAME["lastcall"])), junk)
)
def test_no_damaged_envelope_raises(frame, ours):
    assert encode(story_of_envelope({**frame, "lastcall": ours}))


@pytest.mark.parametrize("ours", [None, [], "x", 1])
def test_nor_does_one_without_lastcalls_part(ours):
    [run] = story_of_envelope({"lastcall": ours}).runs
    assert run.outcome == "unknown"
