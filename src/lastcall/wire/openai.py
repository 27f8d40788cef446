"""Requests of Chat Completions.

The form that OpenAI documents and compatible servers share: plain strings where there is only text, one `tool` message
an answer, directly after the calls. History is always well-formed: every call has a plain id and arguments that are the
text of a JSON object, every answer follows its call. What was written once is kept from one request to the next
(`wire.history`).

Must not go in here: replies (`wire.openai_reply`), headers and addresses (`providers.openai`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, assert_never

from lastcall.nouns.messages import (
    AssistantMessage,
    Message,
    OpaqueBlock,
    TextBlock,
    UserBlock,
    UserMessage,
)
from lastcall.nouns.profile import Profile
from lastcall.nouns.request import ModelRequest
from lastcall.nouns.schema import StrictSchema
from lastcall.nouns.tools import ToolCall, ToolDefinition, ToolResult
from lastcall.wire.anthropic import choose_tools, plain_name
from lastcall.wire.dialect import Dialect, Feature
from lastcall.wire.history import Groups, KeptHistory
from lastcall.wire.json import clean_text, encode_value, object_of, objects_of, read_object, sendable_arguments, text_of
from lastcall.wire.params import ModelParams

FORMAT_NAME: Final = "output"
"""The name that a native format needs on the wire; it means nothing."""


class OpenAIEncoder:
    """Encodes the requests of one conversation, one after the other."""

    def __init__(self, profile: Profile = Profile.NATIVE) -> None:
        del profile  # the reference does not speak this protocol, so there is nothing to be compatible with
        self._history = KeptHistory(_groups)

    def encode(self, request: ModelRequest, params: ModelParams, dialect: Dialect, *, stream: bool = True) -> bytes:
        """The body of `POST /chat/completions`."""
        tools, tool_choice = choose_tools(request, dialect)
        head: dict[str, Any] = {"model": params.model}
        if stream:
            head["stream"] = True
            if dialect.has(Feature.STREAM_USAGE):
                head["stream_options"] = {"include_usage": True}
        head.update(_settings(params, dialect))
        if tools:
            head["tools"] = [_tool(tool, dialect) for tool in tools]
        if tool_choice is not None:
            head["tool_choice"] = _choice(tool_choice)
        if request.native_format is not None and dialect.has(Feature.NATIVE_FORMAT):
            head["response_format"] = _format(request, dialect)
        closed, last = self._history.join(request.messages)
        system = _system(request.system, dialect) + (b"," if request.system and last else b"")
        return b"".join((encode_value(head)[:-1], b',"messages":[', system, closed, last, b"]}"))


# -- messages -------------------------------------------------------------------------------------------------------


def _groups(messages: Sequence[Message]) -> Groups:
    bodies = ((index, _message(message)) for index, message in enumerate(messages))
    return [(index, body) for index, body in bodies if body]


def _message(message: Message) -> bytes:
    """One message of ours as none, one or several of theirs."""
    match message:
        case UserMessage(blocks=blocks):
            return b",".join(encode_value(item) for item in _user_messages(blocks))
        case AssistantMessage():
            return encode_value(_assistant_message(message))
        case _:
            assert_never(message)


def _assistant_message(message: AssistantMessage) -> dict[str, Any]:
    """The visible text and the calls; reasoning and blocks of other services do not go back."""
    texts = [clean_text(block.text) for block in message.blocks if isinstance(block, TextBlock)]
    calls = [block for block in message.blocks if isinstance(block, ToolCall)]
    text = "".join(texts)
    if not calls:
        return {"role": "assistant", "content": text}
    return {"role": "assistant", "content": text or None, "tool_calls": [_call(call) for call in calls]}


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = clean_text(sendable_arguments(call, as_written=False))
    return {
        "id": plain_name(call.call_id),
        "type": "function",
        "function": {"name": plain_name(call.name), "arguments": arguments},
    }


def _user_messages(blocks: tuple[UserBlock, ...]) -> Iterator[dict[str, Any]]:
    """First the answers to calls, then what was said beside them, images out of answers included."""
    parts: list[dict[str, Any]] = []
    for block in blocks:
        match block:
            case ToolResult():
                text, images = _answer(block)
                parts.extend(images)
                yield {"role": "tool", "tool_call_id": plain_name(block.call_id), "content": text}
            case TextBlock(text=text):
                if text:
                    parts.append({"type": "text", "text": clean_text(text)})
            case OpaqueBlock(value=value):
                parts.append(_part(value))
            case _:
                assert_never(block)
    if all(part["type"] == "text" for part in parts):
        if parts:
            yield {"role": "user", "content": "\n\n".join(part["text"] for part in parts)}
    else:
        yield {"role": "user", "content": parts}


def _answer(result: ToolResult) -> tuple[str, list[dict[str, Any]]]:
    """An answer's text, and its images: a `tool` message can hold text only."""
    if not result.blocks:
        return clean_text(result.content), []
    wrapped = read_object(b'{"content":' + result.content.encode("utf-8", "surrogatepass") + b"}") or {}
    blocks = objects_of(wrapped, "content")
    texts = [text_of(block, "text") for block in blocks if block.get("type") == "text"]
    images = [_part(block) for block in blocks if block.get("type") != "text"]
    note = ["(see the next message)"] if images else []
    return clean_text("\n".join([*texts, *note])), images


def _part(block: Mapping[str, Any]) -> dict[str, Any]:
    """A block in the Messages API's form as a part of a user message: images as such, anything else as its JSON text."""
    members = dict(block)
    source = object_of(members, "source")
    if text_of(members, "type") == "image" and source:
        url = text_of(source, "url") or f"data:{text_of(source, 'media_type')};base64,{text_of(source, 'data')}"
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "text", "text": text_of(members, "text") or encode_value(members).decode()}


def _system(text: str, dialect: Dialect) -> bytes:
    if not text:
        return b""
    role = "system" if dialect.has(Feature.SYSTEM_ROLE) else "user"
    return encode_value({"role": role, "content": clean_text(text)})


# -- settings -------------------------------------------------------------------------------------------------------


def _settings(params: ModelParams, dialect: Dialect) -> dict[str, Any]:
    """Limits and sampling. A bound of 0 on the output is not sent: servers refuse bounds over what they have."""
    settings: dict[str, Any] = {}
    if params.max_tokens:
        name = "max_completion_tokens" if dialect.has(Feature.MAX_COMPLETION_TOKENS) else "max_tokens"
        settings[name] = params.max_tokens
    if params.temperature is not None:
        settings["temperature"] = params.temperature
    if params.seed is not None:
        settings["seed"] = params.seed
    if params.effort is not None:
        settings["reasoning_effort"] = params.effort
    return settings


def _tool(tool: ToolDefinition, dialect: Dialect) -> dict[str, Any]:
    function: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input_schema,
    }
    if tool.strict_schema is not None and dialect.has(Feature.STRICT):
        function |= {"parameters": tool.strict_schema, "strict": True}
    return {"type": "function", "function": function}


def _choice(choice: dict[str, Any]) -> object:
    if choice["type"] == "any":
        return "required"
    return {"type": "function", "function": {"name": choice["name"]}}


def _format(request: ModelRequest, dialect: Dialect) -> dict[str, Any]:
    schema = request.native_format
    assert schema is not None
    shape: dict[str, Any] = {"name": FORMAT_NAME, "schema": schema.value}
    if isinstance(schema, StrictSchema) and dialect.has(Feature.STRICT):
        shape["strict"] = True
    return {"type": "json_schema", "json_schema": shape}
