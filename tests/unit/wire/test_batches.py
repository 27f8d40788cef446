"""What both batch APIs share."""

from __future__ import annotations

import json

from lastcall.nouns.result import FailureKind
from lastcall.wire.batches import CANCELED, EXPIRED, entry_that_failed
from lastcall.wire.failure import read_failure


def test_an_entry_in_place_of_an_answer_is_read_like_an_answer() -> None:
    entry = entry_that_failed("lc-1", EXPIRED, "timeout_error", "too late", final=True)
    assert json.loads(entry.body) == {"type": "error", "error": {"type": "timeout_error", "message": "too late"}}
    assert (entry.name, entry.final) == ("lc-1", True)
    failure = read_failure(entry.status, "application/json", entry.body)
    assert (failure.kind, failure.detail) == (FailureKind.TIMEOUT, "too late")


def test_a_canceled_request_is_no_bad_request() -> None:
    entry = entry_that_failed("lc-1", CANCELED, "canceled", "called off")
    assert read_failure(entry.status, "application/json", entry.body).kind is FailureKind.SERVER
