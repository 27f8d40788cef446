"""Message Batches, in the forms of the vendor's own types."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastcall.wire.anthropic_batches import encode_batch, read_entry, read_page, read_state
from lastcall.wire.batches import BatchState

COUNTS = {"processing": 0, "succeeded": 2, "errored": 1, "canceled": 0, "expired": 1}
URL = "https://api.example/v1/messages/batches/msgbatch_1/results"
BATCH = {
    "id": "msgbatch_1", "type": "message_batch", "processing_status": "ended", "request_counts": COUNTS,
    "results_url": URL, "created_at": "2026-01-01T00:00:00Z",
}  # fmt: skip


def line(result: dict[str, Any]) -> bytes:
    return json.dumps({"custom_id": "lc1-0", "result": result}).encode()


def test_requests_are_sent_as_they_would_be_alone() -> None:
    body = encode_batch([("lc1-0", b'{"model":"m","n":1.50}'), ("lc1-1", b'{"model":"m"}')])
    assert body == (
        b'{"requests":[{"custom_id":"lc1-0","params":{"model":"m","n":1.50}},'
        b'{"custom_id":"lc1-1","params":{"model":"m"}}]}'
    )


def test_a_state_tells_whether_it_has_ended_and_how_many_requests_there_are() -> None:
    assert read_state(json.dumps(BATCH).encode()) == BatchState("msgbatch_1", True, total=4, results=(URL,))
    under_way = {**BATCH, "processing_status": "canceling", "results_url": None}
    assert read_state(json.dumps(under_way).encode()) == BatchState("msgbatch_1", False, total=4)
    without_counts = {**under_way, "request_counts": None}
    assert read_state(json.dumps(without_counts).encode()) == BatchState("msgbatch_1", False)


@pytest.mark.parametrize("body", [b"", b"[]", b"<html>", b"{}", b'{"id": "x"}', b'{"processing_status": "ended"}'])
def test_what_is_no_batch_is_none(body: bytes) -> None:
    assert read_state(body) is None


def test_a_page_tells_where_the_next_one_begins() -> None:
    page = {"data": [BATCH, {"odd": 1}], "has_more": True, "last_id": "msgbatch_1"}
    states, after = read_page(json.dumps(page).encode())
    assert ([state.batch_id for state in states], after) == (["msgbatch_1"], "msgbatch_1")
    assert read_page(json.dumps({**page, "has_more": False}).encode())[1] == ""
    assert read_page(b"nonsense") == ([], "")


def test_a_message_is_read_with_its_numbers_as_written() -> None:
    raw = b'{"custom_id": "lc1-0", "result": {"type": "succeeded", "message": {"id": "m", "x": 1.50}}}'
    entry = read_entry(raw)
    assert entry is not None
    assert (entry.name, entry.status, entry.body, entry.final) == ("lc1-0", 200, b'{"id": "m", "x": 1.50}', None)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("invalid_request_error", 400), ("authentication_error", 401), ("billing_error", 402), ("permission_error", 403),
        ("not_found_error", 404), ("request_too_large", 413), ("rate_limit_error", 429), ("api_error", 500),
        ("timeout_error", 504), ("overloaded_error", 529), ("something_new", 500),
    ],
)  # fmt: skip
def test_an_error_has_the_status_that_it_has_alone(kind: str, status: int) -> None:
    error = {"type": "error", "error": {"type": kind, "message": "No."}}
    entry = read_entry(line({"type": "errored", "error": error}))
    assert entry is not None
    assert (entry.status, json.loads(entry.body), entry.final) == (status, error, None)


@pytest.mark.parametrize(
    ("kind", "status", "final"), [("expired", 408, True), ("canceled", 409, True), ("new", 500, None)]
)
def test_what_was_not_processed_says_so(kind: str, status: int, final: bool | None) -> None:
    entry = read_entry(line({"type": kind}))
    assert entry is not None
    assert (entry.name, entry.status, entry.final) == ("lc1-0", status, final)
    assert json.loads(entry.body)["error"]["message"]


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"custom_id": 1, "result": {}}', b"\xff", b"[" * 5000])
def test_a_line_that_names_no_request_is_none(raw: bytes) -> None:
    assert read_entry(raw) is None
