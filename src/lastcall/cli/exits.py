"""The exit code, computed from the outcome in one place."""

from __future__ import annotations

from typing import Final, assert_never

from lastcall.nouns.profile import Profile
from lastcall.nouns.result import (
    LASTING,
    OURS,
    Answered,
    Cancelled,
    Declined,
    Failed,
    GaveUp,
    Limit,
    Outcome,
    OutOfAttempts,
    Retracted,
    Signal,
    Stopped,
)

USAGE: Final = 2
FAULT: Final = 70
_SIGNALS: Final = {Signal.INTERRUPT: 130, Signal.TERMINATE: 143, Signal.HANGUP: 129}


def exit_code(outcome: Outcome, profile: Profile) -> int:
    """The code of a run that ended so."""
    return _compat(outcome) if profile is Profile.COMPAT else _native(outcome)


def usage_code(profile: Profile) -> int:
    """The code when nothing was sent: the command line, the schema or the configuration cannot be used."""
    return 1 if profile is Profile.COMPAT else USAGE


def _native(outcome: Outcome) -> int:  # noqa: PLR0911 -- one line an outcome
    match outcome:
        case Answered():
            return 0
        case Declined():
            return 10
        case GaveUp():
            return 11
        case OutOfAttempts():
            return 12
        case Retracted():
            return 13
        case Stopped():
            return 14
        case Failed(kind=kind) if kind in OURS:
            return FAULT
        case Failed(kind=kind):
            return 15 if kind in LASTING else 16
        case Cancelled(signal=signal):
            return _SIGNALS[signal]
        case _:
            assert_never(outcome)


def _compat(outcome: Outcome) -> int:
    match outcome:
        case Answered() | GaveUp() | Declined():
            return 0
        case Stopped(limit=Limit.PROMPT_HOOK | Limit.TOOL_HOOK | Limit.STOP_HOOK):
            return 0
        case OutOfAttempts() | Retracted() | Stopped() | Failed():
            return 1
        case Cancelled(signal=Signal.INTERRUPT):
            return 0
        case Cancelled(signal=signal):
            return _SIGNALS[signal]
        case _:
            assert_never(outcome)
