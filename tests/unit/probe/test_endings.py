"""A result's word, and whether it says something of the model."""

from __future__ import annotations

import pytest

from lastcall.nouns.result import (
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
)
from lastcall.probe.endings import HOPELESS, OF_THE_CASE, Ending, counts
from lastcall.probe.words import EXPLAINED, NAMES


@pytest.mark.parametrize(
    ("outcome", "counted"),
    [
        (Answered(None), True),
        (Declined("no"), True),
        (GaveUp("no"), True),
        (OutOfAttempts(5), True),
        (Retracted(1, 1, exhausted=False), True),
        (Stopped(Limit.BUDGET, "$1"), False),
        (Cancelled(Signal.INTERRUPT), False),
        (Failed(FailureKind.REFUSAL, "no"), True),
        (Failed(FailureKind.NETWORK, "no"), False),
        (Failed(FailureKind.AUTHENTICATION, "no"), False),
    ],
)
def test_what_the_limits_a_signal_or_the_network_ended_says_nothing_of_the_model(outcome, counted):
    assert counts(outcome) is counted


def test_no_failure_is_both_the_cases_and_everyones():
    assert frozenset() == HOPELESS & OF_THE_CASE


def test_every_ending_has_words():
    assert set(EXPLAINED) == set(Ending)
    assert set(NAMES) == set(Ending) - {Ending.STOPPED}
