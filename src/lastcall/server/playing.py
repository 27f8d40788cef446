"""One run, from its order to its envelope: begun, gone on with after a crash, or found to be over.

The journal says which: it is written before anything is shown or done, so it knows more than the database. A run whose
journal is elsewhere (it was begun by a server that shares the database and not the disk) is begun anew where it only
talks to a model, and ended where it may have changed something.

Must not go in here: who may run what when (`server.house`), keeping frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import anyio
import anyio.to_thread
from msgspec import Struct
from msgspec.structs import replace

from lastcall.contract.accidents import told
from lastcall.core import records as r
from lastcall.errors import LastcallError
from lastcall.journal.load import load
from lastcall.journal.sessions import Sessions
from lastcall.nouns.result import Cancelled, Outcome, Signal, TerminalResult, outcome_name
from lastcall.runtime.client import NOBODY, ClientSide
from lastcall.runtime.clock import new_uuid
from lastcall.runtime.config import RunConfig
from lastcall.runtime.finish import finish
from lastcall.runtime.publish import FramePublisher
from lastcall.runtime.session import Session, open_session
from lastcall.server.live import LiveRun
from lastcall.server.orders import Order, config_of, contract_of, history_of, read_order
from lastcall.server.pool import ProviderPool
from lastcall.server.settings import ServerSettings
from lastcall.server.statuses import http_status
from lastcall.wire.envelope import error_frame, result_frame
from lastcall.wire.frames import Frame, Framer, Stage

MOST_TRIES: Final = 5
"""A run during which the server went down so often is not tried again."""


class Ending(Struct, frozen=True):
    """How a run ended, as it is kept."""

    outcome: str
    status: int
    envelope: Frame


class _Before(Struct, frozen=True):
    """What the journal holds of the run: whether there is one, its records, the outcome if it is over."""

    path: str = ""
    records: tuple[r.Record, ...] = ()
    started: bool = False
    outcome: Outcome | None = None


async def play(live: LiveRun, settings: ServerSettings, pool: ProviderPool, shown: frozenset[str]) -> Ending:
    """Run it to its end. `shown` are the identities of the frames that were kept before.

    Raises `JournalError` (`JournalLocked` while another process still has the journal), `UsageError`.
    """
    row = live.row
    order = read_order(row.wanted)
    before = _before(settings, row.run_id) if row.tries > 1 else _Before()
    if row.tries > MOST_TRIES:
        return gone(f"the server went down {MOST_TRIES} times while it ran this; it is not tried again")
    if row.tries > 1 and not before.started and not order.kept:
        return cancelled_before()  # whoever wanted it has left with the server that took it
    if row.tries > 1 and not before.path and (order.tools or settings.base.mcp_servers):
        return gone("the server that ran this went down, and what its tools did is in a journal that is not here")
    contract = await anyio.to_thread.run_sync(contract_of, order, settings, None)
    config = config_of(order, settings, contract, row.run_id)
    if before.path:
        config = replace(config, session_id=None, resume=row.run_id)
    return await _with_servers(live, order, config, pool, before, shown)


def _before(settings: ServerSettings, run_id: str) -> _Before:
    found = Sessions(settings.base.state_dir).find(run_id)
    if found is None:
        return _Before()
    records = load(found.path).records
    last = next((x for x in reversed(records) if isinstance(x, r.Ended | r.Started | r.Resumed)), None)
    outcome = last.outcome if isinstance(last, r.Ended) else None
    return _Before(found.path, records, last is not None, outcome)


async def _with_servers(
    live: LiveRun, order: Order, config: RunConfig, pool: ProviderPool, before: _Before, shown: frozenset[str]
) -> Ending:
    if not config.mcp_servers:
        return await _played(live, order, config, pool, before, shown)
    from lastcall.runtime.own_mcp import with_servers  # noqa: PLC0415 -- only where servers are configured

    async with with_servers(config) as client:
        return await _played(live, order, config, pool, before, shown, client=client)


async def _played(
    live: LiveRun,
    order: Order,
    config: RunConfig,
    pool: ProviderPool,
    before: _Before,
    shown: frozenset[str],
    client: ClientSide = NOBODY,
) -> Ending:
    if live.cancelled and not before.started:
        return cancelled_before()
    goes_on = before.started and before.outcome is None and order.kept and not live.cancelled
    opening = replace(config, unfinished=goes_on)

    def publisher(stage: Stage) -> FramePublisher:
        return FramePublisher(replace(stage, partial=order.partial), new_uuid, live.publish)

    provider = pool.provider(config)
    with anyio.CancelScope(shield=True):  # it waits for the disk, and what it opened has to be closed
        opened = await anyio.to_thread.run_sync(partial(open_session, opening, publisher, provider, client=client))
    async with opened as session:
        if live.cancelled and not before.started:  # meanwhile
            return cancelled_before()
        for frame in _missed(before.records, session.stage, shown):
            live.publish(frame)
        live.session = session
        try:
            result = await _result(session, live, order, before, goes_on=goes_on)
        finally:
            live.session = None
        frame = live.envelope or result_frame(result, session.stage, new_uuid())
        return Ending(outcome_name(result.outcome), http_status(result.outcome), frame)


async def _result(session: Session, live: LiveRun, order: Order, before: _Before, *, goes_on: bool) -> TerminalResult:
    if goes_on and not live.cancelled:
        return await session.go_on()
    if goes_on:  # cancelled while the journal was opened: it goes on to be interrupted at once
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel, live)
            return await session.go_on()
    if before.started:  # it is over: by itself, or because nobody waits for it any more
        return finish(session.driver.state)
    history = history_of(order)
    if history and not session.driver.state.messages:
        session.driver.note(r.Imported(history))
    return await session.run(order.prompt)


async def _cancel(live: LiveRun) -> None:
    live.cancel()


def _missed(records: Sequence[r.Record], stage: Stage, shown: frozenset[str]) -> list[Frame]:
    """Messages that are in the journal and were not kept as frames when the server went down."""
    framer = Framer(stage, new_uuid)
    frames = [frame for record in records for frame in framer.frames(record)]
    said = {x.uuid for x in records if isinstance(x, r.BlockSaid | r.CallAnswered)}
    return [frame for frame in frames if frame["uuid"] in said and frame["uuid"] not in shown]


# -- runs without a result ------------------------------------------------------------------------------------------


def gone(words: str) -> Ending:
    """The end of a run that lastcall itself lost."""
    return Ending("failed", 500, error_frame("internal", words, new_uuid()))


def cancelled_before() -> Ending:
    """The end of a run that was cancelled while it waited."""
    words = "The run was cancelled before it began."
    return Ending("cancelled", http_status(Cancelled(Signal.INTERRUPT)), error_frame("cancelled", words, new_uuid()))


def refused(error: LastcallError) -> Ending:
    """The end of a run that could not begin: its order passed when it was taken, and does not any more."""
    return Ending("usage", 422, error_frame(error.code, str(error), new_uuid()))


def fault(error: BaseException) -> Ending:
    """The end of a run in which lastcall itself failed."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return gone(told(error))
