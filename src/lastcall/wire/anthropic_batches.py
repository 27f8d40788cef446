"""Message Batches: the body that submits one, its state, the lines of its results.

Source of the forms: the types of the vendor's own library (anthropic 2.14, `types/messages/message_batch*`).

Must not go in here: bodies and replies of single requests (`wire.anthropic`, `wire.anthropic_reply`), sending.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from lastcall.wire.batches import CANCELED, EXPIRED, LOST, BatchEntry, BatchState, Item, entry_that_failed
from lastcall.wire.json import encode_value, object_of, objects_of, read_object, text_of, whole_of

MOST_REQUESTS: Final = 100_000
MOST_BYTES: Final = 256 * 1000 * 1000
_STATUS: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The status that an error of this type has when the request is sent alone."""


def encode_batch(items: Sequence[Item]) -> bytes:
    """The body of `POST /v1/messages/batches`."""
    written = (b'{"custom_id":%b,"params":%b}' % (encode_value(name), body) for name, body in items)
    return b'{"requests":[%b]}' % b",".join(written)


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
    batch_id, status = text_of(members, "id"), text_of(members, "processing_status")
    if not batch_id or not status:
        return None
    counts = object_of(members, "request_counts")
    total = sum(whole_of(counts, name) or 0 for name in counts) if counts else None
    url = text_of(members, "results_url")
    return BatchState(batch_id, status == "ended", total=total, results=(url,) if url else ())


class _Result(Struct, frozen=True):
    type: str = ""
    message: Raw = Raw()
    error: Raw = Raw()


class _Line(Struct, frozen=True):
    custom_id: str
    result: _Result


def read_entry(line: bytes) -> BatchEntry | None:
    """What a line of the results says; `None` for a line that names no request."""
    try:
        read = msgspec.json.decode(line, type=_Line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    name, result = read.custom_id, read.result
    match result.type:
        case "succeeded":
            return BatchEntry(name, 200, bytes(result.message))
        case "errored":
            body = bytes(result.error)
            kind = text_of(object_of(read_object(body) or {}, "error"), "type")
            return BatchEntry(name, _STATUS.get(kind, 500), body)
        case "expired":
            words = "the batch ran out of time before it came to this request"
            return entry_that_failed(name, EXPIRED, "timeout_error", words, final=True)
        case "canceled":
            words = "the batch was canceled before it came to this request"
            return entry_that_failed(name, CANCELED, "canceled", words, final=True)
        case kind:
            return entry_that_failed(name, LOST, "api_error", f"the results call this request {kind[:40]!r}")
