"""The two vendors' batch APIs, asked in the same words: create, look, results, what there is.

Must not go in here: forms of bodies (`wire.anthropic_batches`, `wire.openai_batches`), what goes into which batch
(`batches.provider_batch`).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Final, Protocol
from urllib.parse import urlsplit, urlunsplit

from lastcall.errors import BadConfig, BrokenStream
from lastcall.providers.batch_http import BatchHttp
from lastcall.providers.clock import Clock
from lastcall.providers.http import HttpProvider
from lastcall.wire import anthropic_batches, openai_batches
from lastcall.wire.batches import BatchEntry, BatchState, Item

_A_PAGE: Final = 100
_PAGES: Final = 10
"""How far back a batch is looked for whose creation was never confirmed."""


class BatchApi(Protocol):
    """A service of batches. All raise `BatchRefused`, `Unreachable` (nothing was sent), `BrokenStream`.

    `most_requests` and `most_bytes` bound one batch; `names_rounds` says whether a batch tells the name of its round.
    """

    @property
    def most_requests(self) -> int:
        """Requests that one batch can hold."""
        ...

    @property
    def most_bytes(self) -> int:
        """Bytes of an order."""
        ...

    @property
    def names_rounds(self) -> bool:
        """Whether a state tells the name of the round that was sent along."""
        ...

    async def create(self, round_id: str, items: Sequence[Item]) -> BatchState:
        """Order a batch. After `BrokenStream` nobody knows whether there is one."""
        ...

    async def look(self, batch_id: str) -> BatchState:
        """How far it is."""
        ...

    def entries(self, state: BatchState) -> AsyncGenerator[BatchEntry]:
        """What became of its requests, in any order; only of a batch that has ended."""
        ...

    def newest(self) -> AsyncGenerator[BatchState]:
        """The batches that there are, newest first, as far back as is reasonable."""
        ...

    async def aclose(self) -> None:
        """Lets go of the connections."""
        ...


def open_batch_api(provider: HttpProvider, clock: Clock | None = None) -> BatchApi:
    """The batch API beside the service that `provider` asks. Raises `BadConfig` where it has none."""
    service, deployment = provider.service, provider.deployment
    headers = {name: value for name, value in service.headers.items() if name.lower() != "content-type"}
    http = BatchHttp(service.url, headers, connect_timeout_s=deployment.connect_timeout_s, clock=clock)
    if deployment.provider == "anthropic":
        return AnthropicBatches(service.url, http)
    if deployment.provider == "openai":
        return OpenAIBatches(_beside(service.url, "/chat/completions", ""), http)
    raise BadConfig(
        f"{deployment.provider} has no batch API", hint="Use a model of anthropic or openai.", where="--via"
    )


def _beside(url: str, old: str, new: str) -> str:
    """The address with the end of its path replaced; its query is kept."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=parts.path.removesuffix(old) + new))


class AnthropicBatches:
    """Message Batches (`BatchApi`). `url` is the address of single messages."""

    most_requests = anthropic_batches.MOST_REQUESTS
    most_bytes = anthropic_batches.MOST_BYTES
    names_rounds = False

    def __init__(self, url: str, http: BatchHttp) -> None:
        self._url = url
        self._http = http
        self.aclose = http.aclose

    async def create(self, round_id: str, items: Sequence[Item]) -> BatchState:  # noqa: ARG002 -- names hold it
        """Order a batch."""
        body = anthropic_batches.encode_batch(items)
        return _demand(anthropic_batches.read_state(await self._http.order(self._at("/batches"), body)))

    async def look(self, batch_id: str) -> BatchState:
        """How far it is."""
        return _demand(anthropic_batches.read_state(await self._http.get(self._at(f"/batches/{batch_id}"))))

    async def entries(self, state: BatchState) -> AsyncGenerator[BatchEntry]:
        """What became of its requests. The address of the results is this service's, whatever host they name."""
        async with aclosing(self._http.lines(self._at(f"/batches/{state.batch_id}/results"))) as lines:
            async for line in lines:
                entry = anthropic_batches.read_entry(line)
                if entry is not None:
                    yield entry

    async def newest(self) -> AsyncGenerator[BatchState]:
        """The batches that there are."""
        after = ""
        for _ in range(_PAGES):
            asked = {"limit": _A_PAGE} | ({"after_id": after} if after else {})
            states, after = anthropic_batches.read_page(await self._http.get(self._at("/batches"), asked))
            for state in states:
                yield state
            if not after:
                return

    def _at(self, path: str) -> str:
        return _beside(self._url, "", path)


class OpenAIBatches:
    """The Batch API of Chat Completions (`BatchApi`). `url` is the address that its paths stand below."""

    most_requests = openai_batches.MOST_REQUESTS
    most_bytes = openai_batches.MOST_BYTES
    names_rounds = True

    def __init__(self, url: str, http: BatchHttp) -> None:
        self._url = url
        self._http = http
        self.aclose = http.aclose

    async def create(self, round_id: str, items: Sequence[Item]) -> BatchState:
        """Upload the requests, then order the batch. A file without a batch costs nothing."""
        content = openai_batches.encode_lines(items)
        told = await self._http.upload(self._at("/files"), f"{round_id}.jsonl", content, {"purpose": "batch"})
        file_id = openai_batches.read_file_id(told)
        if not file_id:
            raise BrokenStream("the service told no name of the uploaded file")
        order = openai_batches.encode_order(file_id, round_id)
        return _demand(openai_batches.read_state(await self._http.order(self._at("/batches"), order)))

    async def look(self, batch_id: str) -> BatchState:
        """How far it is."""
        return _demand(openai_batches.read_state(await self._http.get(self._at(f"/batches/{batch_id}"))))

    async def entries(self, state: BatchState) -> AsyncGenerator[BatchEntry]:
        """What became of its requests: the file of answers, then the file of errors."""
        for file_id in state.results:
            async with aclosing(self._http.lines(self._at(f"/files/{file_id}/content"))) as lines:
                async for line in lines:
                    entry = openai_batches.read_entry(line)
                    if entry is not None:
                        yield entry

    async def newest(self) -> AsyncGenerator[BatchState]:
        """The batches that there are."""
        after = ""
        for _ in range(_PAGES):
            asked = {"limit": _A_PAGE} | ({"after": after} if after else {})
            states, after = openai_batches.read_page(await self._http.get(self._at("/batches"), asked))
            for state in states:
                yield state
            if not after:
                return

    def _at(self, path: str) -> str:
        return _beside(self._url, "", path)


def _demand(state: BatchState | None) -> BatchState:
    """An answer that is no batch leaves it open whether there is one."""
    if state is None:
        raise BrokenStream("the service answered with what is no batch")
    return state
