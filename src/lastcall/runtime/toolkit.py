"""The tools of a session, who may stop their calls, and what their calls share.

Must not go in here: any tool, permission rules, hooks themselves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import anyio
from msgspec.structs import replace

from lastcall.contract.finishing_tools import DECLINE, FINISH
from lastcall.nouns.json import JsonObject
from lastcall.nouns.profile import Profile
from lastcall.nouns.tools import ToolCall, ToolDefinition, ToolResult
from lastcall.runtime.client import NOBODY, ClientSide
from lastcall.runtime.config import RunConfig
from lastcall.runtime.hooks import Hooks
from lastcall.tools import Tool, Toolbox, ToolContext
from lastcall.tools.builtin import NO_TOOLS, builtin_tools, choose_tools
from lastcall.tools.gates import Allowed, Denied, Gate, permission_gate
from lastcall.tools.paths import Workspace
from lastcall.tools.permissions import Permissions, parse_mode, parse_rules
from lastcall.tools.sandbox import open_sandbox
from lastcall.tools.seen import FilesSeen

if TYPE_CHECKING:
    from lastcall.tools.running import Runner


class ToolKit:
    """The tools of a session. `permissions` may change between calls (`set_mode`)."""

    def __init__(self, config: RunConfig, client: ClientSide = NOBODY, *, sparing: bool = False) -> None:
        """`sparing`: for a small model. It is offered `Read` alone unless more tools are named, and takes no images."""
        home = config.environment.get("HOME", "")
        workspace = Workspace(config.cwd, config.add_dirs, home=home)
        self.permissions = Permissions(
            allow=parse_rules(config.allowed_tools, where="--allowedTools"),
            deny=parse_rules(config.disallowed_tools, where="--disallowedTools"),
            mode=parse_mode(config.permission_mode),
            cwd=config.cwd,
            home=home,
        )
        finishing = (FINISH, DECLINE) if config.contract is not None else ()
        sandbox = open_sandbox(workspace.roots, config.environment) if config.sandbox else None
        chosen = NO_TOOLS
        if config.tools != "":
            wanted = "Read" if sparing and config.tools is None else config.tools
            offer = builtin_tools(sandbox)
            chosen = choose_tools(offer, wanted, self.permissions, profile=config.profile, finishing=finishing)
        offered = [t for t in client.tools if not self.permissions.denies_tool(t.definition.name)]
        self.toolbox = Toolbox([*chosen, *offered], known=chosen.switched_off) if offered else chosen
        self._workspace = workspace
        self._images = not sparing
        self._environment = config.environment
        self._seen: FilesSeen | None = None
        self._profile: Profile = config.profile
        self._ask: Gate | None = None
        if client.client is not None and client.asks:
            from lastcall.runtime.asking import client_gate  # noqa: PLC0415 -- most runs have no client

            self._ask = client_gate(client.client)
        self._session_id = ""
        self._hooks: Hooks | None = None
        self._finishing = finishing
        self._gate: Gate | None = None
        self._runner: Runner | None = None
        self._shown: Callable[[], Iterable[ToolDefinition]] = tuple

    def close(self) -> None:
        """Let go of the session whose calls these were: what refers to each other waits long for the garbage collector."""
        self._hooks = self._gate = self._runner = None
        self._shown = tuple

    def settle(self, session_id: str) -> None:
        """The session whose calls these are: part of their idempotency keys."""
        self._session_id = session_id

    def watch(self, shown: Callable[[], Iterable[ToolDefinition]]) -> None:
        """`shown` says how the model sees the tools now: for some deployments their inputs have other names."""
        self._shown = shown

    def forget(self) -> None:
        """What was read is no longer in front of the model: it may be read again."""
        if self._seen is not None:
            self._seen.clear()

    def use_hooks(self, hooks: Hooks) -> None:
        """Hooks are asked before and after each call from now on."""
        self._hooks = hooks
        self._gate = hooks.gate(self._by_rules, self._rules_alone, self._ask)

    def set_mode(self, word: str) -> None:
        """Another permission mode. Raises `BadConfig`."""
        self.permissions = replace(self.permissions, mode=parse_mode(word))

    async def run(self, call: ToolCall, scope: anyio.CancelScope) -> ToolResult:
        """The answer to a call (a `ports.RunTool`)."""
        context = self._context(call)
        began = time.monotonic()
        shown = next((tool for tool in self._shown() if tool.name == call.name), None)
        if self._runner is None:
            from lastcall.tools.running import Runner  # noqa: PLC0415 -- a run without tools needs none of it

            self._runner = Runner(self.toolbox, self._pass, profile=self._profile, finishing=self._finishing)
        runner = self._runner
        result = await runner.run(call, context, scope=scope, shown=shown)
        if self._hooks is None:
            return result
        call = runner.in_own_names(call)
        return await self._hooks.after(call, result, round((time.monotonic() - began) * 1000))

    def _context(self, call: ToolCall) -> ToolContext:
        if self._seen is None:
            self._seen = FilesSeen()
        return ToolContext(
            workspace=self._workspace,
            seen=self._seen,
            rules=self.permissions,
            call_id=call.call_id,
            idempotency_key=f"{self._session_id}:{call.call_id}",
            profile=self._profile,
            images=self._images,
            environment=self._environment,
        )

    async def _pass(self, tool: Tool, arguments: JsonObject, call: ToolCall) -> Allowed | Denied:
        gate = self._gate or self._by_rules
        return await gate(tool, arguments, call)

    async def _rules_alone(self, tool: Tool, arguments: JsonObject, call: ToolCall) -> Allowed | Denied:
        """The rules as they are now, where nobody is asked."""
        return await permission_gate(self.permissions, self._profile)(tool, arguments, call)

    async def _by_rules(self, tool: Tool, arguments: JsonObject, call: ToolCall) -> Allowed | Denied:
        """The rules as they are now, and the client where they leave a call open."""
        gate = permission_gate(self.permissions, self._profile, ask=self._ask)
        return await gate(tool, arguments, call)
