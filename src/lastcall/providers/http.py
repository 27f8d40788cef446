"""A model service over HTTP: one request to one reply, whatever happens on the way.

Sends, reads, waits, sends again. Everything that is peculiar to a service is in the `Service` it is given. Nothing that
the service or the network does raises: the last event is `ReplyEnded` or `RequestFailed`, and only cancellation (or
closing the iterator) ends it otherwise.

Must not go in here: which retries (`providers.retries`), other models (`providers.fallback`), the HTTP library
(`providers.connection`).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from copy import copy
from typing import Final

import anyio
from msgspec import Struct
from msgspec.structs import replace

from lastcall.core.events import (
    ChannelChanged,
    Progress,
    ProviderEvent,
    ReplyEnded,
    ReplyStarted,
    RequestFailed,
    Retrying,
)
from lastcall.errors import BrokenStream, ReplyTooLarge, Unreachable
from lastcall.nouns.ids import MessageId, Uuid
from lastcall.nouns.request import ModelRequest
from lastcall.nouns.result import Failed, FailureKind
from lastcall.providers import Deployment
from lastcall.providers.addresses import shown_address
from lastcall.providers.capability import CapabilityMemory, refused_feature, used_features
from lastcall.providers.clock import Clock
from lastcall.providers.flow import REFUSALS_BY_LOAD
from lastcall.providers.redaction import Redactor, secrets_of
from lastcall.providers.retries import RULES, Course, Lost, read_retry_after
from lastcall.providers.service import Answer, Connection, Service, Settings
from lastcall.wire.dialect import Dialect, Feature
from lastcall.wire.failure import read_failure
from lastcall.wire.reply import NO_REPLY, Heard, Hearing, ReplyDecoder, excerpt, no_reply
from lastcall.wire.reply import RULES as REPLY_RULES
from lastcall.wire.sse import SseDecoder

MAX_ERROR_BYTES: Final = 1024 * 1024
SETTLE_S: Final = 5.0
"""How long a stream may stay silent once its reply is complete but for what may still follow."""
DRAIN_S: Final = 0.2
"""How long the end of an answer is waited for after its reply, so that the connection can be used again."""
CARRIES_NOTHING: Final = 3
"""A stream that carries nothing but keep-alives is given up after so many times the idle timeout."""
PLAIN_PATIENCE: Final = 2
"""An answer that is not streamed may begin after so many times the idle timeout."""

_OK: Final = 200
_SHORTEST_SECRET: Final = 8
"""A shorter value of a header is a word, which a message may well hold."""


_ASKED_ANEW: Final = (Feature.TOOLS, Feature.FREE_NAMES)
"""Features without which it has to be another request."""


class _Step(Struct, frozen=True):
    """What follows a lost sending."""

    events: tuple[ProviderEvent, ...]
    again: bool = True
    streams: bool = True
    delay_s: float = 0.0


class HttpProvider:
    """A deployment behind an HTTP address (`providers.Provider`)."""

    def __init__(
        self,
        deployment: Deployment,
        dialect: Dialect,
        service: Service,
        *,
        settings: Settings | None = None,
        memory: CapabilityMemory | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._lender: HttpProvider | None = None
        self._deployment = deployment
        self._service = service
        self._settings = settings or Settings()
        self._memory = memory or CapabilityMemory(None)
        self._clock = clock or Clock()
        self._dialect = self._memory.narrow(deployment, dialect, now=self._clock.now())
        self._encoder = service.encoder(self._settings.profile)
        self._redact = Redactor(secrets_of(service.url, service.headers))
        self._connection: Connection | None = None

    @property
    def deployment(self) -> Deployment:
        """The model that answers."""
        return self._deployment

    @property
    def dialect(self) -> Dialect:
        """What it accepts, as far as is known now."""
        return self._dialect

    async def aclose(self) -> None:
        """Lets go of the connections."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.aclose()

    def lend(self) -> HttpProvider:
        """The same service for one conversation of several: over the same connections, with a history of its own."""
        return copy(self)._borrow(self)  # noqa: SLF001 -- one of its own kind

    def _borrow(self, lender: HttpProvider) -> HttpProvider:
        self._lender, self._connection = lender, None
        self._dialect = self._memory.narrow(self._deployment, self._dialect, now=self._clock.now())
        self._encoder = self._service.encoder(self._settings.profile)
        return self

    @property
    def service(self) -> Service:
        """What it talks to, credentials included."""
        return self._service

    def through(self, connect: Callable[[], Connection]) -> HttpProvider:
        """The same service for one conversation whose requests go another way, one that does not stream."""
        return HttpProvider(
            replace(self._deployment, batched=True),
            self._dialect.without(Feature.STREAM),
            replace(self._service, connect=connect),
            settings=self._settings,
            memory=self._memory,
            clock=self._clock,
        )

    # -- one request ------------------------------------------------------------------------------------------------

    async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        """The reply, event by event; the last one is `ReplyEnded` or `RequestFailed`."""
        rules = self._settings.retry_rules or RULES[self._settings.profile]
        course = Course(rules, self._deployment.max_retries)
        began = self._clock.ticks()
        streams = self._dialect.has(Feature.STREAM)
        while True:
            lost: Lost | None = None
            begun: tuple[MessageId, ...] = ()
            passed = self._settings.flow.sending()
            async with passed as sending, aclosing(self._send(request, stream=streams)) as events:
                async for event in events:
                    match event:
                        case Lost():
                            if event.failure.kind in REFUSALS_BY_LOAD:
                                sending.refused(read_retry_after(event.retry_after, now=self._clock.now()))
                            lost = replace(event, failure=self._redactor(request).failure(event.failure))
                        case ReplyEnded():
                            yield replace(event, took_ms=self._since(began))
                        case ReplyStarted(message_id=message_id):
                            begun = (message_id,)
                            yield event
                        case _:
                            yield event
            if lost is None:
                return
            step = self._next(request, course, lost, begun, streams=streams, began=began)
            for told in step.events:
                yield told
            if not step.again:
                return
            streams = step.streams
            await self._clock.sleep(step.delay_s)

    def _next(
        self,
        request: ModelRequest,
        course: Course,
        lost: Lost,
        begun: tuple[MessageId, ...],
        *,
        streams: bool,
        began: float,
    ) -> _Step:
        """What follows a lost sending: the same without a refused feature, without streaming, later, or nothing."""
        change = self._give_way(request, lost, stream=streams)
        if change is not None and change.feature in _ASKED_ANEW:  # whoever asked has to ask for something else
            return _Step((change, self._failed(request, lost, began)), again=False)
        if change is not None:
            return _Step((change,), streams=streams)
        if streams and course.may_go_plain(lost):
            return _Step((ChannelChanged(request.number, Feature.STREAM.value, lost.failure.detail),), streams=False)
        if course.may_retry(lost):
            delay_s = course.delay_s(lost, now=self._clock.now(), chance=self._clock.chance())
            return _Step((self._retrying(request, course, lost, begun, delay_s),), streams=streams, delay_s=delay_s)
        return _Step((self._failed(request, lost, began),), again=False)

    def _retrying(
        self, request: ModelRequest, course: Course, lost: Lost, begun: tuple[MessageId, ...], delay_s: float
    ) -> Retrying:
        return Retrying(
            request.number,
            course.retries,
            self._deployment.max_retries,
            round(delay_s * 1000),
            lost.failure,
            begun,
            self._deployment.model,
            lost.usage,
        )

    def _failed(self, request: ModelRequest, lost: Lost, began: float) -> RequestFailed:
        uuid = Uuid(self._clock.mint())
        return RequestFailed(request.number, lost.failure, uuid, self._since(began), lost.usage)

    def _since(self, began: float) -> int:
        return round((self._clock.ticks() - began) * 1000)

    def _give_way(self, request: ModelRequest, lost: Lost, *, stream: bool) -> ChannelChanged | None:
        """Drops the feature that the deployment refused, if that is what it did, and remembers it."""
        used = used_features(request, self._deployment, self._dialect, stream=stream)
        feature = refused_feature(lost.failure, used)
        if feature is None:
            return None
        self._dialect = self._dialect.without(feature)
        self._memory.remember(self._deployment, feature, now=self._clock.now())
        return ChannelChanged(request.number, feature.value, lost.failure.detail)

    # -- one sending ------------------------------------------------------------------------------------------------

    async def _send(self, request: ModelRequest, *, stream: bool) -> AsyncGenerator[ProviderEvent | Lost]:
        """The events of one sending; `Lost` comes last if there was no complete reply."""
        body = self._encoder.encode(request, self._deployment, self._dialect, stream=stream)
        decoder = self._service.decoder(self._hearing(request))
        wait_s = self._deployment.idle_timeout_s * (1 if stream else PLAIN_PATIENCE)
        try:
            async with self._connect().post(body, wait_s=wait_s, headers=request.headers) as answer:
                if answer.status != _OK:
                    yield await self._refusal(answer)
                elif answer.content_type == "application/json" or not stream:
                    for heard in decoder.whole(await self._read(answer, self._settings.stream_limits.stream_bytes)):
                        yield _event(heard, decoder)
                elif answer.content_type == "text/html":
                    yield await self._page(answer)
                else:
                    async for heard in self._listen(answer, decoder):
                        yield _event(heard, decoder)
        except Unreachable as error:
            where = shown_address(self._service.url)
            yield _lost(Failed(FailureKind.NETWORK, f"{error.message} ({where})"), decoder)
        except ReplyTooLarge as error:
            lost = _lost(Failed(FailureKind.BROKEN_STREAM, error.message), decoder)
            yield replace(lost, should_retry=False)
        except BrokenStream as error:
            yield _lost(Failed(FailureKind.BROKEN_STREAM, error.message), decoder)
        except TimeoutError:
            yield _lost(Failed(FailureKind.TIMEOUT, f"the service said nothing for {wait_s:g} seconds"), decoder)

    def _redactor(self, request: ModelRequest) -> Redactor:
        """What a caller sends along in headers is nobody else's to see either."""
        values = [value for value in request.headers.values() if len(value) >= _SHORTEST_SECRET]
        if not values:
            return self._redact
        return Redactor((*secrets_of(self._service.url, self._service.headers), *values))

    def _hearing(self, request: ModelRequest) -> Hearing:
        settings = self._settings
        return Hearing(
            request.number,
            self._deployment.model,
            self._clock.mint,
            self._deployment.max_tokens,
            REPLY_RULES[settings.profile],
            settings.limits,
            settings.progress,
        )

    def _connect(self) -> Connection:
        if self._lender is not None:
            return self._lender._connect()  # noqa: SLF001 -- one of its own kind
        if self._connection is None:
            connect = self._service.connect or self._connect_by_http
            self._connection = connect()
        return self._connection

    def _connect_by_http(self) -> Connection:
        from lastcall.providers import connection  # noqa: PLC0415 -- loads the HTTP library (0.1 s)

        headers = {"content-type": "application/json", **self._service.headers}
        timeout = self._deployment.connect_timeout_s
        return connection.Connection(self._service.url, headers, connect_timeout_s=timeout)

    # -- reading ----------------------------------------------------------------------------------------------------

    async def _listen(self, answer: Answer, decoder: ReplyDecoder) -> AsyncGenerator[Heard]:
        """What is heard in an event stream, to its end or to the end of the reply."""
        sse = SseDecoder(self._settings.stream_limits)
        idle_s = self._deployment.idle_timeout_s
        heard_at = self._clock.ticks()
        head = b""
        async with aclosing(answer.chunks()) as chunks:
            while True:
                try:
                    chunk = await _next(chunks, min(idle_s, SETTLE_S) if decoder.complete else idle_s)
                except (TimeoutError, BrokenStream):
                    if not decoder.complete:
                        raise
                    chunk = None
                if chunk is None:
                    break
                head = head or chunk[:400]
                for event in sse.feed(chunk):
                    for heard in decoder.feed(event):
                        if isinstance(heard, ReplyEnded | Failed):
                            await _drain(chunks)
                            yield heard
                            return
                        heard_at = heard_at if _is_ping(heard) else self._clock.ticks()
                        yield heard
                if self._clock.ticks() - heard_at > CARRIES_NOTHING * idle_s:
                    raise TimeoutError
        for heard in decoder.finish(sse.finish()):
            yield _explain(heard, head)

    async def _read(self, answer: Answer, most: int) -> bytes:
        """A whole body. Raises `ReplyTooLarge` for a longer one."""
        pieces: list[bytes] = []
        left = most
        async with aclosing(answer.chunks()) as chunks:
            while (chunk := await _next(chunks, self._deployment.idle_timeout_s)) is not None:
                left -= len(chunk)
                if left < 0:
                    raise ReplyTooLarge(f"the answer is larger than {most} bytes")
                pieces.append(chunk)
        return b"".join(pieces)

    async def _refusal(self, answer: Answer) -> Lost:
        """What an answer with another status means. That its body cannot be read does not hide the status."""
        try:
            body = await self._read(answer, MAX_ERROR_BYTES)
        except (BrokenStream, TimeoutError):
            body = b""
        should = {"true": True, "false": False}.get(answer.header("x-should-retry").strip().lower())
        failure = read_failure(answer.status, answer.content_type, body)
        return Lost(failure, _retry_after(answer), should)

    async def _page(self, answer: Answer) -> Lost:
        body = await self._read(answer, MAX_ERROR_BYTES)
        return Lost(no_reply(f"the service answered {_OK} with {answer.content_type}: {excerpt(body)}"))


def _retry_after(answer: Answer) -> str:
    """How long the service asks to wait, as the standard header says it, or in OpenAI's milliseconds."""
    milliseconds = answer.header("retry-after-ms").strip()
    if milliseconds.isascii() and milliseconds.isdigit():
        return f"{milliseconds[:12]}e-3"
    return answer.header("retry-after")


async def _next(chunks: AsyncIterator[bytes], wait_s: float) -> bytes | None:
    """The next chunk, `None` at the end. Raises `TimeoutError`."""
    with anyio.CancelScope(deadline=anyio.current_time() + wait_s) as scope:  # half the cost of `fail_after`
        return await anext(chunks, None)
    if scope.cancelled_caught:
        raise TimeoutError
    return None


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Reads what is left of an answer, if it comes at once."""
    try:
        while await _next(chunks, DRAIN_S) is not None:
            pass
    except (TimeoutError, BrokenStream):
        return


def _event(heard: Heard, decoder: ReplyDecoder) -> ProviderEvent | Lost:
    return _lost(heard, decoder) if isinstance(heard, Failed) else heard


def _lost(failure: Failed, decoder: ReplyDecoder) -> Lost:
    begun = decoder.message_id is not None
    return Lost(failure, begun=begun, blocks=decoder.blocks_ended, usage=decoder.usage)


def _is_ping(heard: Heard) -> bool:
    return isinstance(heard, Progress) and heard.event.get("type") == "ping"


def _explain(heard: Heard, head: bytes) -> Heard:
    """A stream in which no reply began is told with its beginning: it is often a page of a proxy."""
    if isinstance(heard, Failed) and heard.provider_kind == NO_REPLY and head.strip():
        return replace(heard, detail=f"{heard.detail}; it begins with: {excerpt(head)}")
    return heard
