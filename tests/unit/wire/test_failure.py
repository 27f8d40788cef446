"""What answers that are no replies mean."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastcall.nouns.result import Failed, FailureKind
from lastcall.wire.failure import MAX_DETAIL, body_in, read_error_event, read_failure


def answer(status: int, error: Any = None, content_type: str = "application/json") -> Failed:
    body = error if isinstance(error, bytes) else json.dumps({"type": "error", "error": error}).encode()
    return read_failure(status, content_type, body)


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        # the conformance corpus, group http
        (400, {"type": "invalid_request_error", "message": "bad thing"}, FailureKind.BAD_REQUEST),
        (400, {"type": "invalid_request_error", "message": "Your credit balance is too low to access the Anthropic API."}, FailureKind.BILLING),
        (400, {"type": "invalid_request_error", "message": "prompt is too long: 250000 tokens > 200000 maximum"}, FailureKind.TOO_LONG),
        (400, {"type": "invalid_request_error", "message": "tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12"}, FailureKind.BAD_REQUEST),
        (401, {"type": "authentication_error", "message": "invalid x-api-key"}, FailureKind.AUTHENTICATION),
        (403, {"type": "permission_error", "message": "not for you"}, FailureKind.AUTHENTICATION),
        (404, {"type": "not_found_error", "message": "model: claude-haiku"}, FailureKind.NOT_FOUND),
        (429, {"type": "rate_limit_error", "message": "slow down"}, FailureKind.RATE_LIMIT),
        (500, {"type": "api_error", "message": "boom"}, FailureKind.SERVER),
        (529, {"type": "overloaded_error", "message": "Overloaded"}, FailureKind.OVERLOADED),
        # the casebook, and services' documentation
        (400, {"message": "input is longer than the context allows"}, FailureKind.TOO_LONG),
        (400, {"message": "This model's maximum context length is 8192 tokens. However, ...", "code": "context_length_exceeded"}, FailureKind.TOO_LONG),
        (400, {"message": "x", "type": "invalid_request_error", "code": "context_length_exceeded"}, FailureKind.TOO_LONG),
        (400, {"message": "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens"}, FailureKind.BAD_REQUEST),
        (400, {"message": "grammar for strict tools exceeds the size limit"}, FailureKind.BAD_REQUEST),
        (402, {"message": "pay"}, FailureKind.BILLING),
        (408, {"message": "late"}, FailureKind.TIMEOUT),
        (409, {"message": "conflict"}, FailureKind.SERVER),
        (413, {"type": "request_too_large", "message": "x"}, FailureKind.TOO_LONG),
        (418, {"message": "teapot"}, FailureKind.BAD_REQUEST),
        (422, {"type": "overloaded_error", "message": "x"}, FailureKind.OVERLOADED),
        (429, {"message": "You exceeded your current quota, please check your plan", "code": "insufficient_quota"}, FailureKind.BILLING),
        (429, {"message": "You exceeded your current quota, please check your plan"}, FailureKind.BILLING),
        (400, {"message": "x", "code": "model_not_found"}, FailureKind.NOT_FOUND),
        (503, {"message": "away"}, FailureKind.SERVER),
        (599, {"message": "?"}, FailureKind.SERVER),
    ],
)  # fmt: skip
def test_the_status_and_the_services_words_say_the_kind(status: int, error: Any, kind: FailureKind) -> None:
    failure = answer(status, error)
    assert (failure.kind, failure.status, failure.detail) == (kind, status, error["message"])


def test_the_services_own_word_is_kept_the_more_particular_one() -> None:
    assert answer(401, {"type": "authentication_error", "message": "x"}).provider_kind == "authentication_error"
    assert answer(400, {"type": "invalid_request_error", "code": "context_length_exceeded"}).provider_kind == (
        "context_length_exceeded"
    )
    assert answer(400, {"type": "invalid_request_error", "code": "zzz"}).provider_kind == "invalid_request_error"
    assert answer(400, {"code": "zzz"}).provider_kind == "zzz"


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b'{"message":"no"}', "no"),
        (b'{"error":"no"}', "no"),
        (b'{"error":{"message":"a\\n  b"}}', "a b"),
        (b'{"detail":"Not Found"}', 'the service answered 404 with application/json: {"detail":"Not Found"}'),
        (b"", "the service answered 404 without a word"),
        (b'{"error":null}', 'the service answered 404 with application/json: {"error":null}'),
    ],
)
def test_whatever_the_body_is_there_is_one_sentence(body: bytes, detail: str) -> None:
    assert answer(404, body).detail == detail


def test_a_page_is_told_with_its_type_and_beginning() -> None:
    page = b"<html>\n<body>" + b"Bad gateway " * 100 + b"\xff</body></html>"
    failure = answer(502, page, "text/html")
    assert failure.kind is FailureKind.SERVER
    assert failure.detail.startswith("the service answered 502 with text/html: <html> <body>Bad gateway")
    assert len(failure.detail) < 250
    assert answer(502, b"x", "").detail == "the service answered 502 with an unnamed type: x"


def test_long_words_are_cut() -> None:
    assert len(answer(400, {"message": "x" * 10_000}).detail) == MAX_DETAIL + 1


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, (FailureKind.OVERLOADED, "busy")),
        ({"error": {"type": "rate_limit_error"}}, (FailureKind.RATE_LIMIT, "rate_limit_error")),
        ({"error": {"code": 429, "message": "slow"}}, (FailureKind.RATE_LIMIT, "slow")),
        ({"error": {"code": 502, "message": "x"}}, (FailureKind.SERVER, "x")),
        ({"error": {"type": "invalid_request_error", "message": "prompt is too long"}}, (FailureKind.TOO_LONG, "prompt is too long")),
        ({"error": {}}, (FailureKind.SERVER, "the service reported an error without saying which")),
        ({"error": "boom"}, (FailureKind.SERVER, "boom")),
    ],
)  # fmt: skip
def test_an_error_inside_a_stream_is_what_it_names(event: dict[str, Any], expected: tuple[FailureKind, str]) -> None:
    failure = read_error_event(event)
    assert (failure.kind, failure.detail, failure.status) == (*expected, None)


def test_the_body_of_an_answer_that_is_no_json_is_found_in_its_description():
    described = answer(502, b"<html>bad gateway</html>", "text/html").detail
    assert body_in(described) == "<html>bad gateway</html>"
    assert body_in("overloaded") == "overloaded"
