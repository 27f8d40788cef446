"""The driver's inbox: many senders, one consumer, in order.

Written out because the library's memory streams take longer to load than all of this, and its events are five times the
memory of a future: there is an inbox in every run under way.
"""

from __future__ import annotations

import asyncio
from typing import Generic, TypeVar

T = TypeVar("T")


class Inbox(Generic[T]):
    """Items in the order in which they were put. Only one task may take."""

    __slots__ = ("_arrival", "_items")

    def __init__(self) -> None:
        self._items: list[T] = []
        self._arrival: asyncio.Future[None] | None = None

    def put(self, item: T) -> None:
        """Add an item; never waits."""
        self._items.append(item)
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)

    async def take(self) -> T:
        """The oldest item, as soon as there is one. Other tasks get their turn also when items are waiting."""
        await asyncio.sleep(0)  # before, not after the wait: what arrives is acted on before its sender goes on
        while not self._items:
            self._arrival = asyncio.get_running_loop().create_future()
            try:
                await self._arrival
            finally:
                self._arrival = None
        return self._items.pop(0)
