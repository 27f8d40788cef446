"""Time, chance and new names, as the transports take them; tests and scripts put others in their place.

Must not go in here: deadlines of a run (`runtime.limits`).
"""

from __future__ import annotations

import os
import time

import anyio


class Clock:
    """The real ones."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def ticks(self) -> float:
        """Seconds that only ever grow, for measuring."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Waits."""
        await anyio.sleep(seconds)

    def chance(self) -> float:
        """A number from 0 to 1, for spreading retries."""
        return int.from_bytes(os.urandom(4), "big") / 2**32

    def mint(self) -> str:
        """A new unique name: a random UUID, written out because importing `uuid` costs more than all names of a run."""
        raw = bytearray(os.urandom(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        digits = raw.hex()
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


class ImpatientClock(Clock):
    """The real ones but for waiting: what would be waited for is over at once. For scripts, whose retries cost nothing."""

    async def sleep(self, seconds: float) -> None:  # noqa: ARG002 -- that is its nature
        """Lets others run, no longer."""
        await anyio.lowlevel.checkpoint()
