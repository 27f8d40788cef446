"""A session put together: provider, tools, journal, limits, and the driver that runs its messages.

Must not go in here: the loop (`runtime.driver`), rules, anything that a person sees.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio
from msgspec.structs import replace

from lastcall.contract.finishing_tools import DECLINE, FINISH
from lastcall.core import records as r
from lastcall.core.evolve import evolve
from lastcall.core.policy import Policy, compat, native
from lastcall.core.state import RunState, Setting, begin
from lastcall.errors import BadConfig
from lastcall.journal.load import load
from lastcall.journal.sessions import Sessions
from lastcall.journal.store import Journal, MemoryJournal, reopen_journal
from lastcall.nouns.ids import SessionId
from lastcall.nouns.messages import TextBlock
from lastcall.nouns.profile import Profile
from lastcall.nouns.request import Channel
from lastcall.nouns.result import TerminalResult
from lastcall.nouns.tools import ToolCall, ToolResult
from lastcall.providers import Provider
from lastcall.providers.capability import CapabilityMemory
from lastcall.providers.choose import ModelSettings, choose_provider
from lastcall.runtime.clock import SystemClock, new_id, new_uuid
from lastcall.runtime.config import RunConfig
from lastcall.runtime.driver import Driver
from lastcall.runtime.ports import Ports, Price, Publisher
from lastcall.runtime.prices import PriceList, no_price
from lastcall.tools import ToolContext
from lastcall.tools.builtin import builtin_tools, choose_tools
from lastcall.tools.gates import permission_gate
from lastcall.tools.paths import Workspace
from lastcall.tools.permissions import Permissions, parse_mode, parse_rules
from lastcall.tools.running import Runner
from lastcall.tools.seen import FilesSeen
from lastcall.version import VERSION
from lastcall.wire.dialect import Feature
from lastcall.wire.frames import Stage
from lastcall.wire.json import DEFAULT_LIMITS, CallLimits

_PRICED = {"anthropic", "openai"}


class Session:
    """One session. Made by `open_session`; close it with `aclose`."""

    def __init__(self, driver: Driver, provider: Provider, journal: Journal, stage: Stage) -> None:
        self.driver = driver
        self.stage = stage
        self._provider = provider
        self._journal = journal

    async def run(self, prompt: str, *, uuid: str = "") -> TerminalResult:
        """One user message to its result."""
        return await self.driver.run((TextBlock(prompt),), uuid=uuid)

    async def aclose(self) -> None:
        """Let go of the provider and the journal."""
        with anyio.CancelScope(shield=True):
            await self._provider.aclose()
        self._journal.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def policy_of(config: RunConfig) -> Policy:
    """The choices of the core that the configuration makes."""
    make = compat if config.profile is Profile.COMPAT else native
    policy = make(
        max_attempts=config.max_attempts,
        max_turns=config.max_turns,
        max_budget_usd=config.max_budget_usd,
        budget_words=config.budget_words,
        deadline_s=config.deadline_s,
        deadline_words=config.deadline_words,
    )
    if config.profile is Profile.NATIVE and not config.declines:
        policy = replace(policy, declines=False)
    return policy


def open_session(
    config: RunConfig, publisher_for: Callable[[Stage], Publisher], provider: Provider | None = None
) -> Session:
    """Everything a session needs, ready to run; nothing is sent yet.

    `provider` takes the place of the one that `config.model` names. Raises `UsageError`, `JournalError`.
    """
    kit = _tool_kit(config)
    provider = provider or _provider(config)
    setting = _setting(config, kit, provider)
    state, journal = _state(config, setting, provider)
    stage = _stage(config, kit, provider, state.session_id)
    ports = Ports(
        provider=provider,
        run_tool=kit.run,
        journal=journal,
        publisher=publisher_for(stage),
        clock=SystemClock(),
        new_id=new_id,
        price=_price(provider),
    )
    return Session(Driver(state, ports), provider, journal, stage)


def _provider(config: RunConfig) -> Provider:
    settings = ModelSettings(
        profile=config.profile,
        max_tokens=config.max_tokens,
        thinking_tokens=config.thinking_tokens,
        effort=config.effort,
        max_retries=config.max_retries,
        limits=limits_of(config),
        progress=config.partial,
        memory=CapabilityMemory(_cache_folder(config) if config.persist else None),
        agent=f"lastcall/{VERSION}",
    )
    return choose_provider(config.model, config.environment, settings, fallbacks=config.fallback_models)


def limits_of(config: RunConfig) -> CallLimits:
    """Budgets of a call's arguments, and how its numbers are read: as doubles where the reference does."""
    return CallLimits(numbers="doubles") if config.profile is Profile.COMPAT else DEFAULT_LIMITS


def _cache_folder(config: RunConfig) -> Path:
    if config.cache_dir:
        return Path(config.cache_dir)
    from platformdirs import user_cache_path  # noqa: PLC0415 -- only where no folder was named

    return user_cache_path("lastcall")


def _price(provider: Provider) -> Price:
    name = provider.deployment.provider
    return PriceList(name) if name in _PRICED else no_price


# -- tools ----------------------------------------------------------------------------------------------------------


class ToolKit:
    """The tools of a session and what their calls share."""

    def __init__(self, config: RunConfig) -> None:
        home = config.environment.get("HOME", "")
        self.permissions = Permissions(
            allow=parse_rules(config.allowed_tools, where="--allowedTools"),
            deny=parse_rules(config.disallowed_tools, where="--disallowedTools"),
            mode=parse_mode(config.permission_mode),
            cwd=config.cwd,
            home=home,
        )
        finishing = (FINISH, DECLINE) if config.contract is not None else ()
        self.toolbox = choose_tools(
            builtin_tools(), config.tools, self.permissions, profile=config.profile, finishing=finishing
        )
        self._context = ToolContext(
            workspace=Workspace(config.cwd, config.add_dirs, home=home),
            seen=FilesSeen(),
            rules=self.permissions,
            profile=config.profile,
            images=True,
        )
        gate = permission_gate(self.permissions, config.profile)
        self._runner = Runner(self.toolbox, gate, profile=config.profile, finishing=finishing)

    async def run(self, call: ToolCall, scope: anyio.CancelScope) -> ToolResult:
        """The answer to a call (a `ports.RunTool`)."""
        context = replace(self._context, call_id=call.call_id, idempotency_key=call.call_id)
        return await self._runner.run(call, context, scope=scope)


def _tool_kit(config: RunConfig) -> ToolKit:
    return ToolKit(config)


# -- setting, state, stage ------------------------------------------------------------------------------------------


def _setting(config: RunConfig, kit: ToolKit, provider: Provider) -> Setting:
    dialect = provider.dialect
    denied = config.contract is not None and kit.permissions.denies_tool(FINISH)
    if denied and config.profile is Profile.NATIVE:
        raise BadConfig(f"{FINISH} is how the run ends", hint="Take the rule away.", where="--disallowedTools")
    compat_profile = config.profile is Profile.COMPAT
    return Setting(
        policy=policy_of(config),
        contract=config.contract,
        tools=kit.toolbox.definitions,
        system=config.system_prompt,
        strict_rules=dialect.strict_rules.value if dialect.has(Feature.STRICT) and not compat_profile else "none",
        channel=_channel(config, kit, provider),
        forces=dialect.has(Feature.FORCED_ANY),
        finishing_denied=denied,
    )


def _channel(config: RunConfig, kit: ToolKit, provider: Provider) -> Channel:
    """The finishing tool where the deployment has tools; its own JSON format where it has none, or on request."""
    dialect = provider.dialect
    if config.contract is None or config.channel == "tool":
        return Channel.TOOL
    if config.channel == "native":
        if len(kit.toolbox):
            raise BadConfig("the native channel takes no other tools", hint='Add --tools "".', where="--channel")
        if not dialect.has(Feature.NATIVE_FORMAT):
            raise BadConfig(
                f"{dialect.name} has no JSON format of its own", hint="Use --channel tool.", where="--channel"
            )
        return Channel.NATIVE
    return Channel.TOOL if dialect.has(Feature.TOOLS) else Channel.NATIVE


def _state(config: RunConfig, setting: Setting, provider: Provider) -> tuple[RunState, Journal]:
    """The state that the session begins with, and where its steps go: a new journal, a reopened one, or a copy."""
    sessions = Sessions(config.state_dir)
    path = _earlier(config, sessions)
    records: tuple[r.Record, ...] = ()
    journal: Journal = MemoryJournal()
    if path is not None and config.persist and not config.fork:
        journal, loaded = reopen_journal(path)
        records = loaded.records
    elif path is not None:
        records = load(path).records
    state = begin(setting)
    for record in records:
        state = evolve(state, record)
    goes_on = path is not None and not config.fork
    session_id = SessionId(config.session_id or (state.session_id if goes_on else "") or new_uuid())
    opened = _opened_record(config, provider, session_id)
    if config.persist and not goes_on:
        journal = sessions.create(config.cwd, session_id)
        if records:
            journal.append(records, at=opened.at)
    journal.append((opened,), at=opened.at)
    return evolve(state, opened), journal


def _earlier(config: RunConfig, sessions: Sessions) -> str | None:
    """The path of the journal to go on with; `None` for a new session. Raises `BadConfig`."""
    if config.resume is not None:
        found = sessions.find(config.resume)
        if found is None:
            raise BadConfig(f"No conversation found with session ID: {config.resume}")
        return found.path
    if config.continue_latest:
        latest = sessions.latest(config.cwd)
        if latest is None:
            raise BadConfig("No conversation found to continue")
        return latest.path
    return None


def _opened_record(config: RunConfig, provider: Provider, session_id: SessionId) -> r.Opened:
    contract = config.contract
    return r.Opened(
        session_id=session_id,
        version=VERSION,
        profile=config.profile.value,
        model=provider.deployment.model,
        cwd=config.cwd,
        at=SystemClock().wall(),
        contract_digest=contract.digest if contract is not None else "",
        schema_text=contract.schema.text if contract is not None else "",
    )


def _stage(config: RunConfig, kit: ToolKit, provider: Provider, session_id: SessionId) -> Stage:
    names = [t.name for t in kit.toolbox.definitions]
    if config.contract is not None:
        names.append(FINISH)
    return Stage(
        session_id=session_id,
        profile=config.profile,
        model=provider.deployment.model,
        cwd=config.cwd,
        tools=tuple(names),
        permission_mode=config.permission_mode,
        api_key_source=_key_source(config),
        version=VERSION,
        host=_host(provider.deployment.base_url),
        max_tokens=provider.deployment.max_tokens,
    )


def _key_source(config: RunConfig) -> str:
    known = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY")
    return next((name for name in known if config.environment.get(name)), "none")


def _host(base_url: str) -> str:
    return base_url.split("://", 1)[-1].split("/", 1)[0].rsplit("@", 1)[-1]
