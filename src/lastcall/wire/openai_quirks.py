"""What servers that speak Chat Completions send where the protocol says something else.

Must not go in here: state of a reply (`wire.openai_reply`).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
from msgspec import Raw, Struct

from lastcall.nouns.result import Usage
from lastcall.wire.json import objects_of, raw_text, text_of, write_value


class _Function(Struct, frozen=True):
    arguments: Raw = Raw()


class _Call(Struct, frozen=True):
    function: _Function = _Function()


class _Said(Struct, frozen=True):
    tool_calls: list[_Call] | None = None
    function_call: _Function | None = None


class _Choice(Struct, frozen=True):
    delta: _Said | None = None
    message: _Said | None = None


class _Chunk(Struct, frozen=True):
    choices: list[_Choice]


class ExactArguments:
    """Arguments as text: what is text already, or the exact text of a value that a server sent in its place."""

    def __init__(self, data: bytes, position: int, key: str) -> None:
        self._data = data
        self._position = position
        self._key = key

    def of_call(self, position: int, arguments: object) -> str:
        """The text for the call at `position` of the list of calls, whose parsed arguments are `arguments`."""
        if arguments is None or isinstance(arguments, str):
            return arguments or ""
        calls = (said_here := self._said()) and said_here.tool_calls
        return raw_text(calls[position].function.arguments) if calls else write_value(arguments)

    def of_legacy(self, arguments: object) -> str:
        """The same for the one call of the older protocol."""
        if arguments is None or isinstance(arguments, str):
            return arguments or ""
        call = (said_here := self._said()) and said_here.function_call
        return raw_text(call.arguments) if call else write_value(arguments)

    def _said(self) -> _Said | None:
        try:
            choice = msgspec.json.decode(self._data, type=_Chunk).choices[self._position]
        except (msgspec.MsgspecError, RecursionError):
            return None
        return choice.message if self._key == "message" else choice.delta


def first_choice(chunk: dict[str, Any]) -> tuple[int, dict[str, Any] | None]:
    """The one choice that was asked for, and its place in the list; servers that send several number them."""
    choices = chunk.get("choices")
    for position, choice in enumerate(choices if isinstance(choices, list) else []):
        if isinstance(choice, dict) and choice.get("index") in (None, 0):
            return position, choice
    return 0, None


def content_texts(content: object) -> tuple[str, str]:
    """The visible text and the reasoning in a content that is a string or a list of parts."""
    if isinstance(content, str):
        return content, ""
    texts: list[str] = []
    thoughts: list[str] = []
    for part in objects_of({"content": content}, "content"):
        texts.append(text_of(part, "text") or text_of(part, "refusal"))
        inner = part.get("thinking")
        thoughts.append(inner if isinstance(inner, str) else "".join(content_texts(inner)))
    return "".join(texts), "".join(thoughts)


def are_snapshots(pieces: list[str]) -> bool:
    """Whether each piece repeats everything before it, as servers do that send the arguments so far every time."""
    return len(pieces) > 1 and all(after.startswith(before) for before, after in pairwise(pieces))


def counts(usage: Usage) -> dict[str, int]:
    """The counts that are known, in the Messages API's names."""
    names = Usage.__struct_fields__
    return {name: count for name, count in zip(names, usage.figures, strict=True) if count is not None}
