"""What is asked of the engine over its HTTP address: tokens of a text, and the continuation of a prompt.

A prompt goes as tokens, so that text from outside cannot hold markers that count, and so that its length is known before
it is sent. The engine keeps the tokens of the last prompt and reads only what is new.

Must not go in here: what a prompt says, what a reply means, starting the engine.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Final

import msgspec
from anyio import to_thread
from msgspec import Struct

from lastcall.errors import BrokenStream, ModelUnavailable, ProviderError, Unreachable
from lastcall.providers.connection import Answer, Connection
from lastcall.providers.local_process import EngineProcess
from lastcall.providers.local_prompt import Marker, Piece
from lastcall.wire.json import read_object
from lastcall.wire.sse import SseDecoder

_CONNECT_S: Final = 10.0
_WAIT_S: Final = 3_600.0
"""Until an answer begins: a request waits for its slot, and a long prompt is read first."""
_REMEMBERED: Final = 256
_LONGEST_TOKEN: Final = 64
"""Characters. A text that is longer than so many for each token of the context cannot fit; it is not even counted."""
_SETTLE_S: Final = 0.2
_DROPPED: Final = "llg error"
_OK: Final = 200


class TooLong(ProviderError):  # noqa: N818 -- as its siblings in `errors`
    """The conversation does not fit into the model's context."""

    code = "too_long"


class Sampling(Struct, frozen=True):
    """How the next token is chosen, and how many there may be.

    `bias` is added to the logits of tokens; `alternatives` asks for so many likely tokens beside each that is written.
    """

    max_tokens: int
    temperature: float
    seed: int | None
    bias: tuple[tuple[int, float], ...] = ()
    alternatives: int = 0


class Written(Struct, frozen=True):
    """A piece of the reply's text; `likely` are log probabilities of tokens in its place, if they were asked for."""

    text: str
    likely: Mapping[int, float] = {}


class Stopped(Struct, frozen=True):
    """The end of a reply. `limit` is the stop reason of one that was cut off, `None` for one that ended by itself."""

    limit: str | None
    prompt_tokens: int
    cached_tokens: int
    output_tokens: int


class EngineClient:
    """A running engine, ready to be asked. Safe to be asked several times at once."""

    def __init__(self, process: EngineProcess, *, context: int) -> None:
        self._process = process
        self._context = context
        headers = {"authorization": f"Bearer {process.key}", "content-type": "application/json"}
        self._completion, self._tokenize = (
            Connection(f"{process.url}/{path}", headers, connect_timeout_s=_CONNECT_S, proxies=False)
            for path in ("completion", "tokenize")
        )
        self._tokens: OrderedDict[Piece, tuple[int, ...]] = OrderedDict()

    @property
    def url(self) -> str:
        """The engine's address."""
        return self._process.url

    @property
    def running(self) -> bool:
        """Whether the engine has not ended."""
        return self._process.running

    @property
    def mark(self) -> int:
        """A place in the engine's complaints, for `dropped`."""
        return self._process.mark

    def dropped(self, since: int) -> str:
        """Why the engine has dropped a grammar since `since`; `""` if it has not said so."""
        for line in self._process.complaints(since):
            _, found, why = line.partition(_DROPPED)
            if found:
                return why.lstrip(": ")
        return ""

    async def settle(self) -> None:
        """Waits until complaints have had the time to arrive: they come by another way than replies."""
        await to_thread.run_sync(time.sleep, _SETTLE_S)

    async def aclose(self) -> None:
        """Ends the engine."""
        self._process.kill()
        for connection in (self._completion, self._tokenize):
            await connection.aclose()

    # -- tokens -----------------------------------------------------------------------------------------------------

    async def tokens_of(self, pieces: Sequence[Piece]) -> list[int]:
        """The tokens of a prompt. Raises `TooLong`, `ProviderError`."""
        if sum(len(piece.text) for piece in pieces) > self._context * _LONGEST_TOKEN:
            raise self._too_long("far more")
        tokens = [token for piece in pieces for token in await self._piece_tokens(piece)]
        if len(tokens) >= self._context:
            raise self._too_long(f"{len(tokens):,}")
        return tokens

    def _too_long(self, count: str) -> TooLong:
        return TooLong(
            f"the conversation has {count} tokens, and the embedded model takes {self._context:,} with its answer.",
            hint="Give it less text, or use another model.",
        )

    async def _piece_tokens(self, piece: Piece) -> tuple[int, ...]:
        known = self._tokens.pop(piece, None)
        if known is None:
            body = {"content": piece.text, "add_special": False, "parse_special": isinstance(piece, Marker)}
            async with self._post(self._tokenize, body) as answer:
                told = await _whole(answer)
            tokens = told.get("tokens")
            if answer.status != _OK or not isinstance(tokens, list):
                raise ProviderError(f"the engine did not count tokens: {_error_of(told)}", status=answer.status)
            known = tuple(int(token) for token in tokens)
        self._tokens[piece] = known
        while len(self._tokens) > _REMEMBERED:
            self._tokens.popitem(last=False)
        return known

    # -- replies ----------------------------------------------------------------------------------------------------

    async def complete(
        self, pieces: Sequence[Piece], grammar: str, sampling: Sampling
    ) -> AsyncGenerator[Written | Stopped]:
        """The continuation of a prompt; closing it frees the engine. The last item is `Stopped`.

        Raises `TooLong`, `ModelUnavailable` if the engine ends, `BrokenStream`, `ProviderError`.
        """
        try:
            tokens = await self.tokens_of(pieces)
            room = self._context - len(tokens)
            body: dict[str, Any] = {
                "prompt": tokens,
                "n_predict": min(sampling.max_tokens, room),
                "temperature": sampling.temperature,
                "cache_prompt": True,
                "stream": True,
            }
            if grammar:
                body["grammar"] = grammar
            if sampling.seed is not None:
                body["seed"] = sampling.seed
            if sampling.bias:
                body["logit_bias"] = sampling.bias
            if sampling.alternatives:
                body["n_probs"] = sampling.alternatives
            async with self._post(self._completion, body) as answer:
                if answer.status != _OK:
                    raise ProviderError(f"the engine refused: {_error_of(await _whole(answer))}", status=answer.status)
                limit = "max_tokens" if sampling.max_tokens <= room else "model_context_window_exceeded"
                async for said in _continuation(answer, limit):
                    yield said
        except (BrokenStream, Unreachable) as error:
            if self._process.has_ended():
                raise ModelUnavailable(self._process.how_it_ended()) from None
            raise BrokenStream(f"the engine's reply broke off: {error.message}") from None

    def _post(self, connection: Connection, body: dict[str, Any]) -> Any:
        return connection.post(msgspec.json.encode(body), wait_s=_WAIT_S)


async def _continuation(answer: Answer, limit: str) -> AsyncGenerator[Written | Stopped]:
    decoder = SseDecoder()
    async for chunk in answer.chunks():
        for event in decoder.feed(chunk):
            told = read_object(event.data)
            if told is None or "error" in told:
                raise BrokenStream(_error_of(told or {}))
            if told.get("content"):
                yield Written(str(told["content"]), _likely(told))
            if told.get("stop") is True:
                yield _stopped(told, limit)
                return
    raise BrokenStream("it stopped without its end")


def _likely(told: dict[str, Any]) -> dict[int, float]:
    places = told.get("completion_probabilities")
    place = places[0] if isinstance(places, list) and places else {}
    return {int(one["id"]): float(one["logprob"]) for one in place.get("top_logprobs", ())}


def _stopped(told: dict[str, Any], limit: str) -> Stopped:
    prompt_tokens = int(told.get("tokens_evaluated", 0))
    timings = told.get("timings")
    cached = int(timings.get("cache_n", 0)) if isinstance(timings, dict) else 0
    cut = limit if told.get("stop_type") == "limit" else None
    return Stopped(cut, prompt_tokens, max(0, cached), int(told.get("tokens_predicted", 0)))


async def _whole(answer: Answer) -> dict[str, Any]:
    body = b"".join([chunk async for chunk in answer.chunks()])
    return read_object(body) or {}


def _error_of(told: dict[str, Any]) -> str:
    error = told.get("error")
    message = error.get("message") if isinstance(error, dict) else error
    return str(message or "no reason was given")[:300]
