"""A chain of models: when one cannot answer, the next one does, and stays.

What triggers a change is the reference's recorded behaviour (groups `fallback` and `retraction`) for its profile; natively
every failure that another model may not share does. What the former model said in this reply is taken back. A refusal is
answered by the next model only where the chain says so, and the refused reply is never shown as ended.

Must not go in here: retries of one model (`providers.retries`), building the chain (`providers.choose`).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import Final, cast

from msgspec import Struct
from msgspec.structs import replace

from lastcall.core.events import (
    BlockEnded,
    FellBack,
    Progress,
    ProviderEvent,
    ReplyEnded,
    ReplyStarted,
    RequestFailed,
    Retrying,
)
from lastcall.nouns.ids import MessageId, Uuid
from lastcall.nouns.profile import Profile
from lastcall.nouns.request import ModelRequest
from lastcall.nouns.result import FailureKind
from lastcall.providers import Deployment, Provider
from lastcall.providers.clock import Clock
from lastcall.providers.lending import lend
from lastcall.wire.dialect import Dialect

OVERLOADS_BEFORE_FALLBACK: Final = 2
"""Retries because of overload that a model gets while another stands ready."""

REFUSAL: Final = "refusal"
_TRIGGERS: Final = {
    FailureKind.OVERLOADED: "overloaded",
    FailureKind.NOT_FOUND: "model_not_found",
    FailureKind.RATE_LIMIT: "rate_limit",
    FailureKind.SERVER: "server_error",
    FailureKind.NETWORK: "network",
    FailureKind.TIMEOUT: "timeout",
    FailureKind.BROKEN_STREAM: "stream_error",
    FailureKind.MODEL_UNAVAILABLE: "model_unavailable",
}
"""The reference's words where it has any. Who is not authorised or asks badly asks no other model the same."""

ANY_TRIGGER: Final = frozenset({*_TRIGGERS.values(), REFUSAL})
RECORDED_TRIGGERS: Final = frozenset({"overloaded", "model_not_found"})


class Link(Struct, frozen=True):
    """One model of the chain, and what makes it take over from those before it.

    With `categories` only refusals of these categories count.
    """

    provider: Provider
    triggers: frozenset[str] = ANY_TRIGGER
    categories: frozenset[str] | None = None


class _Fall(Struct, frozen=True):
    """A model of the chain could not answer; `to` is the index of the next one."""

    to: int
    event: FellBack


class FallbackProvider:
    """A provider that is a chain of providers (`providers.Provider`). `links` are its models in order."""

    def __init__(self, links: Sequence[Link], *, profile: Profile = Profile.NATIVE, clock: Clock | None = None) -> None:
        self.links = tuple(links)
        self._index = 0
        self._profile = profile
        self._takes_back_blocks = profile is Profile.NATIVE
        self._clock = clock or Clock()

    @property
    def deployment(self) -> Deployment:
        """The model that answers now."""
        return self.links[self._index].provider.deployment

    @property
    def dialect(self) -> Dialect:
        """What it accepts."""
        return self.links[self._index].provider.dialect

    async def aclose(self) -> None:
        """Lets go of all of them."""
        for link in self.links:
            await link.provider.aclose()

    def lend(self) -> FallbackProvider:
        """The same chain for one conversation of several, from its first model on."""
        links = [replace(link, provider=lend(link.provider)) for link in self.links]
        return FallbackProvider(links, profile=self._profile, clock=self._clock)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        """The reply of the first model that gives one; a change of model is told by `FellBack`."""
        while True:
            fall: _Fall | None = None
            async with aclosing(self._ask(request)) as events:
                async for event in events:
                    if isinstance(event, _Fall):
                        fall = event
                        yield fall.event
                    else:
                        yield event
            if fall is None:
                return
            self._index = fall.to

    async def _ask(self, request: ModelRequest) -> AsyncGenerator[ProviderEvent | _Fall]:
        """The events of the model that answers now. What would end the request becomes a `_Fall` if another takes over."""
        begun: tuple[MessageId, ...] = ()
        blocks = 0
        held: list[Progress] = []
        stream = cast("AsyncGenerator[ProviderEvent]", self.links[self._index].provider.stream(request))
        async with aclosing(stream) as events:
            async for event in events:
                if isinstance(event, ReplyStarted | Retrying):
                    begun = (event.message_id,) if isinstance(event, ReplyStarted) else ()
                    blocks = 0
                elif isinstance(event, BlockEnded):
                    blocks += 1
                if isinstance(event, Progress) and (held or _tells_refusal(event)):
                    held.append(event)  # shown after the change of model, as the reference does
                    continue
                fall = self._fall(request, event, begun, blocks)
                if fall is not None:
                    yield fall
                for progress in held:
                    yield progress
                held.clear()
                if fall is None:
                    yield event

    def _fall(
        self, request: ModelRequest, event: ProviderEvent, begun: tuple[MessageId, ...], blocks: int
    ) -> _Fall | None:
        trigger, category = self._trigger(event, blocks)
        if trigger is None or not isinstance(event, ReplyEnded | RequestFailed):
            return None
        to = self._next(trigger, category)
        if to is None:
            return None
        details = event.stop_details or {} if isinstance(event, ReplyEnded) else {}
        model, uuid = self.links[to].provider.deployment.model, Uuid(self._clock.mint())
        fell = FellBack(
            request.number, self.deployment.model, model, trigger, uuid, begun, event.usage, details=details
        )
        return _Fall(to, fell)

    def _trigger(self, event: ProviderEvent, blocks: int) -> tuple[str | None, str]:
        match event:
            case ReplyEnded(stop_reason="refusal"):
                category = (event.stop_details or {}).get("category")
                return REFUSAL, category if isinstance(category, str) else ""
            case RequestFailed(failure=failure) if self._takes_back_blocks or not blocks:
                return _TRIGGERS.get(failure.kind), ""
            case _:
                return None, ""

    def _next(self, trigger: str, category: str) -> int | None:
        for index in range(self._index + 1, len(self.links)):
            link = self.links[index]
            refusal_fits = trigger != REFUSAL or link.categories is None or category in link.categories
            if trigger in link.triggers and refusal_fits:
                return index
        return None


def _tells_refusal(event: ProviderEvent) -> bool:
    return isinstance(event, Progress) and (event.event.get("delta") or {}).get("stop_reason") == REFUSAL
