"""`run`, `arun` and `stream`: one prompt to one result.

Must not go in here: sessions (`api.session`).
"""

from __future__ import annotations

from functools import partial
from typing import Any, TypeVar, Unpack, overload

import anyio

from lastcall.api.contract import Contract
from lastcall.api.result import TerminalResult
from lastcall.api.session import RunOptions, RunStream, Session
from lastcall.errors import BadConfig
from lastcall.runtime.publish import SILENT

T = TypeVar("T")


@overload
async def arun(prompt: str, *, output: None = None, **options: Unpack[RunOptions]) -> TerminalResult[str]: ...
@overload
async def arun(prompt: str, *, output: type[T] | Contract[T], **options: Unpack[RunOptions]) -> TerminalResult[T]: ...
@overload
async def arun(prompt: str, *, output: Any, **options: Unpack[RunOptions]) -> TerminalResult[Any]: ...
async def arun(prompt: str, *, output: Any = None, **options: Unpack[RunOptions]) -> TerminalResult[Any]:
    """Run the prompt until there is a verified object, or it is certain that there is none.

    `output`: a type, a `Contract`, or a JSON Schema; without one the answer is prose. The other options: `RunOptions`.

    How the run ended is in the result, never an exception. Raises `UsageError` before anything is sent, `JournalError`, and
    what a hook raises before something is done. A cancelled task cancels the run.
    """
    session: Session[Any] = Session(output, **options)
    try:
        session._open(partial=False)  # noqa: SLF001 -- nobody watches the pieces
        return await session._run(prompt, SILENT)  # noqa: SLF001
    finally:
        await session.aclose()


@overload
def run(prompt: str, *, output: None = None, **options: Unpack[RunOptions]) -> TerminalResult[str]: ...
@overload
def run(prompt: str, *, output: type[T] | Contract[T], **options: Unpack[RunOptions]) -> TerminalResult[T]: ...
@overload
def run(prompt: str, *, output: Any, **options: Unpack[RunOptions]) -> TerminalResult[Any]: ...
def run(prompt: str, *, output: Any = None, **options: Unpack[RunOptions]) -> TerminalResult[Any]:
    """`arun`, waited for. Raises `BadConfig` inside a running event loop, where only `arun` can be used."""
    try:
        anyio.get_current_task()
    except anyio.NoEventLoopError:
        pass
    else:
        raise BadConfig("lastcall.run cannot wait inside a running event loop", hint="Write: await lastcall.arun(...).")
    return anyio.run(partial(arun, prompt, output=output, **options))


@overload
def stream(prompt: str, *, output: None = None, **options: Unpack[RunOptions]) -> RunStream[str]: ...
@overload
def stream(prompt: str, *, output: type[T] | Contract[T], **options: Unpack[RunOptions]) -> RunStream[T]: ...
@overload
def stream(prompt: str, *, output: Any, **options: Unpack[RunOptions]) -> RunStream[Any]: ...
def stream(prompt: str, *, output: Any = None, **options: Unpack[RunOptions]) -> RunStream[Any]:
    """`arun` with its events while they happen, for `async with`."""
    return RunStream(Session[Any](output, **options), prompt, owns=True)
