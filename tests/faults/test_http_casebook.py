"""Failures that practitioners reported, as far as they concern the wire and the transports, over real sockets.

The cases are data (`tests/data/casebook_wire.jsonl`); a judge of a few lines stands in for the machine: it takes the first
whole, unambiguous object that is the expected one, answers every other call and asks again.
"""

from __future__ import annotations

import base64
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest

from lastcall.core.events import BlockEnded, ProviderEvent, ReplyEnded, RequestFailed
from lastcall.nouns.messages import AssistantMessage, Message, TextBlock, UserMessage
from lastcall.nouns.result import FailureKind, Usage
from lastcall.nouns.tools import Arguments, ResultKind, ToolCall, ToolResult, Unreadable, UnreadableCause, define
from lastcall.providers import Deployment
from lastcall.providers.anthropic import messages_service
from lastcall.providers.http import HttpProvider
from lastcall.providers.openai import completions_service
from lastcall.wire.dialect import ANTHROPIC, OPENAI
from raw_server import RawServer, Reply, response, stream
from wire_tools import TestClock, ask, solid

MOST_TURNS = 6


def grow(value: Any) -> Any:
    """The case with its generated strings written out."""
    if isinstance(value, list):
        return [grow(item) for item in value]
    if not isinstance(value, dict):
        return value
    match value.get("$gen"):
        case "concat":
            return "".join(grow(part) for part in value["parts"])
        case "nest_array_text":
            return "[" * value["depth"] + "]" * value["depth"]
        case "repeat":
            return value["text"] * value["times"]
        case _:
            return {key: grow(member) for key, member in value.items()}


LINES = (Path(__file__).parents[1] / "data" / "casebook_wire.jsonl").read_text(encoding="utf-8").split("\n")
CASES = {case["id"]: case for case in (grow(json.loads(line)) for line in LINES if line)}
RUNS = [
    (f"{name}-{number}", case, {**case["input"], **variant})
    for name, case in CASES.items()
    for number, variant in enumerate(case["input"].get("variants", [{}]))
]


def served(entry: dict[str, Any]) -> Reply:
    if "http" in entry:
        headers = {
            key.replace("-", "_"): value for key, value in entry["http"]["headers"].items() if key != "content-type"
        }
        kind = entry["http"]["headers"].get("content-type", "application/json")
        return response(entry["http"]["status"], entry["http"]["body"].encode(), kind, **headers)
    if "sse" in entry:
        return stream(entry["sse"].encode(), close=False)
    if "sse_chunks" in entry:
        return stream(*(chunk.encode() for chunk in entry["sse_chunks"]), close=False)
    if "sse_chunks_b64" in entry:
        return stream(*(base64.b64decode(chunk) for chunk in entry["sse_chunks_b64"]), close=False)
    if "content" in entry:
        return response(
            200, json.dumps({"id": "msg_a1", "type": "message", "role": "assistant", "model": "m", **entry}).encode()
        )
    return response(200, json.dumps({"id": "chatcmpl-a1", "object": "chat.completion", "model": "m", **entry}).encode())


class Run:
    """What a case came to."""

    def __init__(self) -> None:
        self.told: list[ProviderEvent] = []
        self.calls: list[ToolCall] = []
        self.taken: Any = None
        self.bodies: list[Any] = []
        self.usages: list[Usage] = []


def parsed(text: str) -> Any:
    return json.loads(text, parse_float=Decimal)


async def play(case: dict[str, Any], given: dict[str, Any]) -> Run:
    run = Run()
    entries = given["model_replies"]
    async with RawServer(*map(served, entries)) as server:
        base = server.base_url + ("/v1?key=SECRET-URL-77aa" if "base_url" in given else "")
        key = given.get("api_key", "k")
        tokens = given.get("max_output_tokens", 0 if given["wire"] == "openai" else 32_000)
        deployment = Deployment(given["wire"], "claude-x", base, max_tokens=tokens, idle_timeout_s=5.0, max_retries=4)
        service = (
            messages_service(base, api_key=key)
            if given["wire"] == "anthropic"
            else completions_service(base, api_key=key)
        )
        dialect = ANTHROPIC if given["wire"] == "anthropic" else OPENAI
        provider = HttpProvider(deployment, dialect, service, clock=TestClock())
        strict = given["schema"] if given.get("strict") else None
        tool = define("StructuredOutput", "d", given["schema"], strict_schema=strict, finishing=True)
        history: list[Message] = [UserMessage((TextBlock("record it"),))]
        expected = case["check"].get("output", object())
        while len(run.usages) < MOST_TURNS:
            told = solid([event async for event in provider.stream(ask(*history, tools=(tool,)))])
            run.told += told
            if not isinstance(told[-1], ReplyEnded) or told[-1].stop_reason == "refusal":
                break
            run.usages.append(told[-1].usage)
            blocks = [e.block for e in told if isinstance(e, BlockEnded) and e.message_id == told[-1].message_id]
            calls = [block for block in blocks if isinstance(block, ToolCall)]
            run.calls += calls
            whole = [c for c in calls if isinstance(c.arguments, Arguments) and not c.arguments.duplicates]
            right = [c for c in whole if parsed(c.arguments.text) == expected]  # type: ignore[union-attr]
            if right and told[-1].stop_reason != "max_tokens":
                run.taken = right[-1]
                break
            answers = tuple(ToolResult(c.call_id, ResultKind.REJECTED, "no", is_error=True) for c in calls)
            go_on = () if answers or told[-1].stop_reason == "pause_turn" else (TextBlock("Call the tool."),)
            history.append(AssistantMessage(told[-1].message_id, tuple(blocks)))
            if answers or go_on:
                history.append(UserMessage((*answers, *go_on)))
            if len(server.requests) >= len(entries) and not given.get("repeat_last"):
                break
        run.bodies = server.bodies
        await provider.aclose()
    return run


def played(name: str, number: int = 0) -> Run:
    case = CASES[name]
    variant = case["input"].get("variants", [{}])[number]
    return anyio.run(play, case, {**case["input"], **variant})


def history_calls(run: Run) -> list[tuple[str, Any]]:
    """Ids and arguments of all calls that were sent back."""
    found: list[tuple[str, Any]] = []
    for body in run.bodies:
        for message in body["messages"]:
            found += [
                (call["id"], json.loads(call["function"]["arguments"])) for call in message.get("tool_calls") or []
            ]
            content = message["content"] if isinstance(message["content"], list) else []
            found += [(block["id"], block["input"]) for block in content if block["type"] == "tool_use"]
    return found


@pytest.mark.parametrize(("case", "given"), [run[1:] for run in RUNS], ids=[run[0] for run in RUNS])
def test_the_case_comes_out_as_expected(case: dict[str, Any], given: dict[str, Any]) -> None:
    run = anyio.run(play, case, given)
    check = case["check"]
    if check["outcome"].startswith("output") and "output" in check:
        assert run.taken is not None
    if "requests" in check:
        assert len(run.bodies) == check["requests"]
    assert len(run.bodies) <= check.get("requests_max", MOST_TURNS)
    assert len(run.bodies) in check.get("requests_any", [len(run.bodies)])
    assert all(call_id and isinstance(arguments, dict) for call_id, arguments in history_calls(run))
    assert not any(secret in repr(run.told) for secret in check.get("nowhere", []))


@pytest.mark.parametrize(
    ("name", "causes"),
    [
        ("length-relabelled-as-tool-calls", [UnreadableCause.TRUNCATED]),
        ("fenced-arguments-string", [UnreadableCause.FENCED]),
        ("args-raw-quotes-then-correct", [UnreadableCause.UNESCAPED_QUOTE]),
        ("argument-nesting-bomb", [UnreadableCause.TOO_DEEP]),
        ("parse-failure-must-not-become-empty-object", [UnreadableCause.TRUNCATED]),
        ("cumulative-argument-snapshots", []),
        ("line-separator-inside-data", []),
    ],
)
def test_what_cannot_be_read_is_told_as_such(name: str, causes: list[UnreadableCause]) -> None:
    calls = [call.arguments for call in played(name).calls]
    assert [arguments.cause for arguments in calls if isinstance(arguments, Unreadable)] == causes


def test_a_repeated_key_is_noted_so_that_it_can_be_refused() -> None:
    first = played("conflicting-duplicate-verdict").calls[0].arguments
    assert isinstance(first, Arguments)
    assert first.duplicates == ("/verdict",)


def test_a_cut_off_reply_says_so_whatever_its_server_calls_it() -> None:
    for name in ("length-relabelled-as-tool-calls", "max-tokens-cut-still-validates"):
        first = next(event for event in played(name).told if isinstance(event, ReplyEnded))
        assert first.stop_reason == "max_tokens"


def test_a_refusal_keeps_its_category_and_a_pause_its_blocks() -> None:
    refused = played("refusal-with-empty-content").told[-1]
    assert isinstance(refused, ReplyEnded)
    assert (refused.stop_reason, dict(refused.stop_details or {})) == (
        "refusal",
        {"type": "refusal", "category": "bio"},
    )
    paused = played("pause-turn-continues")
    sent_back = paused.bodies[1]["messages"][-1]
    assert (sent_back["role"], sent_back["content"]) == (
        "assistant",
        CASES["pause-turn-continues"]["input"]["model_replies"][0]["content"],
    )


def test_usage_is_what_was_told_and_nothing_else() -> None:
    assert played("no-done-marker-and-empty-choices").usages == [Usage(9, 7)]
    for number in range(3):
        assert played("usage-absent-or-null", number).usages == [Usage()]


def test_digits_survive_to_the_history() -> None:
    run = played("nineteen-digit-identifier")
    assert run.calls[0].arguments == Arguments('{"row_id":7305118826640930017}')


def test_a_made_id_is_the_same_in_the_call_and_in_its_answer() -> None:
    for number in range(3):
        run = played("tool-call-without-id", number)
        sent = run.bodies[1]["messages"]
        assert sent[-2]["tool_calls"][0]["id"] == sent[-1]["tool_call_id"] != ""
        assert run.calls[0].made_id


def test_a_lone_half_of_a_pair_breaks_nothing_on_its_way_back() -> None:
    run = played("lone-surrogate-escape")
    assert history_calls(run)[0][1]["note"] == "done \ufffd"


def test_a_request_that_is_too_long_is_not_sent_again() -> None:
    run = played("request-too-long-after-retries")
    assert isinstance(run.told[-1], RequestFailed)
    assert run.told[-1].failure.kind is FailureKind.TOO_LONG
    assert len(run.bodies) == 2
