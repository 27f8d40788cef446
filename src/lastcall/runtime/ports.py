"""What the driver needs of the world, as one value: every seam at which a test puts something else.

Must not go in here: choosing what goes in (`runtime.session`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from decimal import Decimal
from typing import Any, Protocol

import anyio
from msgspec import Struct

from lastcall.core.actions import RunHooks
from lastcall.core.events import Progress
from lastcall.core.records import Record
from lastcall.core.state import RunState
from lastcall.journal.store import Journal
from lastcall.nouns.hooks import NOTHING_SAID, HookVerdict
from lastcall.nouns.result import TerminalResult, Usage
from lastcall.nouns.tools import ToolCall, ToolResult
from lastcall.providers import Provider
from lastcall.runtime.veil import NO_VEIL, Veil
from lastcall.wire.frames import Frame, Stage


class Clock(Protocol):
    """Time. `wall` is seconds since the epoch, `monotonic` seconds that never go back."""

    def wall(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...

    async def sleep_until(self, monotonic: float) -> None:
        """Wait until `monotonic` shows this."""
        ...


class Publisher(Protocol):
    """Who shows a run while it goes on. Nothing here may fail the run."""

    def records(self, records: Sequence[Record]) -> None:
        """What is true from now on."""
        ...

    def progress(self, progress: Progress) -> None:
        """A piece of a block in the making."""
        ...

    def result(self, result: TerminalResult) -> None:
        """The run's end."""
        ...

    def tell(self, subtype: str, fields: Frame) -> None:
        """Something beside the run that its watchers asked for (hook events), as a system frame's fields."""
        ...

    def restage(self, stage: Stage) -> None:
        """The model, the permission mode or the tools are others from now on."""
        ...


RunTool = Callable[[ToolCall, anyio.CancelScope], Awaitable[ToolResult]]
"""Runs an ordinary call; cancelling the scope cancels just this call and is an answer too."""

AskHooks = Callable[[RunHooks, RunState], Awaitable[HookVerdict]]
"""Asks the caller's hooks; `state` is the session's when they are asked. Never raises for what a hook did."""


async def no_hooks(action: RunHooks, state: RunState) -> HookVerdict:  # noqa: ARG001 -- an `AskHooks`
    """Nobody is there to be asked."""
    return NOTHING_SAID


Price = Callable[[str, Usage], Awaitable[Decimal | None]]
"""US dollars of a reply of this model; `None` where the price or the usage is unknown."""


Window = Callable[[str], Awaitable[int | None]]
"""Tokens that a question to this model may fill; `None` where nobody knows."""


async def no_window(model: str) -> int | None:  # noqa: ARG001 -- a `Window`
    """Nobody knows."""
    return None


class Ports(Struct, frozen=True):
    """The driver's world. `new_id(kind)` mints ids; kinds are `run` and `uuid`."""

    provider: Provider
    run_tool: RunTool
    journal: Journal
    publisher: Publisher
    clock: Clock
    new_id: Callable[[str], str]
    price: Price
    ask_hooks: AskHooks = no_hooks
    window: Window = no_window
    veil: Veil = NO_VEIL
    prepare: Callable[[], Coroutine[Any, Any, None]] | None = None
    """Begun with each reply: loads what its end will need."""
    forget: Callable[[], None] = lambda: None
    """Told when answers of tools are no longer in front of the model (taken back, left out)."""
