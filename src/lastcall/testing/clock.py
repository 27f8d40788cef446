"""A clock that moves when it is told to.

Must not go in here: waiting of any kind.
"""

from __future__ import annotations

import math

import anyio

from lastcall.providers import clock

_EPOCH = 1_700_000_000.0


class FakeClock(clock.Clock):
    """Time for a run's limits (`runtime.ports.Clock`) and for a transport's waits (`providers.clock.Clock`).

    Waits between retries are over at once and move the time by as much; a deadline waits until `advance` passes it. Give it
    to a `ScriptedModel`, and let the script call `advance` where time should pass. Names that it mints are `id-1`, `id-2`.
    """

    def __init__(self, *, wall: float = _EPOCH) -> None:
        self._wall = wall
        self._passed = 0.0
        self._minted = 0
        self._waiting: list[tuple[float, anyio.Event]] = []
        self.slept: list[float] = []
        """Seconds of each wait between retries."""

    def advance(self, seconds: float) -> None:
        """Let time pass. Raises `ValueError` for less than none."""
        if not 0 <= seconds < math.inf:
            raise ValueError("time only goes forward")
        self._passed += seconds
        for at, event in self._waiting:
            if at <= self._passed:
                event.set()
        self._waiting = [(at, event) for at, event in self._waiting if at > self._passed]

    def wall(self) -> float:
        """Seconds since the epoch."""
        return self._wall + self._passed

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return self._passed

    async def sleep_until(self, monotonic: float) -> None:
        """Wait until `advance` has passed this."""
        if monotonic <= self._passed:
            await anyio.lowlevel.checkpoint()
            return
        event = anyio.Event()
        self._waiting.append((monotonic, event))
        await event.wait()

    def now(self) -> float:
        """Seconds since the epoch."""
        return self.wall()

    def ticks(self) -> float:
        """Seconds since the clock was made."""
        return self._passed

    async def sleep(self, seconds: float) -> None:
        """Over at once; time has passed."""
        self.slept.append(seconds)
        self.advance(max(0.0, seconds))
        await anyio.lowlevel.checkpoint()

    def chance(self) -> float:
        """Always the middle."""
        return 0.5

    def mint(self) -> str:
        """The next name."""
        self._minted += 1
        return f"id-{self._minted}"
