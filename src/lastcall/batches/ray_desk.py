"""The desk of a batch on a cluster: the one place that counts, paces, keeps budgets and writes records.

Workers ask it before each row and each request, and hand it each record; a record counts once it is in a part. What a
worker holds (rows under way, requests on their way) is a lease: a worker that says nothing for some seconds is dead, and
what it held is free again.

Must not go in here: Ray (`batches.ray_engine` makes an actor of it), what a row's run is (`batches.ray_worker`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

import anyio
from msgspec import Struct

from lastcall.batches.bounds import Bounds, Halt, Left, Why
from lastcall.batches.keys import KeySet
from lastcall.batches.pacing import Pace
from lastcall.batches.ray_parts import Parts
from lastcall.batches.records import MadeBy, Record
from lastcall.batches.tally import Tally
from lastcall.errors import JournalError
from lastcall.nouns.result import Usage
from lastcall.runtime.clock import SystemClock
from lastcall.runtime.ports import Clock

LEASE_S: Final = 10.0
"""A worker that says nothing for so long is dead."""
BEAT_S: Final = 2.0
"""How often a worker says something."""
_FLUSH_S: Final = 0.5
_PART_BYTES: Final = 16 << 20


class Verdict(StrEnum):
    """Whether a row may begin."""

    GO = "go"
    DONE = "done"
    HALTED = "halted"


class Begun(Struct, frozen=True):
    """The answer to a worker that wants to begin a row."""

    verdict: Verdict
    left: Left = Left()


class Opening(Struct, frozen=True):
    """What was in the output before."""

    done: int
    kept: Counter[str]
    origins: list[MadeBy]


class Progress(Struct, frozen=True):
    """How far it is, for whoever shows it: the counts of a `Tally`, the limit of the pace, why it stopped."""

    counts: dict[str, Any]
    limit: float
    refusals: int
    workers: int
    halt: Halt | None


class Desk:
    """One sitting's desk. `open_` opens the output, `concurrency` bounds rows and requests on the whole cluster."""

    def __init__(
        self, open_: Callable[[], Parts], bounds: Bounds, concurrency: int, *, clock: Clock | None = None
    ) -> None:
        self._open = open_
        self._bounds = bounds
        self._clock = clock or SystemClock()
        self._concurrency = concurrency
        self._pace = Pace(concurrency)
        self._tally = Tally(started_at=self._clock.monotonic())
        self._halt: Halt | None = None
        self._rows: dict[str, str] = {}
        self._tickets: dict[tuple[str, int], tuple[AbstractAsyncContextManager[Any], Any]] = {}
        self._seen: dict[str, float] = {}
        self._dead: set[str] = set()
        self._kept = KeySet()
        self._lines: list[bytes] = []
        self._flushed = anyio.Event()
        self._changed = anyio.Event()
        self._parts: Parts | None = None
        self._before = (Decimal(0), 0)

    # -- the driver's -----------------------------------------------------------------------------------------------

    async def survey(self) -> list[MadeBy]:
        """Open the output and look through it; what its records came from. Raises `BadConfig`, `JournalError`."""
        self._parts = await anyio.to_thread.run_sync(self._open)
        await anyio.to_thread.run_sync(self._parts.survey)
        return self._parts.origins

    async def begin_sitting(self, retry: frozenset[str]) -> Opening:
        """From now on there are records. Raises `JournalError`."""
        parts = self._demand_parts()
        await anyio.to_thread.run_sync(parts.begin, retry)
        self._before = (Decimal(repr(parts.spent_usd)), parts.spent_tokens)
        self._tally.started_at = self._clock.monotonic()
        return Opening(len(parts.done), parts.kept, parts.origins)

    async def run(self) -> None:
        """What happens beside the workers' questions, until it is cancelled: parts, the deadline, leases."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._flush_on)
            tasks.start_soon(self._watch)

    async def stop(self, halt: Halt) -> None:
        """Begin no further row; the first reason counts."""
        if self._halt is None:
            self._halt = halt
        self._tell()

    async def progress(self) -> Progress:
        """How far it is."""
        counts = {name: value for name, value in vars(self._tally).items() if name not in ("started_at", "total")}
        alive = len(self._seen) - len(self._dead)
        return Progress(counts, self._pace.limit, self._pace.refusals, alive, self._halt)

    async def end_sitting(self) -> None:
        """Write what is left, and take out what was replaced. Raises `JournalError`."""
        await self._flush()
        parts = self._demand_parts()
        if self._halt is None or self._halt.why is not Why.OUTPUT:
            await anyio.to_thread.run_sync(parts.settle)
        parts.close()

    # -- the reader's -----------------------------------------------------------------------------------------------

    async def missing(self, keys: Sequence[str]) -> list[bool] | None:
        """Which rows have no record yet; `None` where no further row begins."""
        if self._halt is not None:
            return None
        done = self._demand_parts().done
        found = [key not in done for key in keys]
        self._tally.skipped += found.count(False)
        return found

    # -- the workers' -----------------------------------------------------------------------------------------------

    async def beat(self, worker: str) -> None:
        """A worker is alive."""
        self._seen[worker] = self._clock.monotonic()

    async def begin(self, worker: str, key: str) -> Begun:
        """Whether a row may begin, as soon as the limits tell; and what they leave for it."""
        await self.beat(worker)
        while True:
            if key in self._kept:
                return Begun(Verdict.DONE)
            usd, tokens = self._before
            now = self._clock.monotonic()
            halt = self._halt or self._bounds.halt(self._tally, usd, now, tokens)
            if halt is not None:
                await self.stop(halt)
                return Begun(Verdict.HALTED)
            has_place = self._tally.running < self._concurrency or key in self._rows
            if has_place and self._bounds.may_begin(self._tally, usd, tokens):
                self._hold(worker, key)
                return Begun(Verdict.GO, self._bounds.left(self._tally, usd, tokens, now))
            await self._changed.wait()

    def _hold(self, worker: str, key: str) -> None:
        self._tally.running += key not in self._rows
        self._rows[key] = worker

    async def keep(self, worker: str, record: Record) -> None:
        """A row has ended: returns once its record is in the output, or could not be. The first record of a row counts."""
        await self.beat(worker)
        self._release(record.key)
        if not self._kept.add(record.key):
            return
        self._tally.add(record)
        self._lines.append(record.line)
        flushed = self._flushed
        self._tell()
        await flushed.wait()

    async def lose(self, worker: str, key: str, usage: Usage, cost_usd: Decimal | None, halt: Halt | None) -> None:
        """A row has ended without a record; what it spent is spent."""
        await self.beat(worker)
        self._release(key)
        self._tally.left += 1
        self._tally.spend(usage, cost_usd)
        if halt is not None:
            await self.stop(halt)
        self._tell()

    async def enter(self, worker: str, ticket: int) -> None:
        """A request wants to be sent; returns when it may."""
        passed = self._pace.sending()
        request = await passed.__aenter__()
        if worker in self._dead:
            await passed.__aexit__(None, None, None)
            return
        self._tickets[worker, ticket] = (passed, request)

    async def leave(self, worker: str, ticket: int, refused: bool, wait_s: float | None) -> None:
        """A request is over; `refused`: by load, and the service asks to wait so long."""
        held = self._tickets.pop((worker, ticket), None)
        if held is None:
            return
        passed, request = held
        if refused:
            request.refused(wait_s)
        await passed.__aexit__(None, None, None)

    # -- beside -----------------------------------------------------------------------------------------------------

    async def _flush_on(self) -> None:
        while True:
            await self._clock.sleep_until(self._clock.monotonic() + _FLUSH_S)
            await self._flush()

    async def _flush(self) -> None:
        """Everything that was handed over becomes a part; then whoever waits for it goes on."""
        lines, self._lines = self._lines, []
        flushed, self._flushed = self._flushed, anyio.Event()
        try:
            while lines and not (self._halt is not None and self._halt.why is Why.OUTPUT):
                size, count = 0, 0
                while count < len(lines) and size < _PART_BYTES:
                    size += len(lines[count])
                    count += 1
                await anyio.to_thread.run_sync(self._demand_parts().add, b"".join(lines[:count]))
                del lines[:count]
        except JournalError as error:
            self._halt = Halt(Why.OUTPUT, str(error))
            self._tell()
        finally:
            flushed.set()

    async def _watch(self) -> None:
        while True:
            now = self._clock.monotonic()
            for worker, at in list(self._seen.items()):
                if worker not in self._dead and now - at > LEASE_S:
                    await self._bury(worker)
            deadline_s = self._bounds.deadline_s
            if deadline_s is not None and now >= self._tally.started_at + deadline_s:
                await self.stop(Halt(Why.DEADLINE, f"The deadline of {deadline_s:g} s has passed."))
            await self._clock.sleep_until(now + 1.0)

    async def _bury(self, worker: str) -> None:
        """A worker is dead: what it held is free. Its rows are another's, whom Ray gives them to."""
        self._dead.add(worker)
        for key in [key for key, held_by in self._rows.items() if held_by == worker]:
            self._release(key)
        for held_by, ticket in [held for held in self._tickets if held[0] == worker]:
            await self.leave(held_by, ticket, refused=False, wait_s=None)
        self._tell()

    def _release(self, key: str) -> None:
        if self._rows.pop(key, None) is not None:
            self._tally.running -= 1

    def _tell(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    def _demand_parts(self) -> Parts:
        assert self._parts is not None, "the sitting has begun"
        return self._parts
