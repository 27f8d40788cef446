"""A worker of a batch on a cluster: it runs the rows of a block at once, over a client of its own.

Must not go in here: which rows there are, counting and writing (`batches.ray_desk`), starting workers
(`batches.ray_engine`).
"""

from __future__ import annotations

import asyncio
import itertools
import pickle
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any, Protocol

from msgspec import Struct

from lastcall.batches.bounds import Left
from lastcall.batches.plan import Plan
from lastcall.batches.ray_desk import BEAT_S, Begun, Verdict
from lastcall.batches.records import MadeBy, Record
from lastcall.batches.rows import AnyRow
from lastcall.batches.running import RowRunner
from lastcall.batches.work import end_row
from lastcall.nouns.result import NO_USAGE
from lastcall.providers import Provider
from lastcall.providers.flow import Flow


class Equipment(Struct, frozen=True):
    """What a worker needs to run rows; made on the worker itself."""

    plan: Plan
    provider: Provider
    own_limits: Left


Equip = Callable[[Flow], Equipment]
"""Makes a worker's equipment, whose requests pass the flow. It travels to the workers, so it is made of plain values."""


class FarDesk(Protocol):
    """The desk as a worker reaches it: each call is a question over the cluster."""

    async def beat(self, worker: str) -> None:
        """`Desk.beat`."""
        ...

    async def begin(self, worker: str, key: str) -> Begun:
        """`Desk.begin`."""
        ...

    async def keep(self, worker: str, record: Record) -> None:
        """`Desk.keep`."""
        ...

    async def lose(self, worker: str, key: str, usage: Any, cost_usd: Decimal | None, halt: Any) -> None:
        """`Desk.lose`."""
        ...

    async def enter(self, worker: str, ticket: int) -> None:
        """`Desk.enter`."""
        ...

    async def leave(self, worker: str, ticket: int, refused: bool, wait_s: float | None) -> None:
        """`Desk.leave`."""
        ...


class Worker:
    """Runs blocks of rows, several at a time. `name` tells it from the others; `made_by` stands in its records."""

    def __init__(self, name: str, desk: FarDesk, equip: Equip, made_by: MadeBy) -> None:
        self._name = name
        self._desk = desk
        self._equip = equip
        self._made_by = made_by
        self._runner: RowRunner | None = None
        self._own_limits = Left()
        self._beating: asyncio.Task[None] | None = None

    async def do(self, rows: list[AnyRow]) -> None:
        """Every row of a block that has no record, to its end; returns when their records are in the output."""
        if self._beating is None:
            await self._desk.beat(self._name)
            self._beating = asyncio.create_task(self._beat_on())
        await asyncio.gather(*(self._do(row) for row in rows))

    async def _do(self, row: AnyRow) -> None:
        begun = await self._desk.begin(self._name, row.key)
        if begun.verdict is not Verdict.GO:
            return
        ended = await end_row(self._opened(), row, begun.left, self._made_by, self._own_limits)
        if ended.done is not None:
            await self._desk.keep(self._name, ended.done.record)
            return
        result = None if ended.ran is None else ended.ran.result
        usage, cost_usd = (NO_USAGE, Decimal(0)) if result is None else (result.usage, result.cost_usd)
        await self._desk.lose(self._name, row.key, usage, cost_usd, ended.halt)

    def _opened(self) -> RowRunner:
        if self._runner is None:
            equipment = self._equip(FarFlow(self._name, self._desk))
            self._runner = RowRunner(equipment.plan, equipment.provider)
            self._own_limits = equipment.own_limits
        return self._runner

    async def _beat_on(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            await self._desk.beat(self._name)


class FarFlow:
    """What a worker's requests pass: the pace of the whole cluster, at the desk (`providers.flow.Flow`)."""

    def __init__(self, worker: str, desk: FarDesk) -> None:
        self._worker = worker
        self._desk = desk
        self._tickets = itertools.count(1)

    @asynccontextmanager
    async def sending(self) -> AsyncIterator[FarSending]:
        """One request, as soon as it may be sent."""
        ticket = next(self._tickets)
        sending = FarSending()
        await self._desk.enter(self._worker, ticket)
        try:
            yield sending
        finally:
            await asyncio.shield(
                self._leave(ticket, sending)
            )  # a place that is never given back is lost until the worker is

    async def _leave(self, ticket: int, sending: FarSending) -> None:
        await self._desk.leave(self._worker, ticket, sending.was_refused, sending.wait_s)


class FarSending:
    """One request on its way (`providers.flow.Sending`)."""

    def __init__(self) -> None:
        self.was_refused = False
        self.wait_s: float | None = None

    def refused(self, wait_s: float | None) -> None:
        """The service refused it because of load."""
        self.was_refused = True
        self.wait_s = wait_s


def pack(row: AnyRow) -> bytes:
    """A row as it travels between our own processes."""
    return pickle.dumps(row)


def unpack(packed: bytes) -> AnyRow:
    """The row again."""
    row: AnyRow = pickle.loads(packed)  # noqa: S301 -- what `pack` of this very batch made
    return row
