"""The lines that a client writes to stdin in stream-json mode, and the answers to its control requests.

Must not go in here: what a request does to a session (`cli.stream`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from lastcall.contract.json_text import JsonFault, read_json
from lastcall.nouns.messages import OpaqueBlock, TextBlock
from lastcall.wire.frames import Frame


class UserLine(Struct, frozen=True):
    """A user message. `uuid` is the client's own, `""` if it gave none."""

    blocks: tuple[TextBlock | OpaqueBlock, ...]
    uuid: str = ""


class ControlRequest(Struct, frozen=True):
    """The client asks for something."""

    request_id: str
    subtype: str
    request: Mapping[str, Any]


class ControlResponse(Struct, frozen=True):
    """The client's answer to a request of ours. `error` is `None` on success."""

    request_id: str
    response: Mapping[str, Any]
    error: str | None = None


class BadLine(Struct, frozen=True):
    """A line that is no frame; `no_json`: it is not even JSON."""

    line: str
    why: str
    no_json: bool = False


class WrongRole(Struct, frozen=True):
    """A user frame with a message of another role."""

    role: str


class Ignored(Struct, frozen=True):
    """A frame that asks for nothing (keep-alive, an unknown kind)."""


ClientLine = UserLine | ControlRequest | ControlResponse | BadLine | WrongRole | Ignored


def read_line(line: str) -> ClientLine:
    """One line from the client."""
    read = read_json(line, numbers="exact", max_depth=20_000, max_bytes=1 << 28)
    if isinstance(read, JsonFault):
        return BadLine(line, read.message, no_json=True)
    value = read.value
    if not isinstance(value, dict):
        return BadLine(line, "not an object")
    match value.get("type"):
        case "user":
            return _user(value, line)
        case "control_request":
            return _request(value, line)
        case "control_response":
            return _response(value)
        case _:
            return Ignored()


def _user(value: Mapping[str, Any], line: str) -> ClientLine:
    message = value.get("message")
    if not isinstance(message, Mapping):
        return BadLine(line, "a user frame needs a message with the role user")
    if message.get("role") != "user":
        return WrongRole(str(message.get("role")))
    content = message.get("content")
    uuid = value.get("uuid")
    blocks: tuple[TextBlock | OpaqueBlock, ...]
    if isinstance(content, str):
        blocks = (TextBlock(content),)
    elif isinstance(content, list) and all(isinstance(b, dict) for b in content):
        blocks = tuple(_block(b) for b in content)
    else:
        return BadLine(line, "the content of a user message is text or a list of blocks")
    return UserLine(blocks, uuid if isinstance(uuid, str) else "")


def _block(value: Mapping[str, Any]) -> TextBlock | OpaqueBlock:
    if value.get("type") == "text" and isinstance(value.get("text"), str):
        return TextBlock(value["text"])
    return OpaqueBlock(str(value.get("type", "")), dict(value))


def _request(value: Mapping[str, Any], line: str) -> ClientLine:
    request, request_id = value.get("request"), value.get("request_id")
    if not isinstance(request, Mapping) or not isinstance(request_id, str):
        return BadLine(line, "a control request needs request_id and request")
    subtype = request.get("subtype")
    return ControlRequest(request_id, subtype if isinstance(subtype, str) else "undefined", dict(request))


def _response(value: Mapping[str, Any]) -> ClientLine:
    response = value.get("response")
    if not isinstance(response, Mapping):
        return Ignored()
    inner = response.get("response")
    failed = response.get("subtype") == "error"
    return ControlResponse(
        str(response.get("request_id", "")),
        dict(inner) if isinstance(inner, Mapping) else {},
        str(response.get("error", "")) if failed else None,
    )


def success(request_id: str, response: Frame | None = None) -> Frame:
    """The answer to a control request that was carried out."""
    inner: Frame = {"subtype": "success", "request_id": request_id}
    if response is not None:
        inner["response"] = response
    return {"type": "control_response", "response": inner}


def replayed(line: UserLine, session_id: str, uuid: str) -> Frame:
    """A user message shown again, when its turn comes."""
    content = [{"type": "text", "text": b.text} if isinstance(b, TextBlock) else dict(b.value) for b in line.blocks]
    message = {"role": "user", "content": content}
    told: Frame = {"message": message, "parent_tool_use_id": None, "isReplay": True}
    return {"type": "user", **told, "session_id": session_id, "uuid": uuid}


def client_request(request_id: str, request: Frame) -> Frame:
    """A request of ours to the client."""
    return {"type": "control_request", "request_id": request_id, "request": request}


def cancel_request(request_id: str) -> Frame:
    """The answer to this request is not needed any more."""
    return {"type": "control_cancel_request", "request_id": request_id}


def failure(request_id: str, error: str) -> Frame:
    """The answer to one that was not."""
    return {"type": "control_response", "response": {"subtype": "error", "request_id": request_id, "error": error}}
