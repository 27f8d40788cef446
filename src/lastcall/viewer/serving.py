"""The viewer's own little server: on loopback, for one person, below a path that cannot be guessed.

It reads and never writes. A request from a page of another origin is refused: by the token in the path, by the name in
`Host` (an attacker's name that resolves to this machine), and by a policy that lets nobody frame it.

Must not go in here: the HTTP service for programs (`lastcall.server`), what pages show (`viewer.pages`).
"""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from lastcall.errors import JournalError, LastcallError
from lastcall.version import VERSION
from lastcall.viewer.entries import Listing
from lastcall.viewer.pages import Served, encode, event_of, live_page, session_page
from lastcall.viewer.tailing import Tail

_POLL_S: Final = 0.25
_SILENCE_S: Final = 10
"""After so long without news a comment is sent, so that a reader who left is noticed."""
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Shelf(Struct, frozen=True):
    """What is served: the list, and the journal of a session's id (`None`: there is none).

    `page` is a page that is shown instead of these. All may raise `LastcallError`.
    """

    listing: Callable[[], Listing]
    find: Callable[[str], str | None]
    page: Callable[[], str] | None = None


class ViewServer(ThreadingHTTPServer):
    """Serves until `shutdown`. `url` is where the page is; `session` is opened first."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, shelf: Shelf, *, session: str = "", port: int = 0, poll_s: float = _POLL_S) -> None:
        self.shelf = shelf
        self.session = session
        self.poll_s = poll_s
        self.token = secrets.token_urlsafe(24)
        self.stopping = threading.Event()
        super().__init__(("127.0.0.1", port), _Request)

    @property
    def url(self) -> str:
        """The page's address, token included."""
        return f"http://127.0.0.1:{self.server_address[1]}/{self.token}/"

    def shutdown(self) -> None:
        """Stop; streams end with their next look at the journal."""
        self.stopping.set()
        super().shutdown()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A reader who left is no error, and nothing of a request goes to the terminal."""


class _Request(BaseHTTPRequestHandler):
    server: ViewServer
    protocol_version = "HTTP/1.1"
    server_version = f"lastcall/{VERSION}"
    sys_version = ""
    timeout = 30

    def do_GET(self) -> None:
        """Answer one request."""
        path = self._path()
        if path is None:
            self._say(HTTPStatus.NOT_FOUND, b"There is nothing here.\n", "text/plain; charset=utf-8")
            return
        try:
            self._answer(path)
        except LastcallError as error:
            self._say(HTTPStatus.CONFLICT, error.message.encode("utf-8", "replace"), "text/plain; charset=utf-8")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the library's name
        """Nothing: a request's path holds the token."""

    def _path(self) -> str | None:
        """The path below the token; `None` where the token or the host's name is another."""
        host = self.headers.get("Host", "")
        port = self.server.server_address[1]
        if host not in (f"127.0.0.1:{port}", f"localhost:{port}"):
            return None
        token, _, rest = urlsplit(self.path).path.removeprefix("/").partition("/")
        given = token.encode("utf-8", "replace")
        return rest if hmac.compare_digest(given, self.server.token.encode()) else None

    def _answer(self, path: str) -> None:
        match path.split("/"):
            case [""]:
                shelf = self.server.shelf
                served = Served(base=".", exports=True, session=self.server.session)
                page = live_page(served) if shelf.page is None else shelf.page()
                self._say(HTTPStatus.OK, page.encode(), "text/html; charset=utf-8")
            case ["stories"]:
                self._say(HTTPStatus.OK, encode(self.server.shelf.listing()), "application/json")
            case ["stories", name]:
                self._with(name, self._stream)
            case ["stories", name, "page.html"]:
                self._with(name, self._export)
            case _:
                self._say(HTTPStatus.NOT_FOUND, b"There is nothing here.\n", "text/plain; charset=utf-8")

    def _with(self, name: str, answer: Callable[[Tail], None]) -> None:
        session = unquote(name)
        path = self.server.shelf.find(session)
        if path is None:
            self._say(HTTPStatus.NOT_FOUND, b"There is no such session.\n", "text/plain; charset=utf-8")
        else:
            answer(Tail(path, session))

    def _export(self, tail: Tail) -> None:
        page = page_of(tail)
        self._say(
            HTTPStatus.OK,
            page.encode(),
            "text/html; charset=utf-8",
            {"Content-Disposition": 'attachment; filename="run.html"'},
        )

    def _stream(self, tail: Tail) -> None:
        tail.read()
        live = tail.live
        if not live:
            tail.mark_torn()
        self._head(HTTPStatus.OK, "text/event-stream", {"Connection": "close"})
        self.close_connection = True
        self._send(event_of(tail.story.changes(live=live)))
        quiet_since = time.monotonic()
        while live and not self.server.stopping.wait(self.server.poll_s):
            grown, live = _look(tail)
            if grown or not live:
                self._send(event_of(tail.story.changes(live=live)))
                quiet_since = time.monotonic()
            elif time.monotonic() - quiet_since > _SILENCE_S:
                self._send(b": still here\n\n")
                quiet_since = time.monotonic()

    def _send(self, content: bytes) -> None:
        self.wfile.write(content)
        self.wfile.flush()

    def _say(self, status: HTTPStatus, body: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        self._head(status, kind, {**(headers or {}), "Content-Length": str(len(body))})
        self.wfile.write(body)

    def _head(self, status: HTTPStatus, kind: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**_HEADERS, "Content-Type": kind, **headers}.items():
            self.send_header(name, value)
        self.end_headers()


def _look(tail: Tail) -> tuple[bool, bool]:
    """Whether there is anything new, and whether the run goes on; a journal that is gone ends it, with a note."""
    try:
        return tail.read(), tail.live
    except JournalError as error:
        tail.story.note(f"{error.message[0].upper()}{error.message[1:]}.")
        return True, False


def page_of(tail: Tail) -> str:
    """The session as it is now, as one file. Raises `JournalError`."""
    tail.read()
    tail.mark_torn()
    return session_page(tail.story.changes())
