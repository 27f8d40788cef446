"""One parked request, and the way that a row's requests go: into a round, and back with its answer.

Must not go in here: which round, what is submitted (`batches.provider_batch`).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType

import anyio

from lastcall.batches.provider_batch_ledger import Asked, Place
from lastcall.errors import ProviderError, Unreachable
from lastcall.wire.batches import LOST, BatchEntry, entry_that_failed


class Ask:
    """One parked request."""

    def __init__(self, asked: Asked, body: bytes) -> None:
        self.asked = asked
        self.body = body
        self.place: Place | None = None
        self.is_gone = False
        self.done = anyio.Event()
        self._answer: BatchEntry | ProviderError | None = None

    def settle(self, entry: BatchEntry) -> None:
        """There is an answer."""
        self._answer = entry
        self.done.set()

    def fail(self, error: ProviderError) -> None:
        """There will be none."""
        self._answer = error
        self.done.set()

    def answer(self) -> BatchEntry:
        """The answer. Raises `Unreachable`."""
        if isinstance(self._answer, ProviderError):
            raise Unreachable(self._answer.message)
        assert self._answer is not None
        return self._answer


def lost(ask: Ask) -> BatchEntry:
    """In place of an answer that the results do not have."""
    name = "" if ask.place is None else name_in(ask.place.round_id, ask.place.index)
    return entry_that_failed(name, LOST, "api_error", "the results of the batch say nothing of this request")


def name_in(round_id: str, index: int) -> str:
    """The name of a request in its batch."""
    return f"{round_id}-{index}"


class ParkedWay:
    """The way of one row's requests (`providers.service.Connection`): into a round, and back with its answer."""

    def __init__(self, ask: Callable[[bytes, set[Place]], Awaitable[BatchEntry]]) -> None:
        self._ask = ask
        self._used: set[Place] = set()

    @asynccontextmanager
    async def post(
        self,
        body: bytes,
        *,
        wait_s: float,  # noqa: ARG002 -- a batch takes its hours; the run's deadline holds all the same
        headers: Mapping[str, str] = MappingProxyType({}),  # noqa: ARG002 -- a request in a batch has none
    ) -> AsyncIterator[Answered]:
        """Parks a body until there is an answer. Raises `Unreachable`."""
        yield Answered(await self._ask(body, self._used))

    async def aclose(self) -> None:
        """There is nothing to let go of."""


class Answered:
    """An entry of a batch as the answer it would have been alone (`providers.service.Answer`)."""

    content_type = "application/json"

    def __init__(self, entry: BatchEntry) -> None:
        self.status = entry.status
        self._entry = entry

    def header(self, name: str) -> str:
        """Of all headers there is only the word on whether to ask again."""
        return "false" if name == "x-should-retry" and self._entry.final else ""

    async def chunks(self) -> AsyncGenerator[bytes]:
        """The body."""
        yield self._entry.body
