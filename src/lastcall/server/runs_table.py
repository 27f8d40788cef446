"""Everything that is asked of the table of runs. Each function is one transaction's work and may be run twice.

A run belongs to the server whose name stands in `owner`, until `lease_until`. Only the owner writes to a run; one whose
lease ran out belongs to whoever takes it next.

Must not go in here: when to ask (`server.house`), the tables themselves (`server.migrations`).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from lastcall.server.database import Connection
from lastcall.server.rows import RUN_COLUMNS, KeptFrame, RunRow, State, run_row

_OPEN: Final = "state IN ('queued', 'running')"


OUTCOMES: Final = (
    "answered", "declined", "gave_up", "out_of_attempts", "retracted", "stopped", "failed", "cancelled", "usage",
)  # fmt: skip
"""What stands in `outcome`: the outcomes' slugs, and `usage` for a run that could not begin."""


class Why(StrEnum):
    """Why a run is not taken."""

    KEY_IN_OTHER_USE = "key_in_other_use"
    TOO_MANY_AT_ONCE = "too_many_at_once"
    QUEUE_FULL = "queue_full"


class Offer(Struct, frozen=True):
    """A run that somebody wants, and what bounds its being taken.

    `owner`: begin at once for this server (`""`: it has no place free, so the run waits). `concurrency` bounds the
    principal's runs that are not over, `queue` the waiting runs of all.
    """

    run_id: str
    principal: str
    idempotency_key: str | None
    digest: str
    wanted: str
    summary: str
    model: str
    owner: str
    lease_s: float
    concurrency: int | None
    queue: int


def by_id(db: Connection, run_id: str) -> RunRow | None:
    """The run of this id."""
    found = db.rows(f"SELECT {RUN_COLUMNS} FROM runs WHERE run_id = ?", (run_id,))  # noqa: S608 -- our own columns
    return run_row(found[0]) if found else None


def by_key(db: Connection, principal: str, key: str) -> RunRow | None:
    """The principal's run of this idempotency key."""
    found = db.rows(
        f"SELECT {RUN_COLUMNS} FROM runs WHERE principal = ? AND idempotency_key = ?",  # noqa: S608
        (principal, key),
    )
    return run_row(found[0]) if found else None


def take(db: Connection, offer: Offer) -> RunRow | Why:
    """The run as it is kept from now on; the one that was taken under this key before; or why not."""
    again = by_id(db, offer.run_id)  # this very transaction was tried before, and its answer was lost
    if again is not None:
        return again
    if offer.idempotency_key is not None:
        before = by_key(db, offer.principal, offer.idempotency_key)
        if before is not None:
            return before if before.digest == offer.digest else Why.KEY_IN_OTHER_USE
    if offer.concurrency is not None:
        counted = db.rows(f"SELECT count(*) FROM runs WHERE principal = ? AND {_OPEN}", (offer.principal,))  # noqa: S608
        if counted[0][0] >= offer.concurrency:
            return Why.TOO_MANY_AT_ONCE
    if not offer.owner and waiting(db) >= offer.queue:
        return Why.QUEUE_FULL
    now = db.now()
    state = State.RUNNING if offer.owner else State.QUEUED
    kept = RunRow(
        run_id=offer.run_id,
        principal=offer.principal,
        idempotency_key=offer.idempotency_key,
        digest=offer.digest,
        wanted=offer.wanted,
        summary=offer.summary,
        model=offer.model,
        state=state,
        owner=offer.owner,
        lease_until=now + offer.lease_s if offer.owner else 0.0,
        tries=1 if offer.owner else 0,
        cancelled=False,
        created_at=now,
        started_at=now if offer.owner else None,
    )
    marks = ", ".join("?" * len(RunRow.__struct_fields__))
    written = db.rows(
        f"INSERT INTO runs ({RUN_COLUMNS}) VALUES ({marks}) ON CONFLICT DO NOTHING RETURNING run_id",  # noqa: S608
        tuple(int(x) if isinstance(x, bool) else x for x in (getattr(kept, f) for f in RunRow.__struct_fields__)),
    )
    if written:
        return kept
    other = by_key(db, offer.principal, offer.idempotency_key or "")  # another server was a moment faster
    return other if other is not None and other.digest == offer.digest else Why.KEY_IN_OTHER_USE


def waiting(db: Connection) -> int:
    """How many runs wait for a place."""
    return int(db.rows("SELECT count(*) FROM runs WHERE state = 'queued'")[0][0])


def claim(db: Connection, owner: str, most: int, lease_s: float) -> list[RunRow]:
    """Runs that nobody runs, the oldest first: they are this server's now."""
    now = db.now()
    taken = db.rows(
        f"WITH free AS MATERIALIZED (SELECT run_id FROM runs WHERE {_OPEN} AND lease_until < ?"  # noqa: S608
        f" ORDER BY created_at LIMIT ? {db.skips_locked}) UPDATE runs SET state = 'running', owner = ?,"
        " lease_until = ?, tries = tries + 1, started_at = COALESCE(started_at, ?)"
        f" WHERE run_id IN (SELECT run_id FROM free) RETURNING {RUN_COLUMNS}",
        (now, most, owner, now + lease_s, now),
    )
    return sorted((run_row(values) for values in taken), key=lambda row: row.created_at)


def renew(db: Connection, owner: str, lease_s: float) -> dict[str, bool]:
    """Keep this server's runs for another while; they, and whether somebody wants each cancelled."""
    found = db.rows(
        "UPDATE runs SET lease_until = ? WHERE owner = ? AND state = 'running' RETURNING run_id, cancelled",
        (db.now() + lease_s, owner),
    )
    return {run_id: bool(cancelled) for run_id, cancelled in found}


def keep_frames(db: Connection, run_id: str, owner: str, frames: Sequence[KeptFrame]) -> bool:
    """Add frames to a run of this server; `False` if it is another's by now, and nothing was added."""
    mine = db.rows(
        "UPDATE runs SET frames = ? WHERE run_id = ? AND owner = ? AND state = 'running' RETURNING run_id",
        (frames[-1].n, run_id, owner),
    )
    if mine:
        db.many(
            "INSERT INTO frames (run_id, n, kind, uuid, frame) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            [(run_id, frame.n, frame.kind, frame.uuid, frame.text) for frame in frames],
        )
    return bool(mine)


def end(db: Connection, run_id: str, owner: str, *, outcome: str, status: int, envelope: str) -> bool:
    """A run of this server is over; `False` if it is another's by now."""
    ended = db.rows(
        "UPDATE runs SET state = 'ended', outcome = ?, status = ?, envelope = ?, ended_at = ?, lease_until = 0"
        " WHERE run_id = ? AND owner = ? AND state = 'running' RETURNING run_id",
        (outcome, status, envelope, db.now(), run_id, owner),
    )
    if ended:
        return True
    row = by_id(db, run_id)
    return row is not None and row.state is State.ENDED and row.owner == owner


def let_go(db: Connection, run_ids: Sequence[str], owner: str, *, for_s: float = 0.0) -> None:
    """Runs of this server wait for whoever has a place, at the earliest in `for_s` seconds.

    To be let go is no failure, so it does not count as a try; that it was begun once stays known.
    """
    until = db.now() + for_s if for_s else 0.0
    db.many(
        "UPDATE runs SET state = 'queued', owner = '', lease_until = ?,"
        " tries = CASE WHEN tries > 1 THEN tries - 1 ELSE tries END WHERE run_id = ? AND owner = ?"
        " AND state = 'running'",
        [(until, run_id, owner) for run_id in run_ids],
    )


def ask_to_cancel(db: Connection, run_id: str, *, envelope: str, status: int) -> RunRow | None:
    """Mark a run as cancelled: one that waits is over at once (with this envelope), one that runs is told by its server."""
    now = db.now()
    db.rows(
        "UPDATE runs SET state = 'ended', outcome = 'cancelled', status = ?, envelope = ?, ended_at = ?, cancelled = 1"
        " WHERE run_id = ? AND state = 'queued' AND tries = 0",
        (status, envelope, now, run_id),
    )
    db.rows(f"UPDATE runs SET cancelled = 1 WHERE run_id = ? AND {_OPEN}", (run_id,))  # noqa: S608
    return by_id(db, run_id)


def frames_after(db: Connection, run_id: str, n: int, most: int) -> list[KeptFrame]:
    """The frames behind number `n`, in order."""
    found = db.rows(
        "SELECT n, kind, uuid, frame FROM frames WHERE run_id = ? AND n > ? ORDER BY n LIMIT ?", (run_id, n, most)
    )
    return [KeptFrame(*values) for values in found]


class Page(Struct, frozen=True):
    """Which runs of a principal a list shows: the newest, of this state, this outcome, begun before this run."""

    principal: str
    state: str | None = None
    outcome: str | None = None
    before: str | None = None
    most: int = 50


def newest(db: Connection, page: Page) -> list[RunRow]:
    """The runs of a page, the newest first."""
    where, values = ["principal = ?"], [page.principal]
    for column, value in (("state", page.state), ("outcome", page.outcome)):
        if value is not None:
            where.append(f"{column} = ?")
            values.append(value)
    if page.before is not None:
        where.append("(created_at, run_id) < (SELECT created_at, run_id FROM runs WHERE run_id = ? AND principal = ?)")
        values += [page.before, page.principal]
    found = db.rows(
        f"SELECT {RUN_COLUMNS} FROM runs WHERE {' AND '.join(where)}"  # noqa: S608 -- our own columns and conditions
        " ORDER BY created_at DESC, run_id DESC LIMIT ?",
        (*values, page.most),
    )
    return [run_row(values) for values in found]


def sweep(db: Connection, keep_s: float, most: int = 500) -> list[str]:
    """Forget runs that were over for so long; their ids."""
    gone = db.rows(
        "DELETE FROM runs WHERE run_id IN (SELECT run_id FROM runs WHERE state = 'ended' AND ended_at < ? LIMIT ?)"
        " RETURNING run_id",
        (db.now() - keep_s, most),
    )
    return [run_id for (run_id,) in gone]


def open_runs(db: Connection) -> dict[str, int]:
    """How many runs wait and how many go on, in all servers."""
    found = db.rows(f"SELECT state, count(*) FROM runs WHERE {_OPEN} GROUP BY state")  # noqa: S608
    return {State.QUEUED: 0, State.RUNNING: 0, **dict(found)}
