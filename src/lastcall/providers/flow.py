"""When a request may be sent, where many conversations share one service.

A transport asks its flow before each sending and tells it when the service refused because of load. What follows from
that (fewer at once, a pause for all) is the business of whoever runs many conversations (`batches.pacing`).

Must not go in here: retries of one request (`providers.retries`).
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol

from lastcall.nouns.result import FailureKind

REFUSALS_BY_LOAD: Final = frozenset({FailureKind.RATE_LIMIT, FailureKind.OVERLOADED})
"""What a service says when it has too much to do (429, 529), whoever asks."""


class Sending(Protocol):
    """One request on its way."""

    def refused(self, wait_s: float | None) -> None:
        """The service refused it because of load, and asks to wait so many seconds (`None`: it did not say)."""
        ...


class Flow(Protocol):
    """What all requests to one service pass."""

    def sending(self) -> AbstractAsyncContextManager[Sending]:
        """Waits until one more request may be sent; leaving the block is its end."""
        ...


class _Free:
    """A request that nobody else is waiting for. It has no state, so that all of them are one."""

    async def __aenter__(self) -> Sending:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    def refused(self, wait_s: float | None) -> None:
        """Nothing follows from it."""


class FreeFlow:
    """Every request goes at once: for a conversation alone."""

    def sending(self) -> AbstractAsyncContextManager[Sending]:
        """At once."""
        return _FREE


_FREE: Final = _Free()
FREE: Final = FreeFlow()
