"""Answers that every route gives alike: envelopes for what began no run, values as JSON, streams.

Must not go in here: answers in the vendors' forms, deciding which answer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import msgspec
from starlette.responses import Response, StreamingResponse

from lastcall.errors import LastcallError, MissingExtra, UsageError
from lastcall.runtime.clock import new_uuid
from lastcall.server.database import StorageError
from lastcall.wire.envelope import error_frame
from lastcall.wire.json import encode_value

RETRY_S: Final = 2
JSON: Final = "application/json"


class Refusal(LastcallError):  # noqa: N818 -- named for what it says
    """A request begins no run. `status` is the answer's; `retry_s` when it may be worth asking again."""

    def __init__(self, status: int, code: str, message: str, *, hint: str = "", retry_s: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.code = code  # as many codes as there are refusals, not as classes
        self.retry_s = retry_s

    @property
    def headers(self) -> dict[str, str]:
        """What the answer says beside its body."""
        headers = {} if self.retry_s is None else {"retry-after": str(self.retry_s)}
        if self.status in (408, 413):
            headers["connection"] = "close"  # what is left of the request is not read
        if self.status == 401:
            headers["www-authenticate"] = "Bearer"
        return headers


def refusal_of(error: LastcallError) -> Refusal:
    """The refusal that an error is: the caller's are 422, the database's 503, the rest ours."""
    match error:
        case Refusal():
            return error
        case MissingExtra():
            return Refusal(501, error.code, str(error))
        case UsageError():
            return Refusal(422, error.code, str(error))
        case StorageError():
            return Refusal(503, error.code, str(error), retry_s=RETRY_S)
        case _:
            return Refusal(500, "internal", str(error))


def refuse(refusal: Refusal) -> Response:
    """The envelope of a request that began no run."""
    frame = error_frame(refusal.code, str(refusal), new_uuid())
    return raw(encode_value(frame), refusal.status, refusal.headers)


def raw(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """JSON bytes as an answer."""
    return Response(body, status, headers=dict(headers or {}), media_type=JSON)


def value(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A value as an answer."""
    return raw(msgspec.json.encode(content), status, headers)


def stream(pieces: AsyncIterator[bytes], headers: Mapping[str, str] | None = None) -> Response:
    """Server-sent events as an answer; nobody on the way may keep them back."""
    return StreamingResponse(
        pieces, headers={"x-accel-buffering": "no", **(headers or {})}, media_type="text/event-stream"
    )
