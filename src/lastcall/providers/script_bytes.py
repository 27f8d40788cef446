"""A reply of a script as the bytes of the Messages API.

Must not go in here: choosing the reply, sending the bytes (`providers.scripted`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

USAGE: Final = {
    "input_tokens": 100,
    "output_tokens": 20,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}
_PIECES_PER_INPUT: Final = 40
_LEAST_PIECE: Final = 17


class Piece(Struct, frozen=True):
    """Bytes of a stream, a wait before them, and whether the stream breaks here instead."""

    data: bytes = b""
    wait_ms: float = 0
    cut: bool = False


def expand(value: Any) -> Any:
    """A script with its built strings written out (`$repeat`, `$nest`, `$concat`, `$json`)."""
    if isinstance(value, list):
        return [expand(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    match dict(value):
        case {"$repeat": [text, times], **rest} if not rest:
            return expand(text) * times
        case {"$nest": [opening, times, inner, closing], **rest} if not rest:
            return expand(opening) * times + expand(inner) + expand(closing) * times
        case {"$concat": parts, **rest} if not rest:
            return "".join(expand(part) for part in parts)
        case {"$json": inner, **rest} if not rest:
            return json.dumps(expand(inner), ensure_ascii=False)
        case members:
            return {key: expand(member) for key, member in members.items()}


def message_of(reply: Mapping[str, Any], *, model: str, number: int) -> dict[str, Any]:
    """The whole message that a reply stands for."""
    blocks = [_whole_block(block) for block in reply.get("content", [])]
    called = any(block["type"] == "tool_use" for block in blocks)
    message = {
        "id": reply.get("id", f"msg_{number:04d}"),
        "type": "message",
        "role": "assistant",
        "model": reply.get("model", model),
        "content": blocks,
        "stop_reason": reply.get("stop_reason", "tool_use" if called else "end_turn"),
        "stop_sequence": reply.get("stop_sequence"),
        "usage": {**USAGE, **reply.get("usage", {})},
    }
    if "stop_details" in reply:
        message["stop_details"] = reply["stop_details"]
    return message


def _whole_block(block: Mapping[str, Any]) -> dict[str, Any]:
    whole = dict(block)
    if "raw" in whole:
        raw = whole.pop("raw")
        try:
            whole["input"] = json.loads(raw)
        except (ValueError, RecursionError):
            whole["input"] = {}
    return whole


def sse_pieces(reply: Mapping[str, Any], message: Mapping[str, Any]) -> Iterator[Piece]:
    """The reply's event stream, with its waits and breaks."""
    for piece in _all_pieces(reply, message):
        yield piece
        if piece.cut:
            return


def _all_pieces(reply: Mapping[str, Any], message: Mapping[str, Any]) -> Iterator[Piece]:
    omitted = set(reply.get("omit", ()))

    def event(name: str, **members: Any) -> Iterator[Piece]:
        if name not in omitted:
            yield Piece(_event(name, members))

    usage = message["usage"]
    start = {key: value for key, value in message.items() if key != "stop_details"}
    start |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": {**usage, "output_tokens": 1}}
    yield from event("message_start", message=start)
    blocks = reply.get("content", [])
    for index, block in enumerate(blocks):
        yield from _break(reply, index, mid=False)
        yield Piece(wait_ms=reply.get("block_delay_ms", 0))
        head, deltas = _head_and_deltas(block, reply.get("chunk"))
        yield from event("content_block_start", index=index, content_block=head)
        for position, delta in enumerate(deltas):
            yield from event("content_block_delta", index=index, delta=delta)
            if position == 0:
                yield from _break(reply, index, mid=True)
        yield from event("content_block_stop", index=index)
    yield from _break(reply, len(blocks), mid=False)
    yield Piece(wait_ms=reply.get("end_delay_ms", 0))
    ended = {key: message[key] for key in ("stop_reason", "stop_sequence", "stop_details") if key in message}
    yield from event("message_delta", delta=ended, usage={"output_tokens": usage["output_tokens"]})
    yield from event("message_stop")


def _event(name: str, members: Mapping[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **members})}\n\n".encode()


def _break(reply: Mapping[str, Any], index: int, *, mid: bool) -> Iterator[Piece]:
    """What the script lets happen before block `index` (with `mid`: after its first delta)."""
    for key in ("error_event", "cut"):
        what = reply.get(key) or {}
        here = what.get("after_blocks", 0 if key == "error_event" else None) == index and bool(what.get("mid")) == mid
        if what and here:
            if key == "error_event":
                yield Piece(_event("error", {"error": what["error"]}))
            yield Piece(cut=True)
    stall = reply.get("stall") or {}
    if stall and not mid and stall.get("after_blocks", 0) == index:
        yield Piece(wait_ms=stall["ms"])


def _head_and_deltas(block: Mapping[str, Any], chunk: int | None) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match block["type"]:
        case "text":
            texts = _pieces(block["text"], chunk or len(block["text"]) or 1)
            return {"type": "text", "text": ""}, [{"type": "text_delta", "text": text} for text in texts]
        case "tool_use":
            head = {"type": "tool_use", "id": block.get("id", ""), "name": block["name"], "input": {}}
            text = block["raw"] if "raw" in block else json.dumps(block["input"], ensure_ascii=False)
            texts = _pieces(text, chunk or max(_LEAST_PIECE, len(text) // _PIECES_PER_INPUT))
            return head, [{"type": "input_json_delta", "partial_json": text} for text in texts]
        case "thinking":
            deltas = [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block.get("signature", "c2lnbmVk")},
            ]
            return {"type": "thinking", "thinking": "", "signature": ""}, deltas
        case _:
            return dict(block), []


def _pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]
