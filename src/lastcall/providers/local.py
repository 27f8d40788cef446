"""The embedded model: `local` (the same as `local:standard`) and `local:small`.

A provider like any other: one request to one reply. The model is fetched and the engine started with the first request.
Each reply is held to the tools on offer by a grammar; where the engine cannot make the grammar it is asked again with a
looser one, and a reply that is not as the grammar says fails, so that prose is never taken for a call. What a grammar
cannot express is the contract's business: nothing is checked here.

Must not go in here: the prompt, the grammar, the engine's process, downloading (the `local_*` modules beside this one).
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Final, assert_never

import anyio
from msgspec import Struct
from msgspec.structs import replace

from lastcall.core.events import ChannelChanged, ProviderEvent, RequestFailed
from lastcall.errors import BrokenStream, LastcallError, MissingExtra, ModelUnavailable, ProviderError
from lastcall.nouns.ids import Uuid
from lastcall.nouns.request import ModelRequest
from lastcall.nouns.result import Failed, FailureKind, Usage
from lastcall.providers import Deployment
from lastcall.providers.clock import Clock
from lastcall.providers.local_cache import Shelf, models_folder
from lastcall.providers.local_catalogue import find_model
from lastcall.providers.local_client import EngineClient, Sampling, Stopped, TooLong, Written
from lastcall.providers.local_grammar import Offer, offer
from lastcall.providers.local_habits import (
    Bias,
    HabitBook,
    HabitReader,
    choice_fields,
    empty_request,
    finishing_tool,
    habit_key,
)
from lastcall.providers.local_machine import check_engine, check_memory, check_processor, threads
from lastcall.providers.local_models import Notice, OnProgress, Quarters, obtain
from lastcall.providers.local_process import start_engine, wishes
from lastcall.providers.local_prompt import Foreign, prompt
from lastcall.providers.local_reply import LocalReply, NotAsOffered
from lastcall.wire.dialect import LOCAL, Dialect, Feature

MAX_TOKENS: Final = 2_048
"""A reply's bound where none is given: more than four minutes of writing."""


_HABIT_TOKENS: Final = 400
_ALTERNATIVES: Final = 200


class LocalSettings(Struct, frozen=True, kw_only=True):
    """How an embedded model runs. `slots` replies can be written at once; each has `context` tokens of its own."""

    max_tokens: int = MAX_TOKENS
    temperature: float = 0.0
    seed: int | None = None
    slots: int = 1
    threads: int | None = None


def open_local(
    name: str = "standard",
    *,
    models: Path | None = None,
    notice: Notice | None = None,
    progress: OnProgress | None = None,
    settings: LocalSettings | None = None,
    clock: Clock | None = None,
) -> LocalProvider:
    """The provider of an embedded model. Nothing is fetched or started yet.

    Raises `BadConfig` for a name that is none, `MissingExtra` if the engine is not installed.
    """
    model = find_model(name)
    check_engine()
    notice = notice or _say
    return LocalProvider(
        Shelf(models or models_folder(None), model),
        notice,
        progress or Quarters(notice),
        settings or LocalSettings(),
        clock or Clock(),
    )


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201 -- people have to hear of a download


class _Dropped(Exception):  # noqa: N818 -- never leaves this module
    """The engine made no grammar of the one it was given."""


class LocalProvider:
    """An embedded model (`providers.Provider`). Made by `open_local`."""

    def __init__(
        self, shelf: Shelf, notice: Notice, progress: OnProgress, settings: LocalSettings, clock: Clock
    ) -> None:
        self._shelf = shelf
        self._notice = notice
        self._progress = progress
        self._settings = settings
        self._clock = clock
        self._client: EngineClient | None = None
        self._starting = anyio.Lock()
        self._refused: dict[str, str] = {}
        self._book = HabitBook(shelf.folder / "habits.json")
        self.deployment = Deployment(
            "local", f"local:{shelf.model.name}", max_tokens=settings.max_tokens, temperature=settings.temperature
        )
        self.dialect: Dialect = LOCAL

    async def aclose(self) -> None:
        """Ends the engine's process."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    # -- one request ------------------------------------------------------------------------------------------------

    async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        """The reply, event by event; the last one is `ReplyEnded` or `RequestFailed`."""
        began = self._clock.ticks()
        try:
            client = await self.ready()
            offered = self._offer(request)
            for wanted in (offered, offer(request, loose=True)):
                try:
                    async with aclosing(self._reply(client, request, wanted)) as events:
                        async for event in events:
                            yield event
                except _Dropped as dropped:
                    detail = f"the engine made no grammar of the schema: {dropped}"
                    if wanted.loose:
                        raise ProviderError(detail) from None
                    self._refused[wanted.grammar] = str(dropped)
                    yield ChannelChanged(request.number, Feature.STRICT.value, detail)
                else:
                    return
        except LastcallError as error:
            failure = Failed(_kind_of(error), str(error))
            yield RequestFailed(request.number, failure, Uuid(self._clock.mint()), self._since(began))

    async def ready(self) -> EngineClient:
        """The engine, started if it does not run; the model is fetched first if it is not here.

        Raises `ModelUnavailable`.
        """
        async with self._starting:
            if self._client is not None and not self._client.running:
                await self.aclose()
            if self._client is None:
                self._client = await self._start()
            return self._client

    async def _start(self) -> EngineClient:
        check_processor()
        weights = await obtain(self._shelf, notice=self._notice, progress=self._progress)
        check_memory(self._shelf.model)
        model, settings = self._shelf.model, self._settings
        asked = wishes(
            weights,
            alias=self.deployment.model,
            context=model.context * settings.slots,
            slots=settings.slots,
            threads=settings.threads or threads(),
        )
        return EngineClient(await start_engine(asked), context=model.context)

    def _offer(self, request: ModelRequest) -> Offer:
        offered = offer(request)
        return offer(request, loose=True) if offered.grammar in self._refused else offered

    async def _reply(
        self, client: EngineClient, request: ModelRequest, offered: Offer
    ) -> AsyncGenerator[ProviderEvent]:
        """The reply to one sending. Raises `_Dropped` before its first event, `ProviderError` afterwards."""
        reply = LocalReply(request.number, self.deployment.model, offered, self._clock.mint)
        bias = () if offered.loose or offered.text else await self._habits(client, request)
        sampling = Sampling(self.deployment.max_tokens, self._settings.temperature, self._settings.seed, bias)
        mark, began = client.mark, self._clock.ticks()
        async with aclosing(client.complete(prompt(request), offered.grammar, sampling)) as heard:
            async for said in heard:
                was_begun = reply.begun
                events, fault = self._events(reply, said, began)
                if offered.grammar and (fault or (events and not was_begun) or isinstance(said, Stopped)):
                    await self._check_grammar(client, mark, fault, begun=was_begun)
                for event in events:
                    yield event

    async def _habits(self, client: EngineClient, request: ModelRequest) -> Bias:
        """What takes the model's habits off its choices; measured if it is not known. What fails here changes nothing."""
        tool = finishing_tool(request)
        fields = choice_fields(tool) if tool is not None else ()
        if tool is None or not fields:
            return ()
        key = habit_key(request, self._shelf.model.sha256)
        known = self._book.find(key)
        if known is not None:
            return known
        try:
            first = {
                field.name: tuple([(await client.tokens_of([Foreign(option)]))[0] for option in field.options])
                for field in fields
            }
            reader = HabitReader(tool, first)
            empty = empty_request(request)
            sampling = Sampling(_HABIT_TOKENS, 0.0, None, alternatives=_ALTERNATIVES)
            grammar = offer(replace(empty, tools=(tool,))).grammar  # else it declines, with nothing to go by
            async with aclosing(client.complete(prompt(empty), grammar, sampling)) as heard:
                async for said in heard:
                    if isinstance(said, Written):
                        reader.hear(said.text, said.likely)
                    if reader.complete:
                        break
        except (BrokenStream, TooLong):
            return ()
        self._book.keep(key, reader.bias())
        return reader.bias()

    def _events(self, reply: LocalReply, said: Written | Stopped, began: float) -> tuple[list[ProviderEvent], str]:
        """What one thing that was said tells, and what of it no grammar allows."""
        try:
            match said:
                case Written(text=text):
                    return reply.feed(text), ""
                case Stopped():
                    usage = Usage(
                        input_tokens=said.prompt_tokens - said.cached_tokens,
                        output_tokens=said.output_tokens,
                        cache_creation_input_tokens=0,
                        cache_read_input_tokens=said.cached_tokens,
                    )
                    return reply.finish(limit=said.limit, usage=usage, took_ms=self._since(began)), ""
                case _:
                    assert_never(said)
        except NotAsOffered as fault:
            return [], str(fault) or "nothing"

    async def _check_grammar(self, client: EngineClient, mark: int, fault: str, *, begun: bool) -> None:
        """Raises where the engine says that it dropped the grammar, or the reply shows it."""
        if fault:
            await client.settle()
        dropped = client.dropped(mark)
        if dropped and not begun:
            raise _Dropped(dropped)
        if dropped or fault:
            detail = dropped or f"it wrote {fault!r}"
            raise BrokenStream(f"the embedded model's reply does not keep to the tools on offer: {detail}")

    def _since(self, began: float) -> int:
        return round((self._clock.ticks() - began) * 1000)


def _kind_of(error: LastcallError) -> FailureKind:
    match error:
        case ModelUnavailable() | MissingExtra():
            return FailureKind.MODEL_UNAVAILABLE
        case TooLong():
            return FailureKind.TOO_LONG
        case BrokenStream():
            return FailureKind.BROKEN_STREAM
        case _:
            return FailureKind.SERVER
