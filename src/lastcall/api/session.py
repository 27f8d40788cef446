"""`Session[T]`: several messages to one model under one contract; and `RunStream[T]`, one run with its events.

Must not go in here: the loop (`runtime.driver`), building providers and tools (`runtime.session`).
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Generic, Self, TypedDict, TypeVar, Unpack, cast, overload

import anyio
import anyio.abc
from msgspec.structs import replace

from lastcall.api.config import RunConfig, settled
from lastcall.api.contract import Contract, contract_for
from lastcall.api.ends import listeners, observers
from lastcall.api.events import RunEnded, StreamEvent
from lastcall.api.hook_client import HookClient, Troubles
from lastcall.api.hooked_requests import HookedProvider
from lastcall.api.hooks import Hook
from lastcall.api.logs import log_observers
from lastcall.api.result import TerminalResult
from lastcall.api.rules import DEPENDENCIES
from lastcall.api.tools import make_tool
from lastcall.api.watching import Relay, Watcher
from lastcall.core.history import close_messages
from lastcall.errors import BadConfig
from lastcall.nouns import result as core
from lastcall.nouns.profile import Profile
from lastcall.providers import Provider
from lastcall.runtime.client import ClientSide
from lastcall.runtime.publish import SILENT, Several
from lastcall.runtime.session import Session as CoreSession
from lastcall.runtime.session import open_provider, open_session, price_of
from lastcall.runtime.veil import NO_VEIL
from lastcall.tools import Tool

T = TypeVar("T")

AnyTool = str | Tool | Callable[..., Any]
"""A built-in tool by name, a tool, or a plain function (made a tool as `@lastcall.tool` does).

A tool that the caller gives is allowed by being given; a built-in one asks the permission rules of the configuration.
"""

Model = str | Provider
"""A model's name as `--model` takes it, or what answers in its place (a provider, `lastcall.testing.ScriptedModel`)."""


class RunOptions(TypedDict, total=False):
    """What `run`, `arun`, `stream` and `Session` take beside the prompt and the output type, all of it optional.

    `model`: as `--model`, or a provider. `tools`: functions, tools, names of built-in tools. `rules`: functions of the
    object (and `deps`), which must all agree. `deps` reaches rules, tools and hooks. `hooks`: functions made with
    `@lastcall.hook`. `config`: the rest.
    """

    model: Model | None
    tools: Sequence[AnyTool]
    rules: Sequence[Callable[..., Any]]
    deps: Any
    hooks: Sequence[Hook]
    config: RunConfig | None


class Session(Generic[T]):
    """Several messages, each run to its own result; what was said before is remembered.

    Use it with `async with`. Attempts and limits count anew with each message. `RunConfig(persist=True)` keeps the
    session on disk, `RunConfig(resume=ID)` goes on with one. Raises `UsageError`, `JournalError` when it is entered.
    """

    @overload
    def __init__(
        self: Session[str],
        output: None = None,
        **options: Unpack[RunOptions],
    ) -> None: ...
    @overload
    def __init__(
        self,
        output: type[T] | Contract[T],
        **options: Unpack[RunOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: Session[Any],
        output: Any,
        **options: Unpack[RunOptions],
    ) -> None: ...
    def __init__(
        self,
        output: Any = None,
        **options: Unpack[RunOptions],
    ) -> None:
        """Nothing is opened or sent yet. `output`: a type, a `Contract`, a JSON Schema; without one, prose."""
        for name in options:
            if name not in RunOptions.__annotations__:
                raise TypeError(f"lastcall takes no option {name!r}; there are {', '.join(RunOptions.__annotations__)}")
        model, config = options.get("model"), options.get("config") or RunConfig()
        named, own = _sorted(options.get("tools", ()))
        contract = contract_for(output, options.get("rules", ()), config.profile, config.reference)
        self._provider = None if model is None or isinstance(model, str) else model
        self._config = replace(
            config,
            contract=contract.compiled if contract is not None else config.contract,
            model=model if isinstance(model, str) else config.model,
            tools=",".join(named) if named else config.tools,
            allowed_tools=(*config.allowed_tools, *(tool.definition.name for tool in own)),
        )
        self._type = contract.type if contract is not None else None
        self._own = own
        self._hooks = tuple(options.get("hooks", ()))
        self._troubles = Troubles()
        self._hook_client = HookClient(self._hooks, self._troubles) if self._hooks else None
        self._deps = options.get("deps")
        self._relay = Relay()
        self._core: CoreSession | None = None
        self._veil = NO_VEIL

    async def __aenter__(self) -> Self:
        self._open(partial=True)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _open(self, *, partial: bool) -> CoreSession:
        if self._core is None:
            config = settled(self._config, partial=partial)
            rules = self._hook_client.rules if self._hook_client is not None else ()
            client = ClientSide(client=self._hook_client, rules=rules, tools=self._own)
            clock = getattr(self._provider, "run_clock", None)  # a scripted model may bring the time with it
            provider = self._hooked(config)
            relay = self._relay
            self._core = open_session(config, lambda _: relay, provider, client=client, clock=clock)
            self._config, self._veil = config, self._core.veil
        return self._core

    def _hooked(self, config: RunConfig) -> Provider | None:
        """The model with the hooks about requests around it; without any, what the caller gave."""
        if not any(hook.point in ("before_request", "after_request") for hook in self._hooks):
            return self._provider

        def choose(model: str) -> Provider:
            return open_provider(replace(config, model=model, fallback_models=()))

        own = self._provider or open_provider(config)
        return HookedProvider(own, self._hooks, self._troubles, choose=choose, price_of=price_of)

    @property
    def session_id(self) -> str:
        """The session, for `RunConfig(resume=...)`. Raises `BadConfig` before it is entered."""
        return self._opened().stage.session_id

    async def run(self, prompt: str) -> TerminalResult[T]:
        """One message to its result. Raises nothing for what the model, the service or a tool did."""
        return await self._run(prompt, SILENT)

    def stream(self, prompt: str) -> RunStream[T]:
        """The same as a stream of typed events, for `async with`."""
        return RunStream(self, prompt, owns=False)

    async def aclose(self) -> None:
        """Let go of the model and the journal. Safe to call twice."""
        opened, self._core = self._core, None
        if opened is not None:
            await opened.aclose()

    async def _run(self, prompt: str, watcher: Any) -> TerminalResult[T]:
        session = self._opened()
        if session.driver.busy:
            raise BadConfig("a session runs one message at a time", hint="Wait for the result before it.")
        if not prompt.strip():
            raise BadConfig("the prompt is empty", where="prompt")
        self._troubles.take()  # of a run that was left
        self._relay.watcher = watcher
        watchers = [make(session.stage, prompt) for make in (*observers, *log_observers())]
        if watchers:
            self._relay.watcher = Several((watcher, *watchers))
        token = DEPENDENCIES.set(self._deps)
        try:
            plain = await session.run(prompt)
        except BaseException as error:
            for watching in watchers:
                watching.aborted()
            if isinstance(error, BaseExceptionGroup):
                raise alone(error) from None
            raise
        finally:
            DEPENDENCIES.reset(token)
            self._relay.watcher = SILENT
        state = session.driver.state
        joins = self._config.profile is Profile.COMPAT
        messages = close_messages(state.messages, state.pending, joins=joins)
        result: TerminalResult[T] = TerminalResult.of(self._warned(plain), messages, session.stage)
        if self._hook_client is not None:
            await self._tell_end(self._hook_client, result)
        for told in listeners:
            told(result)
        return result

    async def _tell_end(self, hooks: HookClient, result: TerminalResult[T]) -> None:
        token = DEPENDENCIES.set(self._deps)
        try:
            await hooks.tell_end(result)
        finally:
            DEPENDENCIES.reset(token)
        result.plain = self._warned(result.plain)

    def _warned(self, plain: core.TerminalResult) -> core.TerminalResult:
        """The result with what hooks failed at since the last look."""
        met = tuple(replace(w, message=self._veil.text(w.message)) for w in self._troubles.take())
        return replace(plain, warnings=(*plain.warnings, *met)) if met else plain

    def _opened(self) -> CoreSession:
        if self._core is None:
            raise BadConfig("the session is not open", hint="Write: async with Session(...) as session.")
        return self._core

    def _watcher(self, emit: Callable[[Any], None]) -> Watcher:
        driver = self._opened().driver
        return Watcher(
            self._config.contract, emit, self._type, lambda: driver.state.channel, lambda: driver.state.contract
        )


class RunStream(Generic[T]):
    """One run with its events: `async with lastcall.stream(...) as run:` and then `async for event in run:`.

    Leaving the block before the end cancels the run. `result` is there once the events are over.
    """

    def __init__(self, session: Session[T], prompt: str, *, owns: bool) -> None:
        self._session = session
        self._prompt = prompt
        self._owns = owns
        self._result: TerminalResult[T] | None = None
        self._send, self._events = anyio.create_memory_object_stream[StreamEvent[T]](math.inf)
        self._tasks: anyio.abc.TaskGroup | None = None
        self._stack = AsyncExitStack()

    @property
    def result(self) -> TerminalResult[T]:
        """How the run ended. Raises `BadConfig` before it did."""
        if self._result is None:
            raise BadConfig("the run has not ended yet", hint="Go through its events first.")
        return self._result

    async def __aenter__(self) -> Self:
        await self._stack.__aenter__()
        if self._owns:
            await self._stack.enter_async_context(self._session)
        self._tasks = await anyio.create_task_group().__aenter__()
        self._tasks.start_soon(self._drive)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        assert self._tasks is not None
        if self._result is None:
            self._tasks.cancel_scope.cancel()
        try:
            return await self._tasks.__aexit__(kind, error, trace)
        except BaseExceptionGroup as group:
            if group.exceptions == (error,):
                return False  # the block's own error, as it was
            raise alone(group) from None
        finally:
            self._events.close()
            with anyio.CancelScope(shield=True):
                await self._stack.aclose()

    async def __aiter__(self) -> AsyncIterator[StreamEvent[T]]:
        async for event in self._events:
            yield event

    async def _drive(self) -> None:
        with self._send:
            watcher = self._session._watcher(self._send.send_nowait)  # noqa: SLF001 -- two halves of one thing
            self._result = await self._session._run(self._prompt, watcher)  # noqa: SLF001
            self._send.send_nowait(RunEnded(self._result))


def alone(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one exception in a group of one, however deep; else the group."""
    inner: BaseException = group
    while isinstance(inner, BaseExceptionGroup) and len(inner.exceptions) == 1:
        inner = inner.exceptions[0]
    return inner


def _sorted(tools: Sequence[AnyTool]) -> tuple[list[str], tuple[Tool, ...]]:
    """Names of built-in tools, and tools of the caller's. Raises `BadConfig` for what is neither."""
    named: list[str] = []
    own: list[Tool] = []
    for tool in tools:
        if isinstance(tool, str):
            named.append(tool)
        elif hasattr(tool, "definition") and hasattr(tool, "subject"):
            own.append(cast("Tool", tool))
        elif callable(tool):
            own.append(make_tool(tool))
        else:
            raise BadConfig(f"{tool!r} is no tool", hint="Give a function or a built-in tool's name.", where="tools")
    return named, tuple(own)
