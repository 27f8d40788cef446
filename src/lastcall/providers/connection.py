"""One address, one pool of connections: the only module that knows the HTTP library.

It is imported when the first request is made, because the library takes longer to load than the rest of lastcall.
Failures of the library become `Unreachable` (nothing was answered) and `BrokenStream` (the answer broke off); waiting
is bounded by whoever waits (`providers.http`), only connecting has its limit here.

Must not go in here: what an answer means, retries, any provider.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager
from types import MappingProxyType
from typing import Final

import httpx2

from lastcall.errors import BrokenStream, Unreachable

MAX_CONNECTIONS: Final = 500
"""Well below what a process may open by default (1,024 files)."""
_A_POOL: Final = 10
"""The library looks at every connection of a pool at every request, so many connections are several small pools."""


class Answer:
    """An answer on its way in."""

    __slots__ = ("_response",)

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


class _Pool:
    """A few connections of a client, and how many requests are on them."""

    __slots__ = ("busy", "client")

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self.client = client
        self.busy = 0


class Connection:
    """Requests to one address over connections that are used again.

    Raises `Unreachable` for an address or a header that cannot be sent.
    """

    def __init__(self, url: str, headers: Mapping[str, str], *, connect_timeout_s: float, proxies: bool = True) -> None:
        self.url = url
        self._headers = dict(headers)
        self._timeout = httpx2.Timeout(None, connect=connect_timeout_s)
        self._proxies = proxies
        # the check of certificates costs 30 ms to set up, and there is nothing to check without encryption
        encrypted = not url.lower().startswith("http:")
        self._verify = httpx2.create_ssl_context(trust_env=proxies) if encrypted else False
        try:
            self._pools = [self._new_pool()]
            httpx2.URL(url)
        except (httpx2.InvalidURL, ValueError) as error:
            raise Unreachable(f"the address or a header cannot be used: {error}") from None

    def post(
        self, body: bytes, *, wait_s: float, headers: Mapping[str, str] = MappingProxyType({})
    ) -> AbstractAsyncContextManager[Answer]:
        """Sends a JSON body, with more headers if need be, and hands over the answer; leaving the block lets go of it.

        Raises `Unreachable` if no answer begins, `TimeoutError` if none begins within `wait_s` seconds.
        """
        return _Posting(self, body, wait_s, headers)

    async def aclose(self) -> None:
        """Closes every connection."""
        for pool in self._pools:
            await pool.client.aclose()

    def free_pool(self) -> _Pool:
        """The first pool with a place, so that connections are used again; where all are full the emptiest one waits."""
        for pool in self._pools:
            if pool.busy < _A_POOL:
                return pool
        if len(self._pools) * _A_POOL < MAX_CONNECTIONS:
            self._pools.append(self._new_pool())
            return self._pools[-1]
        return min(self._pools, key=lambda pool: pool.busy)

    def _new_pool(self) -> _Pool:
        limits = httpx2.Limits(max_connections=_A_POOL, max_keepalive_connections=_A_POOL)
        client = httpx2.AsyncClient(
            headers=self._headers, timeout=self._timeout, limits=limits, verify=self._verify, trust_env=self._proxies
        )
        return _Pool(client)


class _Posting:
    """One request: sent when it is entered, let go of when it is left (a generator would be four times the memory)."""

    __slots__ = ("_body", "_connection", "_headers", "_pool", "_response", "_wait_s")

    def __init__(self, connection: Connection, body: bytes, wait_s: float, headers: Mapping[str, str]) -> None:
        self._connection = connection
        self._body = body
        self._wait_s = wait_s
        self._headers = headers

    async def __aenter__(self) -> Answer:
        self._pool = self._connection.free_pool()
        self._pool.busy += 1
        try:
            self._response = await self._send(self._pool.client)
        except BaseException:
            self._pool.busy -= 1
            raise
        return Answer(self._response)

    async def __aexit__(self, *_: object) -> None:
        try:
            await self._response.aclose()
        finally:
            self._pool.busy -= 1

    async def _send(self, client: httpx2.AsyncClient) -> httpx2.Response:
        url, headers = self._connection.url, dict(self._headers)
        request = client.build_request("POST", url, content=self._body, headers=headers)
        try:
            async with asyncio.timeout(self._wait_s):  # a third of what a cancel scope holds while it waits
                return await client.send(request, stream=True)
        except httpx2.ConnectTimeout:
            raise Unreachable("connecting took too long") from None
        except httpx2.ConnectError as error:
            raise Unreachable(f"connection refused or host not found: {_words(error)}") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise Unreachable(f"the connection broke before an answer came: {_words(error)}") from None


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
