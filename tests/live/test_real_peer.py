"""The engine's own server, driven through `openai:` and `anthropic:`: an HTTP peer that is none of our code."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal

from lastcall.core.events import BlockEnded, Progress, ProviderEvent, ReplyEnded, ReplyStarted, RequestFailed
from lastcall.nouns.messages import TextBlock
from lastcall.nouns.result import FailureKind
from lastcall.providers import Provider
from lastcall.providers.choose import ModelSettings, choose_provider
from lastcall.providers.local_process import EngineProcess, start_engine, wishes
from lastcall.wire.dialect import Feature
from local_tools import asks, solid

pytestmark = [pytest.mark.live, pytest.mark.slow]


def environment(kind: str, peer: EngineProcess) -> dict[str, str]:
    name = kind.upper()
    return {f"{name}_BASE_URL": peer.url, f"{name}_API_KEY": peer.key}


@pytest.fixture(params=["openai", "anthropic"])
def provider(request: pytest.FixtureRequest, peer: EngineProcess, portal: BlockingPortal) -> Iterator[Provider]:
    settings = ModelSettings(max_tokens=24, temperature=0.0, max_retries=2)  # the engine may close a kept connection
    made = choose_provider(f"{request.param}:small", environment(request.param, peer), settings)
    yield made
    portal.call(made.aclose)


def told(portal: BlockingPortal, provider: Provider, request: Any) -> list[ProviderEvent]:
    async def run() -> list[ProviderEvent]:
        return [event async for event in provider.stream(request)]

    return portal.call(run)


def text_of(events: list[ProviderEvent]) -> str:
    return "".join(e.block.text for e in events if isinstance(e, BlockEnded) and isinstance(e.block, TextBlock))


def test_a_streamed_reply_comes_with_text_progress_and_usage(portal: BlockingPortal, provider: Provider) -> None:
    events = told(portal, provider, asks("Count from one to five.", tools=()))
    assert text_of(events).strip()
    assert sum(isinstance(event, Progress) for event in events) > 5
    ended = events[-1]
    assert isinstance(ended, ReplyEnded)
    assert ended.stop_reason in {"max_tokens", "end_turn"}
    assert ended.usage.output_tokens
    assert ended.usage.input_tokens


def test_the_same_reply_comes_without_streaming(portal: BlockingPortal, provider: Provider) -> None:
    request = asks("Count from one to five.", tools=())
    streamed = told(portal, provider, request)
    provider._dialect = provider.dialect.without(Feature.STREAM)  # type: ignore[attr-defined]
    whole = told(portal, provider, request)
    assert text_of(whole) == text_of(streamed)
    assert [type(event) for event in solid(whole)] == [type(event) for event in solid(streamed)]


def test_a_reply_that_was_cut_off_says_so(portal: BlockingPortal, provider: Provider) -> None:
    ended = told(portal, provider, asks("Tell a very long story about the sea.", tools=()))[-1]
    assert isinstance(ended, ReplyEnded)
    assert ended.stop_reason == "max_tokens"


def test_a_cancelled_request_frees_the_server(portal: BlockingPortal, peer: EngineProcess) -> None:
    settings = ModelSettings(max_tokens=1_500, temperature=0.0, max_retries=0)

    async def run() -> float:
        provider = choose_provider("openai:small", environment("openai", peer), settings)
        for _ in range(3):  # more than the server has slots
            async with aclosing(provider.stream(asks("Tell a very long story about the sea.", tools=()))) as events:
                async for event in events:
                    if isinstance(event, Progress):
                        break
        began = time.monotonic()
        short = choose_provider("openai:small", environment("openai", peer), ModelSettings(max_tokens=2, max_retries=0))
        assert isinstance([event async for event in short.stream(asks("Hi", tools=()))][-1], ReplyEnded)
        for each in (provider, short):
            await each.aclose()
        return time.monotonic() - began

    assert portal.call(run) < 20


def test_a_wrong_key_is_refused_for_good(portal: BlockingPortal, peer: EngineProcess) -> None:
    provider = choose_provider(
        "openai:small", environment("openai", peer) | {"OPENAI_API_KEY": "wrong"}, ModelSettings(max_retries=0)
    )
    (failed,) = solid(told(portal, provider, asks("Hi", tools=())))
    portal.call(provider.aclose)
    assert isinstance(failed, RequestFailed)
    assert failed.failure.kind is FailureKind.AUTHENTICATION


def test_a_server_that_is_killed_in_the_middle_is_a_broken_reply(portal: BlockingPortal, small_weights: str) -> None:

    async def run() -> list[ProviderEvent]:
        victim = await start_engine(wishes(Path(small_weights), alias="small", context=2048, slots=1, threads=1))
        settings = ModelSettings(max_tokens=1_500, max_retries=0)
        provider = choose_provider("anthropic:small", environment("anthropic", victim), settings)
        events: list[ProviderEvent] = []
        async for event in provider.stream(asks("Tell a very long story about the sea.", tools=())):
            events.append(event)
            if sum(isinstance(one, Progress) for one in events) == 5:
                victim.kill()
        await provider.aclose()
        return events

    events = portal.call(run)
    assert any(isinstance(event, ReplyStarted) for event in events)
    assert isinstance(events[-1], RequestFailed)
    assert events[-1].failure.kind in {FailureKind.BROKEN_STREAM, FailureKind.NETWORK}
