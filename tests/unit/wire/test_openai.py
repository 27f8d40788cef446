"""Requests of Chat Completions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastcall.nouns.ids import CallId, MessageId
from lastcall.nouns.messages import AssistantMessage, Message, OpaqueBlock, TextBlock, ThinkingBlock, UserMessage
from lastcall.nouns.profile import Profile
from lastcall.nouns.request import Choice, ModelRequest
from lastcall.nouns.schema import OutputSchema, StrictSchema
from lastcall.nouns.tools import ResultKind, ToolCall, ToolResult, define
from lastcall.providers import Deployment
from lastcall.wire.dialect import OPENAI, Dialect, Feature
from lastcall.wire.json import read_call
from lastcall.wire.openai import OpenAIEncoder
from wire_tools import DECLINE, FINISH, READ, SCHEMA, ask

M = MessageId("m1")
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
IMAGE_PART = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}


def encode(request: ModelRequest, *, dialect: Dialect = OPENAI, stream: bool = True, **choices: Any) -> dict[str, Any]:
    deployment = Deployment("openai", "gpt-x", **{"max_tokens": 0, **choices})
    body: dict[str, Any] = json.loads(OpenAIEncoder().encode(request, deployment, dialect, stream=stream))
    return body


def messages(*history: Message, **choices: Any) -> list[Any]:
    written: list[Any] = encode(ask(*history), **choices)["messages"]
    return written


def call(arguments: str, call_id: str = "call_1", name: str = "StructuredOutput") -> ToolCall:
    return read_call(CallId(call_id), M, name, arguments)


def said(*blocks: Any) -> AssistantMessage:
    return AssistantMessage(M, blocks)


def told(*blocks: Any) -> UserMessage:
    return UserMessage(blocks)


def result(content: str, call_id: str = "call_1", *, blocks: bool = False) -> ToolResult:
    return ToolResult(CallId(call_id), ResultKind.OK, content, None, blocks)


def test_the_usual_request() -> None:
    assert encode(ask(system="be brief")) == {
        "model": "gpt-x",
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [
            {
                "type": "function",
                "function": {"name": "StructuredOutput", "description": "Return the result.", "parameters": SCHEMA},
            }
        ],
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "record it"}],
    }


def test_what_is_not_asked_for_or_was_refused_is_left_out() -> None:
    assert set(encode(ask(tools=()), stream=False)) == {"model", "messages"}
    plain = OPENAI.without(Feature.STREAM_USAGE).without(Feature.TOOLS)
    assert set(encode(ask(choice=Choice.FINISH), dialect=plain)) == {"model", "stream", "messages"}


def test_settings_are_sent_when_chosen() -> None:
    body = encode(ask(), max_tokens=40, temperature=0.0, seed=7, effort="low")
    assert {key: body[key] for key in ("max_completion_tokens", "temperature", "seed", "reasoning_effort")} == {
        "max_completion_tokens": 40,
        "temperature": 0.0,
        "seed": 7,
        "reasoning_effort": "low",
    }
    older = encode(ask(), max_tokens=40, dialect=OPENAI.without(Feature.MAX_COMPLETION_TOKENS))
    assert older["max_tokens"] == 40
    assert "max_completion_tokens" not in older


def test_a_system_prompt_goes_as_a_user_message_where_the_role_is_refused() -> None:
    written = encode(ask(system="be brief"), dialect=OPENAI.without(Feature.SYSTEM_ROLE))["messages"]
    assert written[0] == {"role": "user", "content": "be brief"}


def test_the_strict_form_replaces_the_schema_only_where_it_is_taken() -> None:
    strict = {"type": "object", "additionalProperties": False}
    tool = define("StructuredOutput", "d", SCHEMA, strict_schema=strict, finishing=True)
    (sent,) = encode(ask(tools=(tool,)))["tools"]
    assert sent["function"] == {"name": "StructuredOutput", "description": "d", "parameters": strict, "strict": True}
    (sent,) = encode(ask(tools=(tool,)), dialect=OPENAI.without(Feature.STRICT))["tools"]
    assert sent["function"] == {"name": "StructuredOutput", "description": "d", "parameters": SCHEMA}


@pytest.mark.parametrize(
    ("tools", "count", "choice"),
    [
        ((READ, FINISH), 2, {"type": "function", "function": {"name": "StructuredOutput"}}),
        ((READ, FINISH, DECLINE), 2, "required"),
    ],
)
def test_a_forced_choice_is_among_the_finishing_tools(tools: tuple[Any, ...], count: int, choice: object) -> None:
    body = encode(ask(tools=tools, choice=Choice.FINISH))
    assert (len(body["tools"]), body["tool_choice"]) == (count, choice)


def test_the_native_format_is_strict_if_the_schema_is() -> None:
    plain = OutputSchema("{}", "d", {"type": "object"})
    strict = StrictSchema("{}", {"type": "object"})
    assert encode(ask(tools=(), native_format=plain))["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "output", "schema": {"type": "object"}},
    }
    assert encode(ask(native_format=strict))["response_format"]["json_schema"]["strict"] is True
    loose = encode(ask(native_format=strict), dialect=OPENAI.without(Feature.STRICT))
    assert "strict" not in loose["response_format"]["json_schema"]
    assert "response_format" not in encode(ask(native_format=strict), dialect=OPENAI.without(Feature.NATIVE_FORMAT))


def test_calls_and_their_answers_keep_their_ids_and_order() -> None:
    history = messages(
        told(TextBlock("a")),
        said(ThinkingBlock("hm"), TextBlock("So"), call('{"n":7305118826640930017}', "x"), call("{}", "y")),
        told(TextBlock("and now?"), result("one", "x"), result("two", "y"), TextBlock("well?")),
    )
    assert history == [
        {"role": "user", "content": "a"},
        {
            "role": "assistant",
            "content": "So",
            "tool_calls": [
                {"id": "x", "type": "function", "function": {"name": "StructuredOutput", "arguments": '{"n":7305118826640930017}'}},
                {"id": "y", "type": "function", "function": {"name": "StructuredOutput", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "x", "content": "one"},
        {"role": "tool", "tool_call_id": "y", "content": "two"},
        {"role": "user", "content": "and now?\n\nwell?"},
    ]  # fmt: skip


def test_a_reply_without_text_has_none_and_an_empty_one_is_an_empty_string() -> None:
    history = messages(told(TextBlock("a")), said(call("{}")), told(result("x")), said(OpaqueBlock("x", {})))
    assert history[1]["content"] is None
    assert history[3] == {"role": "assistant", "content": ""}


@pytest.mark.parametrize("arguments", ["{oops", "", "[1]", '"{}"', '{"a":NaN}'])
def test_every_call_goes_back_with_the_text_of_an_object(arguments: str) -> None:
    (_, message) = messages(told(TextBlock("a")), said(call(arguments)))
    sent = json.loads(message["tool_calls"][0]["function"]["arguments"])
    assert sent == {"__unparsedToolInput": {"raw": arguments, "len": len(arguments)}}


def test_an_id_that_was_made_goes_back_the_same_on_both_sides() -> None:
    made = call("{}", "call_made1")
    history = messages(told(TextBlock("a")), said(made), told(result("x", "call_made1")))
    assert history[1]["tool_calls"][0]["id"] == history[2]["tool_call_id"] == "call_made1"


def test_images_go_in_user_messages_those_of_answers_too() -> None:
    blocks = json.dumps([{"type": "text", "text": "seen"}, IMAGE])
    url = {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}}
    history = messages(
        told(OpaqueBlock("image", url), TextBlock("b")), said(call("{}")), told(result(blocks, blocks=True))
    )
    assert history[0]["content"] == [
        {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
        {"type": "text", "text": "b"},
    ]
    assert history[2:] == [
        {"role": "tool", "tool_call_id": "call_1", "content": "seen\n(see the next message)"},
        {"role": "user", "content": [IMAGE_PART]},
    ]


def test_blocks_of_other_services_go_as_their_json() -> None:
    (message,) = messages(
        told(OpaqueBlock("document", {"type": "document", "title": "T"}), OpaqueBlock("text", {"text": "t"}))
    )
    assert message["content"] == '{"type":"document","title":"T"}\n\nt'


def test_blocks_that_cannot_be_read_are_an_empty_answer() -> None:
    assert messages(told(result("oops", blocks=True)))[0]["content"] == ""


def test_a_message_without_anything_is_left_out() -> None:
    assert messages(told(TextBlock("")), told(TextBlock("a"))) == [{"role": "user", "content": "a"}]


def test_a_system_prompt_may_stand_alone() -> None:
    body = OpenAIEncoder().encode(ask(told(), system="s"), Deployment("o", "x"), OPENAI)
    assert json.loads(body)["messages"] == [{"role": "system", "content": "s"}]


def test_text_that_no_file_can_hold_is_mended_on_the_way_out() -> None:
    lone = "x\ud83d"
    history = (told(TextBlock(lone), result(lone)), said(TextBlock(lone), call('{"a":"\ud83d"}')))
    body = OpenAIEncoder().encode(ask(*history, system=lone), Deployment("o", "x"), OPENAI)
    assert body.count("x\ufffd".encode()) == 4


def test_a_conversation_that_grows_is_encoded_as_if_for_the_first_time() -> None:
    encoder, deployment = OpenAIEncoder(Profile.COMPAT), Deployment("openai", "x")
    twice = told(TextBlock("again"))
    history: list[Message] = [twice, said(TextBlock("a")), twice]
    for turn in range(4):
        request = ask(*history)
        assert encoder.encode(request, deployment, OPENAI) == OpenAIEncoder().encode(request, deployment, OPENAI)
        history += [told(TextBlock(f"q{turn}")), said(TextBlock(f"a{turn}"))]
    assert len(json.loads(encoder.encode(ask(*history[:3]), deployment, OPENAI))["messages"]) == 3
