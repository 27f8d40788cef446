"""The driver's inbox: many senders, one consumer, in order.

Written out because the library's memory streams take longer to load than all of this.
"""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

import anyio
from anyio.lowlevel import checkpoint

T = TypeVar("T")


class Inbox(Generic[T]):
    """Items in the order in which they were put. Only one task may take."""

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._arrival: anyio.Event | None = None

    def put(self, item: T) -> None:
        """Add an item; never waits."""
        self._items.append(item)
        if self._arrival is not None:
            self._arrival.set()

    async def take(self) -> T:
        """The oldest item, as soon as there is one. Other tasks get their turn also when items are waiting."""
        await checkpoint()  # before, not after the wait: what arrives is acted on before its sender goes on
        while not self._items:
            self._arrival = anyio.Event()
            await self._arrival.wait()
            self._arrival = None
        return self._items.popleft()
