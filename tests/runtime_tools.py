"""A driver with a scripted model and a journal in memory, for tests of the runtime."""

from __future__ import annotations

from typing import Any

import anyio

from lastcall.core.policy import native
from lastcall.core.state import Setting, begin
from lastcall.journal.store import MemoryJournal
from lastcall.nouns.messages import TextBlock
from lastcall.nouns.tools import ResultKind, ToolCall, ToolResult
from lastcall.providers.scripted import scripted_provider
from lastcall.runtime.clock import SystemClock, new_id
from lastcall.runtime.driver import Driver
from lastcall.runtime.ports import Ports
from lastcall.runtime.prices import no_price
from lastcall.runtime.publish import Silent


async def _no_tool(call: ToolCall, scope: anyio.CancelScope) -> ToolResult:
    del scope
    return ToolResult(call.call_id, ResultKind.UNKNOWN_TOOL, "no such tool", is_error=True)


def make_driver(script: Any, *, contract: Any, **policy: Any) -> Driver:
    """A driver whose model says the script."""
    ports = Ports(scripted_provider(script), _no_tool, MemoryJournal(), Silent(), SystemClock(), new_id, no_price)
    return Driver(begin(Setting(policy=native(**policy), contract=contract)), ports)


def run_driver(driver: Driver) -> Any:
    """The result of one message, within ten seconds."""

    async def main() -> Any:
        with anyio.fail_after(10):
            return await driver.run((TextBlock("do it"),))

    return anyio.run(main)
