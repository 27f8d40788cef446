"""Hooks that are Python functions: asked before prompts, calls and ends of a run, and after calls.

They go through the same machinery as hooks of settings files (`runtime.hooks`), so that both kinds may be mixed and the
strictest answer counts. No hook can make an object: what it changes is judged by the contract like everything else.

Must not go in here: what an answer means (`wire.hooks`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Literal, assert_never

from msgspec import Struct

from lastcall.api.rules import DEPENDENCIES, call
from lastcall.errors import BadConfig
from lastcall.nouns.hooks import HookPoint
from lastcall.runtime.client import Client
from lastcall.wire.frames import Frame
from lastcall.wire.hooks import CallbackHook, HookRule

Point = Literal["prompt", "before_tool", "after_tool", "after_failure", "end"]

_POINTS: Final[dict[str, HookPoint]] = {
    "prompt": HookPoint.PROMPT,
    "before_tool": HookPoint.BEFORE_CALL,
    "after_tool": HookPoint.AFTER_CALL,
    "after_failure": HookPoint.AFTER_FAILURE,
    "end": HookPoint.STOP,
}


class HookQuestion(Struct, frozen=True):
    """What a hook is asked about. What the point does not have is empty.

    `arguments` are a call's, `answer` is what it gave back (of a failure: its words). `again` says at `end` that a hook
    has already kept the run going. `deps` is what the run was given.
    """

    point: Point
    session_id: str
    prompt: str = ""
    tool: str = ""
    call_id: str = ""
    arguments: Mapping[str, Any] = {}
    answer: Any = None
    again: bool = False
    deps: Any = None


class HookAnswer(Struct, frozen=True):
    """What a hook says.

    `refuse` keeps the prompt, the call or the end back, with this reason (after a call it is told to the model).
    `arguments` take the place of the call's. `allow` lets a call through that the permission rules leave open. `tell` is
    told to the model and shown to nobody else. `stop` ends the run, with this reason.
    """

    refuse: str = ""
    arguments: Mapping[str, Any] | None = None
    allow: bool = False
    tell: str = ""
    stop: str | None = None


HookFunction = Callable[[HookQuestion], HookAnswer | str | Awaitable[HookAnswer | str | None] | None]
"""Asynchronous, or run in a thread. A sentence refuses, `None` says nothing; what it raises is raised to the caller."""


class Hook(Struct, frozen=True):
    """A function and when it is asked. `matcher` is about the tool's name: `""` is all, else names or a pattern."""

    point: HookPoint
    matcher: str
    function: HookFunction


def hook(point: Point, *, matcher: str = "") -> Callable[[HookFunction], Hook]:
    """Make a hook of a function; give it to a run in `hooks`. Raises `BadConfig` for a point that there is not."""
    if point not in _POINTS:
        raise BadConfig(f"there is no hook point {point!r}", hint=f"There are: {', '.join(_POINTS)}.", where="hooks")
    return lambda function: Hook(_POINTS[point], matcher, function)


class HookClient(Client):
    """Answers the session's questions to hooks by calling functions (a `runtime.client.Client` without a wire)."""

    def __init__(self, hooks: Sequence[Hook]) -> None:
        super().__init__(lambda _: None, str)
        self._hooks = tuple(hooks)

    @property
    def rules(self) -> tuple[HookRule, ...]:
        """When which hook is asked."""
        return tuple(
            HookRule(hook.point, hook.matcher, (CallbackHook(str(number)),)) for number, hook in enumerate(self._hooks)
        )

    async def ask(self, request: Frame, *, timeout_s: float | None = None) -> Mapping[str, Any]:  # noqa: ARG002 -- as long as it takes
        """The function's answer. Raises what it raises."""
        asked = self._hooks[int(request["callback_id"])]
        said = await call(asked.function, _question(asked.point, request["input"]))
        if said is None:
            return {}
        return _value(asked.point, HookAnswer(refuse=said) if isinstance(said, str) else said)


def _question(point: HookPoint, about: Mapping[str, Any]) -> HookQuestion:
    return HookQuestion(
        point=_word(point),
        session_id=str(about.get("session_id", "")),
        prompt=str(about.get("prompt", "")),
        tool=str(about.get("tool_name", "")),
        call_id=str(about.get("tool_use_id", "")),
        arguments=about.get("tool_input") or {},
        answer=about.get("error", about.get("tool_response", about.get("last_assistant_message"))),
        again=bool(about.get("stop_hook_active")),
        deps=DEPENDENCIES.get(),
    )


def _word(point: HookPoint) -> Point:
    match point:
        case HookPoint.PROMPT:
            return "prompt"
        case HookPoint.BEFORE_CALL:
            return "before_tool"
        case HookPoint.AFTER_CALL:
            return "after_tool"
        case HookPoint.AFTER_FAILURE:
            return "after_failure"
        case HookPoint.STOP:
            return "end"
        case _:
            assert_never(point)


def _value(point: HookPoint, answer: HookAnswer) -> dict[str, Any]:
    """The answer in the form that `wire.hooks` reads."""
    value: dict[str, Any] = {}
    special: dict[str, Any] = {"hookEventName": point.value}
    if answer.refuse:
        value |= {"decision": "block", "reason": answer.refuse}
    elif answer.allow and point is HookPoint.BEFORE_CALL:
        value["decision"] = "approve"
    if answer.arguments is not None:
        special["updatedInput"] = answer.arguments
    if answer.tell:
        special["additionalContext"] = answer.tell
    if answer.stop is not None:
        value |= {"continue": False, "stopReason": answer.stop}
    return {**value, "hookSpecificOutput": special}
