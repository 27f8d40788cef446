"""The way to one address; its faults are in tests/faults/test_http_transport.py."""

from __future__ import annotations

import asyncio
import gzip

import anyio
import pytest

from lastcall.errors import Unreachable
from lastcall.providers.connection import Connection
from raw_server import HOLD, RawServer, response


def test_an_answer_is_its_status_its_headers_and_its_body_decompressed() -> None:
    async def main() -> None:
        packed = response(
            418, gzip.compress(b"tea" * 100), "Text/Plain; charset=utf-8", content_encoding="gzip", x_kind="pot"
        )
        async with RawServer(packed) as server:
            connection = Connection(server.base_url + "/x?y=z", {"x-own": "1"}, connect_timeout_s=5)
            async with connection.post(b"{}", wait_s=5) as answer:
                assert (answer.status, answer.content_type, answer.header("x-kind"), answer.header("none")) == (
                    418, "text/plain", "pot", ""
                )  # fmt: skip
                assert b"".join([chunk async for chunk in answer.chunks()]) == b"tea" * 100
            assert server.requests[0][0] == "/x?y=z"
            assert server.requests[0][1]["x-own"] == "1"
            await connection.aclose()

    anyio.run(main)


def test_an_answer_that_does_not_begin_in_time_is_not_waited_for() -> None:
    async def main() -> None:
        async with RawServer([HOLD]) as server:
            connection = Connection(server.base_url, {}, connect_timeout_s=5)
            with pytest.raises(TimeoutError):
                async with connection.post(b"{}", wait_s=0.05):
                    pass
            await connection.aclose()

    anyio.run(main)


def test_nobody_listening_is_told_in_words() -> None:
    async def main() -> None:
        with pytest.raises(Unreachable, match="refused or host not found"):
            async with Connection("http://127.0.0.1:1", {}, connect_timeout_s=5).post(b"{}", wait_s=5):
                pass

    anyio.run(main)


def test_many_requests_at_once_have_a_connection_each_and_the_next_ones_use_them_again() -> None:
    """Connections are several small pools, of which the first ones are filled first."""

    async def main() -> None:
        async with RawServer(response(200, b"{}")) as server:
            connection = Connection(server.base_url, {}, connect_timeout_s=5)
            await _at_once(connection, 25)
            assert server.connections == 25
            await _at_once(connection, 25)
            await _at_once(connection, 1)
            assert server.connections == 25
            await connection.aclose()

    anyio.run(main)


async def _at_once(connection: Connection, number: int) -> None:
    """So many requests, none of which ends before all have been answered."""
    answered = 0
    everyone = anyio.Event()

    async def one() -> None:
        nonlocal answered
        async with connection.post(b"{}", wait_s=5) as answer:
            answered += 1
            if answered == number:
                everyone.set()
            await everyone.wait()
            assert b"".join([chunk async for chunk in answer.chunks()]) == b"{}"

    async with anyio.create_task_group() as tasks:
        for _ in range(number):
            tasks.start_soon(one)


@pytest.mark.parametrize("native", [False, True])
def test_a_wait_that_somebody_else_ends_is_no_timeout_and_leaves_its_place(native: bool) -> None:
    """By a cancel scope around it and by cancelling its task: either way as often as there are places in a pool."""

    async def main() -> None:
        async with RawServer(HOLD) as server:
            connection = Connection(server.base_url, {}, connect_timeout_s=5)

            async def wait() -> None:
                async with connection.post(b"{}", wait_s=5):
                    pass

            for number in range(1, 13):
                if native:
                    waiting = asyncio.create_task(wait())
                    await server_has(server, number)
                    waiting.cancel()
                    with pytest.raises(asyncio.CancelledError):
                        await waiting
                else:
                    async with anyio.create_task_group() as tasks:
                        tasks.start_soon(wait)
                        await server_has(server, number)
                        tasks.cancel_scope.cancel()
            assert [pool.busy for pool in connection._pools] == [0]
            await connection.aclose()

    async def server_has(server: RawServer, number: int) -> None:
        with anyio.fail_after(5):
            while len(server.requests) < number:  # noqa: ASYNC110 -- the server tells nobody
                await asyncio.sleep(0)

    anyio.run(main)
