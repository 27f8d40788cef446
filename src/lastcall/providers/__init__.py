"""Transports: the only rooms that talk to a model.

A provider turns one `ModelRequest` into a stream of events. It retries its transport, follows its fallback chain and
learns what its deployment refuses; it decides nothing about the run. It never raises for what the service did: that is
the event `RequestFailed`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from msgspec import Struct

from lastcall.core.events import ProviderEvent
from lastcall.nouns.request import ModelRequest
from lastcall.wire.dialect import Dialect


class Deployment(Struct, frozen=True):
    """One model at one address, and how it is asked.

    `max_tokens` bounds a reply's output, `thinking_tokens` is the extended thinking's budget (`None`: the provider's own
    default, `0`: off), `temperature` `None` leaves it to the service. `idle_timeout_s` bounds the silence in a stream,
    `connect_timeout_s` the time to connect, `max_retries` the transport's retries of one request. `thinking_display` is
    the Messages API's word for how thinking is shown (`omitted`), sent only if set. `shares_prefix`: many conversations
    with it begin alike and mostly end with their first reply, so that only the beginning is worth caching. `batched`:
    its replies come from the service's batch API, at the price of that.
    """

    provider: str
    model: str
    base_url: str = ""
    max_tokens: int = 32_000
    thinking_tokens: int | None = None
    temperature: float | None = None
    seed: int | None = None
    connect_timeout_s: float = 10.0
    idle_timeout_s: float = 300.0
    max_retries: int = 10
    effort: str | None = None
    thinking_display: str | None = None
    shares_prefix: bool = False
    batched: bool = False


class Provider(Protocol):
    """What the runtime needs of a model service."""

    @property
    def deployment(self) -> Deployment:
        """The model that answers now (a fallback chain changes it)."""
        ...

    @property
    def dialect(self) -> Dialect:
        """What it accepts, as far as is known now."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        """The reply, event by event; the last one is `ReplyEnded` or `RequestFailed`.

        Closing the iterator cancels the request. Raises nothing for what the service did.
        """
        ...

    async def aclose(self) -> None:
        """Let go of connections and processes. Safe to call twice."""
        ...
