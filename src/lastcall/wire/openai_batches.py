"""The Batch API of Chat Completions: the file that is uploaded, the order, its state, the lines of its results.

Source of the forms: the types of the vendor's own library (openai 3.57, `types/batch*`), and for lines of results the
object `BatchRequestOutput` of the vendor's description of its API.

Must not go in here: bodies and replies of single requests (`wire.openai`, `wire.openai_reply`), sending.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from lastcall.wire.batches import (
    CANCELED,
    EXPIRED,
    LOST,
    BatchEntry,
    BatchFault,
    BatchState,
    Item,
    entry_that_failed,
)
from lastcall.wire.json import encode_value, object_of, objects_of, read_object, text_of, whole_of

MOST_REQUESTS: Final = 50_000
MOST_BYTES: Final = 200 * 1000 * 1000
ENDPOINT: Final = "/v1/chat/completions"
_ROUND: Final = "lastcall_round"
_ENDED: Final = frozenset({"failed", "completed", "expired", "cancelled"})
_FULL: Final = frozenset({"token_limit_exceeded", "rate_limit_exceeded"})
"""Codes of a batch that waits for others to end: too many tokens are enqueued already."""


def encode_lines(items: Sequence[Item]) -> bytes:
    """The file of requests, one a line."""
    form = b'{"custom_id":%b,"method":"POST","url":"' + ENDPOINT.encode() + b'","body":%b}\n'
    return b"".join(form % (encode_value(name), body) for name, body in items)


def encode_order(file_id: str, round_id: str) -> bytes:
    """The body of `POST /v1/batches`."""
    order = {"input_file_id": file_id, "endpoint": ENDPOINT, "completion_window": "24h", "metadata": {_ROUND: round_id}}
    return encode_value(order)


def read_file_id(body: bytes) -> str:
    """The name of an uploaded file; `""` where none was told."""
    return text_of(read_object(body) or {}, "id")


def read_state(body: bytes) -> BatchState | None:
    """The state of a batch; `None` for what is none."""
    members = read_object(body)
    return None if members is None else _state(members)


def read_page(body: bytes) -> tuple[list[BatchState], str]:
    """The states of a page of the list, newest first, and the name that the next page begins after (`""`: no more)."""
    members = read_object(body) or {}
    states = [state for item in objects_of(members, "data") if (state := _state(item)) is not None]
    return states, text_of(members, "last_id") if members.get("has_more") is True else ""


def _state(members: dict[str, Any]) -> BatchState | None:
    batch_id, status = text_of(members, "id"), text_of(members, "status")
    if not batch_id or not status:
        return None
    files = (text_of(members, name) for name in ("output_file_id", "error_file_id"))
    return BatchState(
        batch_id,
        status in _ENDED,
        text_of(object_of(members, "metadata"), _ROUND),
        whole_of(object_of(members, "request_counts"), "total"),
        tuple(name for name in files if name),
        _faults(members) if status == "failed" else (),
    )


def _faults(members: dict[str, Any]) -> tuple[BatchFault, ...]:
    told = objects_of(object_of(members, "errors"), "data")
    found = (
        BatchFault(
            text_of(error, "message") or text_of(error, "code") or "the batch was refused",
            whole_of(error, "line"),
            text_of(error, "code") in _FULL,
        )
        for error in told
    )
    return tuple(found) or (BatchFault("the batch was refused without a word"),)


class _Answer(Struct, frozen=True):
    status_code: int = LOST
    body: Raw = Raw()


class _Error(Struct, frozen=True):
    code: str | None = None
    message: str | None = None


class _Line(Struct, frozen=True):
    custom_id: str
    response: _Answer | None = None
    error: _Error | None = None


def read_entry(line: bytes) -> BatchEntry | None:
    """What a line of the results says; `None` for a line that names no request."""
    try:
        read = msgspec.json.decode(line, type=_Line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if read.response is not None:
        return BatchEntry(read.custom_id, read.response.status_code, bytes(read.response.body))
    code = (read.error and read.error.code) or ""
    words = (read.error and read.error.message) or code or "the results say nothing of this request"
    if code == "batch_expired":
        return entry_that_failed(read.custom_id, EXPIRED, code, words, final=True)
    if code in ("batch_cancelled", "batch_canceled"):
        return entry_that_failed(read.custom_id, CANCELED, code, words, final=True)
    return entry_that_failed(read.custom_id, LOST, code or "server_error", words)
