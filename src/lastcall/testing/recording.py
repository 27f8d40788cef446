"""`Recording`: a real run once, the same run again without the model.

A recording is a file of JSON lines: what the deployment was, then for each request its digest and the events of its reply.
Keys never reach it: only what the model said is written, and whatever looks like a credential, or is one of the
environment's, is taken out of that too.

Must not go in here: scripts (`testing.models`).
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final, cast

import msgspec
from msgspec.structs import replace

from lastcall.core.events import (
    BlockEnded,
    ChannelChanged,
    FellBack,
    Progress,
    ProviderEvent,
    ReplyEnded,
    ReplyStarted,
    RequestFailed,
    Retrying,
)
from lastcall.errors import BadConfig
from lastcall.nouns.ids import Uuid
from lastcall.nouns.request import ModelRequest
from lastcall.nouns.result import Failed, FailureKind
from lastcall.providers import Deployment, Provider
from lastcall.providers.choose import choose_provider
from lastcall.providers.redaction import Redactor
from lastcall.wire.dialect import Dialect

FORMAT: Final = 1
_SECRET_NAME: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SHORTEST: Final = 8

Kept = ReplyStarted | BlockEnded | ReplyEnded | RequestFailed | Retrying | FellBack | ChannelChanged


class Head(msgspec.Struct, frozen=True):
    """The first line of a recording."""

    format: int
    deployment: Deployment
    dialect: Dialect


class Heard(msgspec.Struct, frozen=True):
    """One request and its reply."""

    request: str
    events: tuple[Kept, ...]


class Recording:
    """A model (give it as `model=`) that plays `path` if that file is there, and else asks `model` and writes it.

    In a replay a request that differs from the recorded one fails and says so; with `exact=False` replies are given in
    their order whatever is asked. `secrets` are texts that must not be in the file. Raises `BadConfig` for a file that is
    no recording or cannot be written, and what choosing a provider raises.
    """

    def __init__(
        self,
        path: str | Path,
        model: str | Provider | None = None,
        *,
        exact: bool = True,
        secrets: tuple[str, ...] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.path = Path(path)
        self.replays = self.path.exists()
        self._exact = exact
        env = dict(os.environ if environment is None else environment)
        self._redactor = Redactor((*secrets, *_secrets_of(env)))
        self._provider: Provider | None = None
        self._heard: list[Heard] = []
        self._turn = 0
        if self.replays:
            self._head, self._heard = _read(self.path)
        else:
            _prepare(self.path)
            self._provider = choose_provider(model, env) if model is None or isinstance(model, str) else model
            deployment = replace(self._provider.deployment, base_url="")
            self._head = Head(FORMAT, deployment, self._provider.dialect)

    @property
    def deployment(self) -> Deployment:
        """The model that answered."""
        return self._head.deployment if self._provider is None else self._provider.deployment

    @property
    def dialect(self) -> Dialect:
        """What it accepted."""
        return self._head.dialect if self._provider is None else self._provider.dialect

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ProviderEvent]:
        """The reply, as it was recorded or as it is being recorded."""
        if self._provider is None:
            for event in self._recorded(request):
                yield event
            return
        events: list[Kept] = []
        stream = cast("AsyncGenerator[ProviderEvent]", self._provider.stream(request))
        async with aclosing(stream) as heard:
            async for event in heard:
                if not isinstance(event, Progress):
                    events.append(event)
                yield event
        self._heard.append(Heard(digest(request), tuple(self._clean(event) for event in events)))

    async def aclose(self) -> None:
        """Write what was heard, and let go of the model. Raises `BadConfig` where the file cannot be written."""
        if self._provider is None:
            return
        await self._provider.aclose()
        if self._heard:
            lines = [msgspec.json.encode(line) for line in (self._head, *self._heard)]
            _write(self.path, b"\n".join(lines) + b"\n")

    def _recorded(self, request: ModelRequest) -> tuple[ProviderEvent, ...]:
        turn, self._turn = self._turn, self._turn + 1
        if turn >= len(self._heard):
            return (self._missing(request, f"the recording holds {len(self._heard)} requests, and this is one more"),)
        heard = self._heard[turn]
        if self._exact and heard.request != digest(request):
            return (self._missing(request, f"request {turn + 1} differs from the recorded one"),)
        return tuple(replace(event, request=request.number) for event in heard.events)

    def _missing(self, request: ModelRequest, words: str) -> RequestFailed:
        failure = Failed(FailureKind.BAD_REQUEST, f"{words}; delete {self.path.name} to record anew")
        return RequestFailed(request.number, failure, Uuid(f"replay-{request.number}"))

    def _clean(self, event: Kept) -> Kept:
        plain = _redacted(msgspec.to_builtins(event), self._redactor)
        return msgspec.convert(plain, Kept)  # type: ignore[no-any-return] # a union of types


def digest(request: ModelRequest) -> str:
    """What a request asks, as a short hash: system prompt, messages and tools, not its number."""
    asked = (request.system, request.messages, request.tools, request.choice, request.native_format)
    return hashlib.sha256(msgspec.json.encode(asked, order="sorted")).hexdigest()[:16]


def _read(path: Path) -> tuple[Head, list[Heard]]:
    try:
        first, *others = path.read_bytes().splitlines()
        return msgspec.json.decode(first, type=Head), [msgspec.json.decode(line, type=Heard) for line in others]
    except (ValueError, msgspec.MsgspecError):
        raise BadConfig("this is no recording", hint="Delete it to record anew.", where=str(path)) from None


def _prepare(path: Path) -> None:
    """Make the folder, and find out before anything is spent whether the file can be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = _beside(path)
        beside.touch()
        beside.unlink()
    except OSError as error:
        raise _unwritable(path, error) from None


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}")


def _unwritable(path: Path, error: OSError) -> BadConfig:
    words = f"the recording cannot be written: {os.strerror(error.errno or 0)}"
    return BadConfig(words, hint="Name a file that can.", where=str(path))


def _write(path: Path, text: bytes) -> None:
    """All of it or nothing: half a recording would be played as if it were whole."""
    beside = _beside(path)
    try:
        beside.write_bytes(text)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise _unwritable(path, error) from None


def _secrets_of(environment: Mapping[str, str]) -> list[str]:
    """The values of variables whose names say that they are credentials."""
    return [value for name, value in environment.items() if _SECRET_NAME.search(name) and len(value) >= _SHORTEST]


def _redacted(value: Any, redactor: Redactor) -> Any:
    if isinstance(value, str):
        return redactor(value)
    if isinstance(value, Mapping):
        return {redactor(key): _redacted(member, redactor) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_redacted(item, redactor) for item in value]
    return value
