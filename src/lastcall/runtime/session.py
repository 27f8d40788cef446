"""A session put together: provider, tools, journal, limits, and the driver that runs its messages.

Must not go in here: the loop (`runtime.driver`), rules, anything that a person sees.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import anyio
from msgspec import Struct
from msgspec.structs import replace

from lastcall.contract.finishing_tools import FINISH
from lastcall.core import records as r
from lastcall.core.policy import Policy, compat, native
from lastcall.core.state import Setting
from lastcall.errors import BadConfig
from lastcall.journal.store import Journal
from lastcall.nouns.messages import TextBlock
from lastcall.nouns.profile import Profile
from lastcall.nouns.request import Channel
from lastcall.nouns.result import TerminalResult
from lastcall.providers import Provider
from lastcall.providers.capability import CapabilityMemory
from lastcall.providers.choose import ModelSettings, choose_provider
from lastcall.providers.flow import FREE, Flow
from lastcall.runtime.client import NOBODY, ClientSide
from lastcall.runtime.clock import SYSTEM_CLOCK, new_id, new_uuid
from lastcall.runtime.config import RunConfig
from lastcall.runtime.driver import Driver
from lastcall.runtime.hooks import HookPlace, Hooks
from lastcall.runtime.opening import open_state
from lastcall.runtime.ports import Clock, Ports, Price, Publisher, Window, no_window
from lastcall.runtime.prices import is_loaded, load_price_list, no_price, price_list
from lastcall.runtime.toolkit import ToolKit
from lastcall.runtime.veil import Veil, veil_of
from lastcall.version import VERSION
from lastcall.wire.dialect import Feature
from lastcall.wire.frames import Frame, Stage
from lastcall.wire.json import DEFAULT_LIMITS, CallLimits

_PRICED = {"anthropic", "openai"}
_SLOW_READERS = {"local"}
"""Where the model reads its prompt on this machine's CPU, at a second for some thirty tokens."""


class _Parts(Struct, frozen=True):
    """What a session is put together from."""

    config: RunConfig
    kit: ToolKit
    provider: Provider
    hooks: Hooks
    journal: Journal
    publisher: Publisher
    stage: Stage
    first_model: str | None


class Session:
    """One session. Made by `open_session`; close it with `aclose`."""

    def __init__(self, parts: _Parts, driver: Driver) -> None:
        self.driver = driver
        self._parts = parts
        self._retired: list[Provider] = []

    @property
    def stage(self) -> Stage:
        """What frames say of the session now."""
        return self._parts.stage

    @property
    def veil(self) -> Veil:
        """What is hidden in whatever is shown of it."""
        return self.driver.veil

    @property
    def local(self) -> bool:
        """Whether the embedded model answers."""
        return self._parts.provider.deployment.provider == "local"

    def run(self, prompt: str, *, uuid: str = "") -> Coroutine[Any, Any, TerminalResult]:
        """One user message to its result."""
        return self.driver.run((TextBlock(prompt),), uuid=uuid)

    async def go_on(self) -> TerminalResult:
        """Continue the session's last run (`RunConfig.unfinished`) to its result."""
        return await self.driver.go_on()

    def set_model(self, model: str | None) -> str:
        """Another model from the next request on (`None`: the one that the session began with); its full name.

        Raises `UsageError`; nothing is changed then.
        """
        config = self._parts.config
        self._adopt(replace(config, model=model if model is not None else self._parts.first_model))
        return self.stage.model

    def set_thinking_tokens(self, tokens: int | None) -> None:
        """Another budget of thinking from the next request on. Raises `UsageError`."""
        self._adopt(replace(self._parts.config, thinking_tokens=tokens))

    def set_permission_mode(self, mode: str) -> None:
        """Another permission mode from the next call on. Raises `BadConfig`."""
        parts = self._parts
        parts.kit.set_mode(mode)
        self._restage(replace(parts, config=replace(parts.config, permission_mode=mode)))

    def note(self, *texts: str) -> None:
        """Tell the model something before the next prompt. Not during a run."""
        self.driver.note(r.Noted(texts))

    def _adopt(self, config: RunConfig) -> None:
        parts = self._parts
        provider = open_provider(config)
        setting = _setting(config, parts.kit, provider, parts.hooks)
        self._retired.append(parts.provider)
        self.driver.change(setting, provider, price_of(provider), _window_of(config, provider))
        self._restage(replace(parts, config=config, provider=provider))

    def _restage(self, parts: _Parts) -> None:
        stage = _stage(parts.config, parts.kit, parts.provider, parts.stage.session_id, parts.stage.mcp_servers)
        self._parts = replace(parts, stage=stage)
        parts.publisher.restage(stage)

    async def aclose(self) -> None:
        """Let go of the providers and the journal."""
        with anyio.CancelScope(shield=True):
            for provider in (*self._retired, self._parts.provider):
                await provider.aclose()
        self._parts.journal.close()
        self._parts.hooks.watch(None)
        self._parts.kit.close()

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
        max_budget_tokens=config.max_budget_tokens,
        deadline_s=config.deadline_s,
        deadline_words=config.deadline_words,
    )
    if config.profile is Profile.COMPAT:
        return policy
    return replace(
        policy,
        compacts=config.compacts,
        compact_after_turns=config.compact_after_turns if config.compacts else None,
        declines=config.declines,
        salvages=config.salvages,
        revises=config.revises,
        max_repeats=config.max_repeats,
    )


def open_session(
    config: RunConfig,
    publisher_for: Callable[[Stage], Publisher],
    provider: Provider | None = None,
    *,
    client: ClientSide = NOBODY,
    clock: Clock | None = None,
) -> Session:
    """Everything a session needs, ready to run; nothing is sent yet.

    `provider` takes the place of the one that `config.model` names, and is closed with the session (one that others use
    too is given as `providers.lending.lend` of it); `client` is what drives the session through frames,
    `clock` what its limits go by (this machine's).
    Raises `UsageError`, `JournalError`.
    """
    provider = provider or open_provider(config)
    kit = ToolKit(config, client, sparing=provider.deployment.provider in _SLOW_READERS)
    hooks = Hooks((*config.hook_rules, *client.rules), _place(config, kit), client=client.client)
    setting = _setting(config, kit, provider, hooks)
    veil = veil_of(config.environment, config.redact, config.contract)
    opened = open_state(config, setting, provider.deployment.model, veil)
    stage = _stage(config, kit, provider, opened.state.session_id, client.servers)
    publisher = publisher_for(stage)
    kit.settle(opened.state.session_id)
    hooks.settle(opened.path, _veiled(publisher.tell, veil) if config.hook_events else None)
    if hooks.any:
        kit.use_hooks(hooks)
    ports = Ports(
        provider=provider,
        run_tool=kit.run,
        forget=kit.forget,
        journal=opened.journal,
        publisher=publisher,
        clock=clock or SYSTEM_CLOCK,
        new_id=new_id,
        price=price_of(provider),
        window=_window_of(config, provider),
        prepare=load_price_list if provider.deployment.provider in _PRICED and not is_loaded() else None,
        veil=veil,
        ask_hooks=hooks.ask,
    )
    driver = Driver(opened.state, ports)
    hooks.watch(lambda: driver.state)
    kit.watch(lambda: driver.state.setting.tools)
    parts = _Parts(config, kit, provider, hooks, opened.journal, publisher, stage, config.model)
    return Session(parts, driver)


def _veiled(tell: Callable[[str, Frame], None], veil: Veil) -> Callable[[str, Frame], None]:
    return lambda subtype, fields: tell(subtype, veil.fields(fields))


def _place(config: RunConfig, kit: ToolKit) -> HookPlace:
    return HookPlace(
        config.cwd, config.environment, config.profile, config.reference, lambda: kit.permissions.mode.value, new_uuid
    )


def open_provider(config: RunConfig, *, flow: Flow = FREE, shares_prefix: bool = False) -> Provider:
    """The provider that `config.model` names; whoever opens it closes it.

    For many sessions at once: give each `providers.lending.lend` of it. `flow` is what their requests pass,
    `shares_prefix` says that they begin alike and mostly end with their first reply. Raises `UsageError`.
    """
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
        notice=config.notice,
        flow=flow,
        shares_prefix=shares_prefix,
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


def price_of(provider: Provider) -> Price:
    """What replies of a provider cost."""
    name, batched = provider.deployment.provider, provider.deployment.batched
    return price_list(name, batched=batched) if name in _PRICED else no_price


def _window_of(config: RunConfig, provider: Provider) -> Window:
    """What the same list says of the window, less what a reply takes. It is of use natively only."""
    name, reply = provider.deployment.provider, provider.deployment.max_tokens
    return no_window if name not in _PRICED or config.profile is Profile.COMPAT else _window_for_questions(name, reply)


@lru_cache(maxsize=64)
def _window_for_questions(name: str, reply: int) -> Window:
    listed = price_list(name)

    async def for_questions(model: str) -> int | None:
        window = await listed.window(model)
        return window if window is None or window <= 2 * reply else window - reply

    return for_questions


# -- setting, state, stage ------------------------------------------------------------------------------------------


def _setting(config: RunConfig, kit: ToolKit, provider: Provider, hooks: Hooks) -> Setting:
    dialect = provider.dialect
    denied = config.contract is not None and kit.permissions.denies_tool(FINISH)
    if denied and config.profile is Profile.NATIVE:
        raise BadConfig(f"{FINISH} is how the run ends", hint="Take the rule away.", where="--disallowedTools")
    compat_profile = config.profile is Profile.COMPAT
    setting = Setting(
        policy=replace(policy_of(config), summarizes=dialect.summaries),
        contract=config.contract,
        tools=kit.toolbox.definitions,
        system=config.system_prompt,
        strict_rules=dialect.strict_rules.value if dialect.has(Feature.STRICT) and not compat_profile else "none",
        channel=_channel(config, kit, provider),
        forces=dialect.has(Feature.FORCED_ANY),
        hooks=hooks.points(FINISH if config.contract is not None else None),
        finishing_denied=denied,
    )
    return setting if dialect.has(Feature.FREE_NAMES) else setting.with_plain_names()


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


def _stage(
    config: RunConfig,
    kit: ToolKit,
    provider: Provider,
    session_id: str,
    servers: tuple[Mapping[str, str], ...],
) -> Stage:
    names = [t.name for t in kit.toolbox.definitions]
    if config.contract is not None:
        names.append(FINISH)
    return Stage(
        session_id=session_id,
        profile=config.profile,
        reference=config.reference,
        model=provider.deployment.model,
        cwd=config.cwd,
        tools=tuple(names),
        mcp_servers=servers,
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
