"""Requests about batches: what is sent again, what never is, and what the failures are called."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from lastcall.errors import BrokenStream, Unreachable
from lastcall.providers.batch_http import BatchHttp, BatchRefused
from raw_server import RESET, RawServer, response
from wire_tools import TestClock

GOOD = response(200, b'{"id": "b"}')


def asked(*replies: Any, do: Callable[[BatchHttp, str], Awaitable[Any]]) -> tuple[Any, int, list[float]]:
    """What comes of it, how many requests there were, and the waits between them."""

    async def one() -> tuple[Any, int, list[float]]:
        clock = TestClock()
        async with RawServer(*replies) as server:
            http = BatchHttp(server.base_url, {"x-api-key": "sk-secret"}, clock=clock)
            try:
                found: Any = await do(http, f"{server.base_url}/v1/batches")
            except (BatchRefused, BrokenStream, Unreachable) as error:
                found = error
            await http.aclose()
            return found, len(server.requests), clock.waits

    return anyio.run(one)


def get(http: BatchHttp, url: str) -> Awaitable[bytes]:
    return http.get(url)


def order(http: BatchHttp, url: str) -> Awaitable[bytes]:
    return http.order(url, b"{}")


def test_a_question_is_asked_again_after_a_fault() -> None:
    assert asked(response(500), response(529, retry_after="7"), GOOD, do=get) == (b'{"id": "b"}', 3, [0.5, 7.0])


@pytest.mark.parametrize("status", [429, 529])
def test_an_order_that_was_refused_by_load_is_given_again(status: int) -> None:
    found, requests, _ = asked(response(status, b"{}"), GOOD, do=order)
    assert (found, requests) == (b'{"id": "b"}', 2)


@pytest.mark.parametrize("reply", [response(500, b"{}"), response(504, b"{}"), [RESET]])
def test_an_order_that_may_have_arrived_is_given_once(reply: Any) -> None:
    found, requests, _ = asked(reply, GOOD, do=order)
    assert (type(found), requests) == (BrokenStream, 1)


def test_what_is_refused_for_good_is_told_with_the_services_words() -> None:
    found, requests, _ = asked(response(401, b'{"error": {"message": "no key"}}'), do=order)
    assert isinstance(found, BatchRefused)
    assert (found.answer.status, found.answer.body, requests) == (401, b'{"error": {"message": "no key"}}', 1)


def test_a_service_that_is_not_there_was_not_asked() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1/batches"

    async def one() -> None:
        http = BatchHttp(url, {}, clock=TestClock())
        with pytest.raises(Unreachable, match="cannot be reached"):
            await http.order(url, b"{}")
        await http.aclose()

    anyio.run(one)


def test_lines_come_one_by_one_and_a_refusal_is_no_line() -> None:
    async def lines(http: BatchHttp, url: str) -> list[bytes]:
        return [line async for line in http.lines(url)]

    assert asked(response(200, b'{"a": 1}\n\n{"b": 2}'), do=lines)[0] == [b'{"a": 1}', b'{"b": 2}']
    refused = asked(response(404, b"gone"), do=lines)[0]
    assert isinstance(refused, BatchRefused)
    assert (refused.answer.status, refused.answer.body) == (404, b"gone")


def test_no_failure_tells_a_key() -> None:
    for reply in (response(500, b"{}"), [RESET]):
        assert "sk-secret" not in str(asked(reply, do=order)[0])
