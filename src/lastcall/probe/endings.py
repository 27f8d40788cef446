"""How a trial ended: one word, read off the run's result and its ledger.

Must not go in here: looking at the object (the machine did).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, assert_never

from lastcall.nouns.result import (
    OURS,
    Answered,
    Cancelled,
    Declined,
    Failed,
    FailureKind,
    GaveUp,
    Outcome,
    OutOfAttempts,
    Retracted,
    Stopped,
    TerminalResult,
    VerdictKind,
)


class Ending(StrEnum):
    """What became of a trial."""

    ACCEPTED_FIRST = "accepted_first"
    """The first finishing call brought the object."""
    REPAIRED = "repaired"
    """A later one did."""
    DEGENERATE = "degenerate"
    """An object that lost what a rejected draft held, or is filled with placeholders."""
    DECLINED = "declined"
    GAVE_UP = "gave_up"
    EXHAUSTED = "exhausted"
    """Out of attempts."""
    RETRACTED = "retracted"
    FAILED = "failed"
    """The service failed."""
    STOPPED = "stopped"
    """A limit of the probe or a signal ended it."""


OBJECTS: Final = frozenset({Ending.ACCEPTED_FIRST, Ending.REPAIRED, Ending.DEGENERATE})
"""Endings with an object that passed the contract."""

HOPELESS: Final = OURS | {
    FailureKind.AUTHENTICATION,
    FailureKind.BILLING,
    FailureKind.NOT_FOUND,
    FailureKind.MODEL_UNAVAILABLE,
}
"""Failures that every other trial would meet too."""

OF_THE_CASE: Final = frozenset(
    {FailureKind.BAD_REQUEST, FailureKind.TOO_LONG, FailureKind.REFUSAL, FailureKind.OUTPUT_LIMIT}
)
"""Failures that say something of how the model takes the case: they count."""


def ending_of(result: TerminalResult) -> Ending:
    """The word for the result."""
    match result.outcome:
        case Answered():
            return _with_object(result)
        case Declined():
            return Ending.DECLINED
        case GaveUp():
            return Ending.GAVE_UP
        case OutOfAttempts():
            return Ending.EXHAUSTED
        case Retracted():
            return Ending.RETRACTED
        case Failed():
            return Ending.FAILED
        case Stopped() | Cancelled():
            return Ending.STOPPED
        case _:
            assert_never(result.outcome)


def _with_object(result: TerminalResult) -> Ending:
    if any(warning.code == "degenerate" for warning in result.warnings):
        return Ending.DEGENERATE
    first = result.attempts[0].verdict if result.attempts else None
    return Ending.ACCEPTED_FIRST if first is VerdictKind.ACCEPTED else Ending.REPAIRED


def counts(outcome: Outcome) -> bool:
    """Whether the trial says something of the model: not where the probe's limits, a signal or the network ended it."""
    match outcome:
        case Stopped() | Cancelled():
            return False
        case Failed(kind=kind):
            return kind in OF_THE_CASE
        case Answered() | Declined() | GaveUp() | OutOfAttempts() | Retracted():
            return True
        case _:
            assert_never(outcome)
