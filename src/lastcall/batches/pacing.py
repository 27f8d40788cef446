"""How many requests at once: more while all goes well, half as many when the service says that it is too much.

Additive increase, multiplicative decrease. Until the first refusal by load the limit doubles each round; after a refusal
it is halved, once for all requests that were under way by then, and grows by a tenth of the ceiling each round. A wait
that a service asks for holds for all requests: none is sent before it is over.

Must not go in here: what is sent, retries of one request.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import anyio

from lastcall.providers.clock import Clock

ROWS_AT_ONCE: Final = 64
"""Rows under way at once, and so the ceiling of requests, where nothing else is said."""
FIRST: Final = 64
"""Requests at once before anything is known of the service, if the ceiling allows."""
LONGEST_PAUSE_S: Final = 3600.0
"""The longest wait that a service can ask of a batch; the batch's deadline may be sooner."""
_DECREASE: Final = 0.5
_STEPS: Final = 10


class Pace:
    """What all requests of a batch pass (`providers.flow.Flow`). `limit` is how many may be under way now.

    `ceiling` is the most there may be. `refusals` counts what was refused by load, `paused_s` the seconds of all pauses.
    """

    def __init__(self, ceiling: int, *, clock: Clock | None = None, first: int = FIRST) -> None:
        self.ceiling = ceiling
        self.limit = float(min(ceiling, first))
        self.in_flight = 0
        self.refusals = 0
        self.paused_s = 0.0
        self._clock = clock or Clock()
        self._gain = 0.0
        self._sent = 0
        self._full_at = 0
        self._cut_at = -1.0
        self._paused_until = 0.0
        self._waiting: deque[anyio.Event] = deque()

    @asynccontextmanager
    async def sending(self) -> AsyncIterator[_Request]:
        """One request, as soon as it may be sent."""
        await self._enter()
        self._sent += 1
        if self.in_flight >= int(self.limit):
            self._full_at = self._sent
        request = _Request(self, self._clock.ticks())
        number = self._sent
        try:
            yield request
            held_back = self._full_at >= number
            if held_back and not request.was_refused and request.sent_at > self._cut_at:
                self._widen()
        finally:
            self.in_flight -= 1
            self._wake()

    @property
    def pause_s(self) -> float:
        """Seconds until the next request may be sent at all."""
        return max(0.0, self._paused_until - self._clock.ticks())

    async def _enter(self) -> None:
        while True:
            if (wait_s := self.pause_s) > 0:
                await self._clock.sleep(wait_s)
            elif self.in_flight < int(self.limit):
                self.in_flight += 1
                return
            else:
                await self._wait_for_place()

    async def _wait_for_place(self) -> None:
        event = anyio.Event()
        self._waiting.append(event)
        try:
            await event.wait()
        except BaseException:
            if event.is_set():
                self._wake()  # the place is somebody else's now
            else:
                self._waiting.remove(event)
            raise

    def _wake(self) -> None:
        for _ in range(min(len(self._waiting), max(0, int(self.limit) - self.in_flight))):
            self._waiting.popleft().set()

    def _widen(self) -> None:
        more = 1.0 if self._gain == 0 else self._gain / self.limit
        self.limit = min(float(self.ceiling), self.limit + more)

    def refused(self, sent_at: float, wait_s: float | None) -> None:
        """A request that was sent at this moment was refused by load."""
        now = self._clock.ticks()
        self.refusals += 1
        if wait_s:
            until = now + min(wait_s, LONGEST_PAUSE_S)
            self.paused_s += max(0.0, until - max(self._paused_until, now))
            self._paused_until = max(self._paused_until, until)
        if sent_at > self._cut_at:
            self.limit = max(1.0, self.limit * _DECREASE)
            self._gain = max(1.0, self.ceiling / _STEPS)
            self._cut_at = now


class _Request:
    """One request on its way (`providers.flow.Sending`)."""

    def __init__(self, pace: Pace, sent_at: float) -> None:
        self._pace = pace
        self.sent_at = sent_at
        self.was_refused = False

    def refused(self, wait_s: float | None) -> None:
        """The service refused it because of load."""
        self.was_refused = True
        self._pace.refused(self.sent_at, wait_s)
