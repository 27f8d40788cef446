"""What a client's control requests do to the session, and what they are answered.

Must not go in here: reading lines, running messages (`cli.stream`), the frames' form (`wire.control`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from lastcall.contract import compile_contract
from lastcall.contract.parse import schema_from_value
from lastcall.core.events import Interrupted
from lastcall.errors import BadSchema, LastcallError
from lastcall.nouns.ids import Uuid
from lastcall.nouns.profile import Profile
from lastcall.nouns.result import Signal
from lastcall.providers.models import DEFAULT_ALIAS, full_name
from lastcall.runtime.clock import new_uuid
from lastcall.runtime.config import RunConfig
from lastcall.tools.permissions import parse_mode
from lastcall.wire.control import ControlRequest, failure, success
from lastcall.wire.frames import Frame
from lastcall.wire.hooks import HookRule, read_client_rules
from lastcall.wire.reference_words import MODEL_COMMAND, model_set_words

if TYPE_CHECKING:
    from lastcall.runtime.client_mcp import ClientServer
    from lastcall.runtime.session import Session

_STRING_SCHEMA = "WeakMap keys must be objects or non-registered symbols"
"""How the reference fails when `initialize` brings the schema as text: only when the first message comes."""


class Controls:
    """What control requests change. `config` is what the session will be opened with, until `session` is there."""

    def __init__(self, config: RunConfig, emit: Callable[[Frame], None]) -> None:
        self.config = config
        self.session: Session | None = None
        self.rules: tuple[HookRule, ...] = ()
        self.servers: tuple[ClientServer, ...] = ()
        self.queued: Callable[[], list[str]] = list
        self.broken = ""
        self._emit = emit
        self._notes: list[str] = []
        self._first_model = config.model

    def answer(self, request: ControlRequest) -> None:
        """Do what is asked and answer, in the reference's order of frames."""
        try:
            self._answer(request)
        except LastcallError as error:
            self._emit(failure(request.request_id, str(error)))

    def take_notes(self) -> tuple[str, ...]:
        """What the model has to be told before the next prompt."""
        notes, self._notes = tuple(self._notes), []
        return notes

    def _answer(self, request: ControlRequest) -> None:
        asked, request_id = request.request, request.request_id
        match request.subtype:
            case "initialize":
                self._emit(success(request_id, self._initialize(asked)))
            case "interrupt":
                if self.session is not None:
                    self.session.driver.post(Interrupted(Signal.INTERRUPT, Uuid(new_uuid())))
                self._emit(success(request_id, {"still_queued": self.queued()}))
            case "set_model":
                self._set_model(asked.get("model"))
                self._emit(success(request_id))
            case "set_permission_mode":
                mode = str(asked.get("mode"))
                self._set_mode(mode)
                self._emit(success(request_id, {"mode": mode}))
                self._emit(self._system("status", {"status": None, "permissionMode": mode}))
            case "set_max_thinking_tokens":
                self._set_thinking(asked.get("max_thinking_tokens"))
                self._emit(success(request_id))
            case "mcp_status":
                self._emit(success(request_id, {"mcpServers": [server_value(s) for s in self.servers]}))
            case other:
                self._emit(failure(request_id, f"Unsupported control request subtype: {other}"))

    # -- initialize -------------------------------------------------------------------------------------------------

    def _initialize(self, asked: Mapping[str, Any]) -> Frame:
        if self.session is None:
            self._take_schema(asked.get("jsonSchema"))
            self.rules = read_client_rules(asked.get("hooks"))
            parts = (
                self.config.system_prompt,
                *_texts(asked.get("systemPrompt")),
                *_texts(asked.get("appendSystemPrompt")),
            )
            self.config = replace(self.config, system_prompt="\n\n".join(part for part in parts if part))
        return {
            "commands": [],
            "agents": [],
            "output_style": "default",
            "available_output_styles": ["default"],
            "models": [],
            "account": {},
            "pid": os.getpid(),
            "current_permission_mode": self.config.permission_mode,
            "remote_control_auto_enable": False,
            "remote_control_auto_on_by_default": False,
            "ide_rc_auto_enable_gate": False,
        }

    def _take_schema(self, schema: Any) -> None:
        """The contract that the client brings, unless a flag brought one. Natively, raises `BadSchema`."""
        config = self.config
        if schema is None or config.contract is not None:
            return
        if isinstance(schema, str) and config.profile is Profile.COMPAT:
            self.broken = _STRING_SCHEMA
            return
        try:
            parsed = schema_from_value(schema, profile=config.profile)
            contract = compile_contract(parsed, profile=config.profile, reference=config.reference)
        except BadSchema:
            if config.profile is Profile.NATIVE:
                raise
            return
        self.config = replace(config, contract=contract)

    # -- changes ----------------------------------------------------------------------------------------------------

    def _set_model(self, model: Any) -> None:
        name = model if isinstance(model, str) and model not in ("", "default") else None
        if self.session is not None:
            full = self.session.set_model(name)
        else:
            chosen = name if name is not None else self._first_model
            self.config = replace(self.config, model=chosen)
            full = full_name(chosen or DEFAULT_ALIAS, self.config.environment)
        if self.config.profile is not Profile.COMPAT:
            return
        words = model_set_words(name or "default", full)
        self._notes += [MODEL_COMMAND.format(name=name or "default"), words]
        message = {"role": "user", "content": words}
        frame = {"type": "user", "message": message, "parent_tool_use_id": None, "isReplay": True}
        self._emit({**frame, "session_id": self._session_id, "uuid": new_uuid()})

    def _set_mode(self, mode: str) -> None:
        self.config = replace(self.config, permission_mode=parse_mode(mode).value)
        if self.session is not None:
            self.session.set_permission_mode(mode)

    def _set_thinking(self, tokens: Any) -> None:
        count = int(tokens) if isinstance(tokens, int) and tokens >= 0 else None
        self.config = replace(self.config, thinking_tokens=count)
        if self.session is not None:
            self.session.set_thinking_tokens(count)

    @property
    def _session_id(self) -> str:
        return self.session.stage.session_id if self.session is not None else self.config.session_id or ""

    def _system(self, subtype: str, fields: Frame) -> Frame:
        return {"type": "system", "subtype": subtype, **fields, "session_id": self._session_id, "uuid": new_uuid()}


def server_value(server: ClientServer) -> Frame:
    """A server as `mcp_status` shows it."""
    tools = [{"name": tool.definition.name.removeprefix(f"mcp__{server.name}__")} for tool in server.tools]
    value: Frame = {"name": server.name, "status": server.status, "config": {"type": "sdk", "name": server.name}}
    if server.about:
        value["serverInfo"] = dict(server.about)
    return {**value, "scope": "dynamic", "tools": tools}


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [part for part in value if isinstance(part, str)] if isinstance(value, list) else []
