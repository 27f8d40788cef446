"""The server's own routes: runs, their streams, contracts, health.

Must not go in here: the vendors' doors (`server.dropin`), the OpenAPI document's words (`server.openapi`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Awaitable, Callable
from typing import Final

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response

from lastcall.contract import Contract
from lastcall.contract.json_text import JsonFault, read_json
from lastcall.contract.wording import sentence
from lastcall.errors import LastcallError
from lastcall.nouns.schema import NotStrict
from lastcall.server import answers, runs_table, streams
from lastcall.server.answers import Refusal
from lastcall.server.bodies import (
    CheckRequest,
    ContractView,
    Health,
    InstanceView,
    ProblemView,
    RunList,
    RunRequest,
    order_of,
    read_body,
    text_of,
    view,
)
from lastcall.server.database import StorageError
from lastcall.server.doors import Doors, Principal
from lastcall.server.house import House
from lastcall.server.metrics import CONTENT_TYPE
from lastcall.server.openapi import document
from lastcall.server.orders import Order, config_of, contract_of
from lastcall.server.rows import RunRow, State
from lastcall.server.runs_table import Page, Why
from lastcall.version import VERSION

RUN_HEADER: Final = "lastcall-run"
CLIENT_LEFT: Final = "client_left"
RUN_ID: Final = re.compile(r"run_[0-9a-f]{32}")
_KEY: Final = re.compile(r"[\x21-\x7e]{1,255}")
_MOST: Final = 200
Answering = Callable[[Request], Awaitable[Response]]


class Routes:
    """What answers the requests. Each method raises `Refusal`, `UsageError` or `StorageError` for what it refuses."""

    def __init__(self, house: House, doors: Doors) -> None:
        self._house = house
        self._doors = doors

    def answering(self, route: Callable[[Request], Awaitable[Response]]) -> Answering:
        """The route with its refusals as answers."""

        async def answer(request: Request) -> Response:
            try:
                return await route(request)
            except LastcallError as error:
                refusal = answers.refusal_of(error)
                self._house.metrics.refused(refusal.code)
                return answers.refuse(refusal)

        return answer

    # -- runs -------------------------------------------------------------------------------------------------------

    async def runs(self, request: Request) -> Response:
        """`/v1/runs`."""
        return await (self.begin(request) if request.method == "POST" else self.several(request))

    async def begin(self, request: Request) -> Response:
        """`POST /v1/runs`."""
        principal = await self._doors.enter(request.headers)
        wanted: RunRequest = read_body(await request.body(), RunRequest)
        key = idempotency_key(request)
        after = _last_event_id(request)
        row = await taken(self._house, order_of(wanted), principal, key)
        if wanted.stream:
            return answers.stream(streams.events(self._house, row, after), {RUN_HEADER: row.run_id})
        if not wanted.wait:
            return answers.value(view(row, result=True), 202, {RUN_HEADER: row.run_id, **_place(row)})
        return _told(over(await awaited(self._house, row, request)))

    async def one(self, request: Request) -> Response:
        """`GET /v1/runs/{run_id}`."""
        row = await own_run(self._house, self._doors, request)
        return answers.value(view(row, result=True), headers={RUN_HEADER: row.run_id})

    async def events(self, request: Request) -> Response:
        """`GET /v1/runs/{run_id}/events`."""
        row = await own_run(self._house, self._doors, request)
        after = _last_event_id(request)
        return answers.stream(streams.events(self._house, row, after), {RUN_HEADER: row.run_id})

    async def several(self, request: Request) -> Response:
        """`GET /v1/runs`."""
        principal = await self._doors.enter(request.headers)
        query = request.query_params
        unknown = set(query) - {"state", "outcome", "before", "limit"}
        if unknown:
            raise Refusal(422, "bad_query", f"there is no parameter {min(unknown)[:100]!r}")
        limit = query.get("limit", "50")
        if not re.fullmatch(r"[1-9][0-9]{0,2}", limit) or int(limit) > _MOST:
            raise Refusal(422, "bad_query", f"limit has to be a number from 1 to {_MOST}")
        for name, known in (("state", [str(state) for state in State]), ("outcome", list(runs_table.OUTCOMES))):
            if name in query and query[name] not in known:
                raise Refusal(422, "bad_query", f"{name} has to be one of {', '.join(known)}")
        before = query.get("before")
        if before is not None and not RUN_ID.fullmatch(before):
            raise Refusal(422, "bad_query", "before has to be a run's id")
        page = Page(principal.key, query.get("state"), query.get("outcome"), before, int(limit))
        rows = await self._house.read(lambda db: runs_table.newest(db, page))
        following = rows[-1].run_id if len(rows) == page.most else None
        return answers.value(RunList([view(row, result=False) for row in rows], following))

    async def cancel(self, request: Request) -> Response:
        """`POST /v1/runs/{run_id}/cancel`."""
        row = await own_run(self._house, self._doors, request)
        now = await self._house.cancel(row.run_id)
        return answers.value(view(now or row, result=True), 202, {RUN_HEADER: row.run_id})

    # -- contracts --------------------------------------------------------------------------------------------------

    async def check(self, request: Request) -> Response:
        """`POST /v1/contracts/check`."""
        principal = await self._doors.enter(request.headers)
        wanted: CheckRequest = read_body(await request.body(), CheckRequest)
        order = Order(
            prompt="-",
            schema=text_of(wanted.schema),
            rules=tuple(wanted.rules),
            formats=wanted.formats,
            strict_values=wanted.strict_values,
        )
        text = text_of(wanted.instance)
        most = principal.grant.schema_bytes
        shown = await anyio.to_thread.run_sync(lambda: _contract_view(order, self._house, most, text))
        return answers.value(shown)

    # -- the server itself ------------------------------------------------------------------------------------------

    async def healthy(self, request: Request) -> Response:  # noqa: ARG002 -- a route
        """`GET /healthz`: the process answers."""
        return answers.value(Health(True, VERSION))

    async def ready(self, request: Request) -> Response:  # noqa: ARG002 -- a route
        """`GET /readyz`: runs can be taken."""
        if self._house.draining:
            return answers.value(Health(False, VERSION, "the server is going down"), 503)
        try:
            with anyio.fail_after(5):
                await self._house.write(lambda db: db.rows("SELECT 1"))
        except (StorageError, TimeoutError):
            return answers.value(Health(False, VERSION, "the database does not answer"), 503)
        return answers.value(Health(True, VERSION))

    async def metrics(self, request: Request) -> Response:
        """`GET /metrics`."""
        await self._doors.enter(request.headers)
        counted = await self._house.read(runs_table.open_runs)
        return Response(
            self._house.metrics.text(counted, len(self._house.live)), headers={"content-type": CONTENT_TYPE}
        )

    async def described(self, request: Request) -> Response:  # noqa: ARG002 -- a route
        """`GET /openapi.json`."""
        return answers.raw(document())


async def own_run(house: House, doors: Doors, request: Request) -> RunRow:
    """The run that the path names. Raises `Refusal` also for one of somebody else: nobody learns that it is there."""
    principal = await doors.enter(request.headers)
    run_id = request.path_params["run_id"]
    row = await house.row(run_id) if RUN_ID.fullmatch(run_id) else None
    if row is None or row.principal != principal.key:
        raise Refusal(404, "no_such_run", "there is no such run")
    return row


async def taken(house: House, order: Order, principal: Principal, key: str | None) -> RunRow:
    """The run of an order, kept; nothing was kept where this raises. Raises `Refusal`, `UsageError`, `StorageError`."""
    if house.draining:
        raise Refusal(503, "going_down", "the server is going down", hint="Ask again.", retry_s=answers.RETRY_S)
    contract = await anyio.to_thread.run_sync(contract_of, order, house.settings, principal.grant.schema_bytes)
    config_of(order, house.settings, contract, "")  # what it refuses is refused now
    found = await house.take(order, principal.key, key, principal.grant.concurrency)
    if isinstance(found, Why):
        raise _not_taken(found, principal)
    return found


def _not_taken(why: Why, principal: Principal) -> Refusal:
    match why:
        case Why.KEY_IN_OTHER_USE:
            return Refusal(
                422, why.value, "this Idempotency-Key was used with another request", hint="Use another key."
            )
        case Why.TOO_MANY_AT_ONCE:
            words = f"{principal.grant.concurrency} runs are going on already"
            return Refusal(429, why.value, words, hint="Wait for one to end.", retry_s=answers.RETRY_S)
        case Why.QUEUE_FULL:
            return Refusal(429, why.value, "the queue is full", hint="Ask again.", retry_s=answers.RETRY_S)


async def awaited(house: House, row: RunRow, request: Request, within_s: float = math.inf) -> RunRow | None:
    """The run once it is over, or as it is after so long; `None` if it is no more.

    Raises `Refusal` (`CLIENT_LEFT`) when the client has left: then nobody reads the answer. Raises `StorageError`.
    """
    if row.state is State.ENDED:
        return row
    found: RunRow | None = row
    fault: LastcallError | None = None

    async def watch() -> None:
        nonlocal fault
        while (await request.receive())["type"] != "http.disconnect":
            continue
        fault = Refusal(499, CLIENT_LEFT, "the client has left")
        tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        try:
            with anyio.move_on_after(within_s):
                found = await streams.ended(house, row.run_id)
        except StorageError as error:
            fault = error
        tasks.cancel_scope.cancel()
    if fault is not None:
        raise fault
    return found


def over(row: RunRow | None) -> RunRow:
    """The run, which is over. Raises `Refusal` where it is not (the server goes down), or is no more."""
    if row is None:
        raise Refusal(404, "no_such_run", "the run was removed before its result was read")
    if row.envelope is None or row.status is None:
        words = f"the server is going down, and the run {row.run_id} goes on when it is up again"
        hint = f"Ask for /v1/runs/{row.run_id}, or repeat the request with its Idempotency-Key."
        raise Refusal(503, "going_down", words, hint=hint, retry_s=answers.RETRY_S)
    return row


def _told(row: RunRow) -> Response:
    """The envelope of a run that is over, with its status."""
    headers = {RUN_HEADER: row.run_id}
    if row.status in (429, 503):
        headers["retry-after"] = str(answers.RETRY_S)
    return answers.raw((row.envelope or "").encode(), row.status or 500, headers)


def _contract_view(order: Order, house: House, most: int | None, instance: str | None) -> ContractView:
    contract = contract_of(order, house.settings, most)
    assert contract is not None
    return ContractView(
        contract.digest,
        contract.dialect,
        contract.wrapped,
        list(contract.warnings),
        list(contract.beside),
        {rules: _strictness(contract, rules) for rules in ("anthropic", "openai", "grammar")},
        _judged(contract, instance) if instance is not None else None,
    )


def _strictness(contract: Contract, rules: str) -> str:
    found = contract.strict(rules)
    return str(found.reason) if isinstance(found, NotStrict) else "yes"


def _judged(contract: Contract, text: str) -> InstanceView:
    read = read_json(text, numbers="exact", max_bytes=len(text.encode()) + 1)
    if isinstance(read, JsonFault):
        return InstanceView(False, [ProblemView("", "json", read.message)])
    rejected = contract.problems_of(read.value)
    if rejected is None:
        return InstanceView(True, [])
    problems = [ProblemView(p.path, p.keyword, sentence(p)) for p in rejected.problems]
    return InstanceView(False, problems, rejected.total - len(problems))


def idempotency_key(request: Request) -> str | None:
    """The key of the request. Raises `Refusal` for one that cannot be kept."""
    key = request.headers.get("idempotency-key")
    if key is not None and not _KEY.fullmatch(key):
        raise Refusal(422, "bad_key", "an Idempotency-Key is 1 to 255 visible ASCII characters")
    return key


def _last_event_id(request: Request) -> int:
    """The number of the last event that arrived; 0 for none."""
    given = request.headers.get("last-event-id")
    if given is None:
        return 0
    if not re.fullmatch(r"[0-9]{1,9}", given):
        raise Refusal(422, "bad_event_id", "Last-Event-ID has to be the id of an event of this run")
    return int(given)


def _place(row: RunRow) -> dict[str, str]:
    return {"location": f"/v1/runs/{row.run_id}"}
