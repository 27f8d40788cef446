"""What requests pass before they are sent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from lastcall.providers.flow import FREE
from lastcall.providers.scripted import scripted_provider
from lastcall.providers.service import Settings
from wire_tools import TestClock, ask, collect


class Watched:
    """A flow that notes what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.open = 0

    @asynccontextmanager
    async def sending(self) -> AsyncIterator[Watched]:
        self.told.append("sent")
        self.open += 1
        try:
            yield self
        finally:
            self.open -= 1

    def refused(self, wait_s: float | None) -> None:
        self.told.append(wait_s)


def played(*replies: Any) -> list[Any]:
    flow = Watched()
    subject = scripted_provider(list(replies), settings=Settings(flow=flow), clock=TestClock())
    collect(lambda: subject.stream(ask()))
    assert flow.open == 0
    return flow.told


@pytest.mark.parametrize("status", [429, 529])
def test_each_sending_passes_and_a_refusal_by_load_is_told_with_the_wait_it_asks_for(status: int) -> None:
    assert played({"status": status, "headers": {"retry-after": "7"}}, "a") == ["sent", 7.0, "sent"]


def test_a_refusal_that_asks_for_no_wait_says_so() -> None:
    assert played({"status": 429}, "a") == ["sent", None, "sent"]


def test_other_failures_are_nobody_elses_business() -> None:
    assert played({"status": 500, "headers": {"retry-after": "7"}}, "a") == ["sent", "sent"]


def test_a_conversation_alone_waits_for_nobody() -> None:
    async def main() -> None:
        async with FREE.sending() as first, FREE.sending() as second:
            first.refused(60.0)
            second.refused(None)

    import anyio

    anyio.run(main)
