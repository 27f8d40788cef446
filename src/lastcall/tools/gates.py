"""The gate before a tool: whether a call may go on, and with which arguments.

A gate is a coroutine, because somebody may have to be asked (a client's callback, a hook). The runtime composes gates; the
one here asks the permission rules.

Must not go in here: the rules themselves (`tools.permissions`).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import assert_never

from msgspec import Struct

from lastcall.contract import wording
from lastcall.nouns.json import JsonObject
from lastcall.nouns.profile import Profile
from lastcall.nouns.tools import Halt, ToolCall
from lastcall.tools import CommandSubject, PathSubject, Tool
from lastcall.tools.permissions import Decision, Ground, Mode, Permissions


class DenialKind(StrEnum):
    """Who said no. The words are those of the stream's `non_execution_kind`, where a hook counts as a rule."""

    RULE = "permission-rule"
    HOOK = "hook"
    USER = "user-rejected"


class Allowed(Struct, frozen=True):
    """The call goes on with these arguments; `halt`: the run ends after it."""

    arguments: JsonObject
    halt: Halt | None = None


class Denied(Struct, frozen=True):
    """The call is not run; `text` is told to the model; `halt`: the run ends with it."""

    text: str
    kind: DenialKind
    halt: Halt | None = None


Gate = Callable[[Tool, JsonObject, ToolCall], Awaitable[Allowed | Denied]]
"""`gate(tool, arguments, call)`: the arguments have passed the tool's input schema."""


def permission_gate(permissions: Permissions, profile: Profile, *, ask: Gate | None = None) -> Gate:
    """The gate that asks the rules, and `ask` where they leave it open; without `ask`, open means no."""

    async def gate(tool: Tool, arguments: JsonObject, call: ToolCall) -> Allowed | Denied:
        verdict = permissions.decide(tool, arguments)
        match verdict.decision:
            case Decision.ALLOW:
                return Allowed(arguments)
            case Decision.DENY:
                by_rule = verdict.ground is Ground.RULE
                words = wording.denied(call.name) if by_rule else _denied_by_mode(call.name, permissions.mode, profile)
                return Denied(words, DenialKind.RULE)
            case Decision.ASK:
                if ask is not None:
                    return await ask(tool, arguments, call)
                return Denied(_nobody_to_ask(tool, arguments, profile, permissions.cwd), DenialKind.USER)
            case _:
                assert_never(verdict.decision)

    return gate


_DONT_ASK_COMPAT = (
    "Permission to use {name} has been denied because Claude Code is running in don't ask mode. IMPORTANT: You *may* "
    "attempt to accomplish this action using other tools that might naturally be used to accomplish this goal, e.g. using "
    "head instead of cat. But you *should not* attempt to work around this denial in malicious ways, e.g. do not use your "
    "ability to run tests to execute non-test actions. You should only try to work around this restriction in reasonable "
    "ways that do not attempt to bypass the intent behind this denial. If you believe this capability is essential to "
    "complete the user's request, STOP and explain to the user what you were trying to do and why you need this "
    "permission. Let the user decide how to proceed."
)
"""As recorded."""


def _denied_by_mode(name: str, mode: Mode, profile: Profile) -> str:
    if mode is Mode.PLAN:
        return f"{wording.denied(name)} In plan mode only tools that change nothing may be used."
    if profile is Profile.COMPAT:
        return _DONT_ASK_COMPAT.format(name=name)
    return f"{wording.denied(name)} No rule of this run allows it. Do without it."


_REDIRECTION = re.compile(r">>?\s*([\w./~-]+)")


def _nobody_to_ask(tool: Tool, arguments: JsonObject, profile: Profile, cwd: str) -> str:
    name = tool.definition.name
    if profile is Profile.NATIVE:
        return f"Permission to use {name} was not granted for this run, and nobody can be asked. Do without it."
    subject = tool.subject(arguments)
    redirected = _REDIRECTION.search(subject.command) if isinstance(subject, CommandSubject) else None
    if redirected is not None:
        place = posixpath.join(cwd, redirected.group(1))
        return (
            f"Output redirection to '{place}' was blocked. For security, Claude Code may only write to files in the "
            f"allowed working directories for this session: '{cwd}'."
        )
    act = f"write to {subject.path}" if tool.edits_files and isinstance(subject, PathSubject) else f"use {name}"
    return f"Claude requested permissions to {act}, but you haven't granted it yet."
