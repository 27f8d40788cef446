"""Requests of the Messages API.

The form is the one recorded of the reference: content as blocks, the answers to calls before any text of the same
message, `tool_choice` and `strict` only when asked for, extended thinking by the family of the model. What was
written once is kept from one request to the next (`wire.history`): a turn costs what it adds.

Must not go in here: replies (`wire.anthropic_reply`), headers and addresses (`providers.anthropic`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, assert_never

import msgspec

from lastcall.nouns.messages import (
    AssistantBlock,
    AssistantMessage,
    Message,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    UserMessage,
)
from lastcall.nouns.profile import Profile
from lastcall.nouns.request import Choice, ModelRequest
from lastcall.nouns.tools import ToolCall, ToolDefinition, ToolResult
from lastcall.wire.dialect import Dialect, Feature
from lastcall.wire.history import Groups, KeptHistory
from lastcall.wire.json import clean_text, encode_value, sendable_arguments
from lastcall.wire.params import ModelParams

_CACHE_MARK: Final = b',"cache_control":{"type":"ephemeral"}'
_LEAST_THINKING: Final = 1024
"""The service refuses smaller budgets."""
_DEFAULT_EFFORT: Final = "high"

_NO_THINKING = re.compile(r"claude-(instant|2|3-(?!7-))")
_BUDGETED = re.compile(r"claude-(3-7-|(opus|sonnet|haiku)-4(-[0-5])?(-\d{8})?(?![\d-]))")
_LONGEST_NAME: Final = 128
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")


class AnthropicEncoder:
    """Encodes the requests of one conversation, one after the other."""

    __slots__ = ("_history",)

    def __init__(self, profile: Profile = Profile.NATIVE) -> None:
        self._history = KeptHistory(_WRITERS[profile].groups)

    def encode(self, request: ModelRequest, params: ModelParams, dialect: Dialect, *, stream: bool = True) -> bytes:
        """The body of `POST /v1/messages`."""
        tools, tool_choice = choose_tools(request, dialect)
        marks = dialect.has(Feature.CACHE_MARKS)
        head: dict[str, Any] = {"model": params.model, "max_tokens": params.max_tokens}
        if stream:
            head["stream"] = True
        if request.system:
            head["system"] = _system(request.system, marks=marks)
        if tool_choice is not None:
            head["tool_choice"] = tool_choice
        head.update(_thinking(params, dialect, forced=tool_choice is not None))
        output_config = _output_config(request, params, dialect)
        if output_config:
            head["output_config"] = output_config
        if params.temperature is not None:
            head["temperature"] = params.temperature
        closed, last = self._history.join(request.messages)
        sent = [_tool(tool, dialect) for tool in tools]
        if marks and params.shares_prefix and len(request.messages) == 1:
            last = _mark_beginning(request, last, sent)
        elif marks and last.startswith(b'{"role":"user"') and _may_be_marked(request.messages[-1]):
            last = last.removesuffix(b"}]}") + _CACHE_MARK + b"}]}"
        body: list[bytes | bytearray] = [encode_value(head)[:-1], b',"messages":[', closed, last, b"]"]
        if sent:
            body += [b',"tools":', encode_value(sent)]
        return b"".join((*body, b"}"))


# -- messages -------------------------------------------------------------------------------------------------------


class _Writer:
    """How a profile's messages are written. It keeps nothing of a conversation."""

    __slots__ = ("_as_written", "_nudges_apart")

    def __init__(self, profile: Profile) -> None:
        self._as_written = profile is Profile.COMPAT
        self._nudges_apart = profile is Profile.COMPAT

    def groups(self, messages: Sequence[Message]) -> Groups:
        """The messages as they go out: neighbours of one role joined, empty ones left out."""
        written: list[tuple[tuple[str, int], int, bytes]] = []
        for index, message in enumerate(messages):
            blocks = self._blocks(message)
            apart = index if self._nudges_apart and isinstance(message, UserMessage) and message.nudge else -1
            if blocks:
                role = "user" if isinstance(message, UserMessage) else "assistant"
                written.append(((role, apart), index, blocks))
        last = len(messages) - 1
        groups: Groups = []
        for (role, apart), members in groupby(written, key=itemgetter(0)):
            (_, first, blocks), *others = members
            if 0 <= apart < last and len(messages[apart].blocks) == 1:
                groups.append((first, b'{"role":"user","content":%b}' % _only_text(messages[apart])))
            else:
                content = b",".join((blocks, *(more for _, _, more in others)))
                groups.append((first, b'{"role":"%b","content":[%b]}' % (role.encode(), content)))
        return groups

    def _blocks(self, message: Message) -> bytes:
        match message:
            case UserMessage(blocks=blocks):
                results = [block for block in blocks if isinstance(block, ToolResult)]
                others = [block for block in blocks if not isinstance(block, ToolResult)]
                answers = [_tool_result(result, reminds=result is results[-1]) for result in results]
                told = [piece for block in others for piece in _user_block(block)]
                return b",".join((*map(encode_value, answers), *told))
            case AssistantMessage(blocks=blocks):
                return b",".join(piece for block in blocks for piece in self._assistant_block(block))
            case _:
                assert_never(message)

    def _assistant_block(self, block: AssistantBlock) -> Iterator[bytes]:
        match block:
            case TextBlock(text=text):
                if text.strip():  # the service refuses blank text
                    yield encode_value({"type": "text", "text": clean_text(text)})
            case ThinkingBlock(text=text, signature=signature):
                if signature:  # it takes back only what it signed itself
                    yield encode_value({"type": "thinking", "thinking": text, "signature": signature})
            case OpaqueBlock(value=value):
                yield encode_value(value)
            case ToolCall(call_id=call_id, name=name):
                arguments = sendable_arguments(block, as_written=self._as_written)
                call = {"type": "tool_use", "id": plain_name(call_id), "name": plain_name(name)}
                yield encode_value(call)[:-1] + b',"input":' + arguments.encode() + b"}"
            case _:
                assert_never(block)


_WRITERS: Final = {profile: _Writer(profile) for profile in Profile}


def _user_block(block: TextBlock | OpaqueBlock) -> Iterator[bytes]:
    match block:
        case TextBlock(text=text):
            if text:
                yield encode_value({"type": "text", "text": clean_text(text)})
        case OpaqueBlock(value=value):
            yield encode_value(value)
        case _:
            assert_never(block)


def _tool_result(result: ToolResult, *, reminds: bool) -> dict[str, Any]:
    """One answer; only the last of several carries its reminder, as recorded."""
    text = result.content + (result.reminder if reminds else "")
    content: object = msgspec.Raw(result.content.encode()) if result.blocks else clean_text(text)
    if result.is_error and not result.content:
        content = "The tool failed without a message."  # the service refuses an error without content
    answer: dict[str, Any] = {"tool_use_id": plain_name(result.call_id), "type": "tool_result", "content": content}
    if result.is_error is not None:
        answer["is_error"] = result.is_error
    return answer


def _only_text(message: Message) -> bytes:
    """A nudge that is no longer the last message, in the reference's short form."""
    return encode_value("".join(block.text for block in message.blocks if isinstance(block, TextBlock)))


def _may_be_marked(message: Message) -> bool:
    return isinstance(message, UserMessage) and bool(message.blocks) and not isinstance(message.blocks[-1], OpaqueBlock)


def _mark_beginning(request: ModelRequest, first: bytes, tools: list[dict[str, Any]]) -> bytes:
    """The first message with a mark behind its first block, if others follow; what stands before it is shared.

    Where there is no system prompt, whose mark covers the tools, the last tool is marked.
    """
    if tools and not request.system:
        tools[-1]["cache_control"] = {"type": "ephemeral"}
    blocks = request.messages[0].blocks
    if len(blocks) < 2 or not isinstance(blocks[0], TextBlock):
        return first
    opening = b'{"role":"user","content":[' + encode_value({"type": "text", "text": clean_text(blocks[0].text)})
    return opening[:-1] + _CACHE_MARK + first[len(opening) - 1 :]


def plain_name(name: str) -> str:
    """A name or an id in the characters that every service takes back; another service or a confused model made it.

    What has to be changed ends in digits of its own, so that no two names become one.
    """
    plain = _NOT_IN_A_NAME.sub("_", name)
    if plain == name and 0 < len(name) <= _LONGEST_NAME:
        return name
    import hashlib  # noqa: PLC0415 -- names and ids are plain but for other services' and confused models'

    digits = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain[: _LONGEST_NAME - 9]}_{digits}"


# -- tools and settings ---------------------------------------------------------------------------------------------


def choose_tools(request: ModelRequest, dialect: Dialect) -> tuple[tuple[ToolDefinition, ...], dict[str, Any] | None]:
    """The tools to send, and the forced choice in the Messages API's words, `None` where the model is free.

    The protocol can force one tool or any of those sent. So with several finishing tools only these are sent; where
    "any" is refused, the first of them is forced.
    """
    if not dialect.has(Feature.TOOLS):
        return (), None
    finishing = tuple(tool for tool in request.tools if tool.finishing)
    if request.choice is not Choice.FINISH or not finishing:
        return request.tools, None
    if len(finishing) > 1 and dialect.has(Feature.FORCED_ANY):
        return finishing, {"type": "any"}
    if dialect.has(Feature.FORCED_CHOICE):
        return request.tools, {"type": "tool", "name": finishing[0].name}
    if dialect.has(Feature.FORCED_ANY):
        return finishing, {"type": "any"}
    return request.tools, None


def _tool(tool: ToolDefinition, dialect: Dialect) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
    if tool.strict_schema is not None and dialect.has(Feature.STRICT):
        shown |= {"input_schema": tool.strict_schema, "strict": True}
    return shown


def _system(text: str, *, marks: bool) -> object:
    if not marks:
        return clean_text(text)
    return [{"type": "text", "text": clean_text(text), "cache_control": {"type": "ephemeral"}}]


def thinks_adaptively(model: str) -> bool:
    """Whether this model of the vendor sets its thinking itself instead of being given a budget."""
    return "claude" in model and not _NO_THINKING.search(model) and not _BUDGETED.search(model)


def _thinking(params: ModelParams, dialect: Dialect, *, forced: bool) -> dict[str, Any]:
    """The `thinking` member, as recorded of the reference; none for models of others unless a budget was asked for."""
    tokens, model = params.thinking_tokens, params.model
    if not dialect.has(Feature.THINKING) or (tokens is None and ("claude" not in model or _NO_THINKING.search(model))):
        return {}
    budget = min(params.max_tokens - 1, tokens if tokens is not None else params.max_tokens - 1)
    off = tokens == 0 or (forced and not dialect.forced_choice_with_thinking) or params.temperature is not None
    if off or (budget < _LEAST_THINKING and not thinks_adaptively(model)):
        return {"thinking": {"type": "disabled"}}
    shape: dict[str, Any] = (
        {"type": "adaptive"} if thinks_adaptively(model) else {"type": "enabled", "budget_tokens": budget}
    )
    if params.thinking_display is not None:
        shape["display"] = params.thinking_display
    return {"thinking": shape}


def _output_config(request: ModelRequest, params: ModelParams, dialect: Dialect) -> dict[str, Any]:
    config: dict[str, Any] = {}
    effort = params.effort or (_DEFAULT_EFFORT if thinks_adaptively(params.model) else None)
    if effort is not None and dialect.has(Feature.EFFORT):
        config["effort"] = effort
    if request.native_format is not None and dialect.has(Feature.NATIVE_FORMAT):
        config["format"] = {"type": "json_schema", "schema": request.native_format.value}
    return config
