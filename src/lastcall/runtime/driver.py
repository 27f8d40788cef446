"""The loop: the only place that awaits the core's actions.

One inbox, one consumer. Each event becomes one step; its records go to the journal as one line, then to whoever watches,
and only then do its actions start. Every action ends by putting events into the inbox. What a run means is not decided
here.

Must not go in here: rules, wire formats, choosing providers or tools.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from functools import partial
from typing import assert_never, cast

import anyio
import anyio.abc
from msgspec.structs import replace

from lastcall.core import records as r
from lastcall.core.actions import Action, AskModel, CancelCalls, CancelRequest, RunChecks, RunHooks, RunTool
from lastcall.core.decide import decide
from lastcall.core.events import (
    ChecksFinished,
    Event,
    Faulted,
    HooksFinished,
    Interrupted,
    LimitHit,
    Progress,
    Prompted,
    ProviderEvent,
    ReplyEnded,
    ReplyStarted,
    ToolFinished,
)
from lastcall.core.evolve import evolve
from lastcall.core.request import build_request
from lastcall.core.resume import resume
from lastcall.core.state import RunState, Setting
from lastcall.core.step import Step
from lastcall.errors import JournalError
from lastcall.journal.store import MemoryJournal
from lastcall.nouns.attachment import Problem
from lastcall.nouns.ids import RunId, Uuid
from lastcall.nouns.messages import UserBlock
from lastcall.nouns.result import CheckVerdict, Failed, FailureKind, Limit, Signal, TerminalResult
from lastcall.providers import Provider
from lastcall.runtime.inbox import Inbox
from lastcall.runtime.judging import PATIENCE_S, decide_aside, runs_foreign_code
from lastcall.runtime.limits import Deadline
from lastcall.runtime.ports import Ports, Price, Window
from lastcall.runtime.veil import Veil

_FORGETS = r.Compacted | r.FallbackNoted | r.RetryNoted | r.FeatureDropped
"""Records after which answers of tools may be gone from the history."""


class Driver:
    """Runs the user messages of one session, one at a time. `state` is what is true of the session now."""

    def __init__(self, state: RunState, ports: Ports) -> None:
        self.state = state
        self._ports = ports
        self._inbox: Inbox[Event | Progress] | None = None
        self._tasks: anyio.abc.TaskGroup | None = None
        self._request: tuple[int, anyio.TaskHandle[None]] | None = None
        self._calls: dict[str, anyio.CancelScope] = {}
        self._judging: anyio.CancelScope | None = None
        self._deadline: Deadline | None = None
        self._started = 0.0

    @property
    def veil(self) -> Veil:
        """What is hidden in whatever is written and shown."""
        return self._ports.veil

    @property
    def busy(self) -> bool:
        """Whether a run is under way."""
        return self._inbox is not None

    def post(self, event: Event) -> None:
        """Put an event from outside (an interrupt) into the inbox; without a run it means nothing."""
        self._put(event)

    def change(self, setting: Setting, provider: Provider, price: Price, window: Window) -> None:
        """Another setting and provider from the next request on."""
        self.state = replace(self.state, setting=setting, window=None, room=None)
        self._ports = replace(self._ports, provider=provider, price=price, window=window)

    def note(self, record: r.Record) -> None:
        """Make something true between two runs. Raises `JournalError`."""
        self._ports.journal.append(self._ports.veil.written((record,)), at=self._ports.clock.wall())
        self.state = evolve(self.state, record)

    async def run(self, blocks: tuple[UserBlock, ...], *, uuid: str = "") -> TerminalResult:
        """One user message to its result. Raises nothing for what the model, the service, a tool or the disk did."""
        self._end_abandoned()
        new_id = self._ports.new_id
        prompted = Prompted(RunId(new_id("run")), blocks, Uuid(uuid or new_id("uuid")), self._ports.clock.wall())
        return await self._drive(decide(self.state, prompted))

    def _end_abandoned(self) -> None:
        """End a run that its caller left (its task was cancelled, or a hook raised): else no other could begin."""
        if not self.state.run_id or self.state.outcome is not None:
            return
        step = decide(self.state, Interrupted(Signal.INTERRUPT, Uuid(self._ports.new_id("uuid"))))
        self.state = step.state
        with suppress(JournalError):  # a journal that fails tells so at the first step of the run to come
            self._ports.journal.append(step.records, at=self._ports.clock.wall())

    async def go_on(self) -> TerminalResult:
        """Continue a run that a crash cut off, or that was ended from outside; what was open is told as interrupted."""
        return await self._drive(resume(self.state, reopens=True))

    # -- the loop ---------------------------------------------------------------------------------------------------

    async def _drive(self, first: Step) -> TerminalResult:
        inbox: Inbox[Event | Progress] = Inbox()
        self._inbox = inbox
        self._started = self._ports.clock.monotonic()
        running: tuple[str, ...] = ()
        try:
            async with anyio.create_task_group() as tasks:
                self._tasks = tasks
                self._start_deadline()
                await self._take(first)
                del first  # its records are in the journal; a long run need not hold them
                while self.state.outcome is None:
                    event = await inbox.take()
                    running = self.state.running
                    if isinstance(event, Progress):
                        self._show(event)
                    else:
                        await self._decide(event)
                tasks.cancel_scope.cancel()
        finally:
            self._inbox = self._tasks = None
            self._request = None
            self._calls.clear()
        from lastcall.runtime.finish import finish  # noqa: PLC0415 -- not before the first request

        took = self._ports.clock.monotonic() - self._started
        seal = self._ports.journal.seal()
        result = finish(self.state, duration_ms=round(took * 1000), interrupted_calls=bool(running), journal=seal)
        result = self._ports.veil.result(result)
        self._ports.publisher.result(result)
        return result

    def _show(self, progress: Progress) -> None:
        """Show a piece of a reply; a summary is nobody's reply."""
        if self.state.summing is None:
            for piece in self._ports.veil.progress(progress):
                self._ports.publisher.progress(piece)

    async def _decide(self, event: Event) -> None:
        if self._deadline is not None:
            near = self._deadline.before(event, self._ports.clock.monotonic())
            if near is not None:
                await self._take(decide(self.state, near))
        if not runs_foreign_code(self.state, event):
            await self._take(decide(self.state, event))
            return
        self._judging = anyio.CancelScope(deadline=anyio.current_time() + PATIENCE_S)
        try:
            step = await decide_aside(self.state, event, self._judging)
        finally:
            self._judging = None
        await self._take(step)

    def _put(self, event: Event | Progress) -> None:
        """Into the inbox; what ends a run ends the wait for validators too."""
        if self._inbox is not None:
            self._inbox.put(event)
        if self._judging is not None and isinstance(event, LimitHit | Interrupted | Faulted):
            self._judging.cancel()

    async def _take(self, step: Step) -> None:
        """Make a step true: on disk, shown, then acted on. A step that cannot be written never happened."""
        if not step.records:
            return
        written = self._ports.veil.written(step.records)
        try:
            await self._append(written, durable=_needs_disk(step))
        except JournalError as error:
            failure = Failed(FailureKind.JOURNAL, error.message)
            self.state = evolve(self.state, r.Ended(failure))
            return
        self.state = step.state
        if any(isinstance(x, _FORGETS) for x in step.records):
            self._ports.forget()
        self._ports.publisher.records(self._ports.veil.shown(step.records, written))
        for action in step.actions:
            self._start(action)

    async def _append(self, records: Sequence[r.Record], *, durable: bool) -> None:
        journal, at = self._ports.journal, self._ports.clock.wall()
        if durable and not isinstance(journal, MemoryJournal):  # for a list a thread is far too much
            await anyio.to_thread.run_sync(partial(journal.append, records, at=at, durable=True))
        else:
            journal.append(records, at=at)

    # -- actions ----------------------------------------------------------------------------------------------------

    def _start(self, action: Action) -> None:
        assert self._tasks is not None
        match action:
            case AskModel(number=number):
                self._request = number, self._tasks.start_soon(self._ask, number)
            case RunTool():
                self._tasks.start_soon(self._run_tool, action)
            case RunChecks():
                self._tasks.start_soon(self._run_checks, action)
            case RunHooks():
                self._tasks.start_soon(self._ask_hooks, action)
            case CancelCalls(call_ids=call_ids):
                for call_id in call_ids:
                    if call_id in self._calls:
                        self._calls[call_id].cancel()
            case CancelRequest(number=number):
                if self._request is not None and self._request[0] == number:
                    self._request[1].cancel()
            case _:
                assert_never(action)

    async def _ask(self, number: int) -> None:
        if number != self.state.asked or not self.state.outstanding:
            return
        stream = self._ports.provider.stream(build_request(self.state))
        try:
            async for event in stream:
                await self._send(await self._priced(event))
        finally:
            with anyio.CancelScope(shield=True):
                await cast("AsyncGenerator[ProviderEvent, None]", stream).aclose()

    async def _priced(self, event: ProviderEvent) -> Event | Progress:
        if isinstance(event, ReplyStarted) and self._ports.prepare is not None and self._tasks is not None:
            self._tasks.start_soon(self._ports.prepare)
        if isinstance(event, ReplyEnded) and event.cost_usd is None:
            model = self.state.reply.model or self._ports.provider.deployment.model
            cost, window = await self._ports.price(model, event.usage), await self._ports.window(model)
            return replace(event, cost_usd=cost, window=window)
        return event

    async def _run_tool(self, action: RunTool) -> None:
        call = action.call
        scope = anyio.CancelScope()
        self._calls[call.call_id] = scope
        began = self._ports.clock.monotonic()
        result = await self._ports.run_tool(call, scope)
        took_ms = round((self._ports.clock.monotonic() - began) * 1000)
        self._calls.pop(call.call_id, None)
        await self._send(ToolFinished(result, Uuid(self._ports.new_id("uuid")), took_ms))

    async def _run_checks(self, action: RunChecks) -> None:
        """All checks at once; their order in the envelope is the contract's."""
        contract = self.state.contract
        checks = contract.checks if contract is not None else ()
        found: list[tuple[CheckVerdict, tuple[Problem, ...]] | None] = [None] * len(checks)

        async def one(index: int) -> None:
            found[index] = await checks[index].run(action.object_text)

        async with anyio.create_task_group() as tasks:
            for index in range(len(checks)):
                tasks.start_soon(one, index)
        done = [x for x in found if x is not None]
        problems = tuple(p for _, listed in done for p in listed)
        verdicts = tuple(replace(verdict, call_id=action.call_id) for verdict, _ in done)
        await self._send(ChecksFinished(action.call_id, problems, verdicts))

    async def _ask_hooks(self, action: RunHooks) -> None:
        verdict = await self._ports.ask_hooks(action, self.state)
        await self._send(HooksFinished(action.point, action.call_id, verdict))

    async def _send(self, event: Event | Progress) -> None:
        await asyncio.sleep(0)  # what a block started gets its turn before the next block is heard
        self._put(event)

    # -- the deadline -----------------------------------------------------------------------------------------------

    def _start_deadline(self) -> None:
        deadline_s = self.state.policy.deadline_s
        self._deadline = None
        if deadline_s is not None and self._tasks is not None:
            self._deadline = Deadline(self._started, deadline_s)
            self._tasks.start_soon(self._wait_for_deadline, self._deadline.at)

    async def _wait_for_deadline(self, at: float) -> None:
        await self._ports.clock.sleep_until(at)
        await self._send(LimitHit(Limit.DEADLINE))


def _needs_disk(step: Step) -> bool:
    """Whether the step must be on the disk before it is acted on or told: a side effect may follow, or the run is over."""
    return any(
        (isinstance(x, r.ToolStarted) and not x.read_only) or isinstance(x, r.Ended | r.Attached) for x in step.records
    )
