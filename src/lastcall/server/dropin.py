"""The vendors' doors: their clients ask here as they ask the vendors, and get an object that passed, or their own errors.

A run behind such a door is one that nobody can find again, so it is cancelled when its client leaves; unless it came with
an `Idempotency-Key`, because then the client may ask again. A stream says nothing for the first seconds, so that a run
that fails early fails with its own status; the object comes when it has passed, never before.

Must not go in here: the vendors' forms (`server.chat_completions`, `server.messages`).
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from typing import Final

import anyio
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from lastcall.errors import LastcallError
from lastcall.server import answers, streams
from lastcall.server.answers import Refusal
from lastcall.server.bodies import read_exact
from lastcall.server.chat_completions import ChatCompletions
from lastcall.server.database import StorageError
from lastcall.server.doors import Doors
from lastcall.server.house import House
from lastcall.server.messages import Messages
from lastcall.server.routes import CLIENT_LEFT, RUN_HEADER, Answering, awaited, idempotency_key, over, taken
from lastcall.server.rows import RunRow, State
from lastcall.server.vendors import DoorRefusal, Told, Vendor, Wanted, told

_VENDORS: Final[dict[str, Vendor]] = {"/v1/chat/completions": ChatCompletions(), "/v1/messages": Messages()}
_ONCE: Final = {"x-should-retry": "false"}
"""The clients ask again by themselves; after a run that was tried as often as it may be, that only costs."""


def refuse(path: str, refusal: Refusal) -> Response:
    """A refusal in the form of the door it was met at."""
    vendor = _VENDORS.get(path)
    if vendor is None:
        return answers.refuse(refusal)
    headers = refusal.headers if refusal.retry_s is not None or refusal.status == 401 else {**refusal.headers, **_ONCE}
    return answers.raw(vendor.error(refusal.status, refusal.code, str(refusal), ""), refusal.status, headers)


class DropIn:
    """What answers the requests of the vendors' clients."""

    def __init__(self, house: House, doors: Doors) -> None:
        self._house = house
        self._doors = doors

    def answering(self, path: str) -> Answering:
        """What answers at a vendor's path."""
        return partial(self._answer, _VENDORS[path], path)

    async def _answer(self, vendor: Vendor, path: str, request: Request) -> Response:
        try:
            return await self._ask(vendor, request)
        except DoorRefusal as refusal:
            self._house.metrics.refused(refusal.code)
            body = vendor.error(refusal.status, refusal.code, refusal.message, refusal.where)
            return answers.raw(body, refusal.status, _ONCE)
        except LastcallError as error:
            refused = answers.refusal_of(error)
            self._house.metrics.refused(refused.code)
            if error.where == "model":  # as the vendors say it
                refused = Refusal(404, "model_not_found", str(error))
            elif refused.status == 422:
                refused = Refusal(400, refused.code, str(error))
            return refuse(path, refused)

    async def _ask(self, vendor: Vendor, request: Request) -> Response:
        principal = await self._doors.enter(request.headers)
        wanted = vendor.read(read_exact(await request.body()))
        key = idempotency_key(request)
        order = replace(wanted.order, kept=key is not None)
        row = await taken(self._house, order, principal, key)
        headers = {RUN_HEADER: row.run_id, "request-id": row.run_id, "x-request-id": row.run_id}
        try:
            ended = await awaited(self._house, row, request, self._house.settings.hold_s if wanted.stream else math.inf)
        except Refusal as refusal:
            if refusal.code == CLIENT_LEFT and key is None:
                await self._house.cancel(row.run_id)
            raise
        if wanted.stream and ended is not None and ended.state is not State.ENDED and not self._house.draining:
            return answers.stream(self._slow(vendor, wanted, row, cancels=key is None), headers)
        done = told(over(ended))
        if not _gives(done):
            body = vendor.error(done.status, done.code, done.reason, "")
            return answers.raw(body, done.status, {**headers, **_ONCE})
        if wanted.stream:
            return answers.stream(_at_once(vendor, wanted, done), headers)
        return answers.raw(vendor.whole(wanted, done), 200, headers)

    async def _slow(self, vendor: Vendor, wanted: Wanted, row: RunRow, *, cancels: bool) -> AsyncIterator[bytes]:
        """A stream that begins before the run has ended."""
        ended = False
        try:
            for piece in vendor.opening(wanted, row.run_id, row.created_at):
                yield piece
            while not ended:
                pieces: list[bytes] = [vendor.keep_alive]
                with anyio.move_on_after(self._house.settings.hold_s):
                    pieces = await self._ending(vendor, wanted, row.run_id)
                    ended = True
                for piece in pieces:
                    yield piece
        finally:
            if cancels and not ended:
                with anyio.CancelScope(shield=True), suppress(StorageError):
                    await self._house.cancel(row.run_id)

    async def _ending(self, vendor: Vendor, wanted: Wanted, run_id: str) -> list[bytes]:
        """What a stream ends with, once the run has."""
        try:
            done = told(over(await streams.ended(self._house, run_id)))
        except LastcallError as error:
            refusal = answers.refusal_of(error)
            return [vendor.broken(vendor.error(refusal.status, refusal.code, str(refusal), ""))]
        if _gives(done):
            return list(vendor.rest(wanted, done))
        return [vendor.broken(vendor.error(done.status, done.code, done.reason, ""))]


def _gives(done: Told) -> bool:
    """Whether the vendor's form has a place for this end: an object, an answer, or a refusal by the model."""
    return done.ok or done.declined


async def _at_once(vendor: Vendor, wanted: Wanted, done: Told) -> AsyncIterator[bytes]:
    for piece in vendor.opening(wanted, done.run_id, done.created_at):
        yield piece
    for piece in vendor.rest(wanted, done):
        yield piece
