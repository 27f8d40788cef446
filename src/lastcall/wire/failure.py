"""What an HTTP answer that is no reply means, and the error objects inside streams.

The status says the kind; the words of a service only refine what the status leaves open (a 400 about the length of the
prompt, a 429 about money). The details are the service's own sentences, one line, cut to a length; redaction is the
transport's (`providers.redaction`).

Must not go in here: what is tried again and when (`providers.http`), what was refused (`providers.capability`).
"""

from __future__ import annotations

import re
from typing import Any, Final

from lastcall.nouns.result import Failed, FailureKind
from lastcall.wire.json import object_of, read_object, text_of
from lastcall.wire.reply import excerpt

MAX_DETAIL = 500
_DESCRIBED = re.compile(r"the service answered \d+ with [^:]*: ")

_BY_STATUS: Final = {
    400: FailureKind.BAD_REQUEST,
    401: FailureKind.AUTHENTICATION,
    402: FailureKind.BILLING,
    403: FailureKind.AUTHENTICATION,
    404: FailureKind.NOT_FOUND,
    408: FailureKind.TIMEOUT,
    409: FailureKind.SERVER,
    413: FailureKind.TOO_LONG,
    429: FailureKind.RATE_LIMIT,
    529: FailureKind.OVERLOADED,
}

_BY_PROVIDER_KIND: Final = {
    "api_error": FailureKind.SERVER,
    "authentication_error": FailureKind.AUTHENTICATION,
    "billing_error": FailureKind.BILLING,
    "context_length_exceeded": FailureKind.TOO_LONG,
    "insufficient_quota": FailureKind.BILLING,
    "internal_server_error": FailureKind.SERVER,
    "invalid_api_key": FailureKind.AUTHENTICATION,
    "invalid_request_error": FailureKind.BAD_REQUEST,
    "model_not_found": FailureKind.NOT_FOUND,
    "not_found_error": FailureKind.NOT_FOUND,
    "overloaded_error": FailureKind.OVERLOADED,
    "permission_error": FailureKind.AUTHENTICATION,
    "rate_limit_error": FailureKind.RATE_LIMIT,
    "rate_limit_exceeded": FailureKind.RATE_LIMIT,
    "request_too_large": FailureKind.TOO_LONG,
    "server_error": FailureKind.SERVER,
    "timeout_error": FailureKind.TIMEOUT,
}

_TOO_LONG: Final = (
    r"(?is)\b(prompt|input|request|context|messages?|tokens?)\b.{0,80}"
    r"(too (long|large|many)|exceeds?|exceeded|longer than|larger than)"
    r"|maximum context length|context (window|length|limit|size)"
)
_BILLING: Final = r"(?i)credit balance|insufficient (funds|quota|credit)|exceeded your current quota|billing"
"""Texts, not compiled: most runs meet no failure."""


def read_failure(status: int, content_type: str, body: bytes) -> Failed:
    """The failure that an answer with this status other than 200 means. Never raises, whatever the body."""
    error = _error_object(read_object(body))
    provider_kind = _provider_kind(error)
    detail = text_of(error, "message") or _describe_body(status, content_type, body)
    return Failed(_kind(status, provider_kind, detail), _one_line(detail), status, provider_kind)


def read_error_event(members: dict[str, Any]) -> Failed:
    """The failure that an error object inside a stream means, after a status that said 200."""
    error = _error_object(members)
    provider_kind = _provider_kind(error)
    detail = text_of(error, "message") or provider_kind or "the service reported an error without saying which"
    kind = _BY_PROVIDER_KIND.get(provider_kind, FailureKind.SERVER)
    code = error.get("code")
    if isinstance(code, int) and provider_kind not in _BY_PROVIDER_KIND:
        kind = _kind(code, provider_kind, detail)
    return Failed(_refine(kind, detail), _one_line(detail), None, provider_kind)


def _error_object(body: dict[str, Any] | None) -> dict[str, Any]:
    """The object that says what is wrong: `error` of the body, a bare sentence there, or the body itself."""
    if body is None:
        return {}
    error = body.get("error")
    if isinstance(error, str):
        return {**body, "message": error}
    return object_of(body, "error") or body


def _provider_kind(error: dict[str, Any]) -> str:
    """The service's word for the kind. OpenAI's `code` says more than its `type` where both are there."""
    code, kind = text_of(error, "code"), text_of(error, "type")
    return code if code in _BY_PROVIDER_KIND else kind or code


def _kind(status: int, provider_kind: str, detail: str) -> FailureKind:
    kind = _BY_STATUS.get(status)
    if kind is None:
        named = _BY_PROVIDER_KIND.get(provider_kind)
        kind = named or (FailureKind.SERVER if status >= 500 else FailureKind.BAD_REQUEST)
    elif kind in (FailureKind.BAD_REQUEST, FailureKind.RATE_LIMIT):
        special = _BY_PROVIDER_KIND.get(provider_kind)
        if special in (FailureKind.TOO_LONG, FailureKind.BILLING, FailureKind.NOT_FOUND):
            kind = special
    return _refine(kind, detail)


def _refine(kind: FailureKind, detail: str) -> FailureKind:
    if kind is FailureKind.BAD_REQUEST:
        if re.search(_BILLING, detail):
            return FailureKind.BILLING
        if re.search(_TOO_LONG, detail):
            return FailureKind.TOO_LONG
    if kind is FailureKind.RATE_LIMIT and re.search(_BILLING, detail):
        return FailureKind.BILLING
    return kind


def _describe_body(status: int, content_type: str, body: bytes) -> str:
    if not body.strip():
        return f"the service answered {status} without a word"
    return f"the service answered {status} with {content_type or 'an unnamed type'}: {excerpt(body)}"


def body_in(detail: str) -> str:
    """The answer's body in a detail that describes it; any other detail as it is."""
    return _DESCRIBED.sub("", detail)


def _one_line(detail: str) -> str:
    line = " ".join(detail.split())
    return line if len(line) <= MAX_DETAIL else line[:MAX_DETAIL] + "…"
