"""Records to stream-json frames.

A frame is one JSON object a line, as the reference prints them; what lastcall tells besides stands in keys and subtypes
that the reference does not use. Frames are a view of the records: nothing is decided here, and a frame that is lost is
never missed by the run.

Must not go in here: the result frame (`wire.envelope`), writing to a stream (`runtime.publish`).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any, assert_never

from msgspec import Struct
from msgspec.structs import replace

from lastcall.contract.json_text import JsonFault, read_json
from lastcall.core import events as e
from lastcall.core import records as r
from lastcall.nouns.ids import CallId, MessageId
from lastcall.nouns.messages import AssistantBlock, OpaqueBlock, TextBlock, ThinkingBlock
from lastcall.nouns.profile import Profile, Reference
from lastcall.nouns.result import NO_USAGE, Failed, FailureKind, Limit, Stopped, Usage
from lastcall.nouns.tools import Arguments, ResultKind, ToolCall, ToolResult
from lastcall.wire.reference_words import error_word, failure_text, fallback_words, retry_word

Frame = dict[str, Any]


class Stage(Struct, frozen=True):
    """What frames say of the run besides its records. `host` is the endpoint's, for messages."""

    session_id: str
    profile: Profile
    model: str
    cwd: str = ""
    tools: tuple[str, ...] = ()
    mcp_servers: tuple[Mapping[str, str], ...] = ()
    permission_mode: str = "default"
    api_key_source: str = "none"
    version: str = ""
    host: str = ""
    max_tokens: int = 32_000
    reference: Reference = Reference.RECORDED
    partial: bool = False


_STOP_ERROR: Frame = {
    "key": "stop-hook-error",
    "text": "Stop hook error occurred \u00b7 ctrl+o to see",
    "priority": "immediate",
}


class Framer:
    """Turns the records of one session into frames, in order.

    `new_uuid` mints the identity of frames whose record has none. It remembers which frames belong to which message, so
    that a retraction can name them.
    """

    def __init__(self, stage: Stage, new_uuid: Callable[[], str]) -> None:
        self._stage = stage
        self._new_uuid = new_uuid
        self._model = stage.model
        self._usage: dict[MessageId, Usage] = {}
        self._frames_of: dict[MessageId, list[str]] = {}
        self._message_of: dict[CallId, MessageId] = {}
        self._calls: dict[CallId, ToolCall] = {}
        self._supersedes: list[str] = []
        self._prompt_uuid = ""
        self._told_stop_error = False
        self._thinking = _ThinkingMeter()

    def init(self) -> Frame:
        """The frame that begins each user message."""
        s = self._stage
        return self._frame(
            "system",
            {
                "subtype": "init",
                "cwd": s.cwd,
                "tools": list(s.tools),
                "mcp_servers": [dict(m) for m in s.mcp_servers],
                "model": s.model,
                "permissionMode": s.permission_mode,
                "slash_commands": [],
                "apiKeySource": s.api_key_source,
                "claude_code_version": s.version,
                "output_style": "default",
                "agents": [],
                "skills": [],
                "plugins": [],
            },
        )

    def system(self, subtype: str, fields: Frame) -> Frame:
        """A system frame that no record tells of."""
        return self._frame("system", {"subtype": subtype, **fields})

    def restage(self, stage: Stage) -> None:
        """Say this of the session from now on."""
        self._stage = stage
        self._model = stage.model

    def progress(self, progress: e.Progress) -> list[Frame]:
        """Frames of a piece of a block: raw events if asked for, and the growing estimate of thinking."""
        frames = []
        tokens = self._thinking.grown(progress.event)
        if self._stage.partial:
            frames.append(self._frame("stream_event", {"event": dict(progress.event), "parent_tool_use_id": None}))
        if tokens is not None:
            frames.insert(
                len(frames) - 1 if _starts_thinking_delta(progress.event) and frames else len(frames),
                self._frame("system", {"subtype": "thinking_tokens", "estimated_tokens": tokens}),
            )
        return frames

    def frames(self, record: r.Record) -> list[Frame]:  # noqa: C901, PLR0911, PLR0912 -- one line a record
        """The frames of one record; most have one or none."""
        match record:
            case r.Started():
                self._prompt_uuid = record.uuid
                return [self.init()]
            case r.Resumed():
                return [self.init()]
            case r.Asked() if self._stage.partial:
                return [self._frame("system", {"subtype": "status", "status": "requesting"})]
            case r.ReplyBegan():
                self._model = record.model
                self._usage[record.message_id] = record.usage
                return []
            case r.BlockSaid():
                return [self._assistant(record)]
            case r.CallAnswered():
                return self._answered(record)
            case r.Nudged():
                return self._nudged(record)
            case r.RetryNoted():
                quiet = record.retracted and self._stage.profile is Profile.COMPAT
                return [] if quiet else [self._retry(record)]
            case r.RequestLost(goes_on=True):
                return [self._synthetic(replace(record.failure, mid_reply=True))]
            case r.FallbackNoted():
                return [self._fallback(record)]
            case r.FeatureDropped():
                return self._native("feature_dropped", {"feature": record.feature, "detail": record.detail})
            case r.Warned(warning=w):
                return self._native("warning", {"code": w.code, "message": w.message, "path": w.path})
            case r.Attached(attachment=a):
                return self._native(
                    "attached", {"tool_use_id": a.call_id, "answered_before": list(record.answered_before)}
                )
            case r.LimitNoted():
                return self._native("limit", {"limit": record.limit.value, "hit": record.hit})
            case r.Ended(outcome=Failed() as failure):
                return self._failed(failure)
            case r.Ended(outcome=Stopped(limit=Limit.PROMPT_HOOK, bound=words)):
                told = {"content": words, "level": "warning", "prevent_continuation": True}
                return [self._frame("system", {"subtype": "informational", **told})]
            case _:
                return []

    # -- frames of single records -----------------------------------------------------------------------------------

    def _assistant(self, record: r.BlockSaid) -> Frame:
        message_id = record.message_id
        usage = self._usage.get(message_id, NO_USAGE)
        frame = self._frame(
            "assistant",
            {
                "message": {
                    "id": message_id,
                    "type": "message",
                    "role": "assistant",
                    "model": self._model,
                    "content": [block_value(record.block)],
                    "stop_reason": None,
                    "stop_sequence": None,
                    "usage": usage_value(usage),
                },
                "parent_tool_use_id": None,
            },
            record.uuid,
        )
        if self._supersedes:
            frame["supersedes"], self._supersedes = self._supersedes, []
        self._frames_of.setdefault(message_id, []).append(frame["uuid"])
        if isinstance(record.block, ToolCall):
            self._calls[record.block.call_id] = record.block
            if record.block.given_id and self._stage.profile is Profile.COMPAT:
                frame["message"]["content"][0]["id"] = record.block.given_id
            self._message_of[record.block.call_id] = message_id
        return frame

    def _answered(self, record: r.CallAnswered) -> list[Frame]:
        result, frames = record.result, []
        call = self._calls.get(result.call_id)
        if call is not None and call.given_id and self._stage.profile is Profile.COMPAT:
            result = replace(result, call_id=call.given_id)
        if result.kind is ResultKind.DENIED:
            frames.append(self._denied(result))
        frame = self._frame(
            "user",
            {
                "message": {"role": "user", "content": [result_value(result)]},
                "parent_tool_use_id": None,
                "tool_use_result": result.display if result.display is not None else result.content,
            },
            record.uuid,
        )
        if result.meta:
            frame["tool_result_meta"] = [{"id": result.call_id, **result.meta}]
        message_id = self._message_of.get(record.result.call_id)
        if message_id is not None:
            self._frames_of.setdefault(message_id, []).append(frame["uuid"])
        return [*frames, frame]

    def _denied(self, result: ToolResult) -> Frame:
        call = self._calls.get(result.call_id)
        return self._frame(
            "system",
            {
                "subtype": "permission_denied",
                "tool_name": call.name if call else "",
                "tool_use_id": result.call_id,
                "decision_reason_type": "rule",
                "message": result.content,
            },
        )

    def _nudged(self, record: r.Nudged) -> list[Frame]:
        if record.kind is r.NudgeKind.CUT_OFF and self._stage.profile is Profile.COMPAT:
            return []
        content = [{"type": "text", "text": record.text}]
        said: Frame = {"message": {"role": "user", "content": content}, "parent_tool_use_id": None}
        if record.kind is not r.NudgeKind.INTERRUPT:
            said["isSynthetic"] = True
        frames = [self._frame("user", said)]
        if record.kind is r.NudgeKind.STOP_HOOK and not self._told_stop_error:
            self._told_stop_error = True
            frames += self._compat_only("notification", _STOP_ERROR)
        return frames

    def _retry(self, record: r.RetryNoted) -> Frame:
        return self._frame(
            "system",
            {
                "subtype": "api_retry",
                "attempt": record.attempt,
                "max_retries": record.max_retries,
                "retry_delay_ms": record.delay_ms,
                "error_status": record.failure.status,
                "error": retry_word(record.failure),
            },
        )

    def _fallback(self, record: r.FallbackNoted) -> Frame:
        gone = [uuid for m in record.retracted for uuid in self._frames_of.pop(m, [])]
        self._supersedes.extend(gone)
        category = record.details.get("category")
        words = fallback_words(record.trigger, record.from_model, record.to_model, str(category or ""))
        models = {"original_model": record.from_model, "fallback_model": record.to_model, "content": words}
        if record.trigger != "refusal":
            fields: Frame = {"subtype": "model_fallback", "trigger": record.trigger, **models}
            if gone:
                fields["retracted_message_uuids"] = gone
            return self._frame("system", fields, record.uuid)
        return self._frame(
            "system",
            {
                "subtype": "model_refusal_fallback",
                "trigger": record.trigger,
                "direction": "retry",
                "scope": "session",
                "request_id": None,
                "api_refusal_category": category,
                "api_refusal_explanation": record.details.get("explanation"),
                "retracted_message_uuids": gone,
                "refused_user_message_uuid": self._prompt_uuid,
                **models,
            },
            record.uuid,
        )

    def _failed(self, failure: Failed) -> list[Frame]:
        """The reference tells of a provider's failure in an assistant message of its own; lastcall only in the result."""
        if self._stage.profile is not Profile.COMPAT:
            return []
        frames = []
        if failure.kind is FailureKind.REFUSAL:
            frames.append(
                self._frame(
                    "system",
                    {
                        "subtype": "model_refusal_no_fallback",
                        "original_model": self._model,
                        "request_id": None,
                        "api_refusal_category": failure.provider_kind or None,
                        "api_refusal_explanation": None,
                        "refused_user_message_uuid": self._prompt_uuid,
                        "content": "",
                    },
                )
            )
        frames.append(self._synthetic(failure))
        return frames

    def _synthetic(self, failure: Failed) -> Frame:
        text = failure_text(failure, model=self._model, host=self._stage.host, max_tokens=self._stage.max_tokens)
        return self._frame(
            "assistant",
            {
                "message": {
                    "id": self._new_uuid(),
                    "type": "message",
                    "role": "assistant",
                    "model": "<synthetic>",
                    "content": [{"type": "text", "text": text}],
                    "stop_reason": "refusal" if failure.kind is FailureKind.REFUSAL else "stop_sequence",
                    "stop_sequence": "",
                    "usage": usage_value(Usage(0, 0, 0, 0)),
                },
                "parent_tool_use_id": None,
                "error": error_word(failure),
                "is_api_error_message": True,
            },
        )

    def _native(self, subtype: str, fields: Frame) -> list[Frame]:
        """A frame that the reference does not have; left out where it would surprise its callers."""
        if self._stage.profile is Profile.COMPAT:
            return []
        return [self._frame("system", {"subtype": subtype, **fields})]

    def _compat_only(self, subtype: str, fields: Frame) -> list[Frame]:
        if self._stage.profile is not Profile.COMPAT:
            return []
        return [self._frame("system", {"subtype": subtype, **fields})]

    def _frame(self, kind: str, fields: Frame, uuid: str = "") -> Frame:
        return {"type": kind, **fields, "session_id": self._stage.session_id, "uuid": uuid or self._new_uuid()}


# -- values ---------------------------------------------------------------------------------------------------------


def block_value(block: AssistantBlock) -> Any:
    """A block as the Messages API writes it."""
    match block:
        case TextBlock(text=text):
            return {"type": "text", "text": text}
        case ThinkingBlock(text=text, signature=signature):
            return {"type": "thinking", "thinking": text, "signature": signature}
        case OpaqueBlock(value=value):
            return dict(value)
        case ToolCall():
            return {"type": "tool_use", "id": block.call_id, "name": block.name, "input": input_value(block)}
        case _:
            assert_never(block)


def input_value(call: ToolCall) -> Any:
    """A call's input as a JSON value; what could not be read is shown as the reference shows it."""
    if isinstance(call.arguments, Arguments):
        return plain_value(call.arguments.text)
    return {"__unparsedToolInput": {"raw": call.arguments.text, "len": call.arguments.length}}


def plain_value(text: str) -> Any:
    """JSON text as a value, exact; text that is none stands for itself."""
    read = read_json(text, numbers="exact", max_depth=20_000, max_bytes=1 << 30)
    return text if isinstance(read, JsonFault) else read.value


def result_value(result: ToolResult) -> Frame:
    """An answer as the Messages API writes it."""
    content = plain_value(result.content) if result.blocks else result.content
    value: Frame = {"type": "tool_result", "content": content}
    if result.is_error is not None:
        value["is_error"] = result.is_error
    value["tool_use_id"] = result.call_id
    return value


def usage_value(usage: Usage) -> Frame:
    """Token counts in the reference's keys; unknown ones are `null`, never 0."""
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_creation_input_tokens": usage.cache_creation_input_tokens,
        "cache_read_input_tokens": usage.cache_read_input_tokens,
    }


# -- thinking -------------------------------------------------------------------------------------------------------


def _starts_thinking_delta(event: Mapping[str, Any]) -> bool:
    return event.get("type") == "content_block_delta"


class _ThinkingMeter:
    """The reference's running estimate of thinking tokens: a quarter of the characters, and of the signature's bytes."""

    def __init__(self) -> None:
        self._units = 0
        self._shown = 0

    def grown(self, event: Mapping[str, Any]) -> int | None:
        if event.get("type") == "message_start":
            self._units = self._shown = 0
            return None
        delta = event.get("delta")
        if not isinstance(delta, Mapping):
            return None
        if delta.get("type") == "thinking_delta":
            self._units += len(str(delta.get("thinking", "")))
        elif delta.get("type") == "signature_delta":
            self._units += _decoded_length(str(delta.get("signature", "")))
        tokens = int(self._units / 4 + 0.5)
        if tokens == self._shown:
            return None
        self._shown = tokens
        return tokens


def _decoded_length(signature: str) -> int:
    try:
        return len(base64.b64decode(signature, validate=False))
    except (binascii.Error, ValueError):
        return len(signature)
