"""Replies of Chat Completions: the chunks of a stream, or one whole completion, to core events.

Compatible servers differ in what they leave out, so: a call is found by index, by id or by being the last one; missing
and repeated ids are replaced by made ones; arguments may be text or a value; usage may come late or never; a finish
reason is end enough, and so is the done marker. A text block is given when something else begins, calls are given at the
end: only then is it certain that none of them grows any more. Progress is told in the Messages API's form.

An empty text of arguments is an unreadable call, not an empty object: the protocol sends the text of an object.

Must not go in here: requests (`wire.openai`), reading the arguments (`wire.json`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from lastcall.core.events import BlockEnded, ReplyEnded, ReplyStarted
from lastcall.nouns.ids import CallId, MessageId, Uuid
from lastcall.nouns.messages import AssistantBlock, TextBlock, ThinkingBlock
from lastcall.nouns.result import NO_USAGE, Usage
from lastcall.nouns.tools import ToolCall, Unreadable, UnreadableCause
from lastcall.wire.failure import read_error_event
from lastcall.wire.json import (
    clean_text,
    object_of,
    objects_of,
    read_call,
    read_object,
    text_of,
    whole_of,
)
from lastcall.wire.openai_quirks import ExactArguments, are_snapshots, content_texts, counts, first_choice
from lastcall.wire.reply import Heard, Hearing, broken, excerpt, no_reply, said
from lastcall.wire.sse import SseEvent

_DONE: Final = b"[DONE]"
_STOP_REASONS: Final = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}

_STOPPED_SHORT: Final = frozenset({UnreadableCause.TRUNCATED, UnreadableCause.EMPTY})


class _Lane:
    """One block in the making: `text`, `thinking` or `tool_use`. `told_id` is the id that the server gave a call."""

    __slots__ = ("index", "kind", "name", "pieces", "told_id")

    def __init__(self, kind: str, index: int, told_id: str = "", name: str = "") -> None:
        self.kind = kind
        self.index = index
        self.told_id = told_id
        self.name = name
        self.pieces: list[str] = []


class OpenAIDecoder:
    """One reply of Chat Completions on its way in (`wire.reply.ReplyDecoder`)."""

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing
        self._lanes: list[_Lane] = []  # still open, in the order of their beginning
        self._count = 0
        self._calls_by_index: dict[int, _Lane] = {}
        self._call_ids: set[str] = set()
        self._finish_reason: str | None = None
        self._refused = ""
        self._stops_short = False
        self._ended = False
        self.message_id: MessageId | None = None
        self.blocks_ended = 0
        self.usage: Usage = NO_USAGE

    @property
    def complete(self) -> bool:
        """Whether a finish reason was given; what may follow is the usage."""
        return self._finish_reason is not None

    # -- the stream -------------------------------------------------------------------------------------------------

    def feed(self, event: SseEvent) -> list[Heard]:
        """What one event of the stream says."""
        if self._ended:
            return []
        if event.data.strip() == _DONE:
            return (
                self._finish() if self.message_id is not None else self._give_up("the stream is done before it began")
            )
        chunk = read_object(event.data)
        if chunk is None:
            return self._give_up(f"the stream holds what is no JSON object: {excerpt(event.data)}")
        if chunk.get("error") or event.name == "error":
            self._ended = True
            return [read_error_event(chunk)]
        if not isinstance(chunk.get("choices"), list):
            return [] if self.message_id is not None else self._give_up(f"this is no completion: {excerpt(event.data)}")
        heard = self._begin(chunk) if self.message_id is None else []
        self._add_usage(chunk)
        return [*heard, *self._hear_choice(chunk, event.data)]

    def finish(self, torn: SseEvent | None = None) -> list[Heard]:
        """What the end of the stream says; `torn` counts if it proves whole."""
        heard: list[Heard] = []
        if torn is not None and (torn.data.strip() == _DONE or read_object(torn.data) is not None):
            heard = self.feed(torn)
        if self._ended:
            return heard
        if self.message_id is None:
            return [*heard, *self._give_up("the stream ended before a reply began")]
        if self.complete:
            return [*heard, *self._finish()]
        return [*heard, *self._give_up("the stream ended in the middle of the reply")]

    def _give_up(self, detail: str) -> list[Heard]:
        self._ended = True
        return [no_reply(detail) if self.message_id is None else broken(detail)]

    def _begin(self, chunk: dict[str, Any]) -> list[Heard]:
        self.message_id = MessageId(text_of(chunk, "id") or f"chatcmpl-{self._hearing.mint()}")
        model = text_of(chunk, "model") or self._hearing.model
        message: dict[str, Any] = {
            "id": self.message_id,
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": counts(self.usage),
        }
        start = ReplyStarted(self._hearing.request, self.message_id, model)
        return [start, *self._say({"type": "message_start", "message": message})]

    def _hear_choice(self, chunk: dict[str, Any], data: bytes) -> list[Heard]:
        position, choice = first_choice(chunk)
        if choice is None:
            return []
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self._finish_reason = reason
        for key in ("delta", "message"):
            said_here = object_of(choice, key)
            if said_here and (key == "delta" or not self._count):
                return self._grow(said_here, ExactArguments(data, position, key))
        return []

    # -- growing ----------------------------------------------------------------------------------------------------

    def _grow(self, delta: dict[str, Any], exact: ExactArguments, *, whole: bool = False) -> list[Heard]:
        thinking = text_of(delta, "reasoning_content") or text_of(delta, "reasoning")
        text, more_thinking = content_texts(delta.get("content"))
        refusal = text_of(delta, "refusal")
        self._refused += refusal
        heard = self._grow_text("thinking", thinking + more_thinking)
        heard += self._grow_text("text", text + refusal)
        for position, call in enumerate(objects_of(delta, "tool_calls")):
            function = object_of(call, "function")
            arguments = exact.of_call(position, function.get("arguments"))
            heard += self._grow_call(self._lane_of(call, function, whole=whole), arguments)
        legacy = object_of(delta, "function_call")
        if legacy:
            arguments = exact.of_legacy(legacy.get("arguments"))
            heard += self._grow_call(self._lane_of({"index": -1}, legacy, whole=False), arguments)
        return heard

    def _grow_text(self, kind: str, text: str) -> list[Heard]:
        if not text:
            return []
        heard: list[Heard] = []
        lane = self._lanes[-1] if self._lanes else None
        if lane is None or lane.kind != kind:
            if lane is not None and all(open_lane.kind != "tool_use" for open_lane in self._lanes):
                heard += self._close()
            lane = self._open(kind)
            heard += self._say_start(lane)
        lane.pieces.append(text)
        key = "text" if kind == "text" else "thinking"
        return [*heard, *self._say_delta(lane, {"type": f"{kind}_delta", key: text})]

    def _lane_of(self, call: dict[str, Any], function: dict[str, Any], *, whole: bool) -> tuple[_Lane, list[Heard]]:
        """The call that a piece belongs to: the one of its index, of its id, or the last one; else a new one."""
        index = call.get("index") if isinstance(call.get("index"), int) and not whole else None
        told_id, name = text_of(call, "id"), text_of(function, "name")
        calls = [lane for lane in self._lanes if lane.kind == "tool_use"]
        lane: _Lane | None = None
        if index is not None:
            lane = self._calls_by_index.get(index)
            if lane is not None and told_id and lane.told_id and told_id != lane.told_id:
                lane = None  # another call under an index that was used before
        elif whole:
            lane = None
        elif told_id:
            lane = next((known for known in calls if known.told_id == told_id), None)
        elif calls and not name:
            lane = calls[-1]
        heard: list[Heard] = []
        if lane is None:
            if not calls:
                heard += self._close()
            lane = self._open("tool_use", told_id, name)
            heard += self._say_start(lane)
        lane.told_id, lane.name = lane.told_id or told_id, lane.name or name
        if index is not None:
            self._calls_by_index[index] = lane
        return lane, heard

    def _grow_call(self, found: tuple[_Lane, list[Heard]], arguments: str) -> list[Heard]:
        lane, heard = found
        if not arguments:
            return heard
        lane.pieces.append(arguments)
        return [*heard, *self._say_delta(lane, {"type": "input_json_delta", "partial_json": arguments})]

    def _open(self, kind: str, told_id: str = "", name: str = "") -> _Lane:
        lane = _Lane(kind, self._count, told_id, name)
        self._count += 1
        self._lanes.append(lane)
        return lane

    # -- ending -----------------------------------------------------------------------------------------------------

    def _close(self) -> list[Heard]:
        """Gives every open block."""
        heard: list[Heard] = []
        for lane in self._lanes:
            heard += self._give(lane)
        self._lanes.clear()
        return heard

    def _give(self, lane: _Lane) -> list[Heard]:
        assert self.message_id is not None
        self.blocks_ended += 1
        block = self._block(lane)
        ended = BlockEnded(self._hearing.request, self.message_id, block, Uuid(self._hearing.mint()))
        return [ended, *self._say({"type": "content_block_stop", "index": lane.index})]

    def _block(self, lane: _Lane) -> AssistantBlock:
        text = "".join(lane.pieces)
        if lane.kind == "text":
            return TextBlock(clean_text(text))
        if lane.kind == "thinking":
            return ThinkingBlock(clean_text(text))
        return self._call(lane, text)

    def _call(self, lane: _Lane, text: str) -> ToolCall:
        assert self.message_id is not None
        made = not lane.told_id or lane.told_id in self._call_ids
        call_id = CallId(f"call_{self._hearing.mint()}" if made else lane.told_id)
        self._call_ids.add(call_id)
        call = read_call(call_id, self.message_id, lane.name, text, limits=self._hearing.limits, made_id=made)
        if isinstance(call.arguments, Unreadable) and are_snapshots(lane.pieces):
            whole = lane.pieces[-1]
            call = read_call(call_id, self.message_id, lane.name, whole, limits=self._hearing.limits, made_id=made)
        self._stops_short |= isinstance(call.arguments, Unreadable) and call.arguments.cause in _STOPPED_SHORT
        return call

    def _finish(self) -> list[Heard]:
        assert self.message_id is not None
        self._ended = True
        has_calls = any(lane.kind == "tool_use" for lane in self._lanes)
        heard = self._close()
        stop_reason = self._stop_reason(has_calls=has_calls)
        delta = {"stop_reason": stop_reason, "stop_sequence": None}
        heard += self._say({"type": "message_delta", "delta": delta, "usage": counts(self.usage)})
        heard += self._say({"type": "message_stop"})
        details = {"type": "refusal", "explanation": self._refused} if self._refused else None
        ended = ReplyEnded(self._hearing.request, self.message_id, stop_reason, self.usage, stop_details=details)
        return [*heard, ended]

    def _stop_reason(self, *, has_calls: bool) -> str | None:
        """The reason in the Messages API's words.

        Some servers say `tool_calls` or `stop` for a call that ran into the bound on the output: it stops short, and the
        count has reached the bound.
        """
        reason = self._finish_reason
        mapped = _STOP_REASONS.get(reason, reason) if reason is not None else None
        if self._refused:
            return "refusal"
        if not has_calls or mapped not in (None, "end_turn", "tool_use"):
            return mapped
        bound, spent = self._hearing.max_tokens, self.usage.output_tokens
        cut_off = self._stops_short and bound and spent is not None and spent >= bound
        return "max_tokens" if cut_off else "tool_use"

    def _add_usage(self, chunk: dict[str, Any]) -> None:
        told = object_of(chunk, "usage")
        spent, written = whole_of(told, "prompt_tokens"), whole_of(told, "completion_tokens")
        cached = whole_of(object_of(told, "prompt_tokens_details"), "cached_tokens")
        if spent is not None:  # theirs includes what came from the cache, ours does not
            self.usage = replace(self.usage, input_tokens=max(spent - (cached or 0), 0))
        if cached is not None:
            self.usage = replace(self.usage, cache_read_input_tokens=cached)
        if written is not None:
            self.usage = replace(self.usage, output_tokens=written)

    # -- one whole completion ---------------------------------------------------------------------------------------

    def whole(self, body: bytes) -> list[Heard]:
        """What a body that is the whole reply says."""
        completion = read_object(body)
        position, choice = first_choice(completion or {})
        if completion is None or choice is None or not isinstance(choice.get("message"), dict):
            self._ended = True
            if completion is not None and completion.get("error"):
                return [read_error_event(completion)]
            return [no_reply(f"the answer is no completion: {excerpt(body)}")]
        self._hearing = replace(self._hearing, progress=False)
        self._begin(completion)
        self._add_usage(completion)
        reason = choice.get("finish_reason")
        self._finish_reason = reason if isinstance(reason, str) and reason else "stop"
        heard = self._grow(choice["message"], ExactArguments(body, position, "message"), whole=True)
        heard += self._finish()
        ended = heard[-1]
        assert isinstance(ended, ReplyEnded)
        model = text_of(completion, "model") or self._hearing.model
        return [ReplyStarted(self._hearing.request, ended.message_id, model, self.usage, ended.stop_reason), *heard]

    # -- progress ---------------------------------------------------------------------------------------------------

    def _say(self, event: Mapping[str, Any]) -> list[Heard]:
        return said(event, self._hearing)

    def _say_start(self, lane: _Lane) -> list[Heard]:
        if lane.kind == "tool_use":
            block: dict[str, Any] = {"type": "tool_use", "id": lane.told_id, "name": lane.name, "input": {}}
        else:
            block = {"type": lane.kind, lane.kind: ""}
        return self._say({"type": "content_block_start", "index": lane.index, "content_block": block})

    def _say_delta(self, lane: _Lane, delta: dict[str, Any]) -> list[Heard]:
        return self._say({"type": "content_block_delta", "index": lane.index, "delta": delta})
