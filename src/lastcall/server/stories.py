"""The page to look at runs, and the two answers that it asks for: the list, and a run's story as it grows.

A story is told from the run's journal, which lies where the run was run; of a run of another server there is only the
list's line here.

Must not go in here: what a story shows (`viewer`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response

from lastcall.errors import JournalError
from lastcall.journal.sessions import Sessions
from lastcall.server import answers, runs_table
from lastcall.server.answers import Refusal
from lastcall.server.doors import Doors
from lastcall.server.house import House
from lastcall.server.routes import own_run
from lastcall.server.rows import RunRow, State
from lastcall.server.runs_table import Page
from lastcall.server.streams import KEEP_ALIVE, KEEP_ALIVE_S
from lastcall.server.tokens import any_made
from lastcall.viewer.entries import Listing, Row, Tone
from lastcall.viewer.pages import Served, encode, event_of, live_page
from lastcall.viewer.tailing import Tail
from lastcall.viewer.telling import outcome_tone

_MOST: Final = 1_000
_LOOK_S: Final = 0.5
_STATES: Final = {State.QUEUED: ("waiting", Tone.HELD), State.RUNNING: ("running", Tone.CALM)}
_HEADERS: Final = {"content-security-policy": "frame-ancestors 'none'"}
"""The page brings its own, stricter policy, which knows its scripts."""


class Stories:
    """What answers the requests of the page."""

    def __init__(self, house: House, doors: Doors) -> None:
        self._house = house
        self._doors = doors

    async def page(self, request: Request) -> Response:  # noqa: ARG002 -- a route
        """`GET /`: nothing of any run is in it, so everybody may have it."""
        bearer = await self._house.read(any_made)
        text = await anyio.to_thread.run_sync(live_page, Served(base="/v1", bearer=bearer))
        return Response(text, media_type="text/html", headers=_HEADERS)

    async def listing(self, request: Request) -> Response:
        """`GET /v1/stories`."""
        principal = await self._doors.enter(request.headers)
        page = Page(principal.key, most=_MOST)
        rows = await self._house.read(lambda db: runs_table.newest(db, page))
        return answers.raw(encode(Listing(runs=tuple(_line(row) for row in rows))))

    async def story(self, request: Request) -> Response:
        """`GET /v1/stories/{run_id}`."""
        row = await own_run(self._house, self._doors, request)
        found = await anyio.to_thread.run_sync(Sessions(self._house.settings.base.state_dir).find, row.run_id)
        if found is None:
            raise Refusal(
                404, "no_journal", "the run's journal is not here: it has not begun, or another server ran it"
            )
        return answers.stream(_told(self._house, Tail(found.path, row.run_id), row.run_id))


async def _told(house: House, tail: Tail, run_id: str) -> AsyncIterator[bytes]:
    """The story: everything at first, then what changed, until the run goes on no more."""
    told, silent_s = False, 0.0
    while True:
        live = run_id in house.live
        try:
            grown = await anyio.to_thread.run_sync(tail.read)
        except JournalError as error:
            tail.story.note(error.message)
            live, grown = False, True
        if not live:
            tail.mark_torn()
        if grown or not told or not live:
            yield event_of(tail.story.changes(live=live))
            told, silent_s = True, 0.0
        elif silent_s >= KEEP_ALIVE_S:
            yield KEEP_ALIVE
            silent_s = 0.0
        if not live:
            return
        await anyio.sleep(_LOOK_S)
        silent_s += _LOOK_S


def _line(row: RunRow) -> Row:
    word, tone = _STATES[row.state] if row.state in _STATES else outcome_tone(row.outcome or "")
    at = row.ended_at or row.started_at or row.created_at
    return Row(id=row.run_id, at=at, prompt=row.summary, word=word, tone=tone, model=row.model)
