"""A script that means nothing is refused before anything begins; what scripts may say passes."""

from __future__ import annotations

import json

import pytest

from lastcall.errors import BadConfig
from lastcall.providers.script_shape import fault_of
from lastcall.providers.scripted import load_script

FINE = [
    {"content": []},
    {"content": [{"type": "text", "text": "a"}, {"type": "thinking", "thinking": "b"}, {"type": "redacted_thinking"}]},
    {"content": [{"type": "tool_use", "name": "Read", "input": {}}, {"type": "tool_use", "name": "Read", "raw": "{"}]},
    {"object": 5},
    {"object": None, "stop_reason": "max_tokens", "usage": {"input_tokens": 5}, "id": "m", "model": "x", "chunk": 3},
    {"call": {"name": "Read", "input": {}}},
    {"calls": [{"name": "Read", "raw": ""}]},
    {"status": 529, "error": {"type": "overloaded_error", "message": "x"}, "headers": {"retry-after": "1"}},
    {"status": 500, "body": "<html>"},
    {"drop": True},
    {"object": {}, "cut": {"after_bytes": 5, "reset": True}, "omit": ["message_stop"]},
    {"object": {}, "cut": {"after_blocks": 1, "mid": True}},
    {"object": {}, "error_event": {"error": {"type": "x"}, "after_blocks": 1}},
    {"object": {}, "stall": {"ms": 5}, "delay_ms": 1, "block_delay_ms": 0.5, "end_delay_ms": 0},
    {"sse_raw": "data: x"},
    {"json_raw": "{}"},
    {"content": [], "stop_details": {"category": "x"}, "stop_sequence": "END"},
]
WRONG = [
    ({"content": 5}, "content"),
    ({"content": [5]}, "content[0]"),
    ({"content": [{}]}, "no type"),
    ({"content": [{"type": "text"}]}, "no text"),
    ({"content": [{"type": "thinking", "thinking": 5}]}, "no thinking"),
    ({"content": [{"type": "tool_use", "input": {}}]}, "no name"),
    ({"content": [{"type": "tool_use", "name": "Read"}]}, "neither an input"),
    ({"call": {"name": "Read"}}, "neither an input"),
    ({"calls": [{}]}, "no name"),
    ({"call": 5}, "call"),
    ({"status": "x"}, "status"),
    ({"status": 5}, "status"),
    ({"usage": 5, "object": 1}, "usage"),
    ({"chunk": 0, "object": 1}, "chunk"),
    ({"delay_ms": -1}, "delay_ms"),
    ({"stall": {}}, "stall"),
    ({"cut": 5}, "cut"),
    ({"error_event": {}}, "error_event"),
    ({"headers": []}, "headers"),
    ({"sse_raw": 5}, "sse_raw"),
    ({"nonsense": 1}, "nonsense"),
]


@pytest.mark.parametrize("reply", FINE)
def test_what_a_reply_may_say_passes(reply):
    assert fault_of(reply) == ""


@pytest.mark.parametrize(("reply", "word"), WRONG)
def test_what_means_nothing_is_named(reply, word, tmp_path):
    assert word in fault_of(reply)
    script = tmp_path / "script.json"
    script.write_text(json.dumps(["fine", reply]))
    with pytest.raises(BadConfig) as caught:
        load_script(script)
    assert "reply 2 of the script means nothing" in str(caught.value)


@pytest.mark.parametrize(
    ("script", "word"),
    [
        ([], "holds no reply"),
        ({"*": []}, "holds no reply"),
        ([{"content": {"$repeat": ["x", "y"]}}], "cannot be built"),
    ],
)
def test_a_script_without_a_reply_or_with_one_that_cannot_be_built_is_refused(script, word, tmp_path):
    path = tmp_path / "script.json"
    path.write_text(json.dumps(script))
    with pytest.raises(BadConfig, match=word):
        load_script(path)
