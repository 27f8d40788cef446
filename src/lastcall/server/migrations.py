"""The tables, as a list of steps that only ever grows. A database says which of them it has seen.

Must not go in here: statements about runs and tokens (`server.runs_table`, `server.tokens`).
"""

from __future__ import annotations

from typing import Final

from lastcall.server.database import Connection, StorageError

STEPS: Final[tuple[tuple[str, ...], ...]] = (
    (
        """CREATE TABLE tokens (
            token_id TEXT PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            digest TEXT NOT NULL,
            created_at DOUBLE PRECISION NOT NULL,
            revoked_at DOUBLE PRECISION,
            concurrency INTEGER,
            per_minute INTEGER,
            schema_bytes INTEGER
        )""",
        """CREATE TABLE runs (
            run_id TEXT PRIMARY KEY,
            principal TEXT NOT NULL,
            idempotency_key TEXT,
            digest TEXT NOT NULL,
            wanted TEXT NOT NULL,
            summary TEXT NOT NULL,
            model TEXT NOT NULL,
            state TEXT NOT NULL,
            owner TEXT NOT NULL,
            lease_until DOUBLE PRECISION NOT NULL,
            tries INTEGER NOT NULL,
            cancelled INTEGER NOT NULL,
            created_at DOUBLE PRECISION NOT NULL,
            started_at DOUBLE PRECISION,
            ended_at DOUBLE PRECISION,
            outcome TEXT,
            status INTEGER,
            envelope TEXT,
            frames INTEGER NOT NULL,
            UNIQUE (principal, idempotency_key)
        )""",
        "CREATE INDEX runs_open ON runs (state, created_at)",
        "CREATE INDEX runs_newest ON runs (principal, created_at)",
        """CREATE TABLE frames (
            run_id TEXT NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
            n INTEGER NOT NULL,
            kind TEXT NOT NULL,
            uuid TEXT NOT NULL,
            frame TEXT NOT NULL,
            PRIMARY KEY (run_id, n)
        )""",
    ),
)
"""What is done once, in order. A step that was released is never changed."""

_VERSION_TABLE: Final = "CREATE TABLE IF NOT EXISTS lastcall_schema (version INTEGER NOT NULL)"
_LOCK: Final = 4_711_230_815
"""PostgreSQL's number for "somebody is migrating"; any, so long as it stays."""


def migrate(connection: Connection) -> None:
    """Bring the tables up to date, in one transaction; servers that start together wait for each other.

    Raises `StorageError`, also for tables of a later version than this one.
    """
    connection.begin(writes=True)
    try:
        _catch_up(connection)
        connection.commit()
    except StorageError:
        connection.take_back()
        raise


def _catch_up(connection: Connection) -> None:
    if connection.skips_locked:
        connection.rows("SELECT pg_advisory_xact_lock(?)", (_LOCK,))
    connection.rows(_VERSION_TABLE)
    found = connection.rows("SELECT max(version) FROM lastcall_schema")[0][0] or 0
    if found > len(STEPS):
        raise StorageError(
            f"the database has tables of version {found}, and this lastcall knows {len(STEPS)}",
            hint="Use the lastcall that made them, or another database.",
        )
    for number, statements in enumerate(STEPS[found:], found + 1):
        for statement in statements:
            connection.rows(statement)
        connection.rows("INSERT INTO lastcall_schema (version) VALUES (?)", (number,))
