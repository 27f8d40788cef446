"""Batch APIs in the words that both vendors' share: what was submitted, how far it is, what became of each request.

Must not go in here: any vendor's field names (`wire.anthropic_batches`, `wire.openai_batches`), sending.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from lastcall.wire.json import encode_value

EXPIRED: Final = 408
"""The status that stands for a request whose batch ran out of time before it was processed."""
CANCELED: Final = 409
"""The status that stands for a request whose batch was canceled before it was processed."""
LOST: Final = 500
"""The status that stands for a request of which the results say nothing, or nothing that can be read."""

Item = tuple[str, bytes]
"""A request of a batch: its name there, and the body that would be sent alone."""


class BatchEntry(Struct, frozen=True):
    """What became of one request: the answer that it would have had alone.

    `final`: the service means to say that asking again in the same way is of no use (`None`: the status decides).
    """

    name: str
    status: int
    body: bytes
    final: bool | None = None


class BatchFault(Struct, frozen=True):
    """Why a batch as a whole was not begun. `line` counts its requests from 1; `None` is all of them.

    `later`: there is nothing wrong with it but the moment.
    """

    words: str
    line: int | None = None
    later: bool = False


class BatchState(Struct, frozen=True):
    """How far a batch is.

    `round_id` is the name that was sent along (`""` where the protocol has no place for it), `total` its requests where
    that is told, `results` where they are to be had, once it has `ended`.
    """

    batch_id: str
    ended: bool
    round_id: str = ""
    total: int | None = None
    results: tuple[str, ...] = ()
    faults: tuple[BatchFault, ...] = ()


def entry_that_failed(name: str, status: int, kind: str, words: str, *, final: bool | None = None) -> BatchEntry:
    """An entry in the place of an answer that there is none of, with an error in the form of both services."""
    error = {"type": kind, "message": words}
    return BatchEntry(name, status, encode_value({"type": "error", "error": error}), final)
