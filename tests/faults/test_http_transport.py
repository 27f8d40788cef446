"""The transports against servers that behave badly, over real sockets."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from lastcall.core.events import (
    BlockEnded,
    ChannelChanged,
    Progress,
    ProviderEvent,
    ReplyEnded,
    ReplyStarted,
    RequestFailed,
    Retrying,
)
from lastcall.nouns.ids import MessageId
from lastcall.nouns.request import Choice, ModelRequest
from lastcall.nouns.result import Failed, FailureKind, Usage
from lastcall.nouns.tools import Arguments, ToolCall, define
from lastcall.providers import Deployment
from lastcall.providers.anthropic import messages_service
from lastcall.providers.clock import Clock
from lastcall.providers.http import HttpProvider
from lastcall.providers.openai import completions_service
from lastcall.providers.service import Settings
from lastcall.wire.dialect import ANTHROPIC, OPENAI
from lastcall.wire.sse import SseLimits
from raw_server import HOLD, RESET, RawServer, response, stream
from wire_tools import SCHEMA, TestClock, ask, chunks_sse, sse

PASS = '{"verdict":"pass","note":"all green"}'
START = sse(
    {
        "type": "message_start",
        "message": {"id": "msg_a1", "model": "m", "usage": {"input_tokens": 120, "output_tokens": 1}},
    }
)
OPEN = sse(
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "tool_use", "id": "toolu_a1", "name": "StructuredOutput", "input": {}},
    }
)
GROW = sse({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": PASS}})
HALF = sse(
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "input_json_delta", "partial_json": '{"verdict":"pass"'},
    }
)
CLOSE = sse({"type": "content_block_stop", "index": 0})
END = sse(
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 40}},
    {"type": "message_stop"},
)
ERROR = sse({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}})
GOOD = stream(START + OPEN + GROW + CLOSE + END)
MESSAGE = {
    "id": "msg_a1", "type": "message", "model": "m", "stop_reason": "tool_use", "usage": {"input_tokens": 120, "output_tokens": 40},
    "content": [{"type": "tool_use", "id": "toolu_a1", "name": "StructuredOutput", "input": {"verdict": "pass", "note": "all green"}}],
}  # fmt: skip
KEY = "SECRET-HDR-88bb"


def provider(
    server: RawServer, clock: Clock | None = None, settings: Settings | None = None, **choices: Any
) -> HttpProvider:
    deployment = Deployment(
        "anthropic", "claude-x", server.base_url, **{"idle_timeout_s": 5.0, "max_retries": 3, **choices}
    )
    service = messages_service(server.base_url, api_key=KEY)
    return HttpProvider(deployment, ANTHROPIC, service, settings=settings, clock=clock or TestClock())


async def everything(subject: HttpProvider, request: ModelRequest | None = None) -> list[ProviderEvent]:
    return [event async for event in subject.stream(request or ask()) if not isinstance(event, Progress)]


def with_server(*replies: Any) -> Callable[[Callable[[RawServer], Awaitable[None]]], None]:
    """Runs an asynchronous test body with a server."""

    def run(body: Callable[[RawServer], Awaitable[None]]) -> None:
        async def main() -> None:
            with anyio.fail_after(20):
                async with RawServer(*replies) as server:
                    await body(server)

        anyio.run(main)

    return run


def play(
    *replies: Any, request: ModelRequest | None = None, **choices: Any
) -> tuple[list[ProviderEvent], RawServer, TestClock]:
    """All events of one request to a server that gives these replies."""
    clock = TestClock()
    told: list[ProviderEvent] = []
    servers: list[RawServer] = []

    @with_server(*replies)
    async def body(server: RawServer) -> None:
        servers.append(server)
        subject = provider(server, choices.pop("clock", clock), **choices)
        try:
            told.extend(await everything(subject, request))
        finally:
            await subject.aclose()

    return told, servers[0], clock


def output(told: list[ProviderEvent]) -> str:
    """The arguments of the one surviving call."""
    assert isinstance(told[-1], ReplyEnded)
    void = {message for event in told if isinstance(event, Retrying) for message in event.retracted}
    calls = [event.block for event in told if isinstance(event, BlockEnded) and event is told[-2]]
    assert void <= {"msg_a1"}
    (call,) = calls
    assert isinstance(call, ToolCall)
    assert isinstance(call.arguments, Arguments)
    return call.arguments.text


def failed(told: list[ProviderEvent]) -> Failed:
    assert isinstance(told[-1], RequestFailed)
    return told[-1].failure


# -- the usual, and connections -------------------------------------------------------------------------------------


def test_a_reply_comes_with_its_headers_sent_and_its_time_taken() -> None:
    told, server, clock = play(GOOD)
    assert output(told) == PASS
    ((path, headers, body),) = server.requests
    assert path == "/v1/messages"
    assert headers["x-api-key"] == KEY
    assert headers["anthropic-version"] == "2023-06-01"
    assert headers["content-type"] == "application/json"
    assert body["stream"] is True
    assert clock.waits == []


def test_a_connection_is_used_again_after_streams_and_bodies() -> None:
    @with_server(stream(START + OPEN + GROW + CLOSE + END, close=False), response(200, json.dumps(MESSAGE).encode()))
    async def _(server: RawServer) -> None:
        subject = provider(server)
        for _ in range(4):
            assert output(await everything(subject)) in (PASS, PASS.replace('":', '": ').replace(",", ", "))
        assert (len(server.requests), server.connections) == (4, 1)
        await subject.aclose()
        await subject.aclose()


def test_closing_the_iterator_lets_go_of_the_request() -> None:
    @with_server(stream(START + OPEN, HOLD), GOOD)
    async def _(server: RawServer) -> None:
        subject = provider(server)
        events = subject.stream(ask())
        assert isinstance(await anext(events), ReplyStarted)
        await events.aclose()  # type: ignore[attr-defined]
        assert output(await everything(subject)) == PASS
        await subject.aclose()


def test_cancelling_ends_a_request_that_waits() -> None:
    @with_server(stream(START, HOLD))
    async def _(server: RawServer) -> None:
        subject = provider(server)
        with anyio.move_on_after(0.2) as scope:
            await everything(subject)
        assert scope.cancelled_caught
        await subject.aclose()


def test_a_server_that_does_not_stream_is_understood() -> None:
    told, _, _ = play(response(200, json.dumps(MESSAGE).encode(), "application/json; charset=utf-8"))
    assert told[0] == ReplyStarted(1, MessageId("msg_a1"), "m", Usage(120, 40), "tool_use")
    assert json.loads(output(told)) == json.loads(PASS)


# -- streams that break (casebook: stream-disconnect, http-errors) ------------------------------------------------------


@pytest.mark.parametrize("how", [(), (RESET,)])
def test_a_stream_that_closes_inside_arguments_is_asked_for_again(how: tuple[str, ...]) -> None:
    told, server, clock = play(stream(START + OPEN + HALF, *how), GOOD)
    assert output(told) == PASS
    retry = told[1]
    assert isinstance(retry, Retrying)
    assert (retry.attempt, retry.max_retries, retry.failure.kind, retry.retracted, retry.from_model, retry.usage) == (
        1, 3, FailureKind.BROKEN_STREAM, ("msg_a1",), "claude-x", Usage(120, 1)
    )  # fmt: skip
    assert not any(isinstance(event, BlockEnded) for event in told[:2])
    assert server.bodies[0] == server.bodies[1]
    assert clock.waits == [0.5]


def test_a_closed_block_without_an_end_of_the_reply_is_asked_for_again() -> None:
    told, server, _ = play(stream(START + OPEN + GROW + CLOSE), GOOD)
    assert [type(event).__name__ for event in told] == [
        "ReplyStarted", "BlockEnded", "Retrying", "ReplyStarted", "BlockEnded", "ReplyEnded"
    ]  # fmt: skip
    assert told[2].retracted == ("msg_a1",)  # type: ignore[union-attr]
    assert len(server.requests) == 2


def test_an_overload_inside_a_stream_is_an_overload() -> None:
    told, _, clock = play(stream(START + ERROR), GOOD)
    assert output(told) == PASS
    assert told[1].failure == Failed(FailureKind.OVERLOADED, "busy", None, "overloaded_error")  # type: ignore[union-attr]
    assert clock.waits == [0.5]


def test_retries_have_an_end_and_their_waits_grow() -> None:
    told, server, clock = play(stream(START + OPEN), max_retries=9)
    assert failed(told).kind is FailureKind.BROKEN_STREAM
    assert told[-1].usage == Usage(120, 1)  # type: ignore[union-attr]
    assert len(server.requests) == 10
    assert clock.waits == [0.5, 1, 2, 4, 8, 16, 32, 32, 32]


def test_a_stream_that_never_ends_a_line_is_refused_by_its_budget() -> None:
    endless = stream(START + b"data: " + b"x" * 3000, b"x" * 3000)
    told, _, _ = play(endless, max_retries=0, settings=Settings(stream_limits=SseLimits(event_bytes=5000)))
    assert "larger than 5000 bytes" in failed(told).detail


def test_an_endless_stream_of_comments_is_refused_by_its_budget() -> None:
    told, _, _ = play(
        stream(*[b": ping\n\n" * 50] * 50),
        max_retries=0,
        settings=Settings(stream_limits=SseLimits(stream_bytes=10_000)),
    )
    assert "larger than 10000 bytes" in failed(told).detail


def test_an_argument_of_a_hundred_megabytes_is_refused_without_holding_it() -> None:
    piece = sse(
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": "x" * 1_000_000},
        }
    )
    told, _, _ = play(stream(START + OPEN, *[piece] * 100), max_retries=0)
    assert "larger than" in failed(told).detail


def test_silence_in_a_stream_is_given_up_after_the_idle_timeout() -> None:
    told, server, _ = play(stream(START + OPEN, HOLD), GOOD, idle_timeout_s=0.1)
    assert output(told) == PASS
    assert told[1].failure == Failed(FailureKind.TIMEOUT, "the service said nothing for 0.1 seconds")  # type: ignore[union-attr]
    assert len(server.requests) == 2


def test_an_answer_that_never_begins_is_given_up_after_the_idle_timeout() -> None:
    told, _, _ = play([HOLD], max_retries=0, idle_timeout_s=0.1)
    assert failed(told).kind is FailureKind.TIMEOUT


def test_keep_alives_alone_do_not_keep_a_stream_alive_for_ever() -> None:
    pings = [item for _ in range(40) for item in (b": keep-alive\n\n", sse({"type": "ping"}), 0.02)]
    told, _, _ = play(stream(START, *pings, HOLD), max_retries=0, idle_timeout_s=0.1, clock=Clock())
    assert failed(told).kind is FailureKind.TIMEOUT


def test_a_complete_reply_is_not_lost_with_its_connection() -> None:
    for how in ((), (RESET,)):
        told, server, _ = play(stream(START + OPEN + GROW + CLOSE + END.split(b"event: message_stop")[0], *how))
        assert output(told) == PASS
        assert len(server.requests) == 1


def test_a_complete_reply_does_not_wait_for_a_connection_that_stays_open() -> None:
    told, _, _ = play(stream(START + OPEN + GROW + CLOSE + END, HOLD), idle_timeout_s=60.0)
    assert output(told) == PASS
    told, _, _ = play(
        stream(START + OPEN + GROW + CLOSE + END.split(b"event: message_stop")[0], HOLD), idle_timeout_s=0.2
    )
    assert output(told) == PASS


# -- answers that are no replies ------------------------------------------------------------------------------------


def test_pages_of_proxies_are_transport_errors_told_with_status_and_type() -> None:
    # casebook: html-error-page-and-200-with-junk
    login = response(200, b"<html>login</html>", "text/html")
    told, server, _ = play(
        response(502, b"<html><body>Bad gateway</body></html>", "text/html"),
        login,
        response(200, json.dumps(MESSAGE).encode()),
    )
    assert json.loads(output(told)) == json.loads(PASS)
    assert told[0].failure.status == 502  # type: ignore[union-attr]
    assert told[1] == ChannelChanged(1, "stream", "the service answered 200 with text/html: <html>login</html>")
    assert [body.get("stream") for body in server.bodies] == [True, True, None]
    told, server, _ = play(login, max_retries=1)
    assert failed(told).detail == "the answer is no message: <html>login</html>"
    assert len(server.requests) == 3


def test_a_page_inside_an_event_stream_is_told_with_its_beginning() -> None:
    told, _, _ = play(stream(b"<html>proxy says no</html>", close=False), max_retries=0)
    assert "it begins with: <html>proxy says no</html>" in told[0].detail  # type: ignore[union-attr]


def test_waits_asked_for_by_the_service() -> None:
    # casebook: retry-after-as-date-and-as-nonsense; the test clock begins at 2026-03-01T12:00:00Z
    told, _, clock = play(
        response(429, b"{}", retry_after="Sun, 01 Mar 2026 12:00:03 GMT"),
        response(529, b"{}", retry_after="-5"),
        response(429, b"{}", retry_after="9999999999"),
        GOOD,
    )
    assert output(told) == PASS
    assert clock.waits == [3.0, 1.0, 120.0]
    assert [event.delay_ms for event in told if isinstance(event, Retrying)] == [3000, 1000, 120_000]


def test_waits_may_be_asked_for_in_milliseconds() -> None:
    told, _, clock = play(
        response(429, b"{}", retry_after_ms="1250", retry_after="9"),
        response(429, b"{}", retry_after_ms="x", retry_after="9"),
        GOOD,
    )
    assert output(told) == PASS
    assert clock.waits == [1.25, 9.0]


@pytest.mark.parametrize(
    ("status", "headers", "sent"),
    [
        (400, {}, 1), (401, {}, 1), (403, {}, 1), (404, {}, 1), (413, {}, 1), (422, {}, 1),
        (408, {}, 4), (409, {}, 4), (429, {}, 4), (500, {}, 4), (502, {}, 4), (529, {}, 4),
        (429, {"x_should_retry": "false"}, 1), (400, {"x_should_retry": "true"}, 4), (301, {"location": "/x"}, 1),
    ],
)  # fmt: skip
def test_what_cannot_get_better_is_not_asked_again(status: int, headers: dict[str, str], sent: int) -> None:
    told, server, _ = play(response(status, b'{"error":{"message":"no"}}', **headers))
    assert failed(told).status == status
    assert len(server.requests) == sent


def test_a_status_is_told_though_its_body_never_ends() -> None:
    told, _, _ = play([b"HTTP/1.1 400 X\r\ncontent-length: 100\r\n\r\n{", HOLD], idle_timeout_s=0.1)
    assert failed(told) == Failed(FailureKind.BAD_REQUEST, "the service answered 400 without a word", 400)


def test_an_endless_error_is_cut() -> None:
    told, _, _ = play([b"HTTP/1.1 400 X\r\n\r\n", *[b"x" * 100_000] * 20])
    assert failed(told).status == 400


@pytest.mark.parametrize(
    "reply",
    [[RESET], [b""], [b"HTTP/1.1 200 OK\r\n", RESET], [b"garbage\r\n\r\n"]],
    ids=["reset", "closed", "torn", "garbage"],
)
def test_an_answer_that_breaks_before_it_begins_is_a_network_failure(reply: Any) -> None:
    told, server, _ = play(reply, GOOD)
    assert output(told) == PASS
    assert told[0].failure.kind is FailureKind.NETWORK  # type: ignore[union-attr]
    assert len(server.requests) == 2


def test_damaged_compression_is_a_broken_reply() -> None:
    told, _, _ = play(
        [b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\n\r\nnot gzip"], max_retries=0
    )
    assert failed(told).kind is FailureKind.BROKEN_STREAM


def test_nobody_listening_is_a_network_failure_that_names_the_address() -> None:
    async def main() -> list[ProviderEvent]:
        deployment = Deployment("anthropic", "claude-x", "http://127.0.0.1:1", max_retries=2)
        service = messages_service("http://u:SECRET-PASS@127.0.0.1:1/v1?key=SECRET-URL-77aa", api_key=KEY)
        subject = HttpProvider(deployment, ANTHROPIC, service, clock=TestClock())
        return await everything(subject)

    told = anyio.run(main)
    assert [type(event) for event in told] == [Retrying, Retrying, RequestFailed]
    assert failed(told).kind is FailureKind.NETWORK
    assert "(http://127.0.0.1:1/v1/messages)" in failed(told).detail
    assert "SECRET" not in repr(told)


def test_an_address_or_a_header_that_cannot_be_sent_is_a_failure_too() -> None:
    for service in (
        messages_service("http://[::1%25x]:1"),
        messages_service("http://127.0.0.1:1", api_key="a\nb"),
        messages_service("http://127.0.0.1:1", api_key="é"),
    ):
        subject = HttpProvider(Deployment("anthropic", "x", max_retries=0), ANTHROPIC, service, clock=TestClock())
        told = anyio.run(everything, subject)
        assert failed(told).kind is FailureKind.NETWORK


# -- secrets ----------------------------------------------------------------------------------------------------------


def test_keys_are_nowhere_in_what_is_told() -> None:
    # casebook: key-in-url-and-header
    @with_server(
        response(404, json.dumps({"error": {"message": f"no model; you sent key {KEY} and SECRET-URL-77aa"}}).encode())
    )
    async def _(server: RawServer) -> None:
        url = f"{server.base_url}/v1?key=SECRET-URL-77aa"
        subject = HttpProvider(
            Deployment("anthropic", "claude-x", url), ANTHROPIC, messages_service(url, api_key=KEY), clock=TestClock()
        )
        told = await everything(subject)
        assert server.requests[0][0] == "/v1/messages?key=SECRET-URL-77aa"
        assert failed(told).detail == "no model; you sent key [redacted] and [redacted]"
        assert "SECRET" not in repr(told)
        await subject.aclose()


# -- features that are refused ----------------------------------------------------------------------------------------


def test_a_refused_feature_is_left_out_at_once_and_from_then_on() -> None:
    # the casebook's case of a strict grammar that is too large
    refusal = response(
        400,
        b'{"type":"error","error":{"type":"invalid_request_error","message":"grammar for strict tools exceeds the size limit"}}',
    )

    @with_server(refusal, GOOD)
    async def _(server: RawServer) -> None:
        strict = define("StructuredOutput", "d", SCHEMA, strict_schema={"type": "object"}, finishing=True)
        subject = provider(server)
        told = await everything(subject, ask(tools=(strict,)))
        assert told[0] == ChannelChanged(1, "strict", "grammar for strict tools exceeds the size limit")
        assert output(told) == PASS
        await everything(subject, ask(tools=(strict,)))
        assert ["strict" in body["tools"][0] for body in server.bodies] == [True, False, False]
        await subject.aclose()


def test_features_are_given_up_one_after_the_other_without_counting_as_retries() -> None:
    told, server, clock = play(
        response(400, b'{"error":{"message":"tool_choice is not supported"}}'),
        response(400, b'{"error":{"message":"thinking: unknown field"}}'),
        response(400, b'{"error":{"message":"cache_control: unknown field"}}'),
        GOOD,
        request=ask(choice=Choice.FINISH),
        max_retries=0,
    )
    assert output(told) == PASS
    dropped = [event.feature for event in told if isinstance(event, ChannelChanged)]
    assert dropped == ["forced_choice", "thinking", "cache_marks"]
    assert server.bodies[1]["tool_choice"] == {"type": "any"}
    assert len(server.requests) == 4
    assert set(clock.waits) <= {0.0}


def test_without_tools_there_is_nothing_to_ask_again() -> None:
    told, server, _ = play(response(400, b'{"error":{"message":"this model does not support tools"}}'))
    assert [type(event) for event in told] == [ChannelChanged, RequestFailed]
    assert told[0].feature == "tools"  # type: ignore[union-attr]
    assert len(server.requests) == 1


# -- Chat Completions -------------------------------------------------------------------------------------------------


def completions(server: RawServer, **choices: Any) -> HttpProvider:
    deployment = Deployment("openai", "m", server.base_url, **{"max_tokens": 0, "idle_timeout_s": 5.0, **choices})
    return HttpProvider(deployment, OPENAI, completions_service(server.base_url, api_key=KEY), clock=TestClock())


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"id": "c1", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


CALL = chunk(
    {"tool_calls": [{"index": 0, "id": "call_1", "function": {"name": "StructuredOutput", "arguments": PASS}}]}
)


def test_chat_completions_stream_and_whole() -> None:
    whole = {
        "id": "c1",
        "choices": [
            {"index": 0, "message": {"content": None, "tool_calls": CALL["choices"][0]["delta"]["tool_calls"]}}
        ],
    }

    @with_server(stream(chunks_sse(CALL, chunk({}, "tool_calls"))), response(200, json.dumps(whole).encode()))
    async def _(server: RawServer) -> None:
        subject = completions(server)
        for _ in range(2):
            assert output(await everything(subject)) == PASS
        path, headers, body = server.requests[0]
        assert path == "/v1/chat/completions"
        assert headers["authorization"] == f"Bearer {KEY}"
        assert body["stream_options"] == {"include_usage": True}
        await subject.aclose()


def test_chat_completions_cut_before_a_finish_reason_are_asked_for_again() -> None:
    @with_server(stream(chunks_sse(CALL, done=False)), stream(chunks_sse(CALL, chunk({}, "tool_calls"))))
    async def _(server: RawServer) -> None:
        subject = completions(server)
        told = await everything(subject)
        assert [type(event).__name__ for event in told] == [
            "ReplyStarted",
            "Retrying",
            "ReplyStarted",
            "BlockEnded",
            "ReplyEnded",
        ]
        await subject.aclose()


def test_stream_options_are_given_up_where_they_are_refused() -> None:
    @with_server(
        response(400, b'{"detail":"stream_options: extra fields not permitted"}'),
        stream(chunks_sse(CALL, chunk({}, "stop"))),
    )
    async def _(server: RawServer) -> None:
        subject = completions(server)
        told = await everything(subject)
        assert told[0].feature == "stream_usage"  # type: ignore[union-attr]
        assert ["stream_options" in body for body in server.bodies] == [True, False]
        await subject.aclose()
