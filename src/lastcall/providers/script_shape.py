"""What a reply of a script may hold, so that a script that means nothing is refused before anything begins.

Must not go in here: playing it (`providers.scripted`), its bytes (`providers.script_bytes`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

Milliseconds = Annotated[float, Meta(ge=0)]
Pieces = Annotated[int, Meta(ge=0)]


class _Place(Struct, frozen=True):
    """Where in a reply something happens."""

    after_blocks: Pieces | UnsetType = UNSET
    after_bytes: Pieces | UnsetType = UNSET
    mid: bool = False


class _ErrorEvent(Struct, frozen=True):
    error: Mapping[str, Any]
    after_blocks: Pieces = 0
    mid: bool = False


class _Stall(Struct, frozen=True):
    ms: Milliseconds
    after_blocks: Pieces = 0


class _Cut(_Place, frozen=True):
    reset: bool = False


class _Reply(Struct, frozen=True, forbid_unknown_fields=True):
    content: list[Mapping[str, Any]] | UnsetType = UNSET
    object: Any = UNSET
    call: Mapping[str, Any] | UnsetType = UNSET
    calls: list[Mapping[str, Any]] | UnsetType = UNSET
    id: str | UnsetType = UNSET
    model: str | UnsetType = UNSET
    stop_reason: str | None = None
    stop_sequence: str | None = None
    stop_details: Mapping[str, Any] | None = None
    usage: Mapping[str, Any] | UnsetType = UNSET
    status: Annotated[int, Meta(ge=100, le=599)] = 200
    error: Any = UNSET
    headers: Mapping[str, Any] | UnsetType = UNSET
    body: str | UnsetType = UNSET
    json_raw: str | UnsetType = UNSET
    sse_raw: str | UnsetType = UNSET
    omit: list[str] | UnsetType = UNSET
    chunk: Annotated[int, Meta(ge=1)] | None = None
    drop: Any = UNSET
    cut: _Cut | None = None
    error_event: _ErrorEvent | None = None
    stall: _Stall | None = None
    delay_ms: Milliseconds = 0
    block_delay_ms: Milliseconds = 0
    end_delay_ms: Milliseconds = 0


_TEXT_OF = {"text": "text", "thinking": "thinking"}


def fault_of(reply: Mapping[str, Any]) -> str:
    """What is wrong with a reply whose built strings are written out; `""` if nothing is."""
    try:
        shape = msgspec.convert(reply, _Reply)
    except msgspec.ValidationError as error:
        return str(error)
    called = [shape.call] if not isinstance(shape.call, UnsetType) else []
    calls = [*called, *(() if isinstance(shape.calls, UnsetType) else shape.calls)]
    blocks = () if isinstance(shape.content, UnsetType) else shape.content
    found = (
        fault for block in (*({"type": "tool_use", **call} for call in calls), *blocks) if (fault := _block(block))
    )
    return next(found, "")


def _block(block: Mapping[str, Any]) -> str:
    kind = block.get("type")
    if not isinstance(kind, str):
        return "a block of its content has no type"
    if kind in _TEXT_OF and not isinstance(block.get(_TEXT_OF[kind]), str):
        return f"a block of type {kind} has no {_TEXT_OF[kind]}"
    if kind != "tool_use":
        return ""
    if not isinstance(block.get("name"), str):
        return "a call has no name"
    if "input" not in block and not isinstance(block.get("raw"), str):
        return "a call has neither an input nor its raw text"
    return ""
