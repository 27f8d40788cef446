"""How runs end: names, sentences, sums, and that a result cannot contradict itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastcall.errors import LastcallBug, NoAnswer
from lastcall.nouns.attachment import Attachment
from lastcall.nouns.result import (
    LASTING,
    OURS,
    Answered,
    Cancelled,
    Declined,
    Failed,
    FailureKind,
    GaveUp,
    Limit,
    OutOfAttempts,
    Retracted,
    Signal,
    Stopped,
    TerminalResult,
    Usage,
    outcome_name,
    reason,
)

OBJECT = Attachment("c1", "m1", '{"a":1}')
OUTCOMES = {
    "answered": (Answered(OBJECT), "The object passed the contract."),
    "declined": (Declined("the log is empty"), "The model declined: the log is empty"),
    "gave_up": (GaveUp("bye"), "The model stopped without calling the finishing tool although it was asked to."),
    "out_of_attempts": (OutOfAttempts(5), "No object passed the contract within 5 attempts."),
    "retracted": (
        Retracted(2, 1, exhausted=False),
        "The object was taken back by a model fallback, and the model sent no other.",
    ),
    "stopped": (Stopped(Limit.TURNS, "3"), "The limit of 3 turns was reached without an object."),
    "failed": (Failed(FailureKind.RATE_LIMIT, "slow down", 429), "Rate limit (HTTP 429): slow down"),
    "cancelled": (Cancelled(Signal.INTERRUPT), "The run was interrupted."),
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_each_outcome_has_a_name_and_a_sentence(name):
    outcome, words = OUTCOMES[name]
    assert outcome_name(outcome) == name
    assert reason(outcome) == words


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Answered(None, "Paris"), "The model answered."),
        (Declined("no", ("the date", "the name")), "The model declined: no Missing: the date, the name."),
        (
            OutOfAttempts(5, repeated=True),
            "The model sent the same rejected object three times in a row (limit 5 attempts).",
        ),
        (
            Retracted(5, 2, exhausted=True),
            "The 5 attempts are used up, and 2 of them were taken back by a model fallback.",
        ),
        (Stopped(Limit.BUDGET, "$2"), "The budget of $2 was reached without an object."),
        (Stopped(Limit.DEADLINE, "90s"), "The deadline of 90s passed without an object."),
        (Stopped(Limit.TOKENS, "9000"), "The budget of 9000 tokens was reached without an object."),
        (
            Stopped(Limit.REPEATS, "10"),
            "The model went in circles: 10 replies in a row repeated the same calls with the same answers.",
        ),
        (
            Stopped(Limit.WINDOW, "prompt is too long"),
            "The conversation no longer fits the model's window: prompt is too long",
        ),
        (Failed(FailureKind.NETWORK, "refused"), "Network: refused"),
        (Cancelled(Signal.TERMINATE), "The run was terminated."),
        (Cancelled(Signal.HANGUP), "The terminal that the run belonged to was closed."),
    ],
)
def test_variants_have_sentences_of_their_own(outcome, words):
    assert reason(outcome) == words


@pytest.mark.parametrize("limit", Limit)
def test_every_limit_has_a_sentence_that_holds_its_bound(limit):
    assert "the bound" in reason(Stopped(limit, "the bound"))
    assert reason(Stopped(limit, "")).endswith((".", ": ", "reason"))


def test_failures_of_this_machine_are_not_the_provider_s():
    assert {FailureKind.JOURNAL, FailureKind.INTERNAL} == set(OURS)
    assert not LASTING & OURS
    assert FailureKind.OVERLOADED not in LASTING
    assert FailureKind.AUTHENTICATION in LASTING


def test_unknown_usage_is_not_zero():
    assert Usage() + Usage() == Usage()
    assert Usage(1, None, 3) + Usage(10, None, None, 4) == Usage(11, None, 3, 4)
    assert Usage(0) + Usage() == Usage(0)
    assert Usage(1, 2, 3, 4).figures == (1, 2, 3, 4)


FIGURE = st.none() | st.integers(0, 10**9)
USAGE = st.builds(Usage, FIGURE, FIGURE, FIGURE, FIGURE)


@given(USAGE, USAGE, USAGE)
def test_usage_adds_up_in_any_order(one, two, three):
    assert one + two == two + one
    assert (one + two) + three == one + (two + three)
    assert one + Usage() == one


def result(outcome, object_text=None, **fields):
    return TerminalResult(
        outcome=outcome,
        run_id="r",
        session_id="s",
        object_text=object_text,
        output=fields.get("output"),
        text=fields.get("text", ""),
        attempts=(),
        checks=(),
        warnings=(),
        answered_before=(),
        side_effects=(),
        contract=None,
        usage=Usage(),
        usage_by_model={},
        cost_usd=None,
        turns=1,
        stop_reason=None,
        permission_denials=(),
        draft=None,
    )


@pytest.mark.parametrize("name", OUTCOMES)
def test_a_result_without_an_object_says_so(name):
    outcome, words = OUTCOMES[name]
    if name == "answered":
        with pytest.raises(LastcallBug):
            result(outcome)
        return
    with pytest.raises(LastcallBug):
        result(outcome, '{"a":1}')
    found = result(outcome)
    assert not found.ok
    assert found.reason == words
    with pytest.raises(NoAnswer) as caught:
        found.unwrap()
    assert caught.value.result is found
    assert words in str(caught.value)


def test_a_result_with_an_object_hands_it_over():
    found = result(Answered(OBJECT), '{"a":1}', output={"a": 1})
    assert found.ok
    assert found.unwrap() == {"a": 1}


def test_without_a_contract_the_answer_is_its_text():
    found = result(Answered(None, "Paris"), text="Paris")
    assert found.ok
    assert found.unwrap() == "Paris"
    with pytest.raises(LastcallBug):
        result(Answered(None, "Paris"), '{"a":1}')


def test_a_total_is_of_what_was_told():
    assert Usage(1, 20, 300, 4_000).total == 4_321
    assert Usage(None, 20, None, None).total == 20
    assert Usage().total == 0
