"""What every request passes before anything looks at it: its host, its framing, its size, its speed.

A browser that was led astray (DNS rebinding, a form on a foreign page) is a client too, so a server without tokens looks
at `Host` and `Origin`, and takes bodies only as JSON, which no page may send elsewhere without being asked first; this
server answers no such question.

Must not go in here: who may do what (`server.doors`), routes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

import anyio
from starlette.responses import Response

from lastcall.server.answers import Refusal
from lastcall.server.dropin import refuse
from lastcall.server.metrics import Metrics
from lastcall.server.settings import LOOPBACK, ServerSettings

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

HEAD_BYTES: Final = 32 * 1024
_QUERY_BYTES: Final = 2_048
_HEADERS: Final = {
    b"x-content-type-options": b"nosniff",
    b"cache-control": b"no-store",
    b"referrer-policy": b"no-referrer",
    b"x-frame-options": b"DENY",
    b"cross-origin-resource-policy": b"same-origin",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
}
"""Said with each answer that does not say otherwise."""
_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class Entrance:
    """The ASGI application around the routes."""

    def __init__(self, app: App, settings: ServerSettings, metrics: Metrics) -> None:
        self._app = app
        self._settings = settings
        self._metrics = metrics
        self._hosts = frozenset(host.lower() for host in settings.allowed_hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] != "http":
            return
        outgoing = _Outgoing(send)
        refusal = self._refusal(scope)
        try:
            if refusal is not None:
                await self._answer(refuse(scope["path"], refusal), refusal, scope, receive, outgoing.send)
                return
            await self._app(scope, _Incoming(receive, self._settings).receive, outgoing.send)
        finally:
            if outgoing.status:
                route = getattr(scope.get("route"), "path", "other")
                method = scope["method"] if scope["method"] in _METHODS else "other"
                self._metrics.answered(route, method, outgoing.status)

    async def _answer(self, answer: Response, refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
        self._metrics.refused(refusal.code)
        answer.headers["connection"] = "close"
        await answer(scope, receive, send)

    def _refusal(self, scope: Scope) -> Refusal | None:
        """Why the request is not let through, from its head alone."""
        headers = {name.decode("latin-1"): text.decode("latin-1") for name, text in scope["headers"]}
        return _badly_framed(scope, headers) or self._for_others(scope["method"], headers) or self._body(scope, headers)

    def _for_others(self, method: str, headers: dict[str, str]) -> Refusal | None:
        """A request for another host, or one that the page of another site makes."""
        host = headers.get("host", "")
        if not self._knows(host):
            words = f"this server is not {host[:200]!r}" if host else "the request does not say whom it is for"
            return Refusal(421, "unknown_host", words, hint="Its operator may name hosts with --allow-host.")
        if method not in _READS and not _same_origin(headers.get("origin"), host):
            return Refusal(403, "foreign_origin", "pages of other sites may not ask this server")
        return None

    def _body(self, scope: Scope, headers: dict[str, str]) -> Refusal | None:
        """A body that is too long or no JSON, as far as the head says."""
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length) > self._settings.body_bytes:
            return _too_large(self._settings)
        if scope["method"] == "POST" and _has_body(headers) and not _is_json(headers.get("content-type", "")):
            return Refusal(415, "not_json", "bodies are taken as application/json")
        return None

    def _knows(self, host: str) -> bool:
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        name = name.strip("[]").lower()
        if name in self._hosts:
            return True
        if self._settings.on_loopback:
            return name in LOOPBACK
        return not self._hosts and bool(host)


def _badly_framed(scope: Scope, headers: dict[str, str]) -> Refusal | None:
    """A head that is too long, or that others on the way may read otherwise."""
    names = [name for name, _ in scope["headers"]]
    if len(scope.get("query_string", b"")) > _QUERY_BYTES or len(scope["path"]) > _QUERY_BYTES:
        return Refusal(414, "address_too_long", f"path and query may have {_QUERY_BYTES} bytes each")
    if sum(len(name) + len(text) for name, text in scope["headers"]) > HEAD_BYTES:
        return Refusal(431, "headers_too_large", f"the headers are longer than {HEAD_BYTES} bytes")
    if any(names.count(name) > 1 for name in _ONCE):
        return Refusal(400, "bad_framing", "a header stands twice that may stand once")
    if "transfer-encoding" in headers and "content-length" in headers:
        return Refusal(400, "bad_framing", "the request says in two ways how long it is")
    return None


_ONCE: Final = (b"host", b"content-length", b"transfer-encoding", b"authorization", b"content-type")
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"})


def _same_origin(origin: str | None, host: str) -> bool:
    return origin is None or origin.partition("://")[2].lower() == host.lower()


def _has_body(headers: dict[str, str]) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


def _is_json(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().lower() == "application/json"


def _too_large(settings: ServerSettings) -> Refusal:
    return Refusal(413, "body_too_large", f"the body is longer than {settings.body_bytes} bytes")


class _Incoming:
    """The body as it arrives: counted, and waited for only so long."""

    def __init__(self, receive: Receive, settings: ServerSettings) -> None:
        self._receive = receive
        self._settings = settings
        self._until: float | None = None
        self._bytes = 0
        self._whole = False

    async def receive(self) -> Message:
        """The next piece; after the whole body whatever the client does, however long that takes. Raises `Refusal`."""
        if self._whole:
            return await self._receive()
        if self._until is None:
            self._until = anyio.current_time() + self._settings.patience_s
        message: Message | None = None
        with anyio.move_on_at(self._until):
            message = await self._receive()
        if message is None:
            words = f"the request did not arrive within {self._settings.patience_s:g} seconds"
            raise Refusal(408, "too_slow", words)
        if message["type"] == "http.request":
            self._bytes += len(message.get("body", b""))
            self._whole = not message.get("more_body", False)
            if self._bytes > self._settings.body_bytes:
                raise _too_large(self._settings)
        return message


class _Outgoing:
    """The answer as it leaves, with the headers that all have. `status` is 0 before it began."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0

    async def send(self, message: Message) -> None:
        """Send a piece."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            said = {name.lower() for name, _ in message["headers"]}
            added = [(name, text) for name, text in _HEADERS.items() if name not in said]
            message = {**message, "headers": [*message["headers"], *added]}
        await self._send(message)
