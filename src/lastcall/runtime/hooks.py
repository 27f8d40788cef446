"""Running the caller's hooks: shell commands, and callbacks of the client.

All hooks of a point run at once. A command gets the question as one line of JSON on its standard input, in a process group
of its own that is ended with it when its time is over or the run is. Nothing that a hook does raises here: one that cannot
be asked says nothing, and the stream's hook events tell so.

Must not go in here: what an answer means (`wire.hooks`), what it does to a run (`core`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, assert_never

import anyio
from msgspec import Struct
from msgspec.structs import replace

from lastcall.core.actions import RunHooks
from lastcall.core.state import RunState
from lastcall.nouns.hooks import HookDecision, HookPoint, HookVerdict
from lastcall.nouns.json import JsonObject
from lastcall.nouns.profile import Profile, Reference
from lastcall.nouns.result import Attempt
from lastcall.nouns.tools import Halt, ToolCall, ToolResult
from lastcall.runtime.client import Client, ClientGone
from lastcall.tools import Tool
from lastcall.tools.gates import Allowed, DenialKind, Denied, Gate
from lastcall.wire.frames import Frame, input_value, plain_value
from lastcall.wire.hooks import About, Answer, CallbackHook, CommandHook, Hook, HookRule, answer_of_command, combine
from lastcall.wire.json import encode_value

PATIENCE_S: Final = 60.0
"""How long a hook may take that names no time of its own."""
_OUTPUT_CAP: Final = 1 << 20
_NOWHERE: Final[frozenset[HookPoint]] = frozenset()

Tell = Callable[[str, Frame], None]
"""Shows a system frame: its subtype and fields."""


class HookPlace(Struct, frozen=True):
    """What every hook is told of where it runs. `permission_mode` is asked when it is needed: a client may change it."""

    cwd: str
    environment: Mapping[str, str]
    profile: Profile
    reference: Reference
    permission_mode: Callable[[], str]
    new_id: Callable[[], str]


class Hooks:
    """The hooks of a session."""

    def __init__(self, rules: Sequence[HookRule], place: HookPlace, *, client: Client | None = None) -> None:
        self._rules = tuple(rules)
        self._place = place
        self._client = client
        self._tell: Tell | None = None
        self._journal_path = ""
        self._state: Callable[[], RunState] | None = None

    @property
    def any(self) -> bool:
        """Whether there is anybody to ask at all."""
        return bool(self._rules)

    def settle(self, journal_path: str, tell: Tell | None) -> None:
        """Where the session is written, and who is shown hook events (`None`: nobody)."""
        self._journal_path, self._tell = journal_path, tell

    def watch(self, state: Callable[[], RunState] | None) -> None:
        """How to look up the run that a tool's call belongs to (`None`: there is none any more)."""
        self._state = state

    def points(self, finishing: str | None) -> frozenset[HookPoint]:
        """The points at which the core has to ask; those about calls only as far as they concern the finishing tool."""
        if not self._rules:
            return _NOWHERE
        of_calls = {HookPoint.BEFORE_CALL, HookPoint.AFTER_CALL, HookPoint.AFTER_FAILURE}
        return frozenset(
            rule.point
            for rule in self._rules
            if rule.point not in of_calls or (finishing is not None and rule.concerns(finishing))
        )

    async def ask(self, action: RunHooks, state: RunState) -> HookVerdict:
        """What the hooks of a point say (a `ports.AskHooks`)."""
        call = action.call
        question: Frame = {}
        match action.point:
            case HookPoint.PROMPT:
                question = {"prompt": action.text}
            case HookPoint.STOP:
                last = {"last_assistant_message": action.text} if action.text else {}
                question = {"stop_hook_active": action.active, **last, "background_tasks": [], "session_crons": []}
            case HookPoint.REJECTED if action.attempt is not None:
                question = _of_attempt(action.attempt)
            case _ if call is not None:
                question = _of_call(call.name, input_value(call), call.call_id)
                if action.result is not None:
                    question |= _of_result(action.result, 0)
        return await self._all(action.point, question, state, prompt=action.text)

    # -- ordinary tools ---------------------------------------------------------------------------------------------

    def gate(self, inner: Gate, rules: Gate, ask: Gate | None) -> Gate:
        """`inner` with the `PreToolUse` hooks before it; `rules` are the permission rules alone, `ask` asks the client."""

        async def gate(tool: Tool, arguments: JsonObject, call: ToolCall) -> Allowed | Denied:
            name = tool.definition.name
            if not self._concerned(HookPoint.BEFORE_CALL, name):
                return await inner(tool, arguments, call)
            verdict = await self._all(HookPoint.BEFORE_CALL, _of_call(name, arguments, call.call_id))
            halt = None if verdict.halt is None else Halt(verdict.halt)
            if verdict.decision is HookDecision.DENY:
                return Denied(verdict.reason, DenialKind.HOOK, halt)
            if verdict.arguments is not None:
                arguments = plain_value(verdict.arguments)
            if verdict.decision is HookDecision.ALLOW:
                passed = await rules(tool, arguments, call)
                if isinstance(passed, Denied) and passed.kind is DenialKind.USER:
                    passed = Allowed(arguments)
            elif verdict.decision is HookDecision.ASK and ask is not None:
                passed = await ask(tool, arguments, call)
            else:
                passed = await inner(tool, arguments, call)
            return passed if halt is None else replace(passed, halt=halt)

        return gate

    async def after(self, call: ToolCall, result: ToolResult, took_ms: int) -> ToolResult:
        """`result` with what `PostToolUse` hooks add to it for the model."""
        point = HookPoint.AFTER_FAILURE if result.failed else HookPoint.AFTER_CALL
        if not result.kind.of_tool or not self._concerned(point, call.name):
            return result
        question = _of_call(call.name, input_value(call), call.call_id) | _of_result(result, took_ms)
        verdict = await self._all(point, question)
        halt = result.halt if verdict.halt is None else Halt(verdict.halt)
        told = "\n".join(part for part in (result.reminder, *verdict.context) if part)
        return replace(result, reminder=told, halt=halt)

    # -- asking -----------------------------------------------------------------------------------------------------

    def _concerned(self, point: HookPoint, tool: str) -> tuple[Hook, ...]:
        """The hooks to be asked, each once."""
        found = (hook for rule in self._rules if rule.point is point and rule.concerns(tool) for hook in rule.hooks)
        return tuple(dict.fromkeys(found))

    async def _all(
        self, point: HookPoint, question: Frame, state: RunState | None = None, *, prompt: str = ""
    ) -> HookVerdict:
        tool = str(question.get("tool_name", ""))
        hooks = self._concerned(point, tool)
        if state is None and self._state is not None:
            state = self._state()
        about: Frame = {
            "session_id": state.session_id if state is not None else "",
            "transcript_path": self._journal_path,
            "cwd": self._place.cwd,
            "prompt_id": state.run_id if state is not None else "",
            "permission_mode": self._place.permission_mode(),
            "hook_event_name": point.value,
            **question,
        }
        answers: list[Answer | None] = [None] * len(hooks)

        async def one(index: int) -> None:
            answers[index] = await self._one(hooks[index], point, about)

        async with anyio.create_task_group() as tasks:
            for index in range(len(hooks)):
                tasks.start_soon(one, index)
        said = [answer for answer in answers if answer is not None]
        return combine(said, About(point, tool, prompt, self._place.profile, self._place.reference))

    async def _one(self, hook: Hook, point: HookPoint, about: Frame) -> Answer:
        if isinstance(hook, CallbackHook):
            return await self._call_back(hook, about)
        hook_id, tool = self._place.new_id(), about.get("tool_name")
        names: Frame = {
            "hook_id": hook_id,
            "hook_name": f"{point.value}:{tool}" if tool else point.value,
            "hook_event": point.value,
        }
        if self._tell is not None:
            self._tell("hook_started", names)
        answer = await self._run(hook, about)
        if self._tell is not None:
            self._tell("hook_response", {**names, **_shown(answer)})
        return answer

    async def _call_back(self, hook: CallbackHook, about: Frame) -> Answer:
        tool_use_id = about.get("tool_use_id") or self._place.new_id()
        request = {
            "subtype": "hook_callback",
            "callback_id": hook.callback_id,
            "input": about,
            "tool_use_id": tool_use_id,
        }
        if self._client is None:
            return Answer("", failed=True, stderr="there is no client")
        try:
            value = await self._client.ask(request, timeout_s=hook.timeout_s or PATIENCE_S)
        except (ClientGone, TimeoutError) as error:
            return Answer("", failed=True, stderr=str(error) or "the callback took too long")
        return Answer("", value=value)

    async def _run(self, hook: CommandHook, about: Frame) -> Answer:
        from lastcall.runtime.commands import Finished, NotStarted, TimedOut, run_command  # noqa: PLC0415 -- few have hooks

        ran = await run_command(
            ("/bin/sh", "-c", hook.command),
            encode_value(about) + b"\n",
            cwd=self._place.cwd,
            environment={**self._place.environment, "CLAUDE_PROJECT_DIR": self._place.cwd},
            timeout_s=hook.timeout_s or PATIENCE_S,
            cap_bytes=_OUTPUT_CAP,
        )
        match ran:
            case Finished(code=code, out=out, err=err):
                return answer_of_command(hook.command, code, out, err)
            case TimedOut(seconds=seconds):
                return Answer(hook.command, 1, "", f"it took longer than {seconds:g} seconds", failed=True)
            case NotStarted(why=why):
                return Answer(hook.command, 1, "", f"it cannot be run: {why}", failed=True)
            case _:
                assert_never(ran)


def _of_call(name: str, arguments: Any, call_id: str) -> Frame:
    return {"tool_name": name, "tool_input": arguments, "tool_use_id": call_id}


def _of_attempt(attempt: Attempt) -> Frame:
    problems = [{"path": p.path, "keyword": p.keyword, "message": p.message} for p in attempt.problems]
    about = {"attempt": attempt.n, "verdict": attempt.verdict.value, "draft": attempt.draft, "problems": problems}
    return {"tool_use_id": attempt.call_id, "model": attempt.model, **about}


def _of_result(result: ToolResult, took_ms: int) -> Frame:
    if result.failed:
        return {"error": result.content, "is_interrupt": False, "duration_ms": took_ms}
    shown = result.display if result.display is not None else result.content
    return {"tool_response": shown, "duration_ms": took_ms}


def _shown(answer: Answer) -> Frame:
    failed = answer.failed or answer.code != 0
    return {
        "output": answer.stdout + answer.stderr,
        "stdout": answer.stdout,
        "stderr": answer.stderr,
        "exit_code": answer.code,
        "outcome": "error" if failed else "success",
    }
