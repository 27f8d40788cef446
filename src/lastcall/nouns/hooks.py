"""Hooks: what the caller's own commands and callbacks are asked, and what they may answer.

A hook may keep a prompt, a call or an end of a run back, change a call's input before it is judged, and tell the model
something. It can never make an object: what it changes is judged by the contract like everything else.

Must not go in here: running hooks (`runtime.hooks`), their wire form (`wire.hooks`).
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class HookPoint(StrEnum):
    """When hooks are asked, in the reference's words; it has none for a rejected attempt, and no such point."""

    PROMPT = "UserPromptSubmit"
    BEFORE_CALL = "PreToolUse"
    AFTER_CALL = "PostToolUse"
    AFTER_FAILURE = "PostToolUseFailure"
    STOP = "Stop"
    REJECTED = "AttemptRejected"


class HookDecision(StrEnum):
    """What a hook says of a call before it is made."""

    NONE = ""
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class HookVerdict(Struct, frozen=True, tag=True):
    """What all hooks of one point said together, in the words that are passed on.

    `blocked` holds one sentence for each hook that keeps the prompt, the answer or the end back. `decision` and `reason`
    are about a call; `arguments` is its input as hooks changed it (JSON text, `None`: unchanged). `context` is told to the
    model and shown to nobody else. `halt` is the reason for ending the run (`None`: it goes on; `""`: no reason given).
    """

    blocked: tuple[str, ...] = ()
    decision: HookDecision = HookDecision.NONE
    reason: str = ""
    arguments: str | None = None
    context: tuple[str, ...] = ()
    halt: str | None = None


NOTHING_SAID = HookVerdict()

OF_REFERENCE = frozenset(HookPoint) - {HookPoint.REJECTED}
"""The points that the reference knows."""
