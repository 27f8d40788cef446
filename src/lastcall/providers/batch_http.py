"""Requests about batches over HTTP: small answers, an upload, results line by line.

What is sent again follows the transport's rules (`providers.retries`); an order that may have arrived is never sent twice
blindly, since it would be paid twice. The library's exceptions become `Unreachable` (nothing was sent) and `BrokenStream`
(nobody knows whether it arrived, or the answer broke off).

Must not go in here: what is asked (`providers.batch_apis`), single requests to a model (`providers.http`).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Final

import httpx2
from msgspec import Struct

from lastcall.errors import BrokenStream, Unreachable
from lastcall.nouns.profile import Profile
from lastcall.nouns.result import Failed, FailureKind
from lastcall.providers.addresses import shown_address
from lastcall.providers.clock import Clock
from lastcall.providers.flow import REFUSALS_BY_LOAD
from lastcall.providers.retries import RULES, Course, Lost
from lastcall.wire.failure import read_failure

_IDLE_S: Final = 300.0
_RETRIES: Final = 6
_OK: Final = range(200, 300)


class BatchAnswer(Struct, frozen=True):
    """An answer: its status and its body."""

    status: int
    body: bytes


class BatchRefused(Exception):  # noqa: N818 -- named for what happened
    """The service refused what was asked about a batch. Nothing was begun, and nothing is to be paid."""

    def __init__(self, answer: BatchAnswer) -> None:
        super().__init__(f"the service answered {answer.status}")
        self.answer = answer


class BatchHttp:
    """A client for one service. `headers` hold the credentials; `connect_timeout_s` bounds connecting."""

    def __init__(
        self, url: str, headers: Mapping[str, str], *, connect_timeout_s: float = 10.0, clock: Clock | None = None
    ) -> None:
        self._clock = clock or Clock()
        timeout = httpx2.Timeout(_IDLE_S, connect=connect_timeout_s)
        # as in `providers.connection`: there is nothing to check without encryption, and setting that up takes 30 ms
        verify = httpx2.create_ssl_context() if not url.lower().startswith("http:") else False
        self._client = httpx2.AsyncClient(headers=dict(headers), timeout=timeout, verify=verify)

    async def aclose(self) -> None:
        """Lets go of the connections."""
        await self._client.aclose()

    async def get(self, url: str, params: Mapping[str, str | int] | None = None) -> bytes:
        """The body at an address. Raises `BatchRefused`, `Unreachable`, `BrokenStream`."""
        return await self._ask("GET", url, harmless=True, params=dict(params or {}))

    async def order(self, url: str, body: bytes) -> bytes:
        """The answer to an order that must not be given twice.

        Raises `BatchRefused` and `Unreachable` where it was not taken, `BrokenStream` where nobody knows.
        """
        return await self._ask("POST", url, harmless=False, content=body, headers={"content-type": "application/json"})

    async def upload(self, url: str, name: str, content: bytes, fields: Mapping[str, str]) -> bytes:
        """The answer to an uploaded file. Raises `BatchRefused`, `Unreachable`, `BrokenStream`."""
        files = {"file": (name, content, "application/jsonl")}
        return await self._ask("POST", url, harmless=True, files=files, data=dict(fields))

    async def lines(self, url: str) -> AsyncGenerator[bytes]:
        """The lines at an address. Raises `BatchRefused`, `Unreachable`, `BrokenStream`."""
        try:
            async with self._client.stream("GET", url) as response:
                if response.status_code not in _OK:
                    raise BatchRefused(BatchAnswer(response.status_code, await response.aread()))
                rest = b""
                async for chunk in response.aiter_bytes():
                    *whole, rest = (rest + chunk).split(b"\n")
                    for line in whole:
                        if line.strip():
                            yield line
                if rest.strip():
                    yield rest
        except httpx2.HTTPError as error:
            raise _fault(error, url) from None

    async def _ask(self, method: str, url: str, *, harmless: bool, **given: Any) -> bytes:
        course = Course(RULES[Profile.NATIVE], _RETRIES)
        while True:
            try:
                response = await self._client.request(method, url, **given)
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                fault = _fault(error, url)
                lost = Lost(Failed(FailureKind.NETWORK, fault.message))
                may_be_repeated = harmless or isinstance(fault, Unreachable)
                if not may_be_repeated or not course.may_retry(lost):
                    raise fault from None
            else:
                if response.status_code in _OK:
                    return response.content
                lost = _lost(response)
                was_refused = response.status_code < 500 or lost.failure.kind in REFUSALS_BY_LOAD
                if not harmless and not was_refused:
                    raise BrokenStream(f"the service answered {response.status_code} to the order of a batch")
                if not course.may_retry(lost):
                    raise BatchRefused(BatchAnswer(response.status_code, response.content))
            await self._clock.sleep(course.delay_s(lost, now=self._clock.now(), chance=self._clock.chance()))


def _lost(response: httpx2.Response) -> Lost:
    content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    failure = read_failure(response.status_code, content_type, response.content)
    return Lost(failure, response.headers.get("retry-after", ""))


def _fault(error: Exception, url: str) -> Unreachable | BrokenStream:
    said = f"{str(error) or type(error).__name__} ({shown_address(url)})"
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.InvalidURL | httpx2.UnsupportedProtocol):
        return Unreachable(f"the service of batches cannot be reached: {said}")
    return BrokenStream(f"the connection to the service of batches broke: {said}")
