"""Who runs what when: runs are taken, wait for a place, are run, and are let go when the server goes down.

A server holds each of its runs by a lease that it renews. One that cannot renew its leases in time stops its runs,
because another server may have taken them by then.

Must not go in here: a single run (`server.playing`), statements (`server.runs_table`), HTTP.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import anyio
import anyio.abc
import anyio.to_thread

from lastcall.errors import JournalError, JournalLocked, LastcallError
from lastcall.journal.sessions import Sessions
from lastcall.runtime.clock import new_uuid
from lastcall.runtime.veil import veil_of
from lastcall.server import runs_table as table
from lastcall.server.database import Connection, StorageError, database
from lastcall.server.desk import Desk
from lastcall.server.live import LiveRun
from lastcall.server.metrics import Metrics
from lastcall.server.migrations import migrate
from lastcall.server.orders import Order, digest, summary, written
from lastcall.server.playing import Ending, cancelled_before, fault, gone, play, refused
from lastcall.server.pool import ProviderPool
from lastcall.server.rows import KeptFrame, RunRow
from lastcall.server.runs_table import Offer, Why
from lastcall.server.settings import ServerSettings
from lastcall.wire.json import encode_value

T = TypeVar("T")

_LOOK_S: Final = 0.5
"""How often a server with free places looks for runs that nobody runs."""
_SWEEP_S: Final = 600.0
_FRAMES: Final = 1_000


class House:
    """The runs of one server. Use it with `async with`: leaving lets go of what is still running."""

    def __init__(self, settings: ServerSettings, metrics: Metrics) -> None:
        self.settings = settings
        self.metrics = metrics
        self.owner = new_uuid()
        self.live: dict[str, LiveRun] = {}
        self.draining = False
        self._veil = veil_of(settings.base.environment, settings.base.redact)
        self._beginning = 0
        self._pool = ProviderPool()
        self._tasks: anyio.abc.TaskGroup | None = None
        self._freed, self._emptied = anyio.Event(), anyio.Event()
        self._renewed_at = time.monotonic()
        self._missing: set[str] = set()

    async def __aenter__(self) -> Self:
        place = database(self.settings.storage)
        await anyio.to_thread.run_sync(_prepare, place)
        self._writes, self._reads = Desk(place, writes=True), Desk(place, writes=False)
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        for loop in (self._renew_leases, self._look_for_runs, self._forget_old_runs):
            self._tasks.start_soon(loop)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._tasks is not None
        self.draining = True
        held = list(self.live)
        self._tasks.cancel_scope.cancel()
        await self._tasks.__aexit__(None, None, None)
        with anyio.CancelScope(shield=True):
            if held:
                with suppress(StorageError):  # then the leases run out
                    await self.write(lambda db: table.let_go(db, held, self.owner))
            await self._pool.aclose()
            await self._writes.aclose()
            await self._reads.aclose()

    # -- the database -----------------------------------------------------------------------------------------------

    async def write(self, function: Callable[[Connection], T]) -> T:
        """A transaction that changes something. Raises `StorageError`."""
        return await self._writes.do(function)

    async def read(self, function: Callable[[Connection], T]) -> T:
        """A transaction that changes nothing. Raises `StorageError`."""
        return await self._reads.do(function)

    # -- taking and ending ------------------------------------------------------------------------------------------

    @property
    def free(self) -> int:
        """Places for runs."""
        return 0 if self.draining else self.settings.places - len(self.live) - self._beginning

    async def take(self, order: Order, principal: str, key: str | None, concurrency: int | None) -> RunRow | Why:
        """The run, kept: a new one, or the one of this key. Raises `StorageError`."""
        begins = self.free > 0
        offer = Offer(
            run_id=f"run_{new_uuid().replace('-', '')}",
            principal=principal,
            idempotency_key=key,
            digest=digest(order),
            wanted=written(order),
            summary=self._veil.text(summary(order)),
            model=order.model or self.settings.base.model or "",
            owner=self.owner if begins else "",
            lease_s=self.settings.lease_s,
            concurrency=concurrency,
            queue=self.settings.queue,
        )
        self._beginning += begins
        try:
            row = await self.write(lambda db: table.take(db, offer))
        finally:
            self._beginning -= begins
        if isinstance(row, RunRow) and row.run_id == offer.run_id and begins:
            self._begin(row)
        return row

    async def cancel(self, run_id: str) -> RunRow | None:
        """Mark a run as cancelled; its row as it is now. Raises `StorageError`."""
        ending = cancelled_before()
        text = encode_value(ending.envelope).decode()
        row = await self.write(lambda db: table.ask_to_cancel(db, run_id, envelope=text, status=ending.status))
        if run_id in self.live:
            self.live[run_id].cancel()
        return row

    async def row(self, run_id: str) -> RunRow | None:
        """The run as it is kept. Raises `StorageError`."""
        return await self.read(lambda db: table.by_id(db, run_id))

    def drain(self) -> None:
        """No run begins any more."""
        self.draining = True

    async def drained(self, within_s: float) -> None:
        """Wait until no run goes on, at most so long; what still does then is let go and watched no more."""
        self._emptied = anyio.Event()
        if self.live:
            with anyio.move_on_after(within_s):
                await self._emptied.wait()
        for live in self.live.values():
            live.scope.cancel()
        if self.live:
            await self._emptied.wait()

    # -- running ----------------------------------------------------------------------------------------------------

    def _begin(self, row: RunRow) -> None:
        assert self._tasks is not None
        live = self.live[row.run_id] = LiveRun(row)
        self._tasks.start_soon(self._run, live)

    async def _run(self, live: LiveRun) -> None:
        """One run from here to its kept end, or until it is let go."""
        run_id = live.row.run_id
        began = time.monotonic()
        try:
            with live.scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._keep_frames, live)
                    ending = await self._ending(live)
                    if ending is not None:
                        await self._keep_rest(live)
                        await self._end(live, ending, time.monotonic() - began)
                    tasks.cancel_scope.cancel()
            if live.scope.cancelled_caught:
                with anyio.CancelScope(shield=True):
                    await self._let_go(live, 0.0)
        finally:
            del self.live[run_id]
            live.over()
            self._freed.set()
            if not self.live:
                self._emptied.set()

    async def _ending(self, live: LiveRun) -> Ending | None:
        """How the run ended; `None` if it was let go: another process still has its journal, or the database is away."""
        try:
            shown = await self._shown(live.row) if live.row.tries > 1 else frozenset()
            return await play(live, self.settings, self._pool, shown)
        except JournalLocked:
            await self._let_go(live, self.settings.lease_s)
            return None
        except StorageError:
            await self._let_go(live, 0.0)
            return None
        except JournalError as error:
            return gone(str(error))
        except LastcallError as error:
            return refused(error)
        except Exception as error:  # noqa: BLE001 -- the run ends and says so; the others go on
            return fault(error)

    async def _shown(self, row: RunRow) -> frozenset[str]:
        kept = await self.read(lambda db: table.frames_after(db, row.run_id, 0, 1_000_000))
        return frozenset(frame.uuid for frame in kept)

    async def _keep_frames(self, live: LiveRun) -> None:
        while True:
            await live.news.wait()
            await self._keep_rest(live)

    async def _keep_rest(self, live: LiveRun) -> None:
        """Keep what was published and show it; a run that is another's by now is stopped."""
        async with live.keeping:
            shown, kept = live.take_pending()
            for at in range(0, len(kept), _FRAMES):
                if not await self._keep(live.row.run_id, kept[at : at + _FRAMES]):
                    live.scope.cancel()
                    return
            live.show(shown)

    async def _keep(self, run_id: str, frames: Sequence[KeptFrame]) -> bool:
        """Whether they are kept; what is not is found in the journal by whoever takes the run up again."""
        try:
            return await self.write(lambda db: table.keep_frames(db, run_id, self.owner, frames))
        except StorageError:
            return False

    async def _end(self, live: LiveRun, ending: Ending, took_s: float) -> None:
        run_id, text = live.row.run_id, encode_value(ending.envelope).decode()
        mine = await self._insist(
            lambda db: table.end(db, run_id, self.owner, outcome=ending.outcome, status=ending.status, envelope=text)
        )
        if mine:
            self.metrics.ended(ending.outcome, ending.envelope, took_s)

    async def _insist(self, function: Callable[[Connection], bool]) -> bool:
        """Try until the lease has run out: the run is over, and it would be a pity to run it again."""
        until = time.monotonic() + self.settings.lease_s
        while True:
            try:
                return await self.write(function)
            except StorageError:
                if time.monotonic() > until:
                    return False
                await anyio.sleep(_LOOK_S)

    async def _let_go(self, live: LiveRun, for_s: float) -> None:
        try:
            await self.write(lambda db: table.let_go(db, [live.row.run_id], self.owner, for_s=for_s))
        except StorageError:
            return  # the lease runs out

    # -- all the time -----------------------------------------------------------------------------------------------

    async def _renew_leases(self) -> None:
        lease_s = self.settings.lease_s
        while True:
            await anyio.sleep(lease_s / 3)
            asked_at = time.monotonic()
            with suppress(StorageError), anyio.move_on_after(lease_s / 3):  # tried again; the leases may run out
                mine = await self.write(lambda db: table.renew(db, self.owner, lease_s))
                self._renewed_at = asked_at
                await self._heed(mine)
            if time.monotonic() - self._renewed_at > lease_s * 0.8:
                for live in self.live.values():
                    live.scope.cancel()

    async def _heed(self, mine: dict[str, bool]) -> None:
        """What the table says of this server's runs: which are another's, which are to end, which nobody runs."""
        for run_id, live in self.live.items():
            live.missed = 0 if run_id in mine else live.missed + 1
            if live.missed > 1:  # once may be a run that was taken a moment after the question
                live.scope.cancel()
            elif mine.get(run_id) and not live.cancelled:
                live.cancel()
        missing = mine.keys() - self.live.keys()
        forgotten = sorted(missing & self._missing)  # twice: whoever took it went away before it began
        self._missing = missing
        if forgotten:
            await self.write(lambda db: table.let_go(db, forgotten, self.owner))

    async def _look_for_runs(self) -> None:
        while True:
            self._freed = anyio.Event()
            most = min(self.free, 100)
            if most > 0:
                await self._claim(most)
            with anyio.move_on_after(_LOOK_S):
                await self._freed.wait()

    async def _claim(self, most: int) -> None:
        lease_s = self.settings.lease_s
        self._beginning += most
        rows: list[RunRow] = []
        try:
            with suppress(StorageError):  # looked for again
                rows = await self.write(lambda db: table.claim(db, self.owner, most, lease_s))
        finally:
            self._beginning -= most
        for row in rows:
            self._begin(row)

    async def _forget_old_runs(self) -> None:
        while True:
            try:
                gone_now = await self.write(lambda db: table.sweep(db, self.settings.keep_s))
                await anyio.to_thread.run_sync(_remove_journals, self.settings.base.state_dir, gone_now)
            except StorageError:
                gone_now = []
            await anyio.sleep(_SWEEP_S if not gone_now else 1.0)


def _prepare(place: Any) -> None:
    connection = place.connect()
    try:
        migrate(connection)
    finally:
        connection.close()


def _remove_journals(state_dir: str, run_ids: Sequence[str]) -> None:
    sessions = Sessions(state_dir)
    for run_id in run_ids:
        found = sessions.find(run_id)
        if found is not None:
            try:
                sessions.remove(found)
            except JournalError:
                continue  # it is forgotten all the same
