"""Rows over a service's batch API: their requests are parked until all rows wait, and go out together as one batch.

A row's run is the same as ever: its provider is the ordinary one, but the way to the service is `ParkedWay`, which holds a
request until its batch was answered. So a row whose object is rejected parks its next request, and that is in the next
round. What was submitted is in the ledger; a row that asks for what an earlier sitting submitted waits for that batch.

Must not go in here: forms (`wire`), HTTP (`providers.batch_apis`), which rows there are (`batches.work`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import aclosing
from functools import partial
from types import TracebackType
from typing import Final, Self

import anyio
import anyio.abc

from lastcall.batches.provider_batch_asks import Ask, ParkedWay, lost, name_in
from lastcall.batches.provider_batch_ledger import Asked, Ledger, Place
from lastcall.batches.rows import Row
from lastcall.batches.work import Done
from lastcall.errors import BrokenStream, ProviderError, Unreachable
from lastcall.providers import Provider
from lastcall.providers.addresses import shown_address
from lastcall.providers.batch_apis import BatchApi
from lastcall.providers.batch_http import BatchRefused
from lastcall.providers.clock import Clock
from lastcall.providers.http import HttpProvider
from lastcall.wire.batches import CANCELED, BatchEntry, BatchFault, BatchState, entry_that_failed

ROWS_AT_ONCE: Final = 10_000
"""Rows under way at once, and so requests of a round, where nothing else is said."""
_LOOK_S: Final = 0.25
_QUIET: Final = 2
"""A round is complete when all rows have waited for so many looks without another joining them."""
_FIRST_POLL_S: Final = 1.0
_LONGEST_POLL_S: Final = 60.0
_FULL_S: Final = 60.0
"""How long a service that has too much enqueued is left alone."""
_GONE: Final = 404
_MARGIN: Final = 512
"""Bytes that a request takes beside its body, at most."""


class Rounds:
    """The parked requests of a batch and the batches they went into. Use it as a context around the rows' runs.

    `running` tells how many rows are under way; `most` bounds a round; `note` tells people what happens.
    """

    def __init__(
        self,
        provider: HttpProvider,
        api: BatchApi,
        ledger: Ledger,
        *,
        running: Callable[[], int],
        most: int = ROWS_AT_ONCE,
        note: Callable[[str], None] = lambda _: None,
        clock: Clock | None = None,
    ) -> None:
        self._provider = provider
        self._api = api
        self._ledger = ledger
        self._running = running
        self._most = min(most, api.most_requests)
        self._note = note
        self._clock = clock or Clock()
        self._service = shown_address(provider.service.url)
        self._pending: list[Ask] = []
        self._waiting: dict[Place, Ask] = {}
        self._asks = 0
        self._early: dict[Place, BatchEntry] = {}
        self._over: set[str] = set()
        self._followed: set[str] = set()
        self._unknown: dict[str, BatchEntry] = {}
        self._resolved = anyio.Event()
        self._rest_until = 0.0
        self._tasks = anyio.create_task_group()

    def lend_to(self, row: Row) -> Provider:
        """The provider for the run of one row."""
        return self._provider.through(lambda: ParkedWay(partial(self.ask, row.key)))

    async def deliver(self, done: Done) -> None:
        """A row has its record (`batches.work.Deliver`): nothing of it is outstanding any more. Raises `JournalError`."""
        self._ledger.recorded(done.record.key)

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        self._tasks.start_soon(self._resolve)
        self._tasks.start_soon(self._submit_rounds)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._tasks.cancel_scope.cancel()
        try:
            return await self._tasks.__aexit__(kind, error, trace)
        finally:
            with anyio.CancelScope(shield=True):
                await self._api.aclose()

    # -- a row asks -------------------------------------------------------------------------------------------------

    async def ask(self, key: str, body: bytes, used: set[Place]) -> BatchEntry:
        """The answer to a row's request, once its batch has it. `used` are the places that the row has answers from.

        Raises `Unreachable`.
        """
        digest = hashlib.sha256(self._service.encode() + b"\0" + body).hexdigest()
        ask = Ask(Asked(key, digest), body)
        self._asks += 1
        try:
            await self._resolved.wait()
            place = next((place for place in self._ledger.places_of(ask.asked) if place not in used), None)
            if place is None:
                self._pending.append(ask)
            else:
                self._await_place(ask, place)
            await ask.done.wait()
        finally:
            self._asks -= 1
            self._leave(ask)
            if ask.place is not None:
                used.add(ask.place)
        return ask.answer()

    def _await_place(self, ask: Ask, place: Place) -> None:
        ask.place = place
        if place.round_id in self._unknown:
            ask.settle(self._unknown[place.round_id])
            return
        if place in self._early or place.round_id in self._over:  # or the results say nothing of it
            found = self._early.pop(place) if place in self._early else lost(ask)
            ask.settle(found)
            return
        self._waiting[place] = ask
        if place.round_id not in self._followed:
            self._note(f"lastcall: batch {self._ledger.batches[place.round_id]} was submitted before, and is collected")
            self._follow(place.round_id)

    def _leave(self, ask: Ask) -> None:
        ask.is_gone = True
        if ask in self._pending:
            self._pending.remove(ask)
        if ask.place is not None and self._waiting.get(ask.place) is ask:
            del self._waiting[ask.place]

    # -- rounds -----------------------------------------------------------------------------------------------------

    async def _submit_rounds(self) -> None:
        await self._resolved.wait()
        while True:
            await self._complete_round()
            await self._submit(self._take_round())

    async def _complete_round(self) -> None:
        """Until a round is full, or everybody waits for it."""
        before, quiet = 0, 0
        while True:
            await self._clock.sleep(_LOOK_S)
            is_resting = self._clock.ticks() < self._rest_until
            all_wait = self._asks >= self._running()
            quiet = quiet + 1 if all_wait and len(self._pending) == before else 0
            before = len(self._pending)
            if self._pending and not is_resting and (quiet >= _QUIET or before >= self._most):
                return

    def _take_round(self) -> list[Ask]:
        """As many as one batch may hold, the longest waiting first."""
        size, count = 0, 0
        for ask in self._pending[: self._most]:
            size += len(ask.body) + _MARGIN
            if count and size > self._api.most_bytes:
                break
            count += 1
        taken, self._pending = self._pending[:count], self._pending[count:]
        return taken

    async def _submit(self, asks: list[Ask]) -> None:
        round_id = "lc" + self._clock.mint().replace("-", "")
        self._ledger.intend(round_id, self._service, [ask.asked for ask in asks])
        for index, ask in enumerate(asks):
            ask.place = Place(round_id, index)
            self._waiting[ask.place] = ask
        items = [(name_in(round_id, index), ask.body) for index, ask in enumerate(asks)]
        try:
            state = await self._create(round_id, items)
        except BatchRefused as refused:
            self._ledger.dropped(round_id)
            self._settle_all(round_id, BatchEntry("", refused.answer.status, refused.answer.body))
            return
        except Unreachable as error:
            self._ledger.dropped(round_id)
            self._keep_for_later(asks, error)
            return
        if isinstance(state, BatchEntry):
            self._settle_all(round_id, state)
            return
        self._ledger.submitted(round_id, state.batch_id)
        self._note(f"lastcall: batch {state.batch_id} with {len(asks)} requests is submitted")
        self._follow(round_id)

    def _keep_for_later(self, asks: list[Ask], error: Unreachable) -> None:
        """The service is away. If it was there before, it will be again; if it never was, the rows are told."""
        for ask in asks:
            if not self._ledger.batches:
                ask.fail(error)
            elif not ask.is_gone:
                self._park_again(ask)
        self._rest_until = self._clock.ticks() + _LONGEST_POLL_S
        self._note(f"lastcall: {error.message}; the round is kept for later")

    def _park_again(self, ask: Ask) -> None:
        if ask.place is not None:
            self._waiting.pop(ask.place, None)
            ask.place = None
        self._pending.append(ask)

    def _settle_all(self, round_id: str, entry: BatchEntry) -> None:
        for ask in self._of(round_id):
            ask.settle(entry)

    async def _create(self, round_id: str, items: list[tuple[str, bytes]]) -> BatchState | BatchEntry:
        """The batch. Where nobody knows whether the order arrived, it is looked for; an order is never given twice blindly.

        An entry stands for a batch that cannot be looked for. Raises `BatchRefused`, `Unreachable`.
        """
        try:
            return await self._api.create(round_id, items)
        except BrokenStream as error:
            self._note(f"lastcall: {error.message}; looking whether the order arrived")
            try:
                found = await self._find_patiently(round_id, len(items))
            except BatchRefused as refused:
                return self._give_up_on(round_id, refused)
            if found is None:
                raise Unreachable(error.message) from None
            return found

    def _give_up_on(self, round_id: str, refused: BatchRefused) -> BatchEntry:
        """Nobody can say whether a round arrived: its rows fail rather than be paid twice."""
        words = f"whether this request was submitted cannot be found out: the service answered {refused.answer.status}"
        self._note(f"lastcall: {words}; to submit such rows again, remove {self._ledger.path}")
        self._unknown[round_id] = entry_that_failed("", CANCELED, "unknown", words, final=True)
        return self._unknown[round_id]

    # -- rounds of earlier sittings ---------------------------------------------------------------------------------

    async def _resolve(self) -> None:
        """Find out what became of rounds whose submission was never confirmed; no row asks before."""
        for round_id, intended in list(self._ledger.doubtful.items()):
            if intended.service != self._service:
                continue  # another service's: none of these rows asks for it
            try:
                state = await self._find_patiently(round_id, len(intended.requests))
            except BatchRefused as refused:
                self._give_up_on(round_id, refused)
                continue
            if state is None:
                self._ledger.dropped(round_id)
            else:
                self._ledger.submitted(round_id, state.batch_id)
        self._resolved.set()

    async def _find_patiently(self, round_id: str, count: int) -> BatchState | None:
        """The batch of a round, once the service can say. Raises `BatchRefused` where it never will."""
        wait_s = _FIRST_POLL_S
        while True:
            try:
                return await self._find(round_id, count)
            except (ProviderError, BatchRefused) as error:
                if isinstance(error, BatchRefused) and error.answer.status < 500:
                    raise
                wait_s = await self._wait(wait_s)

    async def _find(self, round_id: str, count: int) -> BatchState | None:
        """The batch of a round, if there is one. Where batches have no names of ours, their results tell."""
        known = set(self._ledger.batches.values())
        async with aclosing(self._api.newest()) as states:
            async for state in states:
                if state.batch_id in known or state.total not in (None, count):
                    continue
                if state.round_id == round_id or (not self._api.names_rounds and await self._holds(state, round_id)):
                    return state
        return None

    async def _holds(self, state: BatchState, round_id: str) -> bool:
        ended = await self._end_of(state.batch_id)
        async with aclosing(self._api.entries(ended)) as entries:
            async for entry in entries:
                return entry.name.startswith(round_id)
        return False

    # -- collecting -------------------------------------------------------------------------------------------------

    def _follow(self, round_id: str) -> None:
        self._followed.add(round_id)
        self._tasks.start_soon(self._collect, round_id, self._ledger.batches[round_id])

    async def _collect(self, round_id: str, batch_id: str) -> None:
        try:
            state = await self._end_of(batch_id)
            if state.faults:
                self._take_faults(round_id, state.faults)
            else:
                await self._read_results(round_id, state)
                self._note(f"lastcall: batch {batch_id} has ended")
        except BatchRefused as refused:
            self._followed.discard(round_id)
            if refused.answer.status != _GONE:
                self._settle_all(round_id, BatchEntry("", refused.answer.status, refused.answer.body))
                return
            self._note(f"lastcall: batch {batch_id} is no longer there; its requests are submitted again")
            self._ledger.dropped(round_id)
            for ask in self._of(round_id):
                self._park_again(ask)

    async def _end_of(self, batch_id: str) -> BatchState:
        """The state of a batch once it has ended, however long that and the network take. Raises `BatchRefused`."""
        wait_s = _FIRST_POLL_S
        while True:
            try:
                state = await self._api.look(batch_id)
                if state.ended:
                    return state
            except ProviderError as error:
                self._note(f"lastcall: {error.message}; the batch goes on, and is asked for again")
            except BatchRefused as refused:
                if refused.answer.status < 500:
                    raise
            wait_s = await self._wait(wait_s)

    async def _wait(self, wait_s: float) -> float:
        """Wait; how long to wait the next time."""
        await self._clock.sleep(wait_s)
        return min(_LONGEST_POLL_S, wait_s * 1.5)

    async def _read_results(self, round_id: str, state: BatchState) -> None:
        wait_s, seen = _FIRST_POLL_S, set[int]()
        while True:
            try:
                async with aclosing(self._api.entries(state)) as entries:
                    async for entry in entries:
                        self._take_entry(round_id, entry, seen)
                break
            except ProviderError as error:
                self._note(f"lastcall: {error.message}; the results are asked for again")
                wait_s = await self._wait(wait_s)
        self._over.add(round_id)
        for ask in self._of(round_id):
            ask.settle(lost(ask))

    def _take_entry(self, round_id: str, entry: BatchEntry, seen: set[int]) -> None:
        """One line of results, told to whoever waits for it, else kept for who will."""
        named, _, told = entry.name.rpartition("-")
        if named != round_id or not told.isdecimal() or int(told) in seen:
            return
        seen.add(int(told))
        place = Place(round_id, int(told))
        ask = self._waiting.pop(place, None)
        if ask is not None:
            ask.settle(entry)
        else:
            self._early[place] = entry

    def _take_faults(self, round_id: str, faults: tuple[BatchFault, ...]) -> None:
        """A batch that was never begun: the requests it names are answered so, the others go into the next round."""
        self._ledger.dropped(round_id)
        later = any(fault.later for fault in faults)
        named = {fault.line - 1: fault for fault in faults if fault.line is not None}
        for ask in self._of(round_id):
            assert ask.place is not None
            fault = named.get(ask.place.index) or (None if named else faults[0])
            if later or fault is None:
                self._park_again(ask)
            else:
                ask.settle(entry_that_failed("", 400, "invalid_request_error", fault.words))
        if later:
            self._rest_until = self._clock.ticks() + _FULL_S
            self._most = max(1, self._most // 2)
            self._note(f"lastcall: the service has too much enqueued ({faults[0].words}); smaller rounds follow")

    def _of(self, round_id: str) -> list[Ask]:
        return [ask for place, ask in self._waiting.items() if place.round_id == round_id]
