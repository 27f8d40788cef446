"""Whatever a model did, what goes back to a service is well-formed."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lastcall.nouns.ids import CallId, MessageId
from lastcall.nouns.messages import AssistantMessage, Message, OpaqueBlock, TextBlock, ThinkingBlock, UserMessage
from lastcall.nouns.tools import ResultKind, ToolResult
from lastcall.providers import Deployment
from lastcall.wire.anthropic import AnthropicEncoder
from lastcall.wire.dialect import ANTHROPIC, OPENAI
from lastcall.wire.json import read_call
from lastcall.wire.openai import OpenAIEncoder
from wire_tools import FINISH, READ, ask

ANYTHING = st.text(st.characters(codec=None, exclude_categories=()), max_size=20)  # half surrogates, controls and all
ARGUMENTS = st.one_of(
    ANYTHING,
    st.sampled_from(
        ["", "{}", "[1]", "null", '"{}"', '{"a":NaN}', '{"a":1,"a":2}', '{"t":"\ud83d"}', "[" * 300, '{"a":"b']
    ),
    st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3), max_size=3).map(json.dumps),
)
NAMES = st.sampled_from(["StructuredOutput", "Read", "", "a b", "functions.x:0", "é" * 200])


@st.composite
def histories(draw: st.DrawFn) -> tuple[Message, ...]:
    """Turns as the machine builds them: every call of a reply is answered in the next message, in any order."""
    history: list[Message] = [UserMessage((TextBlock(draw(ANYTHING) or "x"),))]
    for turn in range(draw(st.integers(0, 4))):
        calls = [
            read_call(CallId(f"call_{turn}_{n}"), MessageId(f"m{turn}"), draw(NAMES), draw(ARGUMENTS))
            for n in range(draw(st.integers(0, 3)))
        ]
        beside: list[Any] = draw(
            st.lists(
                st.one_of(
                    ANYTHING.map(TextBlock),
                    st.builds(ThinkingBlock, st.just("hm"), st.sampled_from(["", "c2ln"])),
                    st.just(OpaqueBlock("redacted_thinking", {"type": "redacted_thinking", "data": "x"})),
                ),
                max_size=2,
            )
        )
        history.append(AssistantMessage(MessageId(f"m{turn}"), (*beside, *calls)))
        answers: list[Any] = [
            ToolResult(call.call_id, ResultKind.FAILED, draw(ANYTHING), draw(st.sampled_from([None, True, False])))
            for call in draw(st.permutations(calls))
        ]
        extra = [TextBlock(draw(ANYTHING) or "go on")] if not answers or draw(st.booleans()) else []
        history.append(UserMessage((*extra, *answers)))
    return tuple(history)


@given(histories())
def test_the_messages_api_gets_objects_as_inputs_and_every_answer_right_behind_its_call(
    history: tuple[Message, ...],
) -> None:
    body = json.loads(
        AnthropicEncoder().encode(ask(*history, tools=(READ, FINISH)), Deployment("a", "claude-x"), ANTHROPIC)
    )
    messages = body["messages"]
    assert all(a["role"] != b["role"] for a, b in pairwise(messages))
    assert all(message["content"] for message in messages)
    for position, message in enumerate(messages):
        blocks = message["content"]
        assert not any(block["type"] == "text" and not block["text"] for block in blocks)
        called = [block["id"] for block in blocks if block["type"] == "tool_use"]
        for block in blocks:
            if block["type"] == "tool_use":
                assert isinstance(block["input"], dict)
                assert re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", block["name"])
                assert re.fullmatch(r"[a-zA-Z0-9_-]+", block["id"])
        if called:
            after = messages[position + 1]["content"]
            answered = [block["tool_use_id"] for block in after[: len(called)]]
            assert sorted(answered) == sorted(called)


@given(histories())
def test_chat_completions_get_objects_as_arguments_and_every_answer_right_behind_its_call(
    history: tuple[Message, ...],
) -> None:
    body = json.loads(OpenAIEncoder().encode(ask(*history, tools=(READ, FINISH)), Deployment("o", "gpt-x"), OPENAI))
    open_calls: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            open_calls.remove(message["tool_call_id"])
            continue
        assert open_calls == []
        for call in message.get("tool_calls", []):
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
            assert re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", call["function"]["name"])
            open_calls.append(call["id"])
    assert open_calls == []


@given(histories())
def test_what_is_sent_is_text_that_any_service_can_read(history: tuple[Message, ...]) -> None:
    for encoder, dialect in ((AnthropicEncoder(), ANTHROPIC), (OpenAIEncoder(), OPENAI)):
        text = encoder.encode(ask(*history), Deployment("x", "y"), dialect).decode("utf-8")
        values = json.dumps(json.loads(text), ensure_ascii=False)
        values.encode("utf-8")  # no half of a pair in any value
