"""Requests of the Messages API; forms as recorded of the reference where it has them."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest

from lastcall.nouns.ids import CallId, MessageId
from lastcall.nouns.messages import AssistantMessage, Message, OpaqueBlock, TextBlock, ThinkingBlock, UserMessage
from lastcall.nouns.profile import Profile
from lastcall.nouns.request import Choice, ModelRequest
from lastcall.nouns.schema import OutputSchema
from lastcall.nouns.tools import ResultKind, ToolCall, ToolResult, define
from lastcall.providers import Deployment
from lastcall.wire.anthropic import AnthropicEncoder, choose_tools, plain_name, thinks_adaptively
from lastcall.wire.dialect import ANTHROPIC, Dialect, Feature
from lastcall.wire.json import read_call
from wire_tools import DECLINE, FINISH, READ, SCHEMA, ask

M = MessageId("msg_1")
MARK = {"type": "ephemeral"}
PLAIN = ANTHROPIC.without(Feature.CACHE_MARKS)


def encode(
    request: ModelRequest,
    *,
    model: str = "claude-haiku-4-5-20251001",
    dialect: Dialect = PLAIN,
    profile: Profile = Profile.NATIVE,
    stream: bool = True,
    **choices: Any,
) -> dict[str, Any]:
    deployment = Deployment("anthropic", model, **choices)
    body: dict[str, Any] = json.loads(AnthropicEncoder(profile).encode(request, deployment, dialect, stream=stream))
    return body


def call(arguments: str, call_id: str = "toolu_1", name: str = "StructuredOutput") -> ToolCall:
    return read_call(CallId(call_id), M, name, arguments)


def said(*blocks: Any) -> AssistantMessage:
    return AssistantMessage(M, blocks)


def told(*blocks: Any) -> UserMessage:
    return UserMessage(blocks)


def result(content: str, call_id: str = "toolu_1", *, is_error: bool | None = None, blocks: bool = False) -> ToolResult:
    return ToolResult(CallId(call_id), ResultKind.REJECTED, content, is_error, blocks)


def messages(*history: Message, **choices: Any) -> list[Any]:
    written: list[Any] = encode(ask(*history), **choices)["messages"]
    return written


# -- the whole body -------------------------------------------------------------------------------------------------


def test_the_first_request_is_as_recorded() -> None:
    # group http, case 500-then-good
    assert encode(ask()) == {
        "model": "claude-haiku-4-5-20251001",
        "max_tokens": 32000,
        "stream": True,
        "thinking": {"type": "enabled", "budget_tokens": 31999},
        "messages": [{"role": "user", "content": [{"type": "text", "text": "record it"}]}],
        "tools": [{"name": "StructuredOutput", "description": "Return the result.", "input_schema": SCHEMA}],
    }


def test_a_request_without_streaming_tools_and_system_leaves_them_out() -> None:
    assert set(encode(ask(tools=()), stream=False)) == {"model", "max_tokens", "thinking", "messages"}


def test_the_system_prompt_and_the_last_message_are_marked_for_caching() -> None:
    history = (told(TextBlock("a")), said(TextBlock("b")), told(TextBlock("c"), TextBlock("d")))
    body = encode(ask(*history, system="be brief"), dialect=ANTHROPIC)
    assert body["system"] == [{"type": "text", "text": "be brief", "cache_control": MARK}]
    marked = [block for message in body["messages"] for block in message["content"] if "cache_control" in block]
    assert marked == [{"type": "text", "text": "d", "cache_control": MARK}]
    assert encode(ask(system="be brief"))["system"] == "be brief"


@pytest.mark.parametrize("last", [told(), told(OpaqueBlock("image", {"type": "image"})), said(TextBlock("b"))])
def test_what_cannot_be_marked_is_not(last: Message) -> None:
    assert b"cache_control" not in AnthropicEncoder().encode(
        ask(told(TextBlock("a")), last), Deployment("anthropic", "claude-x"), ANTHROPIC
    )


# -- thinking and effort, as recorded by model ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "choices", "thinking", "output_config"),
    [
        ("claude-haiku-4-5-20251001", {}, {"type": "enabled", "budget_tokens": 31999}, None),
        ("claude-haiku-4-5-20251001", {"max_tokens": 1234}, {"type": "enabled", "budget_tokens": 1233}, None),
        ("claude-sonnet-4-5-20250929", {}, {"type": "enabled", "budget_tokens": 31999}, None),
        ("claude-haiku-4-5-20251001", {"thinking_tokens": 0}, {"type": "disabled"}, None),
        ("claude-sonnet-5", {"max_tokens": 64000}, {"type": "adaptive"}, {"effort": "high"}),
        ("claude-opus-4-8", {}, {"type": "adaptive"}, {"effort": "high"}),
        ("claude-fable-5", {"thinking_display": "omitted"}, {"type": "adaptive", "display": "omitted"}, {"effort": "high"}),
        ("claude-sonnet-5", {"effort": "low"}, {"type": "adaptive"}, {"effort": "low"}),
        # not recorded: what the service refuses is not sent
        ("claude-haiku-4-5", {"max_tokens": 1000}, {"type": "disabled"}, None),
        ("claude-haiku-4-5", {"thinking_tokens": 2000}, {"type": "enabled", "budget_tokens": 2000}, None),
        ("claude-haiku-4-5", {"thinking_tokens": 99999}, {"type": "enabled", "budget_tokens": 31999}, None),
        ("claude-haiku-4-5", {"temperature": 0.0}, {"type": "disabled"}, None),
        ("claude-3-haiku-20240307", {}, None, None),
        ("qwen3", {}, None, None),
        ("qwen3", {"thinking_tokens": 4000}, {"type": "enabled", "budget_tokens": 4000}, None),
    ],
)  # fmt: skip
def test_thinking_and_effort_follow_the_model(
    model: str, choices: dict[str, Any], thinking: object, output_config: object
) -> None:
    body = encode(ask(), model=model, **choices)
    assert (body.get("thinking"), body.get("output_config")) == (thinking, output_config)


@pytest.mark.parametrize(
    ("model", "adaptive"),
    [
        ("claude-3-5-haiku-20241022", False),
        ("claude-3-7-sonnet-20250219", False),
        ("claude-sonnet-4-20250514", False),
        ("claude-opus-4-1-20250805", False),
        ("claude-haiku-4-5", False),
        ("claude-opus-4-8", True),
        ("claude-sonnet-5", True),
        ("anthropic.claude-sonnet-5", True),
        ("gpt-5", False),
    ],
)
def test_newer_models_set_their_thinking_themselves(model: str, adaptive: bool) -> None:
    assert thinks_adaptively(model) is adaptive


def test_refused_features_are_left_out() -> None:
    dialect = PLAIN.without(Feature.THINKING).without(Feature.EFFORT).without(Feature.TOOLS)
    assert set(encode(ask(), model="claude-sonnet-5", dialect=dialect)) == {"model", "max_tokens", "stream", "messages"}


def test_temperature_is_sent_only_if_chosen() -> None:
    assert encode(ask(), temperature=0.5)["temperature"] == 0.5
    assert "temperature" not in encode(ask())


# -- tools and choice -----------------------------------------------------------------------------------------------


def test_the_strict_form_replaces_the_schema_only_where_it_is_taken() -> None:
    strict = {"type": "object", "additionalProperties": False}
    tool = define("StructuredOutput", "d", SCHEMA, strict_schema=strict, finishing=True)
    assert encode(ask(tools=(tool,)))["tools"] == [
        {"name": "StructuredOutput", "description": "d", "input_schema": strict, "strict": True}
    ]
    assert encode(ask(tools=(tool,)), dialect=PLAIN.without(Feature.STRICT))["tools"] == [
        {"name": "StructuredOutput", "description": "d", "input_schema": SCHEMA}
    ]


@pytest.mark.parametrize(
    ("tools", "refused", "sent", "choice"),
    [
        ((READ, FINISH), (), (READ, FINISH), {"type": "tool", "name": "StructuredOutput"}),
        ((READ, FINISH, DECLINE), (), (FINISH, DECLINE), {"type": "any"}),
        ((READ, FINISH, DECLINE), (Feature.FORCED_ANY,), (READ, FINISH, DECLINE), {"type": "tool", "name": "StructuredOutput"}),
        ((READ, FINISH), (Feature.FORCED_CHOICE,), (FINISH,), {"type": "any"}),
        ((READ, FINISH), (Feature.FORCED_CHOICE, Feature.FORCED_ANY), (READ, FINISH), None),
        ((READ,), (), (READ,), None),
        ((READ, FINISH), (Feature.TOOLS,), (), None),
    ],
)  # fmt: skip
def test_a_forced_choice_is_among_the_finishing_tools(
    tools: tuple[Any, ...], refused: tuple[Feature, ...], sent: tuple[Any, ...], choice: object
) -> None:
    dialect = ANTHROPIC
    for feature in refused:
        dialect = dialect.without(feature)
    assert choose_tools(ask(tools=tools, choice=Choice.FINISH), dialect) == (sent, choice)
    assert choose_tools(ask(tools=tools), ANTHROPIC) == (tools, None)


def test_a_forced_choice_goes_without_thinking_where_the_service_demands_it() -> None:
    body = encode(ask(choice=Choice.FINISH))
    assert body["tool_choice"] == {"type": "tool", "name": "StructuredOutput"}
    assert body["thinking"] == {"type": "disabled"}
    both = Dialect("x", PLAIN.features, forced_choice_with_thinking=True)
    assert encode(ask(choice=Choice.FINISH), dialect=both)["thinking"]["type"] == "enabled"


def test_the_native_format_is_the_services_own() -> None:
    schema = OutputSchema("{}", "d", {"type": "object"})
    request = ask(tools=(), native_format=schema)
    assert encode(request)["output_config"] == {"format": {"type": "json_schema", "schema": {"type": "object"}}}
    assert encode(request, model="claude-sonnet-5")["output_config"]["effort"] == "high"
    assert "output_config" not in encode(request, dialect=PLAIN.without(Feature.NATIVE_FORMAT))


# -- messages -------------------------------------------------------------------------------------------------------


def test_a_rejected_call_goes_back_as_recorded() -> None:
    # group stop-reason, case thinking-then-bad-then-good
    history = messages(
        told(TextBlock("record it")),
        said(ThinkingBlock("let me see", "c2ln"), call('{"severity": "critical"}')),
        told(result("Output does not match", is_error=True)),
    )
    assert history == [
        {"role": "user", "content": [{"type": "text", "text": "record it"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "let me see", "signature": "c2ln"},
                {"type": "tool_use", "id": "toolu_1", "name": "StructuredOutput", "input": {"severity": "critical"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"tool_use_id": "toolu_1", "type": "tool_result", "content": "Output does not match", "is_error": True}
            ],
        },
    ]


def test_answers_come_before_anything_else_of_their_message() -> None:
    (message,) = messages(told(TextBlock("go on"), result("x", "a"), TextBlock("now"), result("y", "b")))
    assert [block.get("tool_use_id", block.get("text")) for block in message["content"]] == ["a", "b", "go on", "now"]


def test_an_answer_without_a_verdict_has_no_is_error_and_blocks_stay_blocks() -> None:
    image = [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}]
    (message,) = messages(told(result("ok", "a"), result(json.dumps(image), "b", is_error=False, blocks=True)))
    assert message["content"] == [
        {"tool_use_id": "a", "type": "tool_result", "content": "ok"},
        {"tool_use_id": "b", "type": "tool_result", "content": image, "is_error": False},
    ]


def test_an_error_without_words_gets_some_because_the_service_refuses_it() -> None:
    (message,) = messages(told(result("", is_error=True)))
    assert message["content"][0]["content"]


def test_neighbours_of_one_role_are_one_message_and_empty_ones_are_left_out() -> None:
    history = messages(
        told(TextBlock("a"), TextBlock("")), said(TextBlock("b")), said(call("{}")), said(TextBlock(" \n")), told(), told(TextBlock("c"))
    )  # fmt: skip
    assert [(m["role"], len(m["content"])) for m in history] == [("user", 1), ("assistant", 2), ("user", 1)]


def test_unsigned_thinking_and_blank_text_do_not_go_back_opaque_blocks_do() -> None:
    redacted = {"type": "redacted_thinking", "data": "x"}
    history = messages(
        told(TextBlock("a")),
        said(ThinkingBlock("unsigned"), TextBlock("  "), OpaqueBlock("redacted_thinking", redacted), TextBlock("b")),
    )
    assert history[1]["content"] == [redacted, {"type": "text", "text": "b"}]


def test_arguments_go_back_to_the_letter() -> None:
    body = AnthropicEncoder().encode(
        ask(told(TextBlock("a")), said(call('{"n":7305118826640930017,"x":1.10}'))),
        Deployment("a", "claude-x"),
        ANTHROPIC,
    )
    assert b'"input":{"n":7305118826640930017,"x":1.10}' in body


def test_arguments_that_are_no_object_go_back_in_one_or_as_the_reference_does() -> None:
    history = (told(TextBlock("a")), said(call("[1,2]"), call("{oops")))
    native = messages(*history)[1]["content"]
    assert [block["input"] for block in native] == [
        {"__unparsedToolInput": {"raw": "[1,2]", "len": 5}},
        {"__unparsedToolInput": {"raw": "{oops", "len": 5}},
    ]
    compat = messages(*history, profile=Profile.COMPAT)[1]["content"]  # recorded: group input, array-input
    assert [block["input"] for block in compat] == [[1, 2], {"__unparsedToolInput": {"raw": "{oops", "len": 5}}]


def test_names_and_ids_of_other_services_are_made_acceptable_on_both_sides() -> None:
    foreign = call("{}", "functions.Read:0", "a tool!")
    history = messages(told(TextBlock("a")), said(foreign), told(result("x", "functions.Read:0")))
    assert history[1]["content"][0]["id"] == history[2]["content"][0]["tool_use_id"] == plain_name("functions.Read:0")
    assert history[1]["content"][0]["name"].startswith("a_tool__")


def test_no_two_names_or_ids_become_one() -> None:
    names = [
        "",
        "a b",
        "a.b",
        "a:b",
        "a_b",
        "_",
        "é",
        "ö",
        "x" * 128,
        "x" * 129,
        "x" * 130,
        "\ud800",
        "a b" * 60,
        "a.b" * 60,
    ]
    plain = [plain_name(name) for name in names]
    assert len(set(plain)) == len(names)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", name) for name in plain)
    assert [plain_name(name) for name in plain] == plain
    assert plain_name("toolu_01A-b") == "toolu_01A-b"


def test_text_that_no_file_can_hold_is_mended_on_the_way_out() -> None:
    lone = "x\ud83d"
    body = AnthropicEncoder().encode(
        ask(told(TextBlock(lone), result(lone)), said(TextBlock(lone)), system=lone),
        Deployment("a", "claude-x"),
        ANTHROPIC,
    )
    assert body.count("x\ufffd".encode()) == 4


# -- the memory of the encoder --------------------------------------------------------------------------------------


def test_a_conversation_that_grows_is_encoded_as_if_for_the_first_time() -> None:
    encoder, deployment = AnthropicEncoder(), Deployment("anthropic", "claude-x")
    history: list[Message] = []
    for turn in range(5):
        history += [told(TextBlock(f"q{turn}")), said(TextBlock(f"a{turn}"))]
        request = ask(*history, told(TextBlock("last")))
        assert encoder.encode(request, deployment, ANTHROPIC) == AnthropicEncoder().encode(
            request, deployment, ANTHROPIC
        )
    shorter = ask(*history[:3])
    assert encoder.encode(shorter, deployment, ANTHROPIC) == AnthropicEncoder().encode(shorter, deployment, ANTHROPIC)


def test_messages_are_told_apart_by_what_they_are_not_by_where_they_lay() -> None:
    encoder, deployment = AnthropicEncoder(), Deployment("anthropic", "claude-x")
    for number in range(200):  # each message may be made where the last one was
        body = encoder.encode(ask(told(TextBlock(f"q{number}"))), deployment, PLAIN)
        assert json.loads(body)["messages"][0]["content"][0]["text"] == f"q{number}"


def test_earlier_messages_are_not_encoded_again() -> None:
    # 200 turns of ten blocks: what a turn costs must not grow with encoding what was encoded before
    encoder, deployment = AnthropicEncoder(), Deployment("anthropic", "claude-x")
    turn = [TextBlock("some words\n" * 20)] * 10
    history: list[Message] = [kind(*turn) for _ in range(200) for kind in (told, said)]
    encoder.encode(ask(*history), deployment, PLAIN)
    start = time.process_time()
    for _ in range(5):
        encoder.encode(ask(*history), deployment, PLAIN)
    again = time.process_time() - start
    start = time.process_time()
    for _ in range(5):
        AnthropicEncoder().encode(ask(*history), deployment, PLAIN)
    afresh = time.process_time() - start
    assert again < afresh / 3


def test_the_references_nudges_stand_apart_the_earlier_ones_in_short_form() -> None:
    # recorded: group fallback, case stream-error-after-bad-call
    nudge = UserMessage((TextBlock("(no content)"),), nudge=True)
    history = (told(TextBlock("record it")), nudge, said(TextBlock("x")), nudge)
    compat = messages(*history, profile=Profile.COMPAT)
    assert [message["content"] for message in compat] == [
        [{"type": "text", "text": "record it"}],
        "(no content)",
        [{"type": "text", "text": "x"}],
        [{"type": "text", "text": "(no content)"}],
    ]
    assert [len(message["content"]) for message in messages(*history)] == [2, 1, 1]


# -- conversations that begin alike ---------------------------------------------------------------------------------


def marks(body: dict[str, Any]) -> list[str]:
    """Where marks stand: in the system prompt, a tool, or behind which text."""
    found = ["system"] if isinstance(body.get("system"), list) else []
    found += [tool["name"] for tool in body.get("tools", []) if "cache_control" in tool]
    blocks = [block for message in body["messages"] for block in message["content"]]
    return found + [block.get("text", block["type"]) for block in blocks if "cache_control" in block]


def shared(*blocks: Any, system: str = "", history: tuple[Message, ...] = ()) -> list[str]:
    request = ask(told(*blocks), *history, system=system, tools=(READ, FINISH))
    return marks(encode(request, dialect=ANTHROPIC, shares_prefix=True))


def test_what_conversations_share_is_marked_and_what_is_their_own_is_not() -> None:
    beginning, rest = TextBlock("Label this: é"), TextBlock("row 1")
    assert shared(beginning, rest, system="be brief") == ["system", "Label this: é"]
    assert shared(beginning, rest) == [FINISH.name, "Label this: é"]
    assert shared(rest) == [FINISH.name]
    assert shared(OpaqueBlock("image", {"type": "image"}), rest, system="s") == ["system"]


def test_the_bytes_beside_the_mark_are_the_same() -> None:
    request = ask(told(TextBlock('a "b"'), TextBlock("c")))
    plain = encode(request)["messages"]
    plain[0]["content"][0]["cache_control"] = MARK
    assert encode(request, dialect=ANTHROPIC, shares_prefix=True)["messages"] == plain


def test_a_conversation_that_goes_on_is_marked_at_its_end_like_any_other() -> None:
    more = (said(TextBlock("x")), told(TextBlock("again")))
    assert shared(TextBlock("a"), TextBlock("b"), history=more) == ["again"]
