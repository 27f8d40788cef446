"""One address, one pool of connections: the only module that knows the HTTP library.

It is imported when the first request is made, because the library takes longer to load than the rest of lastcall.
Failures of the library become `Unreachable` (nothing was answered) and `BrokenStream` (the answer broke off); waiting
is bounded by whoever waits (`providers.http`), only connecting has its limit here.

Must not go in here: what an answer means, retries, any provider.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Final

import anyio
import httpx2

from lastcall.errors import BrokenStream, Unreachable

MAX_CONNECTIONS: Final = 100


class Answer:
    """An answer on its way in."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._response.status_code

    @property
    def content_type(self) -> str:
        """The media type, lower case, without parameters; `""` where none was given."""
        return self.header("content-type").partition(";")[0].strip().lower()

    def header(self, name: str) -> str:
        """The header's value, `""` where it is not there."""
        return self._response.headers.get(name, "")

    async def chunks(self) -> AsyncGenerator[bytes]:
        """The body as it arrives, decompressed. Raises `BrokenStream` where it breaks off."""
        try:
            async for chunk in self._response.aiter_bytes():
                yield chunk
        except httpx2.DecodingError as error:
            raise BrokenStream(f"the answer's compression is damaged: {error}") from None
        except httpx2.HTTPError as error:
            raise BrokenStream(f"the connection broke off: {_words(error)}") from None


class Connection:
    """Requests to one address over connections that are used again.

    Raises `Unreachable` for an address or a header that cannot be sent.
    """

    def __init__(self, url: str, headers: Mapping[str, str], *, connect_timeout_s: float, proxies: bool = True) -> None:
        self._url = url
        # the check of certificates costs 30 ms to set up, and there is nothing to check without encryption
        verify = not url.lower().startswith("http:")
        limits = httpx2.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=MAX_CONNECTIONS)
        timeout = httpx2.Timeout(None, connect=connect_timeout_s)
        try:
            self._client = httpx2.AsyncClient(
                headers=dict(headers), timeout=timeout, limits=limits, verify=verify, trust_env=proxies
            )
            httpx2.URL(url)
        except (httpx2.InvalidURL, ValueError) as error:
            raise Unreachable(f"the address or a header cannot be used: {error}") from None

    @asynccontextmanager
    async def post(
        self, body: bytes, *, wait_s: float, headers: Mapping[str, str] = MappingProxyType({})
    ) -> AsyncIterator[Answer]:
        """Sends a JSON body, with more headers if need be, and hands over the answer; leaving the block lets go of it.

        Raises `Unreachable` if no answer begins, `TimeoutError` if none begins within `wait_s` seconds.
        """
        request = self._client.build_request("POST", self._url, content=body, headers=dict(headers))
        try:
            with anyio.fail_after(wait_s):
                response = await self._client.send(request, stream=True)
        except httpx2.ConnectTimeout:
            raise Unreachable("connecting took too long") from None
        except httpx2.ConnectError as error:
            raise Unreachable(f"connection refused or host not found: {_words(error)}") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise Unreachable(f"the connection broke before an answer came: {_words(error)}") from None
        try:
            yield Answer(response)
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        """Closes every connection."""
        await self._client.aclose()


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
