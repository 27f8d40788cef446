"""`--input-format stream-json`: a client writes user messages and control requests, one frame a line.

Each user message is a run of its own with its own result; messages that come during a run wait for their turn. The end of
stdin ends the session after the last run. The session is opened with the first user message, because `initialize` may
still bring the contract, hooks and tools.

Must not go in here: the frames (`wire.control`, `wire.frames`), what a control request does (`cli.control`), rules of a
run.
"""

from __future__ import annotations

import signal
from collections import deque
from typing import TYPE_CHECKING

import anyio
import anyio.abc

from lastcall.cli.control import Controls
from lastcall.cli.exits import exit_code, usage_code
from lastcall.cli.signals import ENDING, heard
from lastcall.cli.stdin_lines import read_lines
from lastcall.contract.jsc_words import parse_error
from lastcall.core.events import Interrupted
from lastcall.errors import LastcallError
from lastcall.nouns.ids import Uuid
from lastcall.nouns.profile import Profile, Reference
from lastcall.nouns.result import Cancelled, Outcome, Signal
from lastcall.runtime.client import NOBODY, Client, ClientSide
from lastcall.runtime.client_mcp import ClientServer
from lastcall.runtime.clock import new_uuid
from lastcall.runtime.config import RunConfig
from lastcall.runtime.loops import loop_options
from lastcall.runtime.session import Session, open_session
from lastcall.wire.control import (
    BadLine,
    ControlRequest,
    ControlResponse,
    Ignored,
    UserLine,
    WrongRole,
    read_line,
    replayed,
)
from lastcall.wire.envelope import error_frame

if TYPE_CHECKING:
    from lastcall.cli.run import Show


def run_stream(config: RunConfig, show: Show) -> int:
    """Serve one client until its stdin ends; the exit code of the last run."""
    return anyio.run(_Stream(config, show).serve, backend_options=loop_options(config.environment))


class _Stream:
    def __init__(self, config: RunConfig, show: Show) -> None:
        self._show = show
        self._emit = show.output.frame
        self._client = Client(self._emit, new_uuid)
        self._controls = Controls(config, self._emit)
        self._controls.queued = lambda: [line.uuid for line in self._queue if line.uuid]
        self._queue: deque[UserLine] = deque()
        self._news = anyio.Event()
        self._ended = False
        self._signal: Signal | None = None
        self._code = 0
        self._connected = anyio.Event()
        self._own: ClientSide = NOBODY

    async def serve(self) -> int:
        """The exit code, once everything was said."""
        config = self._controls.config
        if not config.mcp_servers:
            return await self._serve()
        from lastcall.runtime.own_mcp import with_servers  # noqa: PLC0415 -- only where servers are configured

        async with with_servers(config) as self._own:
            return await self._serve()

    async def _serve(self) -> int:
        self._name_servers(list(self._controls.config.client_servers))
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._watch_signals, tasks.cancel_scope)
                tasks.start_soon(self._read, tasks)
                await self._run_messages()
                tasks.cancel_scope.cancel()
        finally:
            if self._controls.session is not None:
                await self._controls.session.aclose()
        if self._signal is not None:
            return _signal_code(self._signal, self._controls.config.profile)
        profile = self._controls.config.profile
        if self._controls.session is None and not self._code and profile is Profile.NATIVE:
            self._show.notes.error("lastcall: stdin ended without a user message, so nothing was run.")
            return usage_code(profile)
        return self._code

    # -- reading ----------------------------------------------------------------------------------------------------

    async def _read(self, tasks: anyio.abc.TaskGroup) -> None:
        """Every line until the end of stdin; a bad one ends the session at once."""
        async for text in read_lines():
            line = read_line(text)
            if isinstance(line, BadLine | WrongRole):
                self._code = self._refuse(line)
                self._queue.clear()
                self._ended = True
                tasks.cancel_scope.cancel()
                return
            self._take(line, tasks)
        self._client.close()
        self._ended = True
        self._news.set()

    def _take(self, line: UserLine | ControlRequest | ControlResponse | Ignored, tasks: anyio.abc.TaskGroup) -> None:
        match line:
            case UserLine():
                self._queue.append(line)
                self._news.set()
            case ControlRequest(subtype="initialize") if not self._connected.is_set():
                self._name_servers(line.request.get("sdkMcpServers"))
                tasks.start_soon(self._initialize, line)
            case ControlRequest():
                self._controls.answer(line)
            case ControlResponse():
                self._client.hear(line)
            case Ignored():
                pass

    def _name_servers(self, names: object) -> None:
        """Servers in the client's process: a flag names them, or `initialize` does."""
        known = {server.name for server in self._controls.servers}
        new = [n for n in names if isinstance(n, str) and n not in known] if isinstance(names, list) else []
        self._controls.servers = (*self._controls.servers, *(ClientServer(n, self._client) for n in dict.fromkeys(new)))

    async def _initialize(self, line: ControlRequest) -> None:
        """The client's servers are greeted before it is answered, as the reference does."""
        await self._connect()
        self._controls.answer(line)

    async def _connect(self) -> None:
        if self._connected.is_set():
            return
        async with anyio.create_task_group() as tasks:
            for server in self._controls.servers:
                tasks.start_soon(server.connect)
        self._connected.set()

    def _refuse(self, line: BadLine | WrongRole) -> int:
        profile = self._controls.config.profile
        compat = profile is Profile.COMPAT
        if isinstance(line, WrongRole):
            words = f"Expected message role 'user', got '{line.role}'"
            self._show.notes.error(f"Error: {words}" if compat else f"lastcall: stdin: {words}.")
        elif compat and self._controls.config.reference is Reference.LATER:
            size = len(line.line)
            self._show.notes.error(f"Error parsing streaming input line (type=unknown, {size} chars): SyntaxError")
        elif compat:
            why = f"JSON Parse error: {parse_error(line.line)}" if line.no_json else line.why
            self._show.notes.error(f"Error parsing streaming input line: {line.line}: SyntaxError: {why}")
        else:
            self._show.notes.error(f"lastcall: stdin: a line is no frame: {line.why}: {line.line[:200]}")
        return usage_code(profile)

    # -- runs -------------------------------------------------------------------------------------------------------

    async def _run_messages(self) -> None:
        while self._signal is None:
            if not self._queue:
                if self._ended:
                    return
                self._news = anyio.Event()
                await self._news.wait()
                continue
            line = self._queue.popleft()
            try:
                await self._run(line)
            except LastcallError as error:
                self._code = self._show.refusal(error)
                return

    async def _run(self, line: UserLine) -> None:
        config = self._controls.config
        if self._controls.broken:
            frame = error_frame("usage", self._controls.broken, new_uuid())
            del frame["terminal_reason"]
            self._emit(frame)
            self._code = usage_code(config.profile)
            return
        await self._connect()
        session = self._open()
        self._tell_state("running")
        notes = self._controls.take_notes()
        if notes:
            session.note(*notes)
        if self._show.replays:
            self._emit(replayed(line, session.stage.session_id, line.uuid or new_uuid()))
        result = await session.driver.run(line.blocks, uuid=line.uuid)
        self._show.result(result, self._show.stage(session.stage))
        self._code = _run_code(result.outcome, config.profile)
        self._tell_state("idle")

    def _open(self) -> Session:
        controls = self._controls
        if controls.session is None:
            theirs = (tool for server in controls.servers for tool in server.tools)
            tools = (*theirs, *self._own.tools)
            states = ({"name": s.name, "status": s.status} for s in controls.servers)
            servers = (*states, *self._own.servers)
            asks = controls.config.client_asks
            client = ClientSide(self._client, controls.rules, tools, servers, asks)
            controls.session = open_session(controls.config, self._show.publisher, client=client)
        return controls.session

    def _tell_state(self, state: str) -> None:
        session = self._controls.session
        if (
            session is not None
            and self._controls.config.environment.get("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS") == "1"
        ):
            fields = {"state": state, "session_id": session.stage.session_id, "uuid": new_uuid()}
            self._emit({"type": "system", "subtype": "session_state_changed", **fields})

    # -- signals ----------------------------------------------------------------------------------------------------

    async def _watch_signals(self, everything: anyio.CancelScope) -> None:
        """A signal ends the run, and the session with it; a second one, or one between two runs, ends it at once."""
        with anyio.open_signal_receiver(*heard()) as signals:
            async for number in signals:
                session = self._controls.session
                again = self._signal is not None
                self._signal = ENDING[signal.Signals(number)]
                if again or session is None or not session.driver.busy:
                    everything.cancel()
                    return
                session.driver.post(Interrupted(self._signal, Uuid(new_uuid())))


def _run_code(outcome: Outcome, profile: Profile) -> int:
    """The code of a run that the client may have interrupted: for the reference that is an error like any other."""
    if isinstance(outcome, Cancelled) and profile is Profile.COMPAT:
        return 1
    return exit_code(outcome, profile)


def _signal_code(number: Signal, profile: Profile) -> int:
    return exit_code(Cancelled(number), profile)
