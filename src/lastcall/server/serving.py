"""A server put together and served until a signal: routes behind the entrance, uvicorn in front, the house behind.

On SIGTERM and SIGINT nothing new is taken; what runs may end within the time that the operator gave; what does not is let
go, and is gone on with by the next server that looks.

Must not go in here: answers, rules of who may do what.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import h11
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from lastcall.errors import BadConfig
from lastcall.server.answers import Refusal
from lastcall.server.doors import Doors
from lastcall.server.dropin import DropIn, refuse
from lastcall.server.entrance import HEAD_BYTES, Entrance
from lastcall.server.house import House
from lastcall.server.metrics import Metrics
from lastcall.server.routes import Routes
from lastcall.server.settings import ServerSettings
from lastcall.server.stories import Stories
from lastcall.server.tokens import any_valid

if TYPE_CHECKING:
    import asyncio

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_KEPT_S: Final = 15
"""How long a connection is kept for another request."""
_LAST_S: Final = 5
"""How long clients may take for the last piece of their answers, once no run goes on."""


def routes_of(house: House) -> list[Route]:
    """All routes. Their documentation is in `server.openapi`, and a test compares the two."""
    doors = Doors(house)
    own = Routes(house, doors)
    vendors = DropIn(house, doors)
    stories = Stories(house, doors)
    wrap = own.answering
    return [
        Route("/", wrap(stories.page), methods=["GET"]),
        Route("/v1/stories", wrap(stories.listing), methods=["GET"]),
        Route("/v1/stories/{run_id}", wrap(stories.story), methods=["GET"]),
        Route("/openapi.json", wrap(own.described), methods=["GET"]),
        Route("/healthz", wrap(own.healthy), methods=["GET"]),
        Route("/readyz", wrap(own.ready), methods=["GET"]),
        Route("/metrics", wrap(own.metrics), methods=["GET"]),
        Route("/v1/runs", wrap(own.runs), methods=["GET", "POST"]),
        Route("/v1/runs/{run_id}", wrap(own.one), methods=["GET"]),
        Route("/v1/runs/{run_id}/events", wrap(own.events), methods=["GET"]),
        Route("/v1/runs/{run_id}/cancel", wrap(own.cancel), methods=["POST"]),
        Route("/v1/chat/completions", vendors.answering("/v1/chat/completions"), methods=["POST"]),
        Route("/v1/messages", vendors.answering("/v1/messages"), methods=["POST"]),
        Route("/v1/contracts/check", wrap(own.check), methods=["POST"]),
    ]


def application(house: House) -> Entrance:
    """The ASGI application of a house."""

    async def unknown(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        codes = {404: ("no_such_route", "there is nothing here"), 405: ("wrong_method", "not by this method")}
        code, words = codes.get(status, ("internal", "a fault of lastcall"))
        answer = refuse(request.url.path, Refusal(status, code, words))
        answer.headers.update(getattr(error, "headers", None) or {})
        return answer

    app = Starlette(routes=routes_of(house), exception_handlers={HTTPException: unknown, Exception: unknown})
    app.router.redirect_slashes = False
    return Entrance(app, house.settings, house.metrics)


class _PatientProtocol(H11Protocol):
    """The protocol of uvicorn, but nobody may be slow for ever.

    A request's head has to arrive within `patience_s`, on a kept connection too, and a client that does not take what
    it is sent for so long is dropped.
    """

    patience_s: float = 30.0
    _head: asyncio.TimerHandle | None = None
    _stuck: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def handle_events(self) -> None:
        super().handle_events()
        waits = self.conn.their_state is h11.IDLE
        if waits and self._head is None:
            self._wait()
        elif not waits and self._head is not None:
            self._head.cancel()
            self._head = None

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._stuck is None:
            self._stuck = self.loop.call_later(self.patience_s, self.transport.abort)

    def resume_writing(self) -> None:
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._head, self._stuck):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._head = self.loop.call_later(self.patience_s, self._too_slow)

    def _too_slow(self) -> None:
        self._head = None
        if self.conn.their_state is h11.IDLE and (self.cycle is None or self.cycle.response_complete):
            self.transport.abort()


class _Server(uvicorn.Server):
    """The server of uvicorn, which lets the house drain before it waits for the connections."""

    def __init__(self, config: uvicorn.Config, house: House) -> None:
        super().__init__(config)
        self._house = house

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._house.drain()
        for server in self.servers:
            server.close()
        await self._house.drained(self._house.settings.drain_s)
        await super().shutdown(sockets)


async def serve(settings: ServerSettings, listening: Callable[[str], None]) -> None:
    """Serve until a signal. `listening` is told the address. Raises `BadConfig`, `StorageError`."""
    metrics = Metrics()
    sock = _bind(settings)
    try:
        async with House(settings, metrics) as house:
            await _demand_token(house)
            config = uvicorn.Config(
                application(house),
                http=type("Protocol", (_PatientProtocol,), {"patience_s": settings.patience_s}),
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                h11_max_incomplete_event_size=HEAD_BYTES,
                limit_concurrency=settings.connections,
                timeout_keep_alive=max(1, round(min(_KEPT_S, settings.patience_s))),
                timeout_graceful_shutdown=_LAST_S,
                backlog=2048,
            )
            before = {number: signal.signal(number, _heard) for number in _SIGNALS}
            try:
                listening(_address(sock))
                await _Server(config, house).serve([sock])
            finally:
                for number, old in before.items():
                    signal.signal(number, old)
    finally:
        sock.close()


def _heard(number: int, frame: object) -> None:
    """The signal is raised once more by uvicorn when it is done; by then it has been heeded."""


def _bind(settings: ServerSettings) -> socket.socket:
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        sock = socket.socket(family, kind, protocol)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
    except OSError as error:
        why = error.strerror or str(error)
        raise BadConfig(
            f"the address cannot be used: {why}", hint="Choose another.", where=f"{settings.host}:{settings.port}"
        ) from None
    return sock


def _address(sock: socket.socket) -> str:
    host, port = sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def _demand_token(house: House) -> None:
    """No server is open to a network without somebody having said so."""
    settings = house.settings
    if settings.on_loopback or settings.insecure or await house.read(any_valid):
        return
    raise BadConfig(
        f"{settings.host} can be reached by others, and there is no token",
        hint="Make one (lastcall serve token create NAME), or say --insecure.",
        where="--host",
    )
