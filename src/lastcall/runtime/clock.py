"""The real clock and the real ids."""

from __future__ import annotations

import os
import time

import anyio


class SystemClock:
    """Time of this machine."""

    __slots__ = ()

    def wall(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    async def sleep_until(self, monotonic: float) -> None:
        """Wait until `monotonic` shows this."""
        await anyio.sleep(max(0.0, monotonic - time.monotonic()))


SYSTEM_CLOCK = SystemClock()


def new_uuid() -> str:
    """A random UUID (version 4). Written out, because importing `uuid` costs more than all ids of a run."""
    raw = bytearray(os.urandom(16))
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    h = raw.hex()
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"


def new_id(kind: str) -> str:  # noqa: ARG001 -- every kind is a UUID in the real world
    """A new id."""
    return new_uuid()
