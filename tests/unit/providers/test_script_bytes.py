"""Replies of scripts as bytes; the forms are those of the conformance corpus's own endpoint."""

from __future__ import annotations

from typing import Any

import pytest

from lastcall.providers.script_bytes import Piece, expand, message_of, sse_pieces


def pieces(reply: dict[str, Any]) -> list[Piece]:
    return [piece for piece in sse_pieces(reply, message_of(reply, model="m", number=3)) if piece != Piece()]


def names(reply: dict[str, Any]) -> list[str]:
    return [piece.data.split(b"\n")[0].decode().removeprefix("event: ") for piece in pieces(reply) if piece.data]


@pytest.mark.parametrize(
    ("built", "text"),
    [
        ({"$repeat": ["ab", 3]}, "ababab"),
        ({"$nest": ["[", 2, {"$repeat": ["x", 2]}, "]"]}, "[[xx]]"),
        ({"$concat": ["a", {"$repeat": ["b", 2]}]}, "abb"),
        ({"$json": {"k": ["é", {"$repeat": ["z", 2]}]}}, '{"k": ["é", "zz"]}'),
        ("plain", "plain"),
    ],
)
def test_built_strings_are_written_out(built: Any, text: str) -> None:
    assert expand(built) == text


def test_what_only_resembles_a_built_string_stays() -> None:
    value = [{"$repeat": ["a", 2], "more": 1}, {"k": None}, 3]
    assert expand(value) == value


def test_a_message_has_the_usual_figures_unless_the_script_says_otherwise() -> None:
    assert message_of({}, model="m", number=3) == {
        "id": "msg_0003", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 20, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
    }  # fmt: skip
    called = message_of(
        {"content": [{"type": "tool_use", "name": "f", "raw": "{"}], "model": "x", "usage": {"output_tokens": 1}},
        model="m",
        number=0,
    )
    assert (called["stop_reason"], called["model"], called["usage"]["output_tokens"]) == ("tool_use", "x", 1)
    assert called["content"] == [{"type": "tool_use", "name": "f", "input": {}}]


def test_events_come_in_the_usual_order_in_pieces_of_the_wanted_size() -> None:
    content = [{"type": "text", "text": "abcd"}, {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}]
    block = ["content_block_start", "content_block_delta", "content_block_delta", "content_block_stop"]
    assert names({"content": content, "chunk": 4}) == [
        "message_start", "content_block_start", "content_block_delta", "content_block_stop", *block, "message_delta", "message_stop"
    ]  # fmt: skip


def test_events_may_be_left_out() -> None:
    assert names({"content": [], "omit": ["message_stop", "message_start"]}) == ["message_delta"]


@pytest.mark.parametrize(("mid", "before"), [(False, 1), (True, 3)])
def test_a_cut_ends_the_stream_before_a_block_or_in_it(mid: bool, before: int) -> None:
    reply = {"content": [{"type": "text", "text": "abcd"}], "chunk": 2, "cut": {"after_blocks": 0, "mid": mid}}
    assert len(names(reply)) == before
    assert pieces(reply)[-1].cut


def test_an_error_event_is_the_last_one() -> None:
    reply = {"content": [{"type": "text", "text": "a"}], "error_event": {"after_blocks": 1, "error": {"type": "x"}}}
    assert names(reply)[-1] == "error"
    assert pieces(reply)[-1].cut
    assert names({"error_event": {"error": {"type": "x"}}}) == ["message_start", "error"]


def test_waits_stand_where_the_script_says() -> None:
    reply = {
        "content": [{"type": "text", "text": "a"}],
        "block_delay_ms": 3,
        "end_delay_ms": 5,
        "stall": {"after_blocks": 1, "ms": 7},
    }
    assert [piece.wait_ms for piece in pieces(reply) if piece.wait_ms] == [3, 7, 5]
