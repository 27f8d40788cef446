"""Requests to the model with hooks around them: a provider around the run's own.

A hook may add to the system prompt, send headers along, and let another model answer one request. The messages, the tools
and the forced choice are computed from what is true of the run, and the contract is not in the request at all: neither can
be changed here.

Must not go in here: hooks of other points (`api.hook_client`).
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any, Final, cast

from msgspec.structs import replace

from lastcall.api.hook_client import Troubles, ask
from lastcall.api.hooks import Hook, ReplySeen, RequestAnswer, RequestQuestion
from lastcall.api.rules import DEPENDENCIES
from lastcall.core.events import (
    BlockEnded,
    ChannelChanged,
    FellBack,
    ProviderEvent,
    ReplyEnded,
    ReplyStarted,
    RequestFailed,
    Retrying,
)
from lastcall.errors import BadConfig
from lastcall.nouns.messages import AssistantBlock, TextBlock
from lastcall.nouns.request import ModelRequest
from lastcall.nouns.tools import ToolCall
from lastcall.providers import Deployment, Provider
from lastcall.providers.redaction import is_credential
from lastcall.runtime.ports import Price
from lastcall.wire.dialect import Dialect

_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_OF_TRANSPORT: Final = frozenset(
    {"host", "content-length", "content-type", "content-encoding", "transfer-encoding", "connection", "accept-encoding"}
)


class HookedProvider:
    """A provider (`providers.Provider`) that asks hooks before each request and tells them what came of it.

    `choose` makes the provider of a model that a hook names; `price_of` says what a provider's replies cost.
    """

    def __init__(
        self,
        provider: Provider,
        hooks: Sequence[Hook],
        troubles: Troubles,
        *,
        choose: Callable[[str], Provider],
        price_of: Callable[[Provider], Price],
    ) -> None:
        self._own = self._answering = provider
        self._before = tuple(hook for hook in hooks if hook.point == "before_request")
        self._after = tuple(hook for hook in hooks if hook.point == "after_request")
        self._troubles = troubles
        self._choose = choose
        self._price_of = price_of
        self._others: dict[str, Provider] = {}

    @property
    def deployment(self) -> Deployment:
        """The model that answers now."""
        return self._answering.deployment

    @property
    def dialect(self) -> Dialect:
        """What the run's own model accepts."""
        return self._own.dialect

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ProviderEvent]:
        """The reply to the request as hooks leave it. Raises what a `before_request` hook raises, before it is sent."""
        self._answering = self._own
        for hook in self._before:
            request = await self._asked(hook, request)
        heard = _Hearing(request.number, self._answering.deployment.model)
        stream = cast("AsyncGenerator[ProviderEvent]", self._answering.stream(request))
        async with aclosing(stream) as events:
            async for event in events:
                seen = heard.hear(event)
                if seen is not None:
                    for hook in self._after:
                        await ask(hook, seen, self._troubles)
                yield await self._priced(event, heard.model)

    async def aclose(self) -> None:
        """Let go of the run's own model, and of those that hooks named."""
        for provider in (self._own, *self._others.values()):
            await provider.aclose()

    async def _asked(self, hook: Hook, request: ModelRequest) -> ModelRequest:
        question = RequestQuestion(
            request.number,
            self._answering.deployment.model,
            request.system,
            request.messages,
            request.tools,
            request.reserved,
            DEPENDENCIES.get(),
        )
        said = await ask(hook, question, self._troubles, _answer)
        if said is None:
            return request
        if said.model is not None:
            self._answering = self._provider(said.model)
        system = "\n\n".join(part for part in (request.system, said.system) if part)
        return replace(request, system=system, headers={**request.headers, **said.headers})

    def _provider(self, model: str | Provider) -> Provider:
        if not isinstance(model, str):
            return model
        if model not in self._others:
            self._others[model] = self._choose(model)
        return self._others[model]

    async def _priced(self, event: ProviderEvent, model: str) -> ProviderEvent:
        """The runtime knows the prices of the run's own provider; those of another are found here."""
        if self._answering is self._own or not isinstance(event, ReplyEnded) or event.cost_usd is not None:
            return event
        return replace(event, cost_usd=await self._price_of(self._answering)(model, event.usage))


class _Hearing:
    """One reply in the making, as `after_request` is told of it."""

    def __init__(self, number: int, model: str) -> None:
        self.model = model
        self._number = number
        self._blocks: list[AssistantBlock] = []

    def hear(self, event: ProviderEvent) -> ReplySeen | None:
        """What is to be told once the reply is over."""
        match event:
            case ReplyStarted(model=model):
                self._blocks, self.model = [], model or self.model
            case BlockEnded(block=block):
                self._blocks.append(block)
            case Retrying() | FellBack() | ChannelChanged():
                self._blocks = []
            case ReplyEnded() | RequestFailed():
                return self._seen(event)
            case _:
                pass  # pieces of blocks
        return None

    def _seen(self, event: ReplyEnded | RequestFailed) -> ReplySeen:
        return ReplySeen(
            self._number,
            self.model,
            "".join(block.text for block in self._blocks if isinstance(block, TextBlock)),
            tuple(block for block in self._blocks if isinstance(block, ToolCall)),
            event.stop_reason if isinstance(event, ReplyEnded) else None,
            event.usage,
            event.took_ms,
            event.failure if isinstance(event, RequestFailed) else None,
            DEPENDENCIES.get(),
        )


def _answer(hook: Hook, said: Any) -> RequestAnswer:
    """What a hook said. Raises `BadConfig` for what is no answer, and for a header that cannot or may not be sent."""
    if not isinstance(said, RequestAnswer):
        hint = "Return a RequestAnswer, or nothing."
        raise BadConfig(f"the hook {hook.name} answered with {type(said).__name__}", hint=hint, where="hooks")
    for name, value in said.headers.items():
        words = ""
        if not _HEADER.fullmatch(name):
            words = "is no name of a header"
        elif name.lower() in _OF_TRANSPORT or is_credential(name):
            words = "belongs to the transport"
        elif not (isinstance(value, str) and value.isascii() and value.isprintable()):
            words = "has a value that no header can have"
        if words:
            hint = "Credentials come from the environment; other headers are printable ASCII."
            raise BadConfig(f"{name!r}, from the hook {hook.name}, {words}", hint=hint, where="hooks")
    return said
