"""The HTTP status of every outcome, by hand."""

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
from lastcall.server.statuses import http_status

FAILED = {
    FailureKind.AUTHENTICATION: 502,
    FailureKind.BAD_REQUEST: 502,
    FailureKind.NOT_FOUND: 502,
    FailureKind.TOO_LONG: 422,
    FailureKind.BILLING: 502,
    FailureKind.REFUSAL: 422,
    FailureKind.OUTPUT_LIMIT: 422,
    FailureKind.OVERLOADED: 503,
    FailureKind.RATE_LIMIT: 429,
    FailureKind.SERVER: 502,
    FailureKind.NETWORK: 502,
    FailureKind.TIMEOUT: 504,
    FailureKind.BROKEN_STREAM: 502,
    FailureKind.MODEL_UNAVAILABLE: 503,
    FailureKind.JOURNAL: 500,
    FailureKind.INTERNAL: 500,
}


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Answered(None, "yes"), 200),
        (Declined("no"), 422),
        (GaveUp("no"), 422),
        (OutOfAttempts(5), 422),
        (Retracted(2, 1, False), 422),
        (Stopped(Limit.DEADLINE, "3s"), 504),
        (Stopped(Limit.TURNS, "3"), 422),
        (Stopped(Limit.BUDGET, "3"), 422),
        (Stopped(Limit.STOP_HOOK, ""), 422),
        (Cancelled(Signal.TERMINATE), 409),
    ],
)
def test_only_an_answer_is_a_200(outcome, status):
    assert http_status(outcome) == status


@pytest.mark.parametrize("kind", FailureKind)
def test_a_failure_says_whose_it_was(kind):
    assert http_status(Failed(kind, "x")) == FAILED[kind]
