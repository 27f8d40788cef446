"""A request as the text that the embedded models were trained on: turns between `<|im_start|>` and `<|im_end|>`.

It is short, because reading it costs 15 to 30 milliseconds a token on two processors. What comes from outside (prompts,
results, files) is `Foreign`: it is read as plain characters, so that no file can end its turn or begin another.

The beginning never changes within a run, so that the engine reads each turn's new part only.

Must not go in here: what the model may answer (`.local_grammar`), tokens (`.local`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, assert_never

from msgspec import Struct

from lastcall.nouns.ids import CallId
from lastcall.nouns.messages import (
    AssistantBlock,
    AssistantMessage,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    UserBlock,
    UserMessage,
)
from lastcall.nouns.request import ModelRequest
from lastcall.nouns.tools import Arguments, ToolCall, ToolDefinition, ToolResult
from lastcall.providers.local_grammar import call_text
from lastcall.providers.local_signature import signature

_BEGIN: Final = "<|im_start|>"
_END: Final = "<|im_end|>\n"
_CALLS_ONLY: Final = 'Every reply is one tool call, in one line: {"tool": NAME, "input": INPUT}. These are the tools:'
_CALLS_OR_TEXT: Final = (
    'A reply is either text for the user or one tool call, in one line: {"tool": NAME, "input": INPUT}. These are the '
    "tools:"
)
_NOT_SHOWN: Final = "[something that this model cannot read]"


class Marker(Struct, frozen=True):
    """Text of ours, in which the models' own markers count."""

    text: str


class Foreign(Struct, frozen=True):
    """Text from outside, in which they do not."""

    text: str


Piece = Marker | Foreign


def prompt(request: ModelRequest) -> list[Piece]:
    """The whole prompt, up to where the model's next turn begins."""
    pieces: list[Piece] = []
    system = "\n\n".join(part for part in (request.system, _tools(request)) if part)
    if system:
        pieces += _turn("system", [system])
    names: dict[CallId, str] = {}
    for message in request.messages:
        match message:
            case UserMessage(blocks=blocks):
                pieces += _turn("user", _joined(_said_to(block, names) for block in blocks))
            case AssistantMessage(blocks=blocks):
                names.update({block.call_id: block.name for block in blocks if isinstance(block, ToolCall)})
                pieces += _turn("assistant", _joined(_said_by(block) for block in blocks))
            case _:
                assert_never(message)
    reminder = _reminder(request)
    if reminder:
        pieces[-1:] = [Foreign(f"\n\n{reminder}"), pieces[-1]]
    pieces.append(Marker(f"{_BEGIN}assistant\n"))
    return pieces


def _reminder(request: ModelRequest) -> str:
    """After results that may be enough, how to finish: a model of this size forgets what stands far above.

    It stands at the end only, so that what the engine has read stays the same but for this.
    """
    last = request.messages[-1] if request.messages else None
    results = [block for block in last.blocks if isinstance(block, ToolResult)] if isinstance(last, UserMessage) else []
    if not results or any(result.failed for result in results):
        return ""
    finish = next((tool for tool in request.tools if tool.finishing), None)
    return "" if finish is None else f"If that is enough: {finish.name} INPUT: {signature(finish.input_schema)}"


def _turn(role: str, texts: Iterable[str]) -> Iterator[Piece]:
    yield Marker(f"{_BEGIN}{role}\n")
    for text in texts:
        yield Foreign(text)
    yield Marker(_END)


def _joined(texts: Iterable[str]) -> list[str]:
    whole = "\n\n".join(text for text in texts if text)
    return [whole] if whole else []


# -- what the model is shown of the tools ---------------------------------------------------------------------------


def _tools(request: ModelRequest) -> str:
    if not request.tools:
        return ""
    head = _CALLS_ONLY if any(tool.finishing for tool in request.tools) else _CALLS_OR_TEXT
    return "\n\n".join([head, *map(_described, request.tools)])


def _described(tool: ToolDefinition) -> str:
    return f"{tool.name}: {tool.description}\nINPUT: {signature(tool.input_schema)}"


# -- turns ----------------------------------------------------------------------------------------------------------


def _said_to(block: UserBlock, names: Mapping[CallId, str]) -> str:
    match block:
        case TextBlock(text=text):
            return text
        case ToolResult():
            head = "Error from" if block.failed else "Result of"
            return f"{head} {names.get(block.call_id, 'the tool')}:\n{_content(block)}"
        case OpaqueBlock():
            return _NOT_SHOWN
        case _:
            assert_never(block)


def _content(result: ToolResult) -> str:
    if not result.blocks:
        return result.content
    return "\n".join(_block_text(block) for block in json.loads(result.content))


def _block_text(block: Any) -> str:
    text = block.get("text") if isinstance(block, dict) else None
    return text if isinstance(text, str) else _NOT_SHOWN


def _said_by(block: AssistantBlock) -> str:
    match block:
        case TextBlock(text=text):
            return text
        case ToolCall(name=name, arguments=arguments):
            return call_text(name, arguments.text) if isinstance(arguments, Arguments) else arguments.text
        case ThinkingBlock() | OpaqueBlock():
            return ""
        case _:
            assert_never(block)
