"""The loop of a batch: rows in, as many at once as there is place for, records out.

Must not go in here: what a row's run is (`batches.running`), limits (`batches.bounds`), files.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from decimal import Decimal
from functools import partial
from itertools import islice
from typing import Final, Protocol

import anyio
import anyio.abc
import anyio.to_thread
from msgspec import Struct

from lastcall.batches.bounds import NO_LIMITS, Bounds, Halt, Left, Why, ends_all, is_limit_of_batch
from lastcall.batches.records import MadeBy, Record, record_of, record_of_bad
from lastcall.batches.rows import AnyRow, BadInput, BadRow
from lastcall.batches.running import Ran, RowRunner
from lastcall.batches.tally import Tally
from lastcall.batches.template import CannotRender
from lastcall.errors import JournalError
from lastcall.nouns.result import Cancelled, Signal
from lastcall.runtime.clock import SystemClock
from lastcall.runtime.ports import Clock

_SYNC_EVERY_S: Final = 1.0


class Sink(Protocol):
    """Where records go (`batches.output.RecordFile`)."""

    def append(self, line: bytes) -> None:
        """Write one record. Raises `JournalError`."""
        ...

    def sync(self) -> None:
        """Wait until what is written is on the disk. Raises `JournalError`."""
        ...


class Done(Struct, frozen=True):
    """A row with its record; `ran` is `None` for a row that could not be used."""

    row: AnyRow
    record: Record
    ran: Ran | None = None


Deliver = Callable[[Done], Awaitable[None]]


async def to_nobody(done: Done) -> None:
    """The record is in the output."""


class RowEnd(Struct, frozen=True):
    """How a row ended: `done` with its record, or without one.

    Then a limit of the batch ended its run (`ran`), or no other row can succeed either (`halt`).
    """

    done: Done | None
    ran: Ran | None = None
    halt: Halt | None = None


async def end_row(runner: RowRunner, row: AnyRow, left: Left, made_by: MadeBy, own_limits: Left) -> RowEnd:
    """A row to its end. `left` is what the batch's limits leave for it, `own_limits` are those of each single run."""
    if isinstance(row, BadRow):
        return RowEnd(Done(row, record_of_bad(row, row.problem, made_by)))
    try:
        ran = await runner.run(row, left)
    except CannotRender as error:
        return RowEnd(Done(row, record_of_bad(row, str(error), made_by)))
    outcome = ran.result.outcome
    halt = ends_all(outcome)
    if halt is not None or is_limit_of_batch(outcome, left, own_limits) or isinstance(outcome, Cancelled):
        return RowEnd(None, ran, halt)
    return RowEnd(Done(row, record_of(row, ran.result, made_by), ran))


class BatchWork:
    """One sitting of a batch. `halt` says why it stopped before the last row, `None` while it did not."""

    def __init__(  # noqa: PLR0913 -- the seams of a batch, each named
        self,
        runner: RowRunner,
        sink: Sink,
        tally: Tally,
        *,
        made_by: MadeBy,
        bounds: Bounds,
        rows_at_once: int,
        spent_before_usd: Decimal = Decimal(0),
        tokens_before: int = 0,
        own_limits: Left = NO_LIMITS,
        is_done: Callable[[str], bool] = lambda _: False,
        deliver: Deliver = to_nobody,
        clock: Clock | None = None,
    ) -> None:
        """`own_limits` are those of each single run; `spent_before_usd` and `tokens_before` are of earlier sittings."""
        self.halt: Halt | None = None
        self.tally = tally
        self._runner = runner
        self._sink = sink
        self._made_by = made_by
        self._bounds = bounds
        self._rows_at_once = rows_at_once
        self._spent_before = (spent_before_usd, tokens_before)
        self._own_limits = own_limits
        self._is_done = is_done
        self._deliver = deliver
        self._clock = clock or SystemClock()
        self._changed = anyio.Event()
        self._reading: anyio.CancelScope | None = None

    async def run(self, rows: AsyncIterator[AnyRow]) -> Halt | None:
        """Run every row that is not done. Returns when all that were begun have ended."""
        self.tally.started_at = self._clock.monotonic()
        async with anyio.create_task_group() as beside:
            beside.start_soon(self._keep_deadline)
            beside.start_soon(self._keep_on_disk)
            async with anyio.create_task_group() as tasks:
                with anyio.CancelScope() as self._reading:
                    if self.halt is None:
                        await self._begin_rows(rows, tasks)
            beside.cancel_scope.cancel()
        if self.halt is None or self.halt.why is not Why.OUTPUT:
            self._write(self._sink.sync)
        return self.halt

    def stop(self, halt: Halt) -> None:
        """Begin no further row; those under way go on to their end. The first reason counts."""
        if self.halt is None:
            self.halt = halt
        if self._reading is not None:
            self._reading.cancel()
        self._tell()

    def interrupt(self, signal: Signal) -> None:
        """End the rows under way too; they get no record."""
        self._runner.interrupt(signal)

    # -- beginning --------------------------------------------------------------------------------------------------

    async def _begin_rows(self, rows: AsyncIterator[AnyRow], tasks: anyio.abc.TaskGroup) -> None:
        try:
            async for row in rows:
                if self._is_done(row.key):
                    self.tally.skipped += 1
                    continue
                await self._wait_for_place()
                self.tally.running += 1
                tasks.start_soon(self._do, row)
        except BadInput as error:
            self.stop(Halt(Why.INPUT, str(error)))

    async def _wait_for_place(self) -> None:
        """Until one more row may begin; where none may any more, the reading is over."""
        while True:
            usd, tokens = self._spent_before
            halt = self._bounds.halt(self.tally, usd, self._clock.monotonic(), tokens)
            if halt is not None:
                self.stop(halt)
            elif self.tally.running < self._rows_at_once and self._bounds.may_begin(self.tally, usd, tokens):
                return
            await self._changed.wait()

    def _tell(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    # -- a row ------------------------------------------------------------------------------------------------------

    async def _do(self, row: AnyRow) -> None:
        try:
            done = await self._record(row)
            if done is not None and self._write(partial(self._sink.append, done.record.line)):
                self.tally.add(done.record)
                await self._deliver(done)
            elif done is not None:
                self._lose(done.ran)
        finally:
            self.tally.running -= 1
            self._tell()

    async def _record(self, row: AnyRow) -> Done | None:
        """The row's record; `None` for a row that is left for the next sitting."""
        ended = await end_row(self._runner, row, self._left(), self._made_by, self._own_limits)
        if ended.halt is not None:
            self.stop(ended.halt)
        if ended.done is None:
            self._lose(ended.ran)
        return ended.done

    def _left(self) -> Left:
        return self._bounds.left(self.tally, *self._spent_before, self._clock.monotonic())

    def _lose(self, ran: Ran | None) -> None:
        self.tally.left += 1
        if ran is not None:
            self.tally.spend(ran.result.usage, ran.result.cost_usd)

    def _write(self, write: Callable[[], None]) -> bool:
        """Whether the output took it. If not, no further row begins, and those under way end: they could not be kept."""
        if self.halt is not None and self.halt.why is Why.OUTPUT:
            return False
        try:
            write()
        except JournalError as error:
            self.halt = Halt(Why.OUTPUT, str(error))
            self.stop(self.halt)
            self.interrupt(Signal.TERMINATE)
            return False
        return True

    # -- beside the rows --------------------------------------------------------------------------------------------

    async def _keep_deadline(self) -> None:
        if self._bounds.deadline_s is None:
            return
        await self._clock.sleep_until(self.tally.started_at + self._bounds.deadline_s)
        self.stop(Halt(Why.DEADLINE, f"The deadline of {self._bounds.deadline_s:g} s has passed."))

    async def _keep_on_disk(self) -> None:
        while True:
            await self._clock.sleep_until(self._clock.monotonic() + _SYNC_EVERY_S)
            try:
                await anyio.to_thread.run_sync(self._sink.sync)
            except JournalError as error:
                self.stop(Halt(Why.OUTPUT, str(error)))


async def fetched(rows: Iterator[AnyRow], *, at_once: int) -> AsyncIterator[AnyRow]:
    """The rows of an iterator that may block, read in a thread, so many at a time."""
    error: BadInput | None = None
    while error is None:
        some, error, is_over = await anyio.to_thread.run_sync(_take, rows, at_once, abandon_on_cancel=True)
        for row in some:
            yield row
        if is_over and error is None:
            return
    raise error


def _take(rows: Iterator[AnyRow], most: int) -> tuple[list[AnyRow], BadInput | None, bool]:
    """Rows, what the reading ended with, and whether it ended."""
    found: list[AnyRow] = []
    try:
        found.extend(islice(rows, most))
    except BadInput as error:
        return found, error, True
    return found, None, len(found) < most
