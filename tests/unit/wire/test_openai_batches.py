"""The Batch API, in the forms of the vendor's own types and of its description of the lines of results."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastcall.wire.batches import BatchFault, BatchState
from lastcall.wire.openai_batches import encode_lines, encode_order, read_entry, read_file_id, read_page, read_state

BATCH: dict[str, Any] = {
    "id": "batch_1", "object": "batch", "endpoint": "/v1/chat/completions", "completion_window": "24h", "created_at": 1,
    "input_file_id": "file-1", "status": "completed", "output_file_id": "file-2", "error_file_id": "file-3",
    "request_counts": {"total": 4, "completed": 3, "failed": 1}, "metadata": {"lastcall_round": "lc1"},
}  # fmt: skip


def state(**changed: Any) -> BatchState | None:
    return read_state(json.dumps({**BATCH, **changed}).encode())


def line(**members: Any) -> bytes:
    return json.dumps({"id": "batch_req_1", "custom_id": "lc1-0", "response": None, "error": None, **members}).encode()


def test_requests_are_lines_of_a_file() -> None:
    assert encode_lines([("lc1-0", b'{"n":1.50}'), ("lc1-1", b"{}")]) == (
        b'{"custom_id":"lc1-0","method":"POST","url":"/v1/chat/completions","body":{"n":1.50}}\n'
        b'{"custom_id":"lc1-1","method":"POST","url":"/v1/chat/completions","body":{}}\n'
    )


def test_an_order_names_its_file_and_its_round() -> None:
    assert json.loads(encode_order("file-1", "lc1")) == {
        "input_file_id": "file-1",
        "endpoint": "/v1/chat/completions",
        "completion_window": "24h",
        "metadata": {"lastcall_round": "lc1"},
    }


def test_an_uploaded_file_has_a_name() -> None:
    assert read_file_id(b'{"id": "file-1"}') == "file-1"
    assert read_file_id(b"nonsense") == ""


def test_a_state_tells_round_requests_and_where_the_results_are() -> None:
    assert state() == BatchState("batch_1", True, "lc1", 4, ("file-2", "file-3"))
    assert state(output_file_id=None, metadata=None) == BatchState("batch_1", True, "", 4, ("file-3",))


@pytest.mark.parametrize(
    ("status", "ended"),
    [
        ("validating", False), ("in_progress", False), ("finalizing", False), ("cancelling", False),
        ("completed", True), ("failed", True), ("expired", True), ("cancelled", True),
    ],
)  # fmt: skip
def test_every_status_has_ended_or_not(status: str, ended: bool) -> None:
    found = state(status=status)
    assert found is not None
    assert found.ended is ended


def test_a_batch_that_was_not_begun_says_why() -> None:
    data = [
        {"code": "token_limit_exceeded", "message": "Too much enqueued.", "line": None},
        {"code": "invalid", "message": None, "line": 3},
        {"code": None, "message": None, "line": None},
    ]
    found = state(status="failed", errors={"object": "list", "data": data})
    assert found is not None
    assert found.faults == (
        BatchFault("Too much enqueued.", None, True),
        BatchFault("invalid", 3),
        BatchFault("the batch was refused"),
    )
    silent = state(status="failed", errors=None)
    assert silent is not None
    assert silent.faults == (BatchFault("the batch was refused without a word"),)


@pytest.mark.parametrize("body", [b"", b"[]", b"<html>", b"{}", b'{"id": "x"}', b'{"status": "failed"}'])
def test_what_is_no_batch_is_none(body: bytes) -> None:
    assert read_state(body) is None


def test_a_page_tells_where_the_next_one_begins() -> None:
    page = {"data": [BATCH, 7, {"odd": 1}], "has_more": True, "last_id": "batch_1"}
    states, after = read_page(json.dumps(page).encode())
    assert ([item.batch_id for item in states], after) == (["batch_1"], "batch_1")
    assert read_page(json.dumps({**page, "has_more": None}).encode())[1] == ""
    assert read_page(b"nonsense") == ([], "")


def test_a_completion_is_read_with_its_numbers_as_written() -> None:
    raw = b'{"custom_id":"lc1-0","response":{"status_code":200,"request_id":"r","body":{"x":1.50}},"error":null}'
    entry = read_entry(raw)
    assert entry is not None
    assert (entry.name, entry.status, entry.body, entry.final) == ("lc1-0", 200, b'{"x":1.50}', None)


def test_a_refused_request_keeps_its_status() -> None:
    body = {"error": {"message": "No.", "type": "invalid_request_error"}}
    entry = read_entry(line(response={"status_code": 400, "body": body}))
    assert entry is not None
    assert (entry.status, json.loads(entry.body)) == (400, body)


@pytest.mark.parametrize(
    ("error", "status", "words", "final"),
    [
        ({"code": "batch_expired", "message": "Too late."}, 408, "Too late.", True),
        ({"code": "batch_cancelled", "message": "Called off."}, 409, "Called off.", True),
        ({"code": "batch_canceled", "message": None}, 409, "batch_canceled", True),
        ({"code": "odd", "message": "Odd."}, 500, "Odd.", None),
        ({"code": None, "message": None}, 500, "the results say nothing of this request", None),
        (None, 500, "the results say nothing of this request", None),
    ],
)
def test_what_was_not_processed_says_so(error: Any, status: int, words: str, final: bool | None) -> None:
    entry = read_entry(line(error=error))
    assert entry is not None
    assert (entry.name, entry.status, entry.final) == ("lc1-0", status, final)
    assert json.loads(entry.body)["error"]["message"] == words


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"custom_id": 1}', b'{"response": {}}', b"\xff", b"[" * 5000])
def test_a_line_that_names_no_request_is_none(raw: bytes) -> None:
    assert read_entry(raw) is None
