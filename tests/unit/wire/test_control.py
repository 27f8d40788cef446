"""Lines from a client, and the frames that answer them."""

from __future__ import annotations

import pytest

from lastcall.nouns.messages import OpaqueBlock, TextBlock
from lastcall.wire.control import (
    BadLine,
    ControlRequest,
    ControlResponse,
    Ignored,
    UserLine,
    WrongRole,
    cancel_request,
    client_request,
    failure,
    read_line,
    replayed,
    success,
)


def test_a_user_message_is_text_or_blocks():
    assert read_line('{"type":"user","message":{"role":"user","content":"hi"},"uuid":"u1"}') == UserLine(
        (TextBlock("hi"),), "u1"
    )
    image = {"type": "image", "source": {"type": "base64"}}
    line = '{"type":"user","message":{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"base64"}}]},"uuid":7}'
    assert read_line(line) == UserLine((TextBlock("a"), OpaqueBlock("image", image)))


@pytest.mark.parametrize(
    "line",
    [
        '{"type":"user"}',
        '{"type":"user","message":"hi"}',
        '{"type":"user","message":{"role":"user"}}',
        '{"type":"user","message":{"role":"user","content":["hi"]}}',
        '{"type":"user","message":{"role":"user","content":{"text":"hi"}}}',
        "[1]",
        "7",
        '{"type":"control_request","request":{"subtype":"interrupt"}}',
        '{"type":"control_request","request_id":"r1"}',
    ],
)
def test_what_is_json_but_no_frame_is_a_bad_line(line):
    read = read_line(line)
    assert isinstance(read, BadLine)
    assert (read.line, read.no_json) == (line, False)


def test_what_is_no_json_is_said_so():
    read = read_line("not json")
    assert isinstance(read, BadLine)
    assert read.no_json


def test_a_message_of_another_role_is_told_apart():
    assert read_line('{"type":"user","message":{"role":"assistant","content":"x"}}') == WrongRole("assistant")
    assert read_line('{"type":"user","message":{}}') == WrongRole("None")


def test_requests_and_answers_are_read_by_their_ids():
    request = read_line('{"type":"control_request","request_id":"r1","request":{"subtype":"set_model","model":"x"}}')
    assert request == ControlRequest("r1", "set_model", {"subtype": "set_model", "model": "x"})
    assert read_line('{"type":"control_request","request_id":"r1","request":{}}') == ControlRequest(
        "r1", "undefined", {}
    )
    answer = '{"type":"control_response","response":{"subtype":"success","request_id":"q","response":{"a":1}}}'
    assert read_line(answer) == ControlResponse("q", {"a": 1})
    broken = '{"type":"control_response","response":{"subtype":"error","request_id":"q","error":"no"}}'
    assert read_line(broken) == ControlResponse("q", {}, "no")


@pytest.mark.parametrize("line", ['{"type":"banana"}', '{"type":"keep_alive"}', "{}", '{"type":"control_response"}'])
def test_what_asks_for_nothing_is_passed_over(line):
    assert read_line(line) == Ignored()


def test_frames_of_ours_have_the_recorded_form():
    assert success("r1") == {"type": "control_response", "response": {"subtype": "success", "request_id": "r1"}}
    assert success("r1", {"mode": "plan"})["response"] == {
        "subtype": "success", "request_id": "r1", "response": {"mode": "plan"},
    }  # fmt: skip
    assert failure("r1", "no") == {
        "type": "control_response",
        "response": {"subtype": "error", "request_id": "r1", "error": "no"},
    }
    assert client_request("q1", {"subtype": "mcp_message"}) == {
        "type": "control_request",
        "request_id": "q1",
        "request": {"subtype": "mcp_message"},
    }
    assert cancel_request("q1") == {"type": "control_cancel_request", "request_id": "q1"}


def test_a_message_may_be_shown_again():
    line = UserLine((TextBlock("a"), OpaqueBlock("image", {"type": "image"})), "u1")
    assert replayed(line, "s", "u1") == {
        "type": "user",
        "message": {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image"}]},
        "parent_tool_use_id": None,
        "isReplay": True,
        "session_id": "s",
        "uuid": "u1",
    }
