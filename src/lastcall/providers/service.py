"""What the HTTP transport needs of a service, and of the way to it.

Must not go in here: behaviour (`providers.http`), any particular service (`providers.anthropic`, `providers.openai`).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from types import MappingProxyType
from typing import Protocol

from msgspec import Struct

from lastcall.nouns.profile import Profile
from lastcall.nouns.request import ModelRequest
from lastcall.providers.flow import FREE, Flow
from lastcall.providers.retries import RetryRules
from lastcall.wire.dialect import Dialect
from lastcall.wire.json import DEFAULT_LIMITS, CallLimits
from lastcall.wire.params import ModelParams
from lastcall.wire.reply import Hearing, ReplyDecoder
from lastcall.wire.sse import SseLimits


class Answer(Protocol):
    """An answer on its way in (`providers.connection.Answer`)."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def content_type(self) -> str:
        """The media type, lower case, without parameters; `""` where none was given."""
        ...

    def header(self, name: str) -> str:
        """The header's value, `""` where it is not there."""
        ...

    def chunks(self) -> AsyncGenerator[bytes]:
        """The body as it arrives. Raises `BrokenStream` where it breaks off."""
        ...


class Connection(Protocol):
    """A way to one address (`providers.connection.Connection`)."""

    def post(
        self, body: bytes, *, wait_s: float, headers: Mapping[str, str] = MappingProxyType({})
    ) -> AbstractAsyncContextManager[Answer]:
        """Sends a body, with more headers, and hands over the answer. Raises `Unreachable`, `TimeoutError`."""
        ...

    async def aclose(self) -> None:
        """Lets go of it."""
        ...


class Encoder(Protocol):
    """Requests to bytes (`wire.anthropic`, `wire.openai`)."""

    def encode(self, request: ModelRequest, params: ModelParams, dialect: Dialect, *, stream: bool = True) -> bytes:
        """The body."""
        ...


class Service(Struct, frozen=True):
    """What is peculiar to a service: where it is, how it is spoken to. `headers` hold the credentials.

    `connect` makes the connection; `None` is the HTTP library's.
    """

    url: str
    headers: Mapping[str, str]
    encoder: Callable[[Profile], Encoder]
    decoder: Callable[[Hearing], ReplyDecoder]
    connect: Callable[[], Connection] | None = None


class Settings(Struct, frozen=True, kw_only=True):
    """How a transport behaves, apart from the deployment it talks to.

    `progress`: whether partial messages are wanted. `flow` is what its requests pass before they are sent.
    """

    profile: Profile = Profile.NATIVE
    retry_rules: RetryRules | None = None
    limits: CallLimits = DEFAULT_LIMITS
    stream_limits: SseLimits = SseLimits()
    progress: bool = True
    flow: Flow = FREE
