"""Replies of Chat Completions as OpenAI sends them and as servers that imitate it do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastcall.core.events import BlockEnded, Progress, ReplyEnded, ReplyStarted
from lastcall.nouns.ids import CallId, MessageId, Uuid
from lastcall.nouns.messages import TextBlock, ThinkingBlock
from lastcall.nouns.result import NO_USAGE, Failed, FailureKind, Usage
from lastcall.nouns.tools import Arguments, ToolCall, Unreadable, UnreadableCause
from lastcall.wire.openai_reply import OpenAIDecoder
from lastcall.wire.reply import NO_REPLY
from wire_tools import chunks_sse, event_of, hear, hearing, solid

M = MessageId("chatcmpl-a1")
PASS = '{"verdict":"pass","note":"all green"}'


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **members: Any) -> dict[str, Any]:
    base = {"id": "chatcmpl-a1", "object": "chat.completion.chunk", "model": "m1"}
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {**base, "choices": choices, **members}


def piece(arguments: Any = None, *, name: str | None = None, **members: Any) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {"tool_calls": [{**members, "function": function}]}


def decode(*chunks: dict[str, Any], done: bool = True, **choices: Any) -> list[Any]:
    return solid(hear(OpenAIDecoder(hearing(**choices)), chunks_sse(*chunks, done=done)))


def blocks(*chunks: dict[str, Any], **choices: Any) -> list[Any]:
    return [event.block for event in decode(*chunks, **choices) if isinstance(event, BlockEnded)]


def ended(*chunks: dict[str, Any], **choices: Any) -> ReplyEnded:
    last = decode(*chunks, **choices)[-1]
    assert isinstance(last, ReplyEnded)
    return last


def failure(heard: list[Any]) -> Failed:
    assert isinstance(heard[-1], Failed)
    assert not any(isinstance(event, ReplyEnded) for event in heard)
    return heard[-1]


END = chunk({}, "tool_calls")

# -- the usual ------------------------------------------------------------------------------------------------------


def test_a_reply_is_its_start_its_blocks_and_its_end() -> None:
    heard = decode(
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": "So "}),
        chunk({"content": "be it"}),
        chunk(piece("", index=0, id="call_a1", name="StructuredOutput")),
        chunk(piece('{"verdict":"pass",', index=0)),
        chunk(piece('"note":"all green"}', index=0)),
        END,
        chunk(usage={"prompt_tokens": 9, "completion_tokens": 7, "total_tokens": 16}),
    )
    assert heard == [
        ReplyStarted(1, M, "m1"),
        BlockEnded(1, M, TextBlock("So be it"), Uuid("made1")),
        BlockEnded(1, M, ToolCall(CallId("call_a1"), M, "StructuredOutput", Arguments(PASS)), Uuid("made2")),
        ReplyEnded(1, M, "tool_use", Usage(9, 7)),
    ]


def test_progress_speaks_the_messages_api() -> None:
    stream = chunks_sse(
        chunk({"content": "hi"}), chunk(piece('{"a":1}', index=0, id="c", name="n")), chunk({}, "tool_calls"),
        chunk(usage={"prompt_tokens": 9, "completion_tokens": 7}),
    )  # fmt: skip
    progress = [event.event for event in hear(OpenAIDecoder(hearing()), stream) if isinstance(event, Progress)]
    assert progress == [
        {"type": "message_start", "message": {
            "id": M, "type": "message", "role": "assistant", "model": "m1", "content": [], "stop_reason": None,
            "stop_sequence": None, "usage": {}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "c", "name": "n", "input": {}}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"a":1}'}},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None},
         "usage": {"input_tokens": 9, "output_tokens": 7}},
        {"type": "message_stop"},
    ]  # fmt: skip
    assert not any(isinstance(e, Progress) for e in hear(OpenAIDecoder(hearing(progress=False)), stream))


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("content_filter", "refusal"),
        ("tool_calls", "tool_use"),
        ("insufficient_system_resource", "insufficient_system_resource"),
    ],
)
def test_the_reasons_of_the_end_are_the_messages_apis(reason: str, expected: str) -> None:
    assert ended(chunk({"content": "x"}), chunk({}, reason)).stop_reason == expected


@pytest.mark.parametrize("reason", ["stop", "function_call", "tool_calls"])
def test_a_reply_with_calls_ended_for_them_whatever_the_server_says(reason: str) -> None:
    assert ended(chunk(piece("{}", index=0, id="c", name="n")), chunk({}, reason)).stop_reason == "tool_use"


def test_what_came_from_the_cache_is_not_counted_twice() -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 80}}
    assert ended(chunk({"content": "x"}, "stop"), chunk(usage=usage)).usage == Usage(20, 5, None, 80)


@pytest.mark.parametrize("usage", [{}, {"usage": None}, {"usage": {"prompt_tokens": None, "completion_tokens": None}}])
def test_usage_that_nobody_told_is_unknown_not_zero(usage: dict[str, Any]) -> None:
    assert ended(chunk({"content": "x"}, "stop", **usage)).usage == NO_USAGE


# -- reasoning, refusals, contents in parts ---------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_reasoning_is_thinking(key: str) -> None:
    assert blocks(chunk({key: "hm"}), chunk({key: "..."}), chunk({"content": "so"}), chunk({}, "stop")) == [
        ThinkingBlock("hm..."),
        TextBlock("so"),
    ]


def test_a_content_in_parts_is_its_text_and_its_thinking() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "h"}, {"type": "text", "text": "m"}]},
        {"type": "thinking", "thinking": "!"},
        {"type": "text", "text": "so"},
        "junk",
    ]
    assert blocks(chunk({"content": parts}, "stop")) == [ThinkingBlock("hm!"), TextBlock("so")]


def test_a_refusal_is_a_refusal_whatever_the_finish_reason() -> None:
    reply = (chunk({"refusal": "I can"}), chunk({"refusal": "not."}), chunk({}, "stop"))
    assert blocks(*reply) == [TextBlock("I cannot.")]
    end = ended(*reply)
    assert (end.stop_reason, end.stop_details) == ("refusal", {"type": "refusal", "explanation": "I cannot."})


# -- finding the call that a piece belongs to -------------------------------------------------------------------------


def calls(*chunks: dict[str, Any], **choices: Any) -> list[tuple[str, str]]:
    return [(call.name, call.arguments.text) for call in blocks(*chunks, END, **choices) if isinstance(call, ToolCall)]


def test_two_calls_side_by_side_and_interleaved() -> None:
    assert calls(
        chunk(piece('{"a"', index=0, id="x", name="f")),
        chunk(piece('{"b"', index=1, id="y", name="g")),
        chunk(piece(":1}", index=0)),
        chunk(piece(":2}", index=1)),
    ) == [("f", '{"a":1}'), ("g", '{"b":2}')]


def test_indexes_may_have_gaps() -> None:
    assert calls(chunk(piece("{}", index=3, id="x", name="f")), chunk(piece("[]", index=7, id="y", name="g"))) == [
        ("f", "{}"),
        ("g", "[]"),
    ]


def test_an_index_used_for_another_id_is_another_call() -> None:
    assert calls(
        chunk(piece("{", index=0, id="x", name="f")),
        chunk(piece("}", index=0, id="x")),
        chunk(piece("[]", index=0, id="y", name="f")),
    ) == [("f", "{}"), ("f", "[]")]


def test_without_an_index_the_id_finds_the_call() -> None:
    assert calls(
        chunk(piece("{", id="x", name="f")), chunk(piece("[", id="y", name="g")), chunk(piece("}", id="x")), chunk(piece("]", id="y"))
    ) == [("f", "{}"), ("g", "[]")]  # fmt: skip


def test_without_index_and_id_a_name_begins_a_call_and_the_rest_belongs_to_the_last() -> None:
    assert calls(
        chunk(piece("{", name="f")), chunk(piece("}")), chunk(piece("[", name="f")), chunk(piece("]"))
    ) == [("f", "{}"), ("f", "[]")]  # fmt: skip


def test_a_piece_that_belongs_to_nothing_is_a_call_without_a_name() -> None:
    assert calls(chunk(piece("{}"))) == [("", "{}")]


def test_a_name_or_an_id_may_come_late() -> None:
    (call,) = blocks(chunk(piece("{", index=0)), chunk(piece("}", index=0, id="x", name="f")), END)
    assert (call.call_id, call.name, call.made_id) == ("x", "f", False)


@pytest.mark.parametrize("told", [{}, {"id": ""}, {"id": None}])
def test_a_missing_id_is_made(told: dict[str, Any]) -> None:
    (call,) = blocks(chunk(piece("{}", index=0, name="f", **told)), END)
    assert call.made_id
    assert call.call_id.startswith("call_")


def test_a_repeated_id_is_replaced_in_the_second_call() -> None:
    first, second = blocks(
        chunk(piece("{}", index=0, id="x", name="f")), chunk(piece("[]", index=1, id="x", name="f")), END
    )
    assert (first.call_id, first.made_id) == ("x", False)
    assert second.made_id
    assert second.call_id != "x"


def test_the_older_protocols_call_is_a_call() -> None:
    (call,) = blocks(
        chunk({"function_call": {"name": "f", "arguments": '{"a"'}}),
        chunk({"function_call": {"arguments": ":1}"}}),
        chunk({}, "function_call"),
    )
    assert (call.name, call.arguments, call.made_id) == ("f", Arguments('{"a":1}'), True)


def test_text_after_a_call_keeps_its_place_behind_it() -> None:
    given = blocks(
        chunk({"content": "a"}), chunk(piece("{", index=0, id="x", name="f")), chunk({"content": "b"}), chunk(piece("}", index=0)), END
    )  # fmt: skip
    assert [getattr(block, "text", "call") for block in given] == ["a", "call", "b"]


# -- arguments ------------------------------------------------------------------------------------------------------


def test_arguments_that_are_a_value_are_taken_to_the_letter() -> None:
    raw = (
        b'{"choices":[{"index":1},{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x",'
        b'"function":{"name":"f","arguments":{"a": 1.10,"n":7305118826640930017}}}]}}]}'
    )
    decoder = OpenAIDecoder(hearing())
    decoder.feed(event_of(raw))
    given = next(event for event in decoder.feed(event_of(b"[DONE]")) if isinstance(event, BlockEnded))
    assert isinstance(given.block, ToolCall)
    assert given.block.arguments == Arguments('{"a": 1.10,"n":7305118826640930017}')


def test_values_that_only_the_slow_reader_takes_are_written_again() -> None:
    assert calls(chunk(piece({"a": "\ud83d"}, index=0, id="x", name="f"))) == [("f", '{"a":"\\ud83d"}')]
    legacy = chunk({"function_call": {"name": "f", "arguments": {"a": "\ud83d"}}})
    assert calls(legacy) == [("f", '{"a":"\\ud83d"}')]
    assert calls(chunk({"function_call": {"name": "f", "arguments": {"a": 0.10}}})) == [("f", '{"a": 0.1}')]


def test_a_string_that_spells_an_object_is_not_decoded_again() -> None:
    assert calls(chunk(piece(json.dumps(PASS), index=0, id="x", name="f"))) == [("f", json.dumps(PASS))]


@pytest.mark.parametrize("arguments", ["", None])
def test_a_call_without_arguments_is_unreadable_not_an_empty_object(arguments: str | None) -> None:
    (call,) = blocks(chunk(piece(arguments, index=0, id="x", name="f")), END)
    assert isinstance(call.arguments, Unreadable)
    assert call.arguments.cause is UnreadableCause.EMPTY


def test_snapshots_of_everything_so_far_are_recognised() -> None:
    pieces = ['{"verdict":', '{"verdict":"pass","note"', PASS]
    chunks = [chunk(piece(text, index=0, id="x", name="f")) for text in pieces]
    assert calls(*chunks) == [("f", PASS)]
    assert calls(*chunks, chunks[-1]) == [("f", PASS)]


def test_pieces_that_only_look_like_snapshots_are_put_together() -> None:
    assert calls(*[chunk(piece(text, index=0, id="x", name="f")) for text in ("[", "[1],2]")]) == [("f", "[[1],2]")]


def test_several_objects_in_a_row_are_never_cut_to_the_first() -> None:
    chunks = [chunk(piece(text, index=0, id="x", name="f")) for text in ('{"a":1}', '{"b":2}')]
    (call,) = blocks(*chunks, END)
    assert isinstance(call.arguments, Unreadable)
    assert call.arguments.cause is UnreadableCause.TRAILING_TEXT


def test_raw_line_separators_stay_in_their_value() -> None:
    text = '{"note":"a\u2028b\u0085c"}'
    data = chunks_sse(chunk({"tool_calls": []}), done=False) + (
        f"data: {json.dumps(chunk(piece(text, index=0, id='x', name='f')), ensure_ascii=False)}\n\n".encode()
    )
    given = [e.block for e in hear(OpenAIDecoder(hearing()), data + b"data: [DONE]\n\n") if isinstance(e, BlockEnded)]
    assert given[0].arguments == Arguments(text)  # type: ignore[union-attr]


# -- a bound that was reached unannounced -----------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["tool_calls", "stop"])
def test_a_call_at_the_bound_of_the_output_was_cut_off(reason: str) -> None:
    reply = (
        chunk(piece('{"verdict":"fail","note":"the log says that the wor', index=0, id="x", name="f")),
        chunk({}, reason),
        chunk(usage={"prompt_tokens": 120, "completion_tokens": 40}),
    )
    assert ended(*reply, max_tokens=40).stop_reason == "max_tokens"
    assert ended(*reply, max_tokens=41).stop_reason == "tool_use"
    assert ended(*reply, max_tokens=0).stop_reason == "tool_use"
    assert ended(*reply[:2], max_tokens=40).stop_reason == "tool_use"


def test_a_call_that_is_whole_at_the_bound_is_whole() -> None:
    reply = (
        chunk(piece(PASS, index=0, id="x", name="f")),
        chunk({}, "tool_calls"),
        chunk(usage={"completion_tokens": 40}),
    )
    assert ended(*reply, max_tokens=40).stop_reason == "tool_use"


# -- how a stream ends ----------------------------------------------------------------------------------------------


def test_a_finish_reason_is_end_enough_and_empty_choices_do_not_disturb() -> None:
    # casebook: no-done-marker-and-empty-choices
    heard = decode(
        chunk(prompt_filter_results=[]),
        chunk({"role": "assistant", "content": ""}),
        chunk(piece('{"verdict":"pass",', index=0, id="call_a1", name="StructuredOutput")),
        chunk({}),
        chunk(piece('"note":"all green"}', index=0)),
        END,
        chunk(usage={"prompt_tokens": 9, "completion_tokens": 7, "total_tokens": 16}),
        done=False,
    )
    assert [event.block.arguments for event in heard if isinstance(event, BlockEnded)] == [Arguments(PASS)]
    assert heard[-1] == ReplyEnded(1, M, "tool_use", Usage(9, 7))


def test_the_done_marker_is_end_enough() -> None:
    assert ended(chunk({"content": "x"})).stop_reason is None
    assert ended(chunk(piece("{}", index=0, id="x", name="f"))).stop_reason == "tool_use"


def test_a_done_marker_without_a_line_end_counts() -> None:
    stream = chunks_sse(chunk({"content": "x"})).rstrip(b"\n")
    assert isinstance(hear(OpenAIDecoder(hearing()), stream)[-1], ReplyEnded)


def test_neither_reason_nor_marker_is_a_broken_reply() -> None:
    lost = failure(decode(chunk(piece(PASS, index=0, id="x", name="f")), done=False))
    assert lost == Failed(FailureKind.BROKEN_STREAM, "the stream ended in the middle of the reply")


def test_a_torn_last_chunk_is_a_broken_reply() -> None:
    stream = chunks_sse(chunk({"content": "x"}), chunk({"content": "y"}), done=False)[:-6]
    assert failure(solid(hear(OpenAIDecoder(hearing()), stream))).kind is FailureKind.BROKEN_STREAM


def test_nothing_is_heard_after_the_end() -> None:
    decoder = OpenAIDecoder(hearing())
    hear(decoder, chunks_sse(chunk({"content": "x"}, "stop")))
    assert decoder.feed(event_of(chunk({"content": "late"}))) == []
    assert decoder.finish() == []


@pytest.mark.parametrize(
    "data", [b"", b"<html>", b"data: [DONE]\n\n", b'data: {"detail":"Not Found"}\n\n', b"data: junk\n\n"]
)
def test_a_stream_in_which_no_reply_began_says_so(data: bytes) -> None:
    lost = failure(solid(hear(OpenAIDecoder(hearing()), data)))
    assert (lost.kind, lost.provider_kind) == (FailureKind.BROKEN_STREAM, NO_REPLY)


def test_junk_in_the_middle_is_a_broken_reply_but_odd_objects_are_not() -> None:
    junk = chunks_sse(chunk({"content": "x"}), done=False) + b"data: junk\n\n"
    assert failure(solid(hear(OpenAIDecoder(hearing()), junk))).provider_kind == ""
    odd = {"object": "keepalive"}
    assert ended(chunk({"content": "x"}), odd, {"choices": [None, "x"]}, chunk({}, "stop")).stop_reason == "end_turn"


def test_an_error_in_the_stream_is_the_failure_it_names() -> None:
    error = {"error": {"message": "busy", "type": "overloaded_error", "code": None}}
    assert failure(decode(chunk({"content": "x"}), error)) == Failed(
        FailureKind.OVERLOADED, "busy", None, "overloaded_error"
    )
    assert failure(decode({"error": {"message": "no", "code": 503}})).kind is FailureKind.SERVER


def test_a_decoder_says_what_it_knows_so_far() -> None:
    decoder = OpenAIDecoder(hearing())
    assert (decoder.message_id, decoder.blocks_ended, decoder.complete) == (None, 0, False)
    decoder.feed(event_of(chunk({"content": "x"})))
    assert (decoder.message_id, decoder.complete) == (M, False)
    decoder.feed(event_of(chunk({}, "stop")))
    assert decoder.complete


def test_other_choices_than_the_one_asked_for_are_not_heard() -> None:
    two = chunk({"content": "x"})
    two["choices"].append({"index": 1, "delta": {"content": "other"}, "finish_reason": "stop"})
    two["choices"].reverse()
    assert blocks(two, chunk({}, "stop")) == [TextBlock("x")]


def test_a_stream_that_sends_one_whole_message_is_heard() -> None:
    whole = chunk()
    whole["choices"] = [{"index": 0, "message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}]
    assert blocks(whole) == [TextBlock("x")]
    assert blocks(chunk({"content": "x"}), whole) == [TextBlock("x")]


# -- whole completions ----------------------------------------------------------------------------------------------


def completion(message: dict[str, Any], finish: str | None = "tool_calls", **members: Any) -> bytes:
    body = {"id": "chatcmpl-a1", "model": "m1", "choices": [{"index": 0, "message": message, "finish_reason": finish}]}
    return json.dumps({**body, **members}).encode()


def whole(body: bytes, **choices: Any) -> list[Any]:
    return OpenAIDecoder(hearing(**choices)).whole(body)


def test_a_whole_completion_is_the_same_reply_known_at_once() -> None:
    message = {
        "role": "assistant",
        "content": "So",
        "reasoning_content": "hm",
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
            {"id": "b", "type": "function", "function": {"name": "g", "arguments": {"x": 1}}},
            {"type": "function", "function": {"name": "f", "arguments": "[]"}},
            {"index": 0, "function": {"name": "f"}},
        ],
    }
    heard = whole(completion(message, usage={"prompt_tokens": 120, "completion_tokens": 40}))
    assert heard[0] == ReplyStarted(1, M, "m1", Usage(120, 40), "tool_use")
    assert heard[-1] == ReplyEnded(1, M, "tool_use", Usage(120, 40))
    given = [event.block for event in heard[1:-1]]
    assert given[:2] == [ThinkingBlock("hm"), TextBlock("So")]
    assert [(c.call_id, c.name, c.arguments.text, c.made_id) for c in given[2:]] == [
        ("a", "f", "{}", False),
        ("b", "g", '{"x": 1}', False),
        ("call_made5", "f", "[]", True),
        ("call_made7", "f", "", True),
    ]


def test_a_whole_completion_may_leave_out_nearly_everything() -> None:
    heard = whole(b'{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":null}}]}')
    assert heard == [
        ReplyStarted(1, MessageId("chatcmpl-made1"), "m", NO_USAGE, "end_turn"),
        ReplyEnded(1, MessageId("chatcmpl-made1"), "end_turn", NO_USAGE),
    ]


def test_a_whole_completion_at_the_bound_was_cut_off() -> None:
    message = {"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": '{"note":"the wor'}}]}
    heard = whole(completion(message, usage={"completion_tokens": 40}), max_tokens=40)
    assert heard[0].stop_reason == heard[-1].stop_reason == "max_tokens"


@pytest.mark.parametrize("body", [b"", b"<html>login</html>", b'{"choices":[]}', b'{"choices":[{"text":"x"}]}', b"[]"])
def test_a_body_that_is_no_completion_is_no_reply(body: bytes) -> None:
    assert failure(whole(body)).provider_kind == NO_REPLY


def test_a_body_with_an_error_in_it_is_that_failure() -> None:
    assert whole(b'{"error":{"message":"busy","type":"overloaded_error"}}') == [
        Failed(FailureKind.OVERLOADED, "busy", None, "overloaded_error")
    ]
