"""`run`, `arun` and `stream`: one prompt to one result.

Must not go in here: sessions (`api.session`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar, overload

import anyio

from lastcall.api.config import RunConfig
from lastcall.api.contract import Contract
from lastcall.api.hooks import Hook
from lastcall.api.result import TerminalResult
from lastcall.api.session import AnyTool, Model, RunStream, Session
from lastcall.errors import BadConfig

T = TypeVar("T")
Rules = Sequence[Callable[..., Any]]


@overload
async def arun(
    prompt: str,
    *,
    output: None = None,
    model: Model | None = None,
    tools: Sequence[AnyTool] = (),
    rules: Rules = (),
    deps: Any = None,
    hooks: Sequence[Hook] = (),
    config: RunConfig | None = None,
) -> TerminalResult[str]: ...
@overload
async def arun(
    prompt: str,
    *,
    output: type[T] | Contract[T],
    model: Model | None = None,
    tools: Sequence[AnyTool] = (),
    rules: Rules = (),
    deps: Any = None,
    hooks: Sequence[Hook] = (),
    config: RunConfig | None = None,
) -> TerminalResult[T]: ...
@overload
async def arun(
    prompt: str,
    *,
    output: Any,
    model: Model | None = None,
    tools: Sequence[AnyTool] = (),
    rules: Rules = (),
    deps: Any = None,
    hooks: Sequence[Hook] = (),
    config: RunConfig | None = None,
) -> TerminalResult[Any]: ...
async def arun(
    prompt: str,
    *,
    output: Any = None,
    model: Model | None = None,
    tools: Sequence[AnyTool] = (),
    rules: Rules = (),
    deps: Any = None,
    hooks: Sequence[Hook] = (),
    config: RunConfig | None = None,
) -> TerminalResult[Any]:
    """Run the prompt until there is a verified object, or it is certain that there is none.

    `output`: a type, a `Contract`, or a JSON Schema; without one the answer is prose. `model`: as `--model`, or a
    provider. `tools`: functions, tools, names of built-in tools. `rules`: functions of the
    object (`api.rules`). `hooks`: `@lastcall.hook` functions. `deps` reaches rules, tools and hooks. `config`: the rest.

    How the run ended is in the result, never an exception. Raises `UsageError` before anything is sent, `JournalError`.
    A cancelled task cancels the run.
    """
    session = Session[Any](output, model=model, tools=tools, rules=rules, deps=deps, hooks=hooks, config=config)
    try:
        session._open(partial=False)  # noqa: SLF001 -- nobody watches the pieces
        return await session.run(prompt)
    finally:
        await session.aclose()


@overload
def run(
    prompt: str,
    *,
    output: None = None,
    model: Model | None = None,
    tools: Sequence[AnyTool] = (),
    rules: Rules = (),
    deps: Any = None,
    hooks: Sequence[Hook] = (),
    config: RunConfig | None = None,
) -> TerminalResult[str]: ...
@overload
def run(
    prompt: str,
    *,
    output: type[T] | Contract[T],
    model: Model | None = None,
    tools: Sequence[AnyTool] = (),
    rules: Rules = (),
    deps: Any = None,
    hooks: Sequence[Hook] = (),
    config: RunConfig | None = None,
) -> TerminalResult[T]: ...
@overload
def run(
    prompt: str,
    *,
    output: Any,
    model: Model | None = None,
    tools: Sequence[AnyTool] = (),
    rules: Rules = (),
    deps: Any = None,
    hooks: Sequence[Hook] = (),
    config: RunConfig | None = None,
) -> TerminalResult[Any]: ...
def run(
    prompt: str,
    *,
    output: Any = None,
    model: Model | None = None,
    tools: Sequence[AnyTool] = (),
    rules: Rules = (),
    deps: Any = None,
    hooks: Sequence[Hook] = (),
    config: RunConfig | None = None,
) -> TerminalResult[Any]:
    """`arun`, waited for. Raises `BadConfig` inside a running event loop, where only `arun` can be used."""
    try:
        anyio.get_current_task()
    except anyio.NoEventLoopError:
        pass
    else:
        raise BadConfig("lastcall.run cannot wait inside a running event loop", hint="Write: await lastcall.arun(...).")
    given: dict[str, Any] = {"output": output, "model": model, "tools": tools, "rules": rules, "deps": deps}
    given["hooks"] = hooks
    return anyio.run(partial(arun, prompt, config=config, **given))


@overload
def stream(
    prompt: str,
    *,
    output: None = None,
    model: Model | None = None,
    tools: Sequence[AnyTool] = (),
    rules: Rules = (),
    deps: Any = None,
    hooks: Sequence[Hook] = (),
    config: RunConfig | None = None,
) -> RunStream[str]: ...
@overload
def stream(
    prompt: str,
    *,
    output: type[T] | Contract[T],
    model: Model | None = None,
    tools: Sequence[AnyTool] = (),
    rules: Rules = (),
    deps: Any = None,
    hooks: Sequence[Hook] = (),
    config: RunConfig | None = None,
) -> RunStream[T]: ...
@overload
def stream(
    prompt: str,
    *,
    output: Any,
    model: Model | None = None,
    tools: Sequence[AnyTool] = (),
    rules: Rules = (),
    deps: Any = None,
    hooks: Sequence[Hook] = (),
    config: RunConfig | None = None,
) -> RunStream[Any]: ...
def stream(
    prompt: str,
    *,
    output: Any = None,
    model: Model | None = None,
    tools: Sequence[AnyTool] = (),
    rules: Rules = (),
    deps: Any = None,
    hooks: Sequence[Hook] = (),
    config: RunConfig | None = None,
) -> RunStream[Any]:
    """`arun` with its events while they happen, for `async with`."""
    session = Session[Any](output, model=model, tools=tools, rules=rules, deps=deps, hooks=hooks, config=config)
    return RunStream(session, prompt, owns=True)
