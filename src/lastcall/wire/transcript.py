"""A transcript that the reference wrote, as messages: one JSON record a line, a tree of which the last leaf's path counts.

Only what was said and told is taken over. What was sealed, reminded or shown beside it is not, nor is an object: a
transcript holds no proof that one passed a contract. A call without an answer is left out. Lines that are no records are
passed over, as the reference does.

Must not go in here: files (`journal.transcripts`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lastcall.contract.json_text import JsonFault, read_json
from lastcall.nouns.ids import CallId, MessageId
from lastcall.nouns.messages import (
    AssistantBlock,
    AssistantMessage,
    Message,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    UserBlock,
    UserMessage,
)
from lastcall.nouns.tools import ResultKind, ToolCall, ToolResult
from lastcall.wire.json import encode_value, read_call

_SYNTHETIC = "<synthetic>"


def read_transcript(lines: Iterable[bytes]) -> tuple[Message, ...] | None:
    """The messages of the path to the last leaf; `None` when there is no record that could be one."""
    records = [record for record in map(_record, lines) if record is not None]
    if not records:
        return None
    return _messages(_path(records))


def _record(line: bytes) -> Mapping[str, Any] | None:
    """A record of the tree; `None` for other lines."""
    read = read_json(line.decode("utf-8", "replace"), numbers="exact", max_depth=2_000, max_bytes=1 << 28)
    value = None if isinstance(read, JsonFault) else read.value
    if not isinstance(value, dict) or not isinstance(value.get("uuid"), str) or value.get("isSidechain") is True:
        return None
    return value if isinstance(value.get("sessionId"), str) or isinstance(value.get("timestamp"), str) else None


def _path(records: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The records from the root to the last one that was said or told."""
    by_id = {record["uuid"]: record for record in records}
    said = [record for record in records if record.get("type") in ("user", "assistant")]
    path: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    at: Mapping[str, Any] | None = said[-1] if said else None
    while at is not None and at["uuid"] not in seen:
        seen.add(at["uuid"])
        path.append(at)
        at = by_id.get(str(at.get("parentUuid")))
    path.reverse()
    return path


def _messages(path: list[Mapping[str, Any]]) -> tuple[Message, ...]:
    """The records' blocks as messages of alternating sides; calls and answers that do not pair are left out."""
    sides = [(record.get("type"), record, _content(record)) for record in path if record.get("type") != "system"]
    asked = {b.get("id") for side, _, blocks in sides if side == "assistant" for b in blocks if _is(b, "tool_use")}
    told = {
        b.get("tool_use_id") for side, _, blocks in sides if side == "user" for b in blocks if _is(b, "tool_result")
    }
    paired = asked & told
    messages: tuple[Message, ...] = ()
    for side, record, blocks in sides:
        if side == "assistant" and _model(record) != _SYNTHETIC:
            messages = _say(messages, record, blocks, paired)
        elif side == "user":
            messages = _tell(messages, blocks, paired, nudge=record.get("isMeta") is True)
    return messages


def _say(
    messages: tuple[Message, ...], record: Mapping[str, Any], blocks: list[Mapping[str, Any]], paired: set[Any]
) -> tuple[Message, ...]:
    message_id = MessageId(str(_message(record).get("id") or record["uuid"]))
    said = tuple(_said(b, message_id) for b in blocks if not _is(b, "tool_use") or b.get("id") in paired)
    if not said:
        return messages
    last = messages[-1] if messages else None
    if isinstance(last, AssistantMessage):
        return (*messages[:-1], AssistantMessage(last.message_id, (*last.blocks, *said)))
    return (*messages, AssistantMessage(message_id, said))


def _tell(
    messages: tuple[Message, ...], blocks: list[Mapping[str, Any]], paired: set[Any], *, nudge: bool
) -> tuple[Message, ...]:
    told = tuple(_told(b) for b in blocks if not _is(b, "tool_result") or b.get("tool_use_id") in paired)
    if not told:
        return messages
    last = messages[-1] if messages else None
    if isinstance(last, UserMessage) and not nudge:
        return (*messages[:-1], UserMessage((*last.blocks, *told), nudge=False))
    return (*messages, UserMessage(told, nudge=nudge))


def _said(block: Mapping[str, Any], message_id: MessageId) -> AssistantBlock:
    match block.get("type"):
        case "text":
            return TextBlock(str(block.get("text", "")))
        case "thinking":
            return ThinkingBlock(str(block.get("thinking", "")), str(block.get("signature", "")))
        case "tool_use":
            return _call(block, message_id)
        case kind:
            return OpaqueBlock(str(kind), dict(block))


def _call(block: Mapping[str, Any], message_id: MessageId) -> ToolCall:
    return read_call(CallId(str(block["id"])), message_id, str(block.get("name", "")), block.get("input", {}))


def _told(block: Mapping[str, Any]) -> UserBlock:
    match block.get("type"):
        case "text":
            return TextBlock(str(block.get("text", "")))
        case "tool_result":
            return _answer(block)
        case kind:
            return OpaqueBlock(str(kind), dict(block))


def _answer(block: Mapping[str, Any]) -> ToolResult:
    content = block.get("content", "")
    plain = isinstance(content, str)
    failed = block.get("is_error")
    text = content if isinstance(content, str) else encode_value(content).decode("utf-8", "surrogatepass")
    kind = ResultKind.FAILED if failed is True else ResultKind.OK
    is_error = failed if isinstance(failed, bool) else None
    return ToolResult(CallId(str(block.get("tool_use_id", ""))), kind, text, is_error, blocks=not plain)


def _content(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = _message(record).get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _message(record: Mapping[str, Any]) -> Mapping[str, Any]:
    message = record.get("message")
    return message if isinstance(message, dict) else {}


def _model(record: Mapping[str, Any]) -> str:
    return str(_message(record).get("model", ""))


def _is(block: Mapping[str, Any], kind: str) -> bool:
    return block.get("type") == kind
