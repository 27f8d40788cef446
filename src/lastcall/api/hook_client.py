"""Asking a run's Python hooks, through the machinery that asks hooks of settings files (`runtime.hooks`).

What a hook raises before something is done is raised to the caller. Afterwards it must not cost an object: it is kept as a
warning for the result, and the run goes on as if the hook had said nothing.

Must not go in here: hooks about requests to the model (`api.hooked_requests`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar, cast

from lastcall.api.hooks import BEFORE, CallPoint, EndSeen, Hook, HookAnswer, HookQuestion, Point, RejectionQuestion
from lastcall.api.logs import log_failed_hook
from lastcall.api.result import TerminalResult
from lastcall.api.rules import DEPENDENCIES, call
from lastcall.contract.accidents import told
from lastcall.errors import BadConfig
from lastcall.nouns.attachment import Problem
from lastcall.nouns.hooks import HookPoint
from lastcall.nouns.ids import CallId
from lastcall.nouns.result import Attempt, RunWarning, VerdictKind
from lastcall.runtime.client import Client
from lastcall.wire.frames import Frame
from lastcall.wire.hooks import CallbackHook, HookRule

Said = TypeVar("Said")

FAILED: Final = "hook_failed"
_ASKED: Final[dict[Point, HookPoint]] = {
    "prompt": HookPoint.PROMPT,
    "before_tool": HookPoint.BEFORE_CALL,
    "after_tool": HookPoint.AFTER_CALL,
    "after_failure": HookPoint.AFTER_FAILURE,
    "end": HookPoint.STOP,
    "rejected": HookPoint.REJECTED,
}
"""The points at which the machinery asks; at the others the API does it itself."""


class Troubles:
    """What hooks raised that must not end the run, as warnings."""

    def __init__(self) -> None:
        self._met: list[RunWarning] = []

    def meet(self, hook: Hook, error: Exception) -> None:
        """Keep it for the result."""
        words = f"the hook {hook.name} ({hook.point}) failed: {told(error)}"
        self._met.append(RunWarning(FAILED, words))
        log_failed_hook(hook.name, hook.point, error)

    def take(self) -> tuple[RunWarning, ...]:
        """All that was kept, once."""
        met, self._met = tuple(self._met), []
        return met


async def ask(
    hook: Hook, question: Any, troubles: Troubles, read: Callable[[Hook, Any], Said] = lambda _, said: said
) -> Said | None:
    """What a hook says, as `read` understands it; nothing if it fails afterwards.

    Raises what a hook raises before something is done, and what `read` does.
    """
    try:
        said = await call(hook.function, question)
        return None if said is None else read(hook, said)
    except Exception as error:
        error.add_note(f"raised by the hook {hook.name} ({hook.point}) of a lastcall run")
        if hook.point in BEFORE:
            raise
        troubles.meet(hook, error)
        return None


class HookClient(Client):
    """Answers the session's questions to hooks by calling functions (a `runtime.client.Client` without a wire)."""

    def __init__(self, hooks: Sequence[Hook], troubles: Troubles) -> None:
        super().__init__(lambda _: None, str)
        self._hooks = tuple(hooks)
        self._troubles = troubles

    @property
    def rules(self) -> tuple[HookRule, ...]:
        """When which hook is asked."""
        return tuple(
            HookRule(_ASKED[hook.point], hook.matcher, (CallbackHook(str(number)),))
            for number, hook in enumerate(self._hooks)
            if hook.point in _ASKED
        )

    async def ask(self, request: Frame, *, timeout_s: float | None = None) -> Mapping[str, Any]:  # noqa: ARG002 -- as long as it takes
        """The function's answer. Raises what it raises before something is done."""
        hook, about = self._hooks[int(request["callback_id"])], request["input"]
        question = _rejection(about) if hook.point == "rejected" else _question(cast("CallPoint", hook.point), about)
        answer = await ask(hook, question, self._troubles, _answer)
        return {} if answer is None else _value(_ASKED[hook.point], answer)

    async def tell_end(self, result: TerminalResult[Any]) -> None:
        """Tell the hooks of the end, in their order."""
        for hook in self._hooks:
            if hook.point == "ended":
                await ask(hook, EndSeen(result, DEPENDENCIES.get()), self._troubles)


def _question(point: CallPoint, about: Mapping[str, Any]) -> HookQuestion:
    return HookQuestion(
        point=point,
        session_id=str(about.get("session_id", "")),
        prompt=str(about.get("prompt", "")),
        tool=str(about.get("tool_name", "")),
        call_id=str(about.get("tool_use_id", "")),
        arguments=about.get("tool_input") or {},
        answer=about.get("error", about.get("tool_response", about.get("last_assistant_message"))),
        again=bool(about.get("stop_hook_active")),
        deps=DEPENDENCIES.get(),
    )


def _rejection(about: Mapping[str, Any]) -> RejectionQuestion:
    attempt = Attempt(
        about["attempt"],
        CallId(about["tool_use_id"]),
        about["model"],
        VerdictKind(about["verdict"]),
        tuple(Problem(p["path"], p["keyword"], p["message"]) for p in about["problems"]),
        about["draft"],
    )
    return RejectionQuestion(attempt, str(about.get("session_id", "")), DEPENDENCIES.get())


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


def _answer(hook: Hook, said: Any) -> HookAnswer:
    """What a hook said. Raises `BadConfig` for what is no answer."""
    if isinstance(said, str):
        return HookAnswer(tell=said) if hook.point == "rejected" else HookAnswer(refuse=said)
    if isinstance(said, HookAnswer):
        return said
    raise BadConfig(
        f"the hook {hook.name} ({hook.point}) answered with {type(said).__name__}",
        hint="Return a sentence, a HookAnswer, or nothing.",
        where="hooks",
    )
