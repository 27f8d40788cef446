"""`--input-format stream-json`: a client writes user messages and control requests, one frame a line.

Each user message is a run of its own with its own result; messages that come during a run wait for their turn. The end of
stdin ends the session after the last run. The session is opened with the first user message, because `initialize` may
still bring the contract.

Must not go in here: the frames (`wire.control`, `wire.frames`), rules of a run.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from msgspec.structs import replace

from lastcall.cli.exits import exit_code, usage_code
from lastcall.contract import compile_contract
from lastcall.contract.parse import schema_from_value
from lastcall.core.events import Interrupted
from lastcall.errors import BadSchema
from lastcall.nouns.ids import Uuid
from lastcall.nouns.profile import Profile
from lastcall.nouns.result import Signal
from lastcall.runtime.clock import new_uuid
from lastcall.runtime.config import RunConfig
from lastcall.runtime.session import Session, open_session
from lastcall.wire.control import (
    BadLine,
    ControlRequest,
    ControlResponse,
    Ignored,
    UserLine,
    failure,
    read_line,
    success,
)

if TYPE_CHECKING:
    from lastcall.cli.run import Show

_LINE_LIMIT: Final = 256 * 1024 * 1024


def run_stream(config: RunConfig, show: Show) -> int:
    """Serve one client until its stdin ends; the exit code of the last run."""
    return anyio.run(_Stream(config, show).serve)


class _Stream:
    def __init__(self, config: RunConfig, show: Show) -> None:
        self._config = config
        self._show = show
        self._session: Session | None = None
        self._code = 0
        self._users: MemoryObjectSendStream[UserLine]
        self._waiting: MemoryObjectReceiveStream[UserLine]

    async def serve(self) -> int:
        self._users, self._waiting = anyio.create_memory_object_stream[UserLine](10_000)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._run_messages)
                bad = await self._read()
                if bad is not None:
                    tasks.cancel_scope.cancel()
                    self._show.notes.error(f"Error parsing streaming input line: {bad.line}: SyntaxError: {bad.why}")
                    return usage_code(self._config.profile)
                self._users.close()
        finally:
            if self._session is not None:
                await self._session.aclose()
        return self._code

    async def _read(self) -> BadLine | None:
        """Every line until the end of stdin; the bad one, if there is one."""
        while True:
            raw = await anyio.to_thread.run_sync(sys.stdin.buffer.readline, _LINE_LIMIT, abandon_on_cancel=True)
            if not raw:
                return None
            text = raw.decode("utf-8", "replace").strip()
            if not text:
                continue
            line = read_line(text)
            if isinstance(line, BadLine):
                return line
            await self._take(line)

    async def _take(self, line: UserLine | ControlRequest | ControlResponse | Ignored) -> None:
        if isinstance(line, UserLine):
            await self._users.send(line)
        elif isinstance(line, ControlRequest):
            self._show.output.frame(self._answer(line))

    # -- runs -------------------------------------------------------------------------------------------------------

    async def _run_messages(self) -> None:
        async with self._waiting:
            async for line in self._waiting:
                session = self._open()
                result = await session.driver.run(line.blocks, uuid=line.uuid)
                self._show.result(result, self._show.stage(session.stage))
                self._code = exit_code(result.outcome, self._config.profile)

    def _open(self) -> Session:
        if self._session is None:
            self._session = open_session(self._config, self._show.publisher)
        return self._session

    # -- control requests -------------------------------------------------------------------------------------------

    def _answer(self, request: ControlRequest) -> dict[str, object]:
        match request.subtype:
            case "initialize":
                return self._initialize(request)
            case "interrupt":
                if self._session is not None:
                    self._session.driver.post(Interrupted(Signal.INTERRUPT, Uuid(new_uuid())))
                return success(request.request_id, {"still_queued": []})
            case other:
                return failure(request.request_id, f"Unsupported control request subtype: {other}")

    def _initialize(self, request: ControlRequest) -> dict[str, object]:
        asked = request.request
        schema = asked.get("jsonSchema")
        if schema is not None and self._config.contract is None and self._session is None:
            try:
                parsed = schema_from_value(schema, profile=self._config.profile)
                contract = compile_contract(parsed, profile=self._config.profile)
            except BadSchema as error:
                if self._config.profile is Profile.NATIVE:
                    return failure(request.request_id, str(error))
            else:
                self._config = replace(self._config, contract=contract)
        parts = (asked.get("systemPrompt"), asked.get("appendSystemPrompt"))
        system = "\n\n".join(p for p in (self._config.system_prompt, *parts) if isinstance(p, str) and p)
        self._config = replace(self._config, system_prompt=system)
        return success(
            request.request_id,
            {
                "commands": [],
                "agents": [],
                "output_style": "default",
                "available_output_styles": ["default"],
                "models": [],
                "account": {},
                "pid": os.getpid(),
                "current_permission_mode": self._config.permission_mode,
                "remote_control_auto_enable": False,
                "remote_control_auto_on_by_default": False,
                "ide_rc_auto_enable_gate": False,
            },
        )
