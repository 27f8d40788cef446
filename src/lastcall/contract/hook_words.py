"""What the model reads of hooks and interrupts, beside the contract's own sentences.

Sentences of the compat profile are recorded ones. Must not go in here: sentences about the object (`contract.wording`).
"""

from __future__ import annotations

from typing import Final

from lastcall.nouns.profile import Profile

_INTERRUPTED: Final = "[Request interrupted by user]"
_INTERRUPTED_TOOL: Final = "[Request interrupted by user for tool use]"
_REJECTED_COMPAT: Final = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."
)
_CANCELLED_NATIVE: Final = "Cancelled before it ended; it is unknown whether it took effect."


def interrupted(*, tools: bool) -> str:
    """What stands in the history after the user stopped the run; `tools`: calls were running."""
    return _INTERRUPTED_TOOL if tools else _INTERRUPTED


def cancelled_call(profile: Profile) -> tuple[str, str]:
    """The answer to a call that was stopped, and what the stream shows beside it."""
    if profile is Profile.COMPAT:
        return _REJECTED_COMPAT, "User rejected tool use"
    return _CANCELLED_NATIVE, f"Error: {_CANCELLED_NATIVE}"


def stop_feedback(words: str, profile: Profile) -> str:
    """What a hook says that keeps the model from stopping."""
    if profile is Profile.COMPAT:
        return f"Stop hook feedback:\n{words}"
    return f"The run may not end yet. A hook of the caller says: {words}"


def denied_by_hook(reason: str, profile: Profile) -> str:
    """The answer to a call that a hook denied."""
    if profile is Profile.COMPAT:
        return reason
    return f"A hook of the caller denied this call: {reason}"


RESUME_TOLD: Final = "Continue from where you left off."
RESUME_SAID: Final = "No response requested."
"""What the reference puts between a session that ended on the user's side and its next prompt."""


def stop_bound(times: int, words: str) -> str:
    """Why a run ended that Stop hooks would have kept going for ever."""
    return f"a Stop hook kept the run from ending {times} times: {words}"
