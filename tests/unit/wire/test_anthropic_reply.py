"""Replies of the Messages API, good and bad."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastcall.core.events import BlockEnded, Progress, ReplyEnded, ReplyStarted
from lastcall.nouns.ids import CallId, MessageId, Uuid
from lastcall.nouns.messages import OpaqueBlock, TextBlock, ThinkingBlock
from lastcall.nouns.profile import Profile
from lastcall.nouns.result import NO_USAGE, Failed, FailureKind, Usage
from lastcall.nouns.tools import Arguments, ToolCall, Unreadable, UnreadableCause
from lastcall.wire.anthropic_reply import AnthropicDecoder
from lastcall.wire.reply import NO_REPLY, RULES
from wire_tools import event_of, hear, hearing, solid, sse

M = MessageId("msg_1")
START: dict[str, Any] = {
    "type": "message_start",
    "message": {"id": "msg_1", "model": "claude-x", "content": [], "usage": {"input_tokens": 100, "output_tokens": 1}},
}
DELTA: dict[str, Any] = {
    "type": "message_delta",
    "delta": {"stop_reason": "tool_use", "stop_sequence": None},
    "usage": {"output_tokens": 20},
}
STOP: dict[str, Any] = {"type": "message_stop"}
COMPAT = RULES[Profile.COMPAT]


def begin(index: int | None, **block: Any) -> dict[str, Any]:
    event: dict[str, Any] = {"type": "content_block_start", "content_block": block}
    return event if index is None else {**event, "index": index}


def grow(index: int | None, kind: str, **delta: Any) -> dict[str, Any]:
    event: dict[str, Any] = {"type": "content_block_delta", "delta": {"type": kind, **delta}}
    return event if index is None else {**event, "index": index}


def end(index: int | None) -> dict[str, Any]:
    return {"type": "content_block_stop"} if index is None else {"type": "content_block_stop", "index": index}


def call(index: int, *pieces: str, call_id: str = "toolu_1", name: str = "StructuredOutput") -> list[dict[str, Any]]:
    head = begin(index, type="tool_use", id=call_id, name=name, input={})
    return [head, *(grow(index, "input_json_delta", partial_json=piece) for piece in pieces), end(index)]


def text(index: int, *pieces: str) -> list[dict[str, Any]]:
    return [
        begin(index, type="text", text=""),
        *(grow(index, "text_delta", text=piece) for piece in pieces),
        end(index),
    ]


def decode(*events: dict[str, Any], **choices: Any) -> list[Any]:
    return solid(hear(AnthropicDecoder(hearing(**choices)), sse(*events)))


def blocks(*events: dict[str, Any], **choices: Any) -> list[Any]:
    return [event.block for event in decode(*events, **choices) if isinstance(event, BlockEnded)]


def failure(heard: list[Any]) -> Failed:
    assert isinstance(heard[-1], Failed)
    assert not any(isinstance(event, ReplyEnded) for event in heard)
    return heard[-1]


# -- the usual ------------------------------------------------------------------------------------------------------


def test_a_reply_is_its_start_its_blocks_and_its_end() -> None:
    heard = decode(START, *text(0, "So ", "be it"), *call(1, '{"verdict":', '"pass"}'), DELTA, STOP)
    assert heard == [
        ReplyStarted(1, M, "claude-x", Usage(100, 1)),
        BlockEnded(1, M, TextBlock("So be it"), Uuid("made1")),
        BlockEnded(
            1, M, ToolCall(CallId("toolu_1"), M, "StructuredOutput", Arguments('{"verdict":"pass"}')), Uuid("made2")
        ),
        ReplyEnded(1, M, "tool_use", Usage(100, 20)),
    ]


def test_progress_is_the_raw_events_around_the_whole_blocks() -> None:
    events = [START, *text(0, "hi"), DELTA, STOP]
    heard = hear(AnthropicDecoder(hearing()), sse(*events))
    assert [event.event for event in heard if isinstance(event, Progress)] == events
    kinds = [type(event).__name__ for event in heard]
    # a frame of the block comes before its end is shown, the end of the reply after everything
    assert kinds == [
        "ReplyStarted", "Progress", "Progress", "Progress", "BlockEnded", "Progress", "Progress", "Progress", "ReplyEnded"
    ]  # fmt: skip
    silent = hear(AnthropicDecoder(hearing(progress=False)), sse(*events))
    assert [type(event).__name__ for event in silent] == ["ReplyStarted", "BlockEnded", "ReplyEnded"]


def test_thinking_keeps_its_signature() -> None:
    thinking = [
        begin(0, type="thinking", thinking="", signature=""),
        grow(0, "thinking_delta", thinking="let me "),
        grow(0, "thinking_delta", thinking="see"),
        grow(0, "signature_delta", signature="c2"),
        grow(0, "signature_delta", signature="ln"),
        end(0),
    ]
    assert blocks(START, *thinking, DELTA, STOP) == [ThinkingBlock("let me see", "c2ln")]


def test_blocks_that_are_not_understood_are_carried_whole() -> None:
    redacted = {"type": "redacted_thinking", "data": "opaque"}
    result = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "x"}]}
    server = begin(1, type="server_tool_use", id="s1", name="web_search", input={})
    events = [
        begin(0, **redacted), end(0),
        server, grow(1, "input_json_delta", partial_json='{"query":'), grow(1, "input_json_delta", partial_json='"q"}'), end(1),
        begin(2, **result), end(2),
    ]  # fmt: skip
    assert blocks(START, *events, DELTA, STOP) == [
        OpaqueBlock("redacted_thinking", redacted),
        OpaqueBlock(
            "server_tool_use", {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}}
        ),
        OpaqueBlock("web_search_tool_result", result),
    ]


def test_a_block_of_a_later_protocol_grows_by_what_its_deltas_say() -> None:
    events = [
        begin(0, type="compaction", content="", parts=[1]),
        grow(0, "compaction_delta", content="ab", parts=[2], done=False),
        grow(0, "compaction_delta", content="cd", done=True),
        end(0),
    ]
    grown = {"type": "compaction", "content": "abcd", "parts": [1, 2], "done": True}
    assert blocks(START, *events, DELTA, STOP) == [OpaqueBlock("compaction", grown)]


def test_an_unreadable_input_of_a_servers_own_tool_leaves_its_block_as_it_began() -> None:
    head = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    events = [begin(0, **head), grow(0, "input_json_delta", partial_json='{"que'), end(0)]
    assert blocks(START, *events, DELTA, STOP) == [OpaqueBlock("server_tool_use", head)]


def test_citations_do_not_disturb_the_text_they_belong_to() -> None:
    events = [*text(0, "found")[:-1], grow(0, "citations_delta", citation={"url": "u"}), end(0)]
    assert blocks(START, *events, DELTA, STOP) == [TextBlock("found")]


def test_text_that_came_with_the_start_counts() -> None:
    events = [begin(0, type="text", text="So "), grow(0, "text_delta", text="be it"), end(0)]
    assert blocks(START, *events, DELTA, STOP) == [TextBlock("So be it")]


def test_the_reasons_of_the_end_are_told_in_full() -> None:
    details = {"type": "refusal", "category": "bio", "explanation": "E"}
    delta = {**DELTA, "delta": {"stop_reason": "refusal", "stop_sequence": "X", "stop_details": details}}
    assert decode(START, delta, STOP)[-1] == ReplyEnded(1, M, "refusal", Usage(100, 20), "X", details)


# -- inputs of calls ------------------------------------------------------------------------------------------------


def test_a_call_for_which_nothing_was_streamed_has_the_empty_object() -> None:
    for pieces in ((), ("",), ("", "")):
        (block,) = blocks(START, *call(0, *pieces), DELTA, STOP)
        assert block.arguments == Arguments("{}")


def test_an_input_in_the_start_of_the_block_is_taken_to_the_letter() -> None:
    raw = b'{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"n","input":{"a": 1.10,"a":2}}}'
    decoder = AnthropicDecoder(hearing())
    decoder.feed(event_of(START))
    decoder.feed(event_of(raw))
    (given, _) = decoder.feed(event_of(end(0)))
    assert isinstance(given, BlockEnded)
    assert given.block == ToolCall(CallId("t"), M, "n", Arguments('{"a": 1.10,"a":2}', ("/a",)))


def test_an_input_in_the_start_that_only_the_slow_reader_takes_is_written_again() -> None:
    (block,) = blocks(START, begin(0, type="tool_use", id="t", name="n", input={"a": "\ud83d"}), end(0), DELTA, STOP)
    assert block.arguments == Arguments('{"a":"\\ud83d"}')


def test_an_input_that_stops_half_way_is_unreadable() -> None:
    (block,) = blocks(START, *call(0, '{"notes":"half a sent'), DELTA, STOP)
    assert isinstance(block.arguments, Unreadable)
    assert block.arguments.cause is UnreadableCause.TRUNCATED


@pytest.mark.parametrize("told", ["", None])
def test_a_missing_id_is_made(told: str | None) -> None:
    (block,) = blocks(START, begin(0, type="tool_use", id=told, name="n", input={}), end(0), DELTA, STOP)
    assert block.made_id
    assert block.call_id == "toolu_made1"


def test_a_repeated_id_is_replaced_in_the_second_call() -> None:
    first, second = blocks(START, *call(0, call_id="a"), *call(1, call_id="a"), DELTA, STOP)
    assert (first.call_id, first.made_id) == ("a", False)
    assert second.made_id
    assert second.call_id not in ("", "a")


def test_a_pair_of_surrogates_split_between_deltas_is_one_character() -> None:
    assert blocks(START, *text(0, "\ud83d", "\ude80 \ud83d"), DELTA, STOP) == [TextBlock("🚀 \ufffd")]
    (block,) = blocks(START, *call(0, '{"t":"\\ud83d', '\\ude00"}'), DELTA, STOP)
    assert block.arguments == Arguments('{"t":"\\ud83d\\ude00"}')


# -- what is left out or repeated -----------------------------------------------------------------------------------


def test_a_missing_id_or_model_of_the_message_is_made_up_for() -> None:
    heard = decode({"type": "message_start", "message": {}}, DELTA, STOP)
    assert heard[0] == ReplyStarted(1, MessageId("msg_made1"), "m", NO_USAGE)


def test_usage_that_nobody_told_is_unknown_not_zero() -> None:
    start = {"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": None}}}
    assert decode(start, {**DELTA, "usage": None}, STOP)[-1].usage == Usage(None, None, None, None)


def test_later_counts_are_totals_and_do_not_erase_earlier_ones() -> None:
    start = {**START, "message": {**START["message"], "usage": {"input_tokens": 7, "cache_read_input_tokens": 3}}}
    assert decode(start, DELTA, {**DELTA, "usage": {"output_tokens": 21}}, STOP)[-1].usage == Usage(7, 21, None, 3)


def test_indexes_may_be_missing() -> None:
    events = [begin(None, type="text", text=""), grow(None, "text_delta", text="a"), end(None)]
    assert blocks(START, *events, *events, DELTA, STOP) == [TextBlock("a"), TextBlock("a")]


def test_indexes_may_come_out_of_order_with_gaps_and_interleaved() -> None:
    first, second = text(7, "a", "b"), call(2, '{"a":', "1}")
    events = [first[0], second[0], first[1], second[1], first[2], second[2], first[3], second[3]]
    assert [type(block) for block in blocks(START, *events, DELTA, STOP)] == [TextBlock, ToolCall]


def test_an_index_may_be_used_again_after_its_block_ended() -> None:
    assert blocks(START, *text(0, "a"), *text(0, "b"), DELTA, STOP) == [TextBlock("a"), TextBlock("b")]


def test_repeated_starts_and_ends_change_nothing() -> None:
    first = text(0, "a")
    events = [START, first[0], first[0], *first[1:], end(0), end(5), DELTA, STOP, STOP, *text(1, "late")]
    assert decode(START, *events) == decode(START, *text(0, "a"), DELTA, STOP)


def test_pings_and_unknown_events_are_shown_and_mean_nothing() -> None:
    ping = {"type": "ping"}
    assert decode(ping, START, ping, {"type": "later_protocol"}, *text(0, "a"), DELTA, STOP) == decode(
        START, *text(0, "a"), DELTA, STOP
    )


def test_empty_deltas_for_no_block_are_nothing_but_lost_text_is_a_broken_reply() -> None:
    assert blocks(START, grow(3, "text_delta", text=""), *text(0, "a"), DELTA, STOP) == [TextBlock("a")]
    assert failure(decode(START, grow(3, "text_delta", text="lost"))).kind is FailureKind.BROKEN_STREAM
    assert failure(decode(START, *text(0, "a"), grow(0, "text_delta", text="lost"))).kind is FailureKind.BROKEN_STREAM
    two = [begin(0, type="text", text=""), begin(1, type="text", text="")]
    assert failure(decode(START, *two, grow(None, "text_delta", text="whose?"))).kind is FailureKind.BROKEN_STREAM


def test_the_event_name_serves_where_the_type_is_missing() -> None:
    decoder = AnthropicDecoder(hearing())
    decoder.feed(event_of({"message": {"id": "msg_1"}}, "message_start"))
    assert decoder.feed(event_of({}, "message_stop"))[-1] == ReplyEnded(1, M, None, NO_USAGE)


# -- how a stream ends ----------------------------------------------------------------------------------------------


def test_a_reply_whose_stop_reason_is_known_needs_no_message_stop() -> None:
    assert decode(START, *text(0, "a"), DELTA)[-1] == ReplyEnded(1, M, "tool_use", Usage(100, 20), announced=False)


def test_a_reply_with_message_stop_needs_no_message_delta() -> None:
    assert decode(START, *text(0, "a"), STOP)[-1] == ReplyEnded(1, M, None, Usage(100, 1))


def test_a_closed_block_without_any_end_is_a_broken_reply() -> None:
    heard = decode(START, *call(0, '{"verdict":"pass"}'))
    assert failure(heard) == Failed(FailureKind.BROKEN_STREAM, "the stream ended in the middle of the reply")


def test_a_block_cut_in_its_middle_is_never_given() -> None:
    heard = decode(START, *call(0, '{"verdict":"pass"', ',"note":"al')[:-1])
    assert [type(event) for event in heard] == [ReplyStarted, Failed]


def test_an_open_block_is_whole_when_the_reply_ended_properly() -> None:
    events = [START, *text(0, "a")[:-1], *call(1, '{"a":1}')[:-1], DELTA, STOP]
    assert [type(block) for block in blocks(*events)] == [TextBlock, ToolCall]
    assert decode(*events)[-1] == ReplyEnded(1, M, "tool_use", Usage(100, 20))


def test_a_block_whose_index_was_taken_before_its_end_is_whole_too() -> None:
    events = [START, *text(0, "a")[:-1], *text(0, "b"), DELTA, STOP]
    assert blocks(*events) == [TextBlock("b"), TextBlock("a")]
    assert failure(decode(*events[:-1])).kind is FailureKind.BROKEN_STREAM


def test_an_open_block_without_message_stop_is_a_broken_reply() -> None:
    assert failure(decode(START, *text(0, "a")[:-1], DELTA)).kind is FailureKind.BROKEN_STREAM


def test_the_reference_drops_open_blocks_and_takes_an_orderly_close() -> None:
    # recorded: group http, no-block-stop, cut-after-text, no-message-stop
    assert decode(START, *call(0, '{"a":1}')[:-1], DELTA, STOP, rules=COMPAT) == [
        ReplyStarted(1, M, "claude-x", Usage(100, 1)),
        ReplyEnded(1, M, "tool_use", Usage(100, 20)),
    ]
    cut = decode(START, *text(0, "hello"), *call(1, '{"a":')[:-1], rules=COMPAT)
    assert [event.block for event in cut if isinstance(event, BlockEnded)] == [TextBlock("hello")]
    assert cut[-1] == ReplyEnded(1, M, None, NO_USAGE, announced=False)
    assert failure(decode(START, rules=COMPAT)).kind is FailureKind.BROKEN_STREAM


def test_a_torn_last_event_counts_only_if_it_is_whole() -> None:
    whole = sse(START, *text(0, "a"), DELTA, STOP)
    assert solid(hear(AnthropicDecoder(hearing()), whole.rstrip(b"\n")))[-1] == ReplyEnded(
        1, M, "tool_use", Usage(100, 20)
    )
    torn = sse(START, *text(0, "a"), DELTA).rstrip(b"\n")[:-1]
    assert failure(solid(hear(AnthropicDecoder(hearing()), torn))).kind is FailureKind.BROKEN_STREAM


@pytest.mark.parametrize(
    "data", [b"", b"<html>proxy says no</html>", b": ping\n\n", b"data: [DONE]\n\n", sse(DELTA), sse(STOP)]
)
def test_a_stream_in_which_no_reply_began_says_so(data: bytes) -> None:
    lost = failure(solid(hear(AnthropicDecoder(hearing()), data)))
    assert (lost.kind, lost.provider_kind) == (FailureKind.BROKEN_STREAM, NO_REPLY)


def test_junk_in_the_middle_is_a_broken_reply() -> None:
    heard = solid(hear(AnthropicDecoder(hearing()), sse(START) + b"data: <html>\n\n" + sse(STOP)))
    lost = failure(heard)
    assert lost.provider_kind == ""
    assert "<html>" in lost.detail


def test_an_error_after_status_200_is_the_failure_it_names() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    expected = Failed(FailureKind.OVERLOADED, "busy", None, "overloaded_error")
    assert failure(decode(START, *text(0, "a"), error, STOP)) == expected
    assert failure(decode(error)) == expected
    bare = b'data: {"error":{"type":"api_error","message":"boom"}}\n\n'
    assert failure(solid(hear(AnthropicDecoder(hearing()), bare))).kind is FailureKind.SERVER


def test_a_decoder_says_what_it_knows_so_far() -> None:
    decoder = AnthropicDecoder(hearing())
    assert (decoder.message_id, decoder.blocks_ended, decoder.usage, decoder.complete) == (None, 0, NO_USAGE, False)
    for event in (START, *text(0, "a")):
        decoder.feed(event_of(event))
    assert (decoder.message_id, decoder.blocks_ended, decoder.complete) == (M, 1, False)
    decoder.feed(event_of(DELTA))
    assert (decoder.usage, decoder.complete) == (Usage(100, 20), True)


# -- whole messages -------------------------------------------------------------------------------------------------


def whole(message: object) -> list[Any]:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return AnthropicDecoder(hearing()).whole(body)


def test_a_whole_message_is_the_same_reply_known_at_once() -> None:
    content = (
        b'[{"type":"text","text":"a"},{"type":"tool_use","id":"t","name":"n","input":{"a": 1.10,"b":9007199254740993}}]'
    )
    body = b'{"id":"msg_1","type":"message","model":"x","content":%b,"stop_reason":"tool_use","usage":{"input_tokens":5,"output_tokens":6}}'
    assert whole(body % content) == [
        ReplyStarted(1, M, "x", Usage(5, 6), "tool_use"),
        BlockEnded(1, M, TextBlock("a"), Uuid("made1")),
        BlockEnded(1, M, ToolCall(CallId("t"), M, "n", Arguments('{"a": 1.10,"b":9007199254740993}')), Uuid("made2")),
        ReplyEnded(1, M, "tool_use", Usage(5, 6)),
    ]


def test_a_whole_message_that_only_the_slow_reader_takes_is_read_too() -> None:
    message = {
        "id": "msg_1",
        "content": [{"type": "tool_use", "id": "t", "name": "n", "input": {"a": "\ud83d", "b": 0.1}}],
    }
    (_, given, _) = whole(message)
    assert given.block.arguments == Arguments('{"a":"\\ud83d","b":0.1}')


def test_a_call_without_any_input_in_a_whole_message_has_the_empty_object() -> None:
    (_, given, _) = whole({"id": "msg_1", "content": [{"type": "tool_use", "id": "t", "name": "n"}]})
    assert given.block.arguments == Arguments("{}")


@pytest.mark.parametrize("body", [b"", b"<html>login</html>", b"[]", b'{"content":"text"}'])
def test_a_body_that_is_no_message_is_no_reply(body: bytes) -> None:
    assert failure(whole(body)).provider_kind == NO_REPLY


def test_a_body_with_an_error_in_it_is_that_failure() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    assert whole(error) == [Failed(FailureKind.OVERLOADED, "busy", None, "overloaded_error")]
