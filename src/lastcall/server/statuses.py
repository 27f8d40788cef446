"""The HTTP status, computed from the outcome in one place, as `cli.exits` computes the exit code.

Must not go in here: statuses of requests that began no run (they stand where the request is refused).
"""

from __future__ import annotations

from typing import Final, assert_never

from lastcall.nouns.result import (
    Answered,
    Cancelled,
    Declined,
    Failed,
    FailureKind,
    GaveUp,
    Limit,
    Outcome,
    OutOfAttempts,
    Retracted,
    Stopped,
)

OK: Final = 200
NO_OBJECT: Final = 422
"""The model did its part and there is no object that passed: the same request may well end so again."""


def http_status(outcome: Outcome) -> int:
    """The status of a run that ended so: 200 only with an object (without a contract: an answer)."""
    match outcome:
        case Answered():
            return OK
        case Declined() | GaveUp() | OutOfAttempts() | Retracted():
            return NO_OBJECT
        case Stopped(limit=limit):
            return 504 if limit is Limit.DEADLINE else NO_OBJECT
        case Failed(kind=kind):
            return _failed(kind)
        case Cancelled():
            return 409
        case _:
            assert_never(outcome)


def _failed(kind: FailureKind) -> int:
    match kind:
        case FailureKind.TOO_LONG | FailureKind.REFUSAL | FailureKind.OUTPUT_LIMIT:
            return NO_OBJECT
        case FailureKind.RATE_LIMIT:
            return 429
        case FailureKind.OVERLOADED | FailureKind.MODEL_UNAVAILABLE:
            return 503
        case FailureKind.TIMEOUT:
            return 504
        case FailureKind.JOURNAL | FailureKind.INTERNAL:
            return 500
        case (
            FailureKind.AUTHENTICATION
            | FailureKind.BAD_REQUEST
            | FailureKind.NOT_FOUND
            | FailureKind.BILLING
            | FailureKind.SERVER
            | FailureKind.NETWORK
            | FailureKind.BROKEN_STREAM
        ):
            return 502
        case _:
            assert_never(kind)
