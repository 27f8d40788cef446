"""A run that goes on in this server, and those who watch it.

Frames are kept first and shown then, in the order in which they were published: what a client has seen is in the
database, so a dropped stream can be taken up behind the last frame that arrived. Pieces of replies in the making are
shown and not kept; they have no number.

Must not go in here: running the run (`server.playing`), server-sent events (`server.streams`).
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final

import anyio
from msgspec import Struct

from lastcall.core.events import Interrupted
from lastcall.nouns.ids import Uuid
from lastcall.nouns.result import Signal
from lastcall.runtime.clock import new_uuid
from lastcall.runtime.session import Session
from lastcall.server.rows import KeptFrame, RunRow
from lastcall.wire.json import encode_value

_WAITING: Final = 256
"""So many frames wait for a watcher; one that is further behind reads the kept ones."""
_PIECE: Final = "stream_event"


class Shown(Struct, frozen=True):
    """One frame as watchers get it; `n` is 0 for a piece of a reply, which is not kept."""

    n: int
    kind: str
    text: str


class Watcher:
    """One who watches: what has arrived and was not taken, and whether something was left out."""

    def __init__(self) -> None:
        self.arrived: deque[Shown] = deque()
        self.behind = True
        self.changed = anyio.Event()

    def hear(self, shown: list[Shown]) -> None:
        """Something happened; `behind` from now on if it is too much."""
        if len(self.arrived) + len(shown) > _WAITING:
            self.arrived.clear()
            self.behind = True
        else:
            self.arrived.extend(shown)
        self.changed.set()


class LiveRun:
    """What this server knows of a run that it runs. `ended` is set once its end is kept, or it was let go."""

    def __init__(self, row: RunRow) -> None:
        self.row = row
        self.scope = anyio.CancelScope()
        self.session: Session | None = None
        self.cancelled = row.cancelled
        self.envelope: dict[str, Any] | None = None
        self.pending: list[Shown] = []
        self.uuids: dict[int, str] = {}
        self.news = anyio.Event()
        self.ended = anyio.Event()
        self.watchers: set[Watcher] = set()
        self.keeping = anyio.Lock()
        self.missed = 0
        """How often in a row the lease could not be renewed."""
        self._n = row.frames

    def publish(self, frame: dict[str, Any]) -> None:
        """Take a frame of the run; the result is kept apart, since it is the run's end."""
        kind = frame["type"]
        if kind == "result":
            self.envelope = frame
            return
        n = 0
        if kind != _PIECE:
            self._n += 1
            n = self._n
            self.uuids[n] = str(frame.get("uuid", ""))
        elif not self.watchers:
            return
        self.pending.append(Shown(n, kind, encode_value(frame).decode()))
        self.news.set()

    def take_pending(self) -> tuple[list[Shown], list[KeptFrame]]:
        """What was published and not shown yet, and what of it has to be kept."""
        shown, self.pending = self.pending, []
        self.news = anyio.Event()
        kept = [KeptFrame(s.n, s.kind, self.uuids.pop(s.n), s.text) for s in shown if s.n]
        return shown, kept

    def show(self, shown: list[Shown]) -> None:
        """Tell the watchers; what has a number is kept by now."""
        for watcher in self.watchers:
            watcher.hear(shown)

    def over(self) -> None:
        """There will be nothing more from this server."""
        self.ended.set()
        for watcher in self.watchers:
            watcher.changed.set()

    def cancel(self) -> None:
        """Somebody wants it ended: an event of the run, or remembered until there is one."""
        self.cancelled = True
        if self.session is not None:
            self.session.driver.post(Interrupted(Signal.INTERRUPT, Uuid(new_uuid())))
