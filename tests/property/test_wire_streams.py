"""Streams in any chunking, cut anywhere, and replies that survive the way over the wire."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastcall.core.events import BlockEnded, ReplyEnded
from lastcall.nouns.messages import TextBlock, ThinkingBlock
from lastcall.nouns.profile import Profile
from lastcall.nouns.result import Failed
from lastcall.nouns.tools import Arguments, ToolCall, Unreadable
from lastcall.wire.anthropic_reply import AnthropicDecoder
from lastcall.wire.openai_reply import OpenAIDecoder
from lastcall.wire.reply import RULES
from lastcall.wire.sse import SseDecoder, SseEvent
from wire_tools import chunks_sse, event_of, hear, hearing, solid, sse

# -- events ---------------------------------------------------------------------------------------------------------

LINES = st.sampled_from(
    [b"data: 1", b"data:x:y", b"data", b"data:  ", b"event: a", b"event", b":", b": data: no", b"id: 1", b"retry: 5", b"",
     b"dataa: 2", b" data: 3", "data: é\u2028🚀\u0085".encode(), b"data: \xff\xfe", b"\xef\xbb\xbfdata: 4", b"data: a\x0bb\x0cc"]
)  # fmt: skip
STREAMS = st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r", b"\r\n"])), max_size=25).map(
    lambda lines: b"".join(line + end for line, end in lines)
)


def by_the_standard(stream: bytes) -> list[SseEvent]:
    """The whole stream at once, as section 9.2.6 of the HTML standard says; an incomplete last event is dropped."""
    events: list[SseEvent] = []
    lines = re.split(rb"\r\n|\r|\n", stream.removeprefix(b"\xef\xbb\xbf"))[:-1]
    data, name = b"", ""
    for line in lines:
        if line == b"":
            if data:
                events.append(SseEvent(name, data.removesuffix(b"\n")))
            data, name = b"", ""
        elif not line.startswith(b":"):
            field, value = line.split(b":", 1) if b":" in line else (line, b"")
            value = value.removeprefix(b" ")
            data += value + b"\n" if field == b"data" else b""
            name = value.decode("utf-8", "replace") if field == b"event" else name
    return events


@st.composite
def chopped(draw: st.DrawFn, stream: bytes) -> list[bytes]:
    cuts = sorted(draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    return [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]


@given(st.data(), STREAMS)
def test_any_chunking_gives_the_events_of_the_standard(data: st.DataObject, stream: bytes) -> None:
    decoder = SseDecoder()
    events = [event for chunk in data.draw(chopped(stream)) for event in decoder.feed(chunk)]
    assert events == by_the_standard(stream)
    assert decoder.seen_bytes == len(stream)


@given(st.binary(max_size=200))
def test_any_bytes_at_all_one_at_a_time_or_together_are_the_same(stream: bytes) -> None:
    one, all_at_once = SseDecoder(), SseDecoder()
    singly = [event for position in range(len(stream)) for event in one.feed(stream[position : position + 1])]
    assert singly == all_at_once.feed(stream)
    assert one.finish() == all_at_once.finish()


# -- replies --------------------------------------------------------------------------------------------------------

TEXTS = st.text(
    st.one_of(st.characters(codec="utf-8"), st.sampled_from('{}[]":,\\ \n\u2028\u0085🚀')), min_size=1, max_size=30
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(TEXTS, JSON, max_size=4).map(lambda value: json.dumps(value, ensure_ascii=False))
BLOCKS = st.lists(
    st.one_of(
        st.tuples(st.just("text"), TEXTS),
        st.tuples(st.just("thinking"), TEXTS),
        st.tuples(st.just("call"), ARGUMENTS),
        st.tuples(st.just("call"), st.text(max_size=20)),
    ),
    min_size=1,
    max_size=5,
)


@st.composite
def fragments(draw: st.DrawFn, text: str) -> list[str]:
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def messages_stream(data: st.DataObject, blocks: list[tuple[str, str]]) -> bytes:
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {"id": "m", "model": "x"}}]
    for index, (kind, text) in enumerate(blocks):
        head: dict[str, Any] = {
            "text": {"type": "text", "text": ""},
            "thinking": {"type": "thinking", "thinking": ""},
            "call": {"type": "tool_use", "id": f"id{index}", "name": "f", "input": {}},
        }[kind]
        delta, key = {
            "text": ("text_delta", "text"),
            "thinking": ("thinking_delta", "thinking"),
            "call": ("input_json_delta", "partial_json"),
        }[kind]
        events.append({"type": "content_block_start", "index": index, "content_block": head})
        events += [
            {"type": "content_block_delta", "index": index, "delta": {"type": delta, key: piece}}
            for piece in data.draw(fragments(text))
        ]
        events.append({"type": "content_block_stop", "index": index})
        events += [{"type": "ping"}] if data.draw(st.booleans()) else []
    events.append({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 3}})
    return sse(*events, {"type": "message_stop"})


def completions_stream(data: st.DataObject, blocks: list[tuple[str, str]]) -> bytes:
    chunks: list[dict[str, Any]] = []
    for index, (kind, text) in enumerate(blocks):
        for position, piece in enumerate(data.draw(fragments(text))):
            if kind == "call":
                call: dict[str, Any] = {"index": index, "function": {"arguments": piece}}
                if position == 0:
                    call = {"index": index, "id": f"id{index}", "function": {"name": "f", "arguments": piece}}
                delta: dict[str, Any] = {"tool_calls": [call]}
            else:
                delta = {"content" if kind == "text" else "reasoning_content": piece}
            chunks.append({"id": "m", "choices": [{"index": 0, "delta": delta}]})
    chunks.append({"id": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    return chunks_sse(*chunks)


def said(blocks: list[Any]) -> list[tuple[str, str]]:
    plain: list[tuple[str, str]] = []
    for block in blocks:
        match block:
            case TextBlock(text=text):
                plain.append(("text", text))
            case ThinkingBlock(text=text):
                plain.append(("thinking", text))
            case ToolCall(arguments=Arguments(text=text) | Unreadable(text=text)):
                plain.append(("call", text))
    return plain


def merged(blocks: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Neighbouring texts are one text in Chat Completions, which has no bounds between them."""
    joined: list[tuple[str, str]] = []
    for kind, text in blocks:
        if joined and kind != "call" and joined[-1][0] == kind:
            joined[-1] = (kind, joined[-1][1] + text)
        else:
            joined.append((kind, text))
    return joined


@given(st.data(), BLOCKS)
def test_a_reply_of_the_messages_api_arrives_as_it_was_sent(data: st.DataObject, blocks: list[tuple[str, str]]) -> None:
    stream = messages_stream(data, blocks)
    heard = solid(hear(AnthropicDecoder(hearing()), data.draw(chopped(stream))))
    expected = [(kind, text or "{}") if kind == "call" else (kind, text) for kind, text in blocks]
    assert said([event.block for event in heard if isinstance(event, BlockEnded)]) == expected
    assert isinstance(heard[-1], ReplyEnded)


@given(st.data(), BLOCKS)
def test_a_reply_of_chat_completions_arrives_as_it_was_sent(data: st.DataObject, blocks: list[tuple[str, str]]) -> None:
    texts_first = sorted(blocks, key=lambda block: block[0] == "call")
    stream = completions_stream(data, texts_first)
    heard = solid(hear(OpenAIDecoder(hearing()), data.draw(chopped(stream))))
    given_calls = {f"id{index}" for index, (kind, _) in enumerate(texts_first) if kind == "call"}
    assert said([event.block for event in heard if isinstance(event, BlockEnded)]) == merged(texts_first)
    assert {
        e.block.call_id for e in heard if isinstance(e, BlockEnded) and isinstance(e.block, ToolCall)
    } == given_calls
    assert isinstance(heard[-1], ReplyEnded)


# -- cut anywhere ---------------------------------------------------------------------------------------------------

RECORDED = sse(
    {"type": "message_start", "message": {"id": "msg_a1", "model": "m", "usage": {"input_tokens": 120}}},
    {"type": "ping"},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "go é🚀"}},
    {"type": "content_block_stop", "index": 0},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}},
    },
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "input_json_delta", "partial_json": '{"verdict":"pass"'},
    },
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "input_json_delta", "partial_json": ',"note":"all"}'},
    },
    {"type": "content_block_stop", "index": 1},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 40}},
    {"type": "message_stop"},
)
COMPLETED = chunks_sse(
    *(
        {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        for delta, finish in [
            ({"role": "assistant", "content": "go é🚀"}, None),
            (
                {"tool_calls": [{"index": 0, "id": "t", "function": {"name": "f", "arguments": '{"verdict":"pass"'}}]},
                None,
            ),
            ({"tool_calls": [{"index": 0, "function": {"arguments": ',"note":"all"}'}}]}, None),
            ({}, "tool_calls"),
        ]
    )
)
WHOLE = [("text", "go é🚀"), ("call", '{"verdict":"pass","note":"all"}')]


@pytest.mark.parametrize("decoder", [AnthropicDecoder, OpenAIDecoder])
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_a_stream_cut_at_any_byte_is_whole_or_broken_never_half(decoder: Any, line_end: bytes) -> None:
    stream = (RECORDED if decoder is AnthropicDecoder else COMPLETED).replace(b"\n", line_end)
    outcomes = set()
    for cut in range(len(stream) + 1):
        heard = solid(hear(decoder(hearing()), stream[:cut]))
        given_blocks = said([event.block for event in heard if isinstance(event, BlockEnded)])
        assert given_blocks == WHOLE[: len(given_blocks)]
        ends = [event for event in heard if isinstance(event, ReplyEnded | Failed)]
        assert ends == heard[-1:]
        if isinstance(ends[0], ReplyEnded):
            assert given_blocks == WHOLE
        outcomes.add(type(ends[0]))
    assert outcomes == {ReplyEnded, Failed}


def test_a_stream_cut_at_any_byte_gives_the_reference_no_half_block_either() -> None:
    for cut in range(len(RECORDED) + 1):
        heard = solid(hear(AnthropicDecoder(hearing(rules=RULES[Profile.COMPAT])), RECORDED[:cut]))
        given_blocks = said([event.block for event in heard if isinstance(event, BlockEnded)])
        assert given_blocks == WHOLE[: len(given_blocks)]


# -- anything at all --------------------------------------------------------------------------------------------------

KINDS = st.sampled_from(
    ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop",
     "ping", "error", "zzz", 7, None]
)  # fmt: skip
KEYS = st.sampled_from(
    ["index", "delta", "content_block", "message", "usage", "type", "text", "partial_json", "id", "name", "input", "content",
     "stop_reason", "choices", "tool_calls", "function", "arguments", "finish_reason", "function_call", "error", "code",
     "reasoning", "prompt_tokens", "completion_tokens", "output_tokens", "thinking", "signature", "stop_details", "model"]
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats(allow_nan=False) | st.sampled_from(
        ["", "text", "tool_use", "thinking", "text_delta", "input_json_delta", "x", "{}", '{"a":', "tool_calls", "\ud83d"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)  # fmt: skip
EVENTS = st.lists(
    st.tuples(KINDS, st.dictionaries(KEYS, VALUES, max_size=6)).map(lambda pair: {**pair[1], "type": pair[0]}),
    max_size=8,
)


@settings(max_examples=150)
@given(EVENTS, st.sampled_from([AnthropicDecoder, OpenAIDecoder]), st.booleans())
def test_no_server_can_make_a_decoder_raise_or_end_twice(events: list[Any], decoder: Any, begins: bool) -> None:
    start = {"type": "message_start", "message": {"id": "m"}, "choices": []}
    subject = decoder(hearing())
    heard = []
    for event in [start, *events] if begins else events:
        heard += subject.feed(event_of(event))
    heard = solid(heard + subject.finish())
    ends = [event for event in heard if isinstance(event, ReplyEnded | Failed)]
    assert ends == heard[-1:]
    calls = [e.block for e in heard if isinstance(e, BlockEnded) and isinstance(e.block, ToolCall)]
    assert len({call.call_id for call in calls}) == len(calls)
    assert all(call.call_id for call in calls)


@given(VALUES, st.sampled_from([AnthropicDecoder, OpenAIDecoder]))
def test_no_body_can_make_a_decoder_raise(body: Any, decoder: Any) -> None:
    heard = decoder(hearing()).whole(json.dumps(body).encode())
    assert [event for event in heard if isinstance(event, ReplyEnded | Failed)] == heard[-1:]
