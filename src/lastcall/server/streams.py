"""The frames of a run as server-sent events, from any frame on, while it goes on or long after; and waiting for its end.

The last event is the result, which is also the answer to whoever only waits. A run of another server, or of one that is
no more, is followed through the database.

Must not go in here: keeping frames (`server.house`), answers in other forms.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Final

import anyio

from lastcall.server import runs_table as table
from lastcall.server.house import House
from lastcall.server.live import LiveRun, Shown, Watcher
from lastcall.server.one_line import one_line
from lastcall.server.rows import RunRow, State

KEEP_ALIVE_S: Final = 15.0
KEEP_ALIVE: Final = b": still running\n\n"
_LOOK_S: Final = 0.3
_PAGE: Final = 200


def event(shown: Shown) -> bytes:
    """One frame as an event. Its JSON is one line, whatever a model says in it."""
    number = f"id: {shown.n}\n" if shown.n else ""
    return f"{number}event: {shown.kind}\ndata: {one_line(shown.text)}\n\n".encode()


async def events(house: House, row: RunRow, after: int) -> AsyncIterator[bytes]:
    """The events behind number `after`. Ends without a result only where the server goes down before the run's end."""
    house.metrics.watched(1)
    told_at = anyio.current_time()
    try:
        async for shown in _frames(house, row.run_id, after):
            now = anyio.current_time()
            if shown is not None:
                yield event(shown)
            elif now - told_at >= KEEP_ALIVE_S * 0.9:
                yield KEEP_ALIVE
            else:
                continue
            told_at = now
    finally:
        house.metrics.watched(-1)


async def _frames(house: House, run_id: str, after: int) -> AsyncIterator[Shown | None]:
    """The frames, `None` where there was nothing for a while."""
    with _watching(house.live.get(run_id)) as watcher:
        while True:
            if watcher is not None:
                watcher.behind = False
            row = await house.row(run_id)  # before the frames: an end that is seen has all its frames before it
            kept = await _kept(house, run_id, after)
            for shown in kept:
                yield shown
                after = shown.n
            if len(kept) == _PAGE:
                continue
            if row is None or row.state is State.ENDED:
                if row is not None and row.envelope is not None and after != row.frames + 1:
                    yield Shown(row.frames + 1, "result", row.envelope)
                return
            live = house.live.get(run_id)
            if live is None and house.draining:
                return
            if live is None or watcher is None:
                await anyio.sleep(_LOOK_S)
                yield None
                continue
            async for heard in _heard(live, watcher, after):
                yield heard
                after = heard.n if heard is not None and heard.n else after


async def _kept(house: House, run_id: str, after: int) -> list[Shown]:
    found = await house.read(lambda db: table.frames_after(db, run_id, after, _PAGE))
    return [Shown(frame.n, frame.kind, frame.text) for frame in found]


async def _heard(live: LiveRun, watcher: Watcher, after: int) -> AsyncIterator[Shown | None]:
    """What arrives, so long as nothing is left out and the run goes on here."""
    while True:
        while watcher.arrived:
            shown = watcher.arrived.popleft()
            if shown.n > after + 1:
                return  # frames before it are only in the database
            if shown.n == 0 or shown.n > after:
                yield shown
                after = shown.n or after
        if watcher.behind or live.ended.is_set():
            return
        watcher.changed = anyio.Event()
        with anyio.move_on_after(KEEP_ALIVE_S) as patience:
            await watcher.changed.wait()
        if patience.cancelled_caught:
            yield None


@contextmanager
def _watching(live: LiveRun | None) -> Iterator[Watcher | None]:
    if live is None:
        yield None
        return
    watcher = Watcher()
    live.watchers.add(watcher)
    try:
        yield watcher
    finally:
        live.watchers.discard(watcher)


async def ended(house: House, run_id: str) -> RunRow | None:
    """The run once it is over; as it is where the server goes down before; `None` if it is no more."""
    while True:
        live = house.live.get(run_id)
        if live is not None:
            await live.ended.wait()
        row = await house.row(run_id)
        if row is None or row.state is State.ENDED or (house.draining and run_id not in house.live):
            return row
        if run_id not in house.live:
            await anyio.sleep(_LOOK_S)
