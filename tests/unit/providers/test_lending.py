"""One provider for many conversations."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio

from lastcall.core.events import ProviderEvent
from lastcall.nouns.messages import AssistantMessage, TextBlock, UserMessage
from lastcall.nouns.request import ModelRequest
from lastcall.providers import Deployment
from lastcall.providers.fallback import FallbackProvider, Link
from lastcall.providers.lending import lend
from lastcall.providers.scripted import ScriptPlayer, scripted_provider
from lastcall.wire.dialect import SCRIPTED
from wire_tools import ask, collect


def prompt_of(body: Any) -> Any:
    return [block["text"] for message in body["messages"] for block in message["content"]]


def test_closing_what_was_lent_leaves_the_connection_to_the_others(monkeypatch: Any) -> None:
    subject = scripted_provider(["a"])
    closed: list[bool] = []

    async def close(player: ScriptPlayer) -> None:
        closed.append(True)

    monkeypatch.setattr(ScriptPlayer, "aclose", close)

    async def main() -> None:
        first, second = lend(subject), lend(subject)
        for lent in (first, second):
            assert [e async for e in lent.stream(ask())]
            await lent.aclose()
        assert closed == []
        await subject.aclose()

    anyio.run(main)
    assert len(subject.requests) == 2


def test_conversations_at_once_do_not_see_each_others_history() -> None:
    subject = scripted_provider(["a"])
    users = [UserMessage((TextBlock(f"prompt {n}"),)) for n in range(2)]
    said = AssistantMessage("m", (TextBlock("reply"),))  # type: ignore[arg-type]
    more = UserMessage((TextBlock("again"),))

    async def main() -> None:
        lent = [lend(subject), lend(subject)]
        for history in ((), (said, more)):
            for n in range(2):
                assert [e async for e in lent[n].stream(ask(users[n], *history))]

    anyio.run(main)
    assert [prompt_of(body) for body in subject.requests] == [
        ["prompt 0"],
        ["prompt 1"],
        ["prompt 0", "reply", "again"],
        ["prompt 1", "reply", "again"],
    ]


def test_a_chain_that_fell_in_one_conversation_begins_anew_in_the_next() -> None:
    overloaded = {"status": 529, "error": {"type": "overloaded_error", "message": "x"}}
    first = scripted_provider([overloaded, "back"], model="a", max_retries=0)
    second = scripted_provider(["b"], model="b")
    chain = FallbackProvider([Link(first), Link(second)])
    fell, fresh = lend(chain), lend(chain)
    collect(lambda: fell.stream(ask()))
    assert fell.deployment.model == "b"
    collect(lambda: fresh.stream(ask()))
    assert fresh.deployment.model == chain.deployment.model == "a"


class Bare:
    """A provider of somebody else's."""

    deployment = Deployment("mine", "m")
    dialect = SCRIPTED

    def __init__(self) -> None:
        self.closed = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        async for event in scripted_provider(["a"]).stream(request):
            yield event

    async def aclose(self) -> None:
        self.closed += 1


def test_any_provider_can_be_lent_and_is_not_closed_by_it() -> None:
    bare = Bare()
    lent = lend(bare)
    assert collect(lambda: lent.stream(ask()))
    anyio.run(lent.aclose)
    assert (bare.closed, lent.deployment, lent.dialect) == (0, bare.deployment, SCRIPTED)
