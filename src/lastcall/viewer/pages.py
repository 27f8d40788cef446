"""The page of a session, and the page that asks a server: the same, with its values inside or fetched.

A server that shows `live_page` answers two requests below the page's `base`: `GET /stories` with a `Listing` and
`GET /stories/{id}` with server-sent events, each a `Changes`: first everything, then what changed, until the run is over
(`event_of`).

Must not go in here: HTTP (`viewer.serving`, `lastcall.server`), what is in a story (`viewer.story`).
"""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec
from msgspec import Struct

from lastcall.viewer.entries import Changes, Listing
from lastcall.viewer.markup import Markup, join, tag
from lastcall.viewer.page import render_page

_STYLES: Final = ("run",)
_SCRIPTS: Final = ("dom", "parts", "timeline", "run", "runs", "source", "app")
_NO_SCRIPT: Final = "This page needs JavaScript, its own: it loads nothing from anywhere."


class Served(Struct, frozen=True, kw_only=True):
    """Where a page finds its values: `base` is what `/stories` stands behind, absolute or relative to the page.

    With `bearer` the page asks its reader for a token and sends it; with `exports` it offers `stories/{id}/page.html`.
    `session` opens that session first.
    """

    base: str
    bearer: bool = False
    exports: bool = False
    session: str = ""


def session_page(story: Changes, title: str = "") -> str:
    """A session as one file that needs no server: the whole story, as `Story.changes` gives it the first time."""
    session = story.session.session_id if story.session else ""
    values = {"source": {"kind": "embedded"}, "session": session, "story": plain(story)}
    return render_page(title or "A run \u2013 lastcall", _waiting(), values=values, styles=_STYLES, scripts=_SCRIPTS)


def live_page(served: Served, title: str = "Runs \u2013 lastcall") -> str:
    """The page that fetches its values from the server that it came from."""
    values = {
        "source": {"kind": "served", "base": served.base, "bearer": served.bearer, "exports": served.exports},
        "session": served.session,
    }
    return render_page(title, _waiting(), values=values, styles=_STYLES, scripts=_SCRIPTS, connects=True)


def plain(value: Changes | Listing) -> Any:
    """The value as JSON values."""
    return msgspec.to_builtins(value)


def encode(value: Changes | Listing) -> bytes:
    """The value as JSON. Half a surrogate pair, which no UTF-8 can carry, is escaped."""
    return json.dumps(plain(value), ensure_ascii=True, separators=(",", ":")).encode()


def event_of(changes: Changes) -> bytes:
    """One server-sent event. ASCII without line feeds, so that no text in it can begin another."""
    return b"data: " + encode(changes) + b"\n\n"


def _waiting() -> Markup:
    return join(tag("p", "Loading\u2026", class_="soft"), tag("noscript", tag("p", _NO_SCRIPT)))
