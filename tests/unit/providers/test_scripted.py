"""Scripts as models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conformance.record import build
from conformance.scripted_api import ScriptedAPI
from lastcall.core.events import BlockEnded, ProviderEvent, ReplyEnded, ReplyStarted, RequestFailed, Retrying
from lastcall.errors import BadConfig
from lastcall.nouns.messages import OpaqueBlock, TextBlock, ThinkingBlock
from lastcall.nouns.profile import Profile
from lastcall.nouns.result import FailureKind, Usage
from lastcall.nouns.tools import Arguments, ToolCall
from lastcall.providers import Deployment
from lastcall.providers.anthropic import messages_service
from lastcall.providers.http import HttpProvider
from lastcall.providers.scripted import Script, ScriptedProvider, load_script, scripted_provider
from lastcall.providers.service import Settings
from lastcall.wire.dialect import SCRIPTED
from wire_tools import TestClock, ask, collect, solid


def played(script: Script, requests: int = 1, **choices: Any) -> tuple[list[list[ProviderEvent]], ScriptedProvider]:
    subject = scripted_provider(script, **{"clock": TestClock(), **choices})
    return [solid(collect(lambda: subject.stream(ask()))) for _ in range(requests)], subject


def blocks(script: Script, requests: int = 1) -> list[Any]:
    told, _ = played(script, requests)
    return [event.block for events in told for event in events if isinstance(event, BlockEnded)]


def test_short_forms_are_texts_and_calls() -> None:
    first, second, third, fourth = blocks(
        ["hello", {"object": {"verdict": "pass"}}, {"calls": [{"name": "Read", "input": {}, "id": "x"}, {"name": "f", "raw": "{"}]}], 3
    )  # fmt: skip
    assert first == TextBlock("hello")
    assert (second.name, second.call_id, second.arguments) == (
        "StructuredOutput",
        "toolu_1",
        Arguments('{"verdict": "pass"}'),
    )
    assert (third.name, third.call_id) == ("Read", "x")
    assert (fourth.name, fourth.arguments.text) == ("f", "{")
    (call,) = blocks([{"call": {"name": "Read", "input": {"p": 1}}, "stop_reason": "max_tokens"}])
    assert call.name == "Read"


def test_the_last_reply_repeats_and_models_have_their_own_lists() -> None:
    assert blocks(["a", "b"], 4) == [TextBlock("a"), TextBlock("b"), TextBlock("b"), TextBlock("b")]
    script = {"haiku": ["small"], "*": ["any"]}
    by_name = {}
    for model in ("claude-haiku", "scripted"):
        told, _ = played(script, model=model)
        by_name[model] = [event.block for event in told[0] if isinstance(event, BlockEnded)]
    assert by_name == {"claude-haiku": [TextBlock("small")], "scripted": [TextBlock("any")]}
    (told,), _ = played({"haiku": ["small"]})
    assert isinstance(told[-1], RequestFailed)
    assert told[-1].failure.kind is FailureKind.NOT_FOUND


def test_a_function_sees_the_request_and_gives_the_reply() -> None:
    def answer(asked: Mapping[str, Any]) -> str:
        return f"{asked['messages'][0]['content'][0]['text']} with {len(asked['tools'])} tool"

    assert blocks(answer) == [TextBlock("record it with 1 tool")]


def test_what_was_asked_can_be_looked_at() -> None:
    _, subject = played(["a"], 2)
    assert [request["model"] for request in subject.requests] == ["scripted", "scripted"]
    assert subject.deployment.provider == "scripted"


def test_all_kinds_of_blocks_go_over_the_wire() -> None:
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "So é🚀"},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
    ]
    expected = [
        ThinkingBlock("hm", "s"),
        OpaqueBlock("redacted_thinking", {"type": "redacted_thinking", "data": "x"}),
        TextBlock("So é🚀"),
        ("f", '{"a": 1}'),
    ]
    told = blocks([{"content": content, "chunk": 1}])
    assert [(b.name, b.arguments.text) if isinstance(b, ToolCall) else b for b in told] == expected


def test_reasons_usage_and_ids_are_the_scripts() -> None:
    reply = {
        "content": [], "id": "msg_x", "model": "other", "stop_reason": "refusal", "stop_sequence": "S",
        "stop_details": {"category": "bio"}, "usage": {"input_tokens": 7, "output_tokens": 8},
    }  # fmt: skip
    (told,), _ = played([reply])
    usage = Usage(7, 8, 0, 0)
    assert told[0] == ReplyStarted(1, "msg_x", "other", Usage(7, 1, 0, 0))  # type: ignore[arg-type]
    assert told[-1] == ReplyEnded(1, "msg_x", "refusal", usage, "S", {"category": "bio"})  # type: ignore[arg-type]


def test_failures_are_retried_without_waiting() -> None:
    (told,), subject = played(
        [{"status": 529, "error": {"type": "overloaded_error", "message": "x"}}, {"drop": True}, "a"]
    )
    assert [type(event) for event in told] == [Retrying, Retrying, ReplyStarted, BlockEnded, ReplyEnded]
    assert [e.failure.kind for e in told if isinstance(e, Retrying)] == [FailureKind.OVERLOADED, FailureKind.NETWORK]
    assert len(subject.requests) == 3
    (told,), subject = played(
        [{"status": 500, "body": "<html>", "headers": {"Content-Type": "text/html"}}], max_retries=1
    )
    assert isinstance(told[-1], RequestFailed)
    assert "text/html" in told[-1].failure.detail
    assert len(subject.requests) == 2


@pytest.mark.parametrize(
    "fault",
    [
        {"cut": {"after_blocks": 1, "mid": True}}, {"cut": {"after_bytes": 700}}, {"cut": {"after_blocks": 0, "reset": True}},
        {"error_event": {"after_blocks": 0, "error": {"type": "overloaded_error", "message": "x"}}},
        {"error_event": {"after_blocks": 1, "mid": True, "error": {"type": "api_error", "message": "x"}}},
        {"omit": ["message_start"]}, {"sse_raw": ""}, {"sse_raw": "<html>"}, {"json_raw": "x", "sse_raw": ""},
    ],
)  # fmt: skip
def test_broken_replies_are_broken(fault: dict[str, Any]) -> None:
    content = [
        {"type": "text", "text": "hello"},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"a": "x" * 200}},
    ]
    (told,), subject = played([{"content": content, **fault}, "good"])
    assert len(subject.requests) >= 2
    given = [event.block for event in told if isinstance(event, BlockEnded)]
    assert given[-1] == TextBlock("good")
    assert all(isinstance(block, TextBlock) for block in given)


def test_scripts_wait_where_they_say_so() -> None:
    reply = {
        "content": [{"type": "text", "text": "a"}],
        "delay_ms": 1, "block_delay_ms": 1, "end_delay_ms": 1, "stall": {"after_blocks": 0, "ms": 1},
    }  # fmt: skip
    assert blocks([reply]) == [TextBlock("a")]


def test_built_strings_are_written_out() -> None:
    built = {
        "$concat": [{"$repeat": ["ab", 2]}, {"$nest": ["[", 2, "x", "]"]}, {"$json": {"k": {"$repeat": ["z", 2]}}}, "!"]
    }
    assert blocks([{"content": [{"type": "text", "text": built}]}]) == [TextBlock('abab[[x]]{"k": "zz"}!')]


def test_a_request_without_streaming_gets_the_whole_message() -> None:
    raw = {
        "content": [
            {"type": "tool_use", "id": "t", "name": "f", "raw": '{"a":'},
            {"type": "tool_use", "id": "u", "name": "f", "raw": '{"a":1}'},
        ]
    }
    (told,), subject = played([{"sse_raw": ""}, raw])
    assert [event.block.arguments for event in told if isinstance(event, BlockEnded)] == [  # type: ignore[union-attr]
        Arguments("{}"), Arguments('{"a": 1}')
    ]  # fmt: skip
    assert [request.get("stream") for request in subject.requests] == [True, None]


# -- the same as over HTTP --------------------------------------------------------------------------------------------

CASES = Path(__file__).parents[2] / "conformance" / "cases"
FEW = ["http/cut-after-text", "http/no-block-stop", "http/500-then-good", "stop-reason/server-tool-use", "unicode/lone-surrogate",
       "input/trailing-text", "large/array-20000", "stop-reason/thinking-then-text", "retraction/no-category"]  # fmt: skip


@pytest.mark.parametrize("name", FEW)
def test_a_script_gives_the_events_that_the_scripted_endpoint_gives(name: str) -> None:
    replies = json.loads((CASES / f"{name}.json").read_text())["model_replies"]

    settings = Settings(profile=Profile.COMPAT)
    script = scripted_provider(replies, settings=settings, clock=TestClock())
    ours = collect(lambda: script.stream(ask()))
    with ScriptedAPI(build(replies)) as api:
        deployment = Deployment("anthropic", "scripted", api.base_url)
        over_http = HttpProvider(
            deployment, SCRIPTED, messages_service(api.base_url), settings=settings, clock=TestClock()
        )
        theirs = collect(lambda: over_http.stream(ask()))
    assert ours == theirs


# -- files ------------------------------------------------------------------------------------------------------------


def test_a_script_comes_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text('["a", {"object": 1}]')
    assert blocks(load_script(file))[0] == TextBlock("a")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read"),
        ("{", "no JSON"),
        ("3", "list of replies"),
        ("{}", "list of replies"),
        ('{"*": 1}', "list of replies"),
        ("[1]", "neither a string nor an object"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_what_is_no_script_is_refused_by_name(tmp_path: Path, content: str | None, message: str) -> None:
    file = tmp_path / "script.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(BadConfig, match=message) as caught:
        load_script(file)
    assert str(file) in str(caught.value)
