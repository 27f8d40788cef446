"""Requests of the vendors' clients: taken as they are meant, or refused by name. Their libraries are in tests/server."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastcall.server.chat_completions import ChatCompletions
from lastcall.server.messages import Messages
from lastcall.server.rows import RunRow, State
from lastcall.server.vendors import DoorRefusal, Told, told

CHAT, MESSAGES = ChatCompletions(), Messages()
SCHEMA = {"type": "object"}
ASK = {"role": "user", "content": "Count."}
OF_CHAT = {"model": "m", "messages": [ASK]}
OF_MESSAGES = {"model": "m", "max_tokens": 9, "messages": [ASK]}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "role", "content", "name", "text", "x"]), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def row(envelope):
    return RunRow("run_1", "", None, "", "", "", "", State.ENDED, "", 0, 1, False, 7.9, status=200, envelope=envelope)


def done(text, outcome="answered", **usage):
    return Told("run_1", 7.9, 200, outcome, "because", outcome, text, usage)


@pytest.mark.parametrize(("vendor", "whole"), [(CHAT, OF_CHAT), (MESSAGES, OF_MESSAGES)])
def test_a_conversation_is_taken_in_its_parts(vendor, whole):
    talk = [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": "c"},
        ASK,
    ]
    order = vendor.read({**whole, "messages": talk}).order
    assert [(said.by_model, said.text) for said in order.history] == [(False, "a\nb"), (True, "c")]
    assert (order.prompt, order.schema, order.kept) == ("Count.", None, False)


def test_system_texts_come_from_where_each_vendor_has_them():
    talk = [{"role": "system", "content": "s"}, {"role": "developer", "content": "d"}, ASK]
    assert CHAT.read({**OF_CHAT, "messages": talk}).order.system == "s\n\nd"
    blocks = [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}]
    assert MESSAGES.read({**OF_MESSAGES, "system": blocks}).order.system == "s"
    with pytest.raises(DoorRefusal) as raised:
        CHAT.read({**OF_CHAT, "messages": [ASK, {"role": "system", "content": "late"}, ASK]})
    assert raised.value.where == "messages[1].role"


def test_schemas_come_from_formats_and_forced_tools():
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA, "description": "d", "strict": True}}
    wanted = CHAT.read({**OF_CHAT, "response_format": form})
    assert (wanted.order.schema, wanted.tool, wanted.order.system) == (
        '{"type":"object"}',
        "",
        "About the result, n: d",
    )
    tools = [
        {"type": "function", "function": {"name": "t", "parameters": SCHEMA}},
        {"type": "function", "function": {"name": "u"}},
    ]
    wanted = CHAT.read({**OF_CHAT, "tools": tools, "tool_choice": {"type": "function", "function": {"name": "t"}}})
    assert (wanted.order.schema, wanted.tool) == ('{"type":"object"}', "t")
    wanted = MESSAGES.read(
        {**OF_MESSAGES, "tools": [{"name": "t", "input_schema": SCHEMA}], "tool_choice": {"type": "any"}}
    )
    assert (wanted.order.schema, wanted.tool, wanted.forced) == ('{"type":"object"}', "t", False)
    assert CHAT.read({**OF_CHAT, "tools": tools, "tool_choice": "none"}).tool == ""


@pytest.mark.parametrize(
    ("vendor", "whole", "where"),
    [
        (CHAT, {"messages": [ASK]}, "model"),
        (CHAT, {**OF_CHAT, "model": 7}, "model"),
        (CHAT, {**OF_CHAT, "stream": 1}, "stream"),
        (CHAT, {**OF_CHAT, "max_tokens": True}, "max_tokens"),
        (CHAT, {**OF_CHAT, "top_logprobs": 3}, "top_logprobs"),
        (CHAT, {**OF_CHAT, "messages": []}, "messages"),
        (CHAT, {**OF_CHAT, "messages": [{"role": "tool", "content": "x", "tool_call_id": "y"}]}, "messages[0].role"),
        (CHAT, {**OF_CHAT, "messages": [ASK, {"role": "assistant", "content": "x", "tool_calls": [{}]}, ASK]}, "messages[1].tool_calls"),
        (CHAT, {**OF_CHAT, "response_format": {"type": "grammar"}}, "response_format.type"),
        (CHAT, {**OF_CHAT, "tool_choice": "required"}, "tool_choice"),
        (CHAT, {**OF_CHAT, "stream_options": {"x": 1}}, "stream_options.x"),
        (MESSAGES, {"model": "m", "messages": [ASK]}, "max_tokens"),
        (MESSAGES, {**OF_MESSAGES, "max_tokens": 0}, "max_tokens"),
        (MESSAGES, {**OF_MESSAGES, "messages": [{"role": "system", "content": "x"}]}, "messages[0].role"),
        (MESSAGES, {**OF_MESSAGES, "output_config": {"format": {"type": "text"}}}, "output_config.format.type"),
        (MESSAGES, {**OF_MESSAGES, "output_config": {"effort": "none"}}, "output_config.effort"),
        (MESSAGES, {**OF_MESSAGES, "tools": [{"name": "t", "input_schema": SCHEMA}], "tool_choice": {"type": "tool", "name": "u"}}, "tool_choice"),
        (MESSAGES, {**OF_MESSAGES, "container": "x"}, "container"),
    ],
)  # fmt: skip
def test_what_cannot_be_honoured_is_named(vendor, whole, where):
    with pytest.raises(DoorRefusal) as raised:
        vendor.read(whole)
    assert (raised.value.status, raised.value.where) == (400, where)


@settings(max_examples=60)
@given(st.sampled_from([CHAT, MESSAGES]), st.dictionaries(st.sampled_from(["model", "messages", "max_tokens", "tools", "tool_choice", "response_format", "output_config", "system", "stream", "n", "x"]), JSON))  # fmt: skip
def test_any_request_is_taken_or_refused_and_nothing_is_passed_over(vendor, wanted):
    base = OF_CHAT if vendor is CHAT else OF_MESSAGES
    try:
        vendor.read({**base, **wanted})
    except DoorRefusal:
        return
    assert wanted.get("x") is None


@settings(max_examples=30)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=700))
def test_the_pieces_of_a_stream_are_the_answer(text):
    wanted = CHAT.read({**OF_CHAT, "stream": True})
    events = b"".join((*CHAT.opening(wanted, "run_1", 7.9), *CHAT.rest(wanted, done(text)))).decode()
    *chunks, end = [block.removeprefix("data: ") for block in events.split("\n\n") if block]
    assert end == "[DONE]"
    assert "".join(json.loads(c)["choices"][0]["delta"].get("content") or "" for c in chunks) == text
    wanted = MESSAGES.read({**OF_MESSAGES, "stream": True})
    events = b"".join((*MESSAGES.opening(wanted, "run_1", 7.9), *MESSAGES.rest(wanted, done(text)))).decode()
    values = [json.loads(block.split("\ndata: ", 1)[1]) for block in events.split("\n\n") if block]
    assert "".join(v["delta"].get("text", "") for v in values if v["type"] == "content_block_delta") == text
    assert [v["type"] for v in values if v["type"].startswith("message")] == [
        "message_start",
        "message_delta",
        "message_stop",
    ]


def test_unknown_usage_is_left_out_where_the_form_allows_it():
    wanted = CHAT.read(OF_CHAT)
    assert json.loads(CHAT.whole(wanted, done("x")))["usage"] is None
    found = json.loads(CHAT.whole(wanted, done("x", input_tokens=3, output_tokens=4, cache_read_input_tokens=5)))
    assert found["usage"] == {"prompt_tokens": 8, "completion_tokens": 4, "total_tokens": 12}


def test_numbers_of_an_object_keep_their_digits():
    text = '{"n":123456789012345678901234567890,"m":0.10}'
    tools = {"tools": [{"name": "t", "input_schema": SCHEMA}], "tool_choice": {"type": "tool", "name": "t"}}
    assert f'"input":{text}'.encode() in MESSAGES.whole(MESSAGES.read({**OF_MESSAGES, **tools}), done(text))


def test_a_row_is_told_from_its_envelope():
    said = told(row('{"lastcall":{"outcome":"failed","reason":"r","failure":"timeout"},"usage":{"input_tokens":null}}'))
    assert (said.ok, said.code, said.reason, said.text) == (False, "timeout", "r", "")
    said = told(row('{"lastcall":{"outcome":"answered"},"result":"{}","usage":{}}'))
    assert (said.ok, said.text) == (True, "{}")
