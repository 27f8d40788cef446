"""One call in, one answer out, whatever happens in between.

This is the only place that catches every exception of a tool: what a tool raises is told to the model, never to the
caller, and never with a traceback. Cancellation is not an exception of the tool; it ends in an answer only if it was this
call that was cancelled.

Must not go in here: what any tool does, permission rules.
"""

from __future__ import annotations

from typing import Any

import anyio
import msgspec
from msgspec.structs import replace

from lastcall.contract import hook_words
from lastcall.nouns.profile import Profile
from lastcall.nouns.tools import ResultKind, ToolCall, ToolDefinition, ToolResult
from lastcall.tools import Output, Tool, Toolbox, ToolContext
from lastcall.tools.gates import DenialKind, Denied, Gate
from lastcall.tools.inputs import BadInput, InputSchemas

MAX_RESULT_CHARS = 100_000
"""Characters of one answer; of longer ones head and tail are kept."""
_TAIL_CHARS = 40_000
_MAX_ERROR_CHARS = 4_000


class Runner:
    """Runs the calls of one run. Holds what they share: the tools, their compiled input schemas, the gate."""

    def __init__(self, toolbox: Toolbox, gate: Gate, *, profile: Profile, finishing: tuple[str, ...] = ()) -> None:
        """`finishing` are the names of the finishing tools, which are named to a model that calls an unknown one."""
        self._toolbox = toolbox
        self._gate = gate
        self._profile = profile
        self._finishing = finishing
        self._schemas = InputSchemas(profile)

    async def run(
        self,
        call: ToolCall,
        context: ToolContext,
        *,
        scope: anyio.CancelScope | None = None,
        shown: ToolDefinition | None = None,
    ) -> ToolResult:
        """The answer to `call`. Cancelling `scope` cancels this call and is an answer too; any other cancellation is not.

        `shown` is the tool as the model sees it, where that is not its own definition (`contract.plain_names`): the call
        is checked and told of in those names, everything after that knows the tool's own. Raises nothing that a tool
        raises.
        """
        with scope or anyio.CancelScope():
            return await self._run(call, context, shown)
        return cancelled(call, self._profile)

    def in_own_names(self, call: ToolCall) -> ToolCall:
        """The call in the names of the tool's own definition."""
        tool = self._toolbox.get(call.name)
        return call if tool is None else self._schemas.in_own_names(call, tool.definition)

    async def _run(self, call: ToolCall, context: ToolContext, shown: ToolDefinition | None) -> ToolResult:
        tool = self._toolbox.get(call.name)
        if tool is None:
            return self._unknown(call)
        arguments = self._schemas.read(call, tool.definition, shown)
        if isinstance(arguments, BadInput):
            return _bad_input(call, arguments)
        call = self._schemas.in_own_names(call, tool.definition)
        passed = await self._gate(tool, arguments, call)
        if isinstance(passed, Denied):
            return _denied(call, passed)
        if passed.arguments is not arguments:
            checked = self._schemas.check(passed.arguments, tool.definition)
            if isinstance(checked, BadInput):
                return _bad_input(call, checked)
        result = _answer(call, await _output(tool, passed.arguments, context))
        return result if passed.halt is None else replace(result, halt=passed.halt)

    def _unknown(self, call: ToolCall) -> ToolResult:
        text = f"Error: No such tool available: {call.name}"
        if self._profile is Profile.COMPAT:
            if call.name in self._toolbox.switched_off:
                text += f". {call.name} is disabled for this session, in subagents as well as here."
        else:
            names = [definition.name for definition in self._toolbox.definitions] + list(self._finishing)
            same = [name for name in names if name.casefold() == call.name.casefold()]
            text += f". Call {same[0]} (case counts)." if same else f". Available: {', '.join(names) or 'none'}."
        wrapped = f"<tool_use_error>{text}</tool_use_error>"
        return ToolResult(call.call_id, ResultKind.UNKNOWN_TOOL, wrapped, is_error=True, display=text)


async def _output(tool: Tool, arguments: dict[str, Any], context: ToolContext) -> Output:
    try:
        return await tool.run(arguments, context)
    except Exception as error:  # noqa: BLE001 -- the one place: a tool may raise anything, and the model is told
        words = _shorten(_describe(error), _MAX_ERROR_CHARS, _MAX_ERROR_CHARS // 4)
        return Output(f"{tool.definition.name} failed: {words}", failed=True)


def _describe(error: BaseException) -> str:
    """The exception's kind and words; of a group, those of its members."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(_describe(member) for member in error.exceptions)
    words = str(error)
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def _answer(call: ToolCall, output: Output) -> ToolResult:
    content = output.content
    if not output.blocks and not output.capped:
        content = _shorten(content, MAX_RESULT_CHARS, _TAIL_CHARS)
    content = content or f"({call.name} completed with no output)"
    display = _plain(output.display)
    if output.failed:
        display = f"Error: {content}" if display is None else display
        return ToolResult(
            call.call_id, ResultKind.FAILED, content, is_error=True, blocks=output.blocks, display=display
        )
    return ToolResult(
        call.call_id,
        ResultKind.OK,
        content,
        is_error=False if output.says_no_error else None,
        blocks=output.blocks,
        display=content if display is None else display,
        reminder=output.reminder,
    )


def _plain(display: Any) -> Any:
    """The display as a JSON value; `None` for what is none (it is journalled and streamed)."""
    try:
        return msgspec.to_builtins(display, str_keys=True)
    except (TypeError, ValueError, RecursionError):
        return None


def _bad_input(call: ToolCall, bad: BadInput) -> ToolResult:
    return ToolResult(call.call_id, ResultKind.BAD_INPUT, bad.content, is_error=True, display=bad.display)


def _denied(call: ToolCall, denied: Denied) -> ToolResult:
    by_hook = denied.kind is DenialKind.HOOK
    return ToolResult(
        call.call_id,
        ResultKind.BLOCKED if by_hook else ResultKind.DENIED,
        denied.text,
        is_error=True,
        display=f"Error: {denied.text}",
        meta={"non_execution_kind": str(DenialKind.RULE if by_hook else denied.kind)},
        halt=denied.halt,
    )


def cancelled(call: ToolCall, profile: Profile) -> ToolResult:
    """The answer to a call that was cancelled while it ran, or before it began."""
    text, display = hook_words.cancelled_call(profile)
    meta = {"non_execution_kind": str(DenialKind.USER)}
    return ToolResult(call.call_id, ResultKind.CANCELLED, text, is_error=True, display=display, meta=meta)


def _shorten(text: str, most: int, tail: int) -> str:
    """The text, or its head and tail with the number of characters left out between them."""
    if len(text) <= most:
        return text
    head = most - tail
    return f"{text[:head]}\n\n[… {len(text) - most:,} characters left out …]\n\n{text[-tail:]}"
