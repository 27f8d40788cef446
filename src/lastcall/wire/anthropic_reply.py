"""Replies of the Messages API: its event stream, or one whole message, to core events.

A block is given when its end was announced, or when the message ended properly without announcing it. Deltas find their
block by index; a delta for a block that is not open is an error unless it carries nothing, because text that cannot be
placed is text that is lost. A call for which no input was streamed has the empty object as its input: so says the
protocol, which streams `{}` as nothing.

Must not go in here: requests (`wire.anthropic`), reading the arguments (`wire.json`).
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from lastcall.core.events import BlockEnded, ReplyEnded, ReplyStarted
from lastcall.nouns.ids import CallId, MessageId, Uuid
from lastcall.nouns.messages import AssistantBlock, OpaqueBlock, TextBlock, ThinkingBlock
from lastcall.nouns.result import NO_USAGE, Usage
from lastcall.wire.failure import read_error_event
from lastcall.wire.json import (
    clean_text,
    object_of,
    objects_of,
    raw_text,
    read_call,
    read_object,
    text_of,
    whole_of,
    write_value,
)
from lastcall.wire.reply import Heard, Hearing, broken, excerpt, no_reply, said
from lastcall.wire.sse import SseEvent


class _Part:
    """One block in the making. `head` is what its start said, `texts` its main text, `extras` what goes beside it."""

    __slots__ = ("head", "head_input", "kind", "signature", "texts")

    def __init__(self, kind: str, head: dict[str, Any], head_input: str | None = None) -> None:
        self.kind = kind
        self.head = head
        self.head_input = head_input
        self.texts: list[str] = []
        self.signature = text_of(head, "signature")
        first = text_of(head, "thinking" if kind == "thinking" else "text")
        if first and kind in ("text", "thinking"):
            self.texts.append(first)


class AnthropicDecoder:
    """One reply of the Messages API on its way in (`wire.reply.ReplyDecoder`)."""

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing
        self._open: dict[int, _Part] = {}
        self._unclosed: list[_Part] = []  # left open when another block took their index
        self._last_index = -1
        self._call_ids: dict[str, None] = {}  # an empty set is three times the memory
        self._stop_reason: str | None = None
        self._stop_sequence: str | None = None
        self._stop_details: dict[str, Any] | None = None
        self._ended = False
        self.message_id: MessageId | None = None
        self.blocks_ended = 0
        self.usage: Usage = NO_USAGE

    @property
    def complete(self) -> bool:
        """Whether the stop reason is known and every block was closed."""
        return self._stop_reason is not None and not self._open and not self._unclosed

    # -- the stream -------------------------------------------------------------------------------------------------

    def feed(self, event: SseEvent) -> list[Heard]:
        """What one event of the stream says."""
        if self._ended:
            return []
        members = read_object(event.data)
        if members is None:
            return self._give_up(f"the stream holds what is no JSON object: {excerpt(event.data)}")
        kind = text_of(members, "type") or event.name
        if kind == "error" or (not kind and "error" in members):
            self._ended = True
            return [read_error_event(members)]
        if self.message_id is None and kind not in ("message_start", "ping"):
            return self._give_up(f"the stream begins with {kind or 'an unnamed event'}")
        return self._hear(kind, members, event.data)

    def _hear(self, kind: str, members: dict[str, Any], data: bytes) -> list[Heard]:
        match kind:
            case "message_start":
                heard = self._start_message(members)
            case "content_block_start":
                heard = self._start_block(members, data)
            case "content_block_delta":
                heard = self._grow(members)
            case "content_block_stop":
                heard = self._end_block(members)
            case "message_delta":
                heard = self._end_message(members)
            case "message_stop":
                heard = self._finish_message(said(members, self._hearing))
            case _:  # ping, and what later versions of the protocol add: it says that such events may be ignored
                heard = said(members, self._hearing)
        return heard

    def finish(self, torn: SseEvent | None = None) -> list[Heard]:
        """What the end of the stream says; `torn` counts if it proves whole."""
        heard: list[Heard] = []
        if torn is not None and read_object(torn.data) is not None:
            heard = self.feed(torn)
        if self._ended:
            return heard
        if self.message_id is None:
            return [*heard, *self._give_up("the stream ended before a reply began")]
        taken = self._hearing.rules.takes_orderly_close and self.blocks_ended > 0
        if self.complete:
            return [*heard, *self._finish_message([], announced=False)]
        if taken:  # its tokens were never settled, so they are not known
            self._open.clear()
            self.usage = NO_USAGE
            return [*heard, *self._finish_message([], announced=False)]
        return [*heard, *self._give_up("the stream ended in the middle of the reply")]

    def _give_up(self, detail: str) -> list[Heard]:
        self._ended = True
        return [no_reply(detail) if self.message_id is None else broken(detail)]

    def _start_message(self, members: dict[str, Any]) -> list[Heard]:
        if self.message_id is not None:
            return []  # a second start of the same reply says nothing new
        message = object_of(members, "message")
        return [self._begin(message), *said(members, self._hearing)]

    def _begin(self, message: dict[str, Any], stop_reason: str | None = None) -> ReplyStarted:
        self.message_id = MessageId(text_of(message, "id") or f"msg_{self._hearing.mint()}")
        self._add_usage(message)
        model = text_of(message, "model") or self._hearing.model
        return ReplyStarted(self._hearing.request, self.message_id, model, self.usage, stop_reason)

    def _start_block(self, members: dict[str, Any], data: bytes) -> list[Heard]:
        index = whole_of(members, "index")
        if index is None:
            index = self._last_index + 1
        head = object_of(members, "content_block")
        former = self._open.get(index)
        if former is not None:
            if former.head == head and not former.texts:
                return []  # the same start once more
            self._unclosed.append(former)
        self._last_index = index
        self._open[index] = _Part(text_of(head, "type"), head, _head_input(head, data))
        return said(members, self._hearing)

    def _grow(self, members: dict[str, Any]) -> list[Heard]:
        delta = object_of(members, "delta")
        part = self._open.get(self._index(members))
        if part is None:
            if any(value for key, value in delta.items() if key != "type"):
                return self._give_up("a part of the reply belongs to no open block")
            return []
        _grow_part(part, delta)
        return said(members, self._hearing)

    def _index(self, members: dict[str, Any]) -> int:
        index = whole_of(members, "index")
        if index is not None:
            return index
        return next(iter(self._open)) if len(self._open) == 1 else -1

    def _end_block(self, members: dict[str, Any]) -> list[Heard]:
        part = self._open.pop(self._index(members), None)
        if part is None:
            return []  # an end without a beginning, or a second end: nothing is lost by it
        return [self._give(part), *said(members, self._hearing)]

    def _end_message(self, members: dict[str, Any]) -> list[Heard]:
        delta = object_of(members, "delta")
        self._stop_reason = text_of(delta, "stop_reason") or self._stop_reason
        self._stop_sequence = text_of(delta, "stop_sequence") or self._stop_sequence
        self._stop_details = object_of(delta, "stop_details") or self._stop_details
        self._add_usage(members)
        return said(members, self._hearing)

    def _finish_message(self, heard: list[Heard], *, announced: bool = True) -> list[Heard]:
        self._ended = True
        unclosed = [*self._unclosed, *(self._open[index] for index in sorted(self._open))]
        left = unclosed if self._hearing.rules.takes_unclosed else []
        self._open.clear()
        return [*map(self._give, left), *heard, self._end(announced=announced)]

    def _end(self, *, announced: bool = True) -> ReplyEnded:
        assert self.message_id is not None
        return ReplyEnded(
            self._hearing.request,
            self.message_id,
            self._stop_reason,
            self.usage,
            self._stop_sequence,
            self._stop_details,
            announced=announced,
        )

    def _add_usage(self, members: dict[str, Any]) -> None:
        """Takes over the counts that are told; later ones are totals, not differences."""
        told = object_of(members, "usage")
        counts = (whole_of(told, name) for name in Usage.__struct_fields__)
        self.usage = Usage(
            *(new if new is not None else old for new, old in zip(counts, self.usage.figures, strict=True))
        )

    # -- blocks -----------------------------------------------------------------------------------------------------

    def _give(self, part: _Part) -> BlockEnded:
        assert self.message_id is not None
        self.blocks_ended += 1
        return BlockEnded(self._hearing.request, self.message_id, self._block(part), Uuid(self._hearing.mint()))

    def _block(self, part: _Part) -> AssistantBlock:
        text = "".join(part.texts)
        match part.kind:
            case "text":
                return TextBlock(clean_text(text))
            case "thinking":
                return ThinkingBlock(clean_text(text), part.signature)
            case "tool_use":
                return self._call(part, text or part.head_input or "{}")
            case kind:
                return OpaqueBlock(kind, _opaque_value(part, text))

    def _call(self, part: _Part, arguments: str) -> AssistantBlock:
        assert self.message_id is not None
        told = text_of(part.head, "id")
        made = not told or told in self._call_ids
        call_id = f"toolu_{self._hearing.mint()}" if made else told
        self._call_ids[call_id] = None
        name, limits = text_of(part.head, "name"), self._hearing.limits
        return read_call(CallId(call_id), self.message_id, name, arguments, limits=limits, made_id=made)

    # -- one whole message ------------------------------------------------------------------------------------------

    def whole(self, body: bytes) -> list[Heard]:
        """What a body that is the whole reply says."""
        message = read_object(body)
        if message is None or not isinstance(message.get("content"), list):
            self._ended = True
            if message is not None and "error" in message:
                return [read_error_event(message)]
            return [no_reply(f"the answer is no message: {excerpt(body)}")]
        self._end_message({"delta": message, "usage": message.get("usage")})
        heard: list[Heard] = [self._begin(message, self._stop_reason)]
        inputs = _inputs(body)
        for index, block in enumerate(objects_of(message, "content")):
            exact = inputs[index] if index < len(inputs) else None
            head_input = exact or (write_value(block["input"]) if "input" in block else None)
            heard.append(self._give(_Part(text_of(block, "type"), block, head_input)))
        self._ended = True
        return [*heard, self._end()]


class _BlockInput(Struct, frozen=True):
    input: Raw = Raw()


class _StartInput(Struct, frozen=True):
    content_block: _BlockInput


class _MessageInputs(Struct, frozen=True):
    content: list[_BlockInput]


def _head_input(head: dict[str, Any], data: bytes) -> str | None:
    """The exact text of an input that a server put into the start of the block instead of streaming it."""
    if not head.get("input"):
        return None
    try:
        return raw_text(msgspec.json.decode(data, type=_StartInput).content_block.input)
    except (msgspec.MsgspecError, RecursionError):
        return write_value(head["input"])


def _inputs(body: bytes) -> list[str]:
    """The exact texts of the inputs of a whole message's blocks, `""` where there is none; empty if none can be had."""
    try:
        return [raw_text(block.input) for block in msgspec.json.decode(body, type=_MessageInputs).content]
    except (msgspec.MsgspecError, RecursionError):
        return []


def _grow_part(part: _Part, delta: dict[str, Any]) -> None:
    match text_of(delta, "type"):
        case "text_delta":
            part.texts.append(text_of(delta, "text"))
        case "thinking_delta":
            part.texts.append(text_of(delta, "thinking"))
        case "input_json_delta":
            part.texts.append(text_of(delta, "partial_json"))
        case "signature_delta":
            part.signature += text_of(delta, "signature")
        case "citations_delta" if part.kind == "text":
            pass  # sources of a text are not kept; the text is whole without them
        case _:
            part.head = _merged(part.head, delta)


def _merged(head: dict[str, Any], delta: dict[str, Any]) -> dict[str, Any]:
    """A block that is not understood, grown by what its delta says: strings and arrays get longer, the rest is set."""
    grown = dict(head)
    for key, value in delta.items():
        old = grown.get(key)
        if key == "type":
            continue
        if isinstance(old, str) and isinstance(value, str):
            grown[key] = old + value
        elif isinstance(old, list) and isinstance(value, list):
            grown[key] = [*old, *value]
        else:
            grown[key] = value
    return grown


def _opaque_value(part: _Part, text: str) -> dict[str, Any]:
    """The block as it goes back: with the input that was streamed, if there was any."""
    if not text:
        return part.head
    streamed = read_object(text.encode("utf-8", "surrogatepass"))
    return part.head if streamed is None else {**part.head, "input": streamed}
