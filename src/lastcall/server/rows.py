"""What the server keeps of runs and tokens, as values.

Must not go in here: statements, what a run was asked to do (`server.orders`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct


class State(StrEnum):
    """Where a run stands: waiting for a place, going on in some server, or over."""

    QUEUED = "queued"
    RUNNING = "running"
    ENDED = "ended"


class RunRow(Struct, frozen=True):
    """One run as it is kept. Times are seconds since the epoch.

    `principal` is whose it is (a token's id, `""` without tokens), `wanted` its order as JSON, `summary` the beginning of
    its prompt. `owner` is the server that runs it, `tries` how often one began to. `frames` counts the kept ones.
    `status` and `envelope` are there when it is over; `outcome` is the outcome's slug.
    """

    run_id: str
    principal: str
    idempotency_key: str | None
    digest: str
    wanted: str
    summary: str
    model: str
    state: State
    owner: str
    lease_until: float
    tries: int
    cancelled: bool
    created_at: float
    started_at: float | None = None
    ended_at: float | None = None
    outcome: str | None = None
    status: int | None = None
    envelope: str | None = None
    frames: int = 0


RUN_COLUMNS = ", ".join(RunRow.__struct_fields__)


def run_row(values: tuple[Any, ...]) -> RunRow:
    """A row of the table, its columns in the order of the fields."""
    named = dict(zip(RunRow.__struct_fields__, values, strict=True))
    return RunRow(**{**named, "state": State(named["state"]), "cancelled": bool(named["cancelled"])})


class KeptFrame(Struct, frozen=True):
    """One frame of a run: its number from 1, its type, the identity it was published under, and its JSON text."""

    n: int
    kind: str
    uuid: str
    text: str


class Grant(Struct, frozen=True):
    """What a token may do: runs at a time, requests a minute, bytes of a schema; `None` is the server's own limit."""

    concurrency: int | None = None
    per_minute: int | None = None
    schema_bytes: int | None = None


class TokenRow(Struct, frozen=True):
    """One token as it is kept: never the token itself, only the digest of its secret half."""

    token_id: str
    name: str
    digest: str
    created_at: float
    revoked_at: float | None
    grant: Grant
