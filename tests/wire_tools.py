"""Requests, streams and providers, as the tests of the wire and of the transports build them."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import anyio

from lastcall.core.events import Progress, ProviderEvent
from lastcall.nouns.messages import Message, TextBlock, UserMessage
from lastcall.nouns.request import Choice, ModelRequest
from lastcall.nouns.tools import ToolDefinition, define
from lastcall.providers.clock import Clock
from lastcall.wire.reply import Heard, Hearing, ReplyDecoder
from lastcall.wire.sse import SseDecoder, SseEvent

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"verdict": {"enum": ["pass", "fail"]}, "note": {"type": "string"}},
    "required": ["verdict"],
}
FINISH = define("StructuredOutput", "Return the result.", SCHEMA, finishing=True)
DECLINE = define("DeclineOutput", "Say that it cannot be done.", {"type": "object"}, finishing=True)
READ = define("Read", "Reads a file.", {"type": "object"}, read_only=True)


class TestClock(Clock):
    """Time that passes only by waiting, chance that never strikes, names that count."""

    __test__ = False

    def __init__(self, now: float = 1_772_366_400.0) -> None:  # 2026-03-01T12:00:00Z
        self.at = now
        self.waits: list[float] = []
        self._names = itertools.count(1)

    def now(self) -> float:
        return self.at

    def ticks(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.at += seconds
        await anyio.lowlevel.checkpoint()

    def chance(self) -> float:
        return 0.0

    def mint(self) -> str:
        return f"made{next(self._names)}"


def counting_mint() -> Callable[[], str]:
    names = itertools.count(1)
    return lambda: f"made{next(names)}"


def hearing(**choices: Any) -> Hearing:
    return Hearing(**{"request": 1, "model": "m", "mint": counting_mint(), **choices})


def ask(
    *messages: Message,
    tools: tuple[ToolDefinition, ...] = (FINISH,),
    choice: Choice = Choice.AUTO,
    system: str = "",
    **choices: Any,
) -> ModelRequest:
    return ModelRequest(1, system, messages or (UserMessage((TextBlock("record it"),)),), tools, choice, **choices)


def sse(*events: dict[str, Any]) -> bytes:
    """Events of the Messages API as bytes."""
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


def chunks_sse(*chunks: dict[str, Any], done: bool = True) -> bytes:
    """Chunks of Chat Completions as bytes."""
    body = b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks)
    return body + (b"data: [DONE]\n\n" if done else b"")


def hear(decoder: ReplyDecoder, data: bytes | Iterable[bytes]) -> list[Heard]:
    """Everything a decoder hears in a stream."""
    stream = SseDecoder()
    heard: list[Heard] = []
    for chunk in [data] if isinstance(data, bytes) else data:
        for event in stream.feed(chunk):
            heard += decoder.feed(event)
    return heard + decoder.finish(stream.finish())


def solid(heard: Iterable[Heard | ProviderEvent]) -> list[Any]:
    """Without progress."""
    return [event for event in heard if not isinstance(event, Progress)]


def event_of(data: dict[str, Any] | bytes, name: str = "") -> SseEvent:
    return SseEvent(name, data if isinstance(data, bytes) else json.dumps(data).encode())


def collect(stream: Callable[[], AsyncIterator[ProviderEvent]]) -> list[ProviderEvent]:
    """All events of a provider's stream."""

    async def run() -> list[ProviderEvent]:
        return [event async for event in stream()]

    return anyio.run(run)
