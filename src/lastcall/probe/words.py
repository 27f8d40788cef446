"""Names of endings for people, in the order in which they are shown.

Must not go in here: layout (`page`, `lastcall.cli`).
"""

from __future__ import annotations

from typing import Final

from lastcall.probe.endings import Ending

NAMES: Final = {
    Ending.ACCEPTED_FIRST: "first",
    Ending.REPAIRED: "repaired",
    Ending.DEGENERATE: "degenerate",
    Ending.DECLINED: "declined",
    Ending.GAVE_UP: "gave up",
    Ending.EXHAUSTED: "exhausted",
    Ending.RETRACTED: "retracted",
    Ending.FAILED: "failed",
}
"""Endings of trials that count."""

EXPLAINED: Final = {
    Ending.ACCEPTED_FIRST: "the first finishing call brought the object",
    Ending.REPAIRED: "a later call brought it",
    Ending.DEGENERATE: "an object that lost what a rejected draft held, or of placeholders",
    Ending.DECLINED: "the model said that it cannot, and why",
    Ending.GAVE_UP: "the model stopped without the call although asked",
    Ending.EXHAUSTED: "no object within the attempts",
    Ending.RETRACTED: "only objects that were taken back",
    Ending.FAILED: "the service refused",
    Ending.STOPPED: "a limit of the probe",
}


def kind(*, conflicts: bool | None, may_correct: bool | None) -> str:
    """What the prompt does to the contract, and what it allows."""
    return f"{'conflicts' if conflicts else 'fits'}, {'may correct' if may_correct else 'as it is'}"
