"""What a decoder hears in a reply, whatever the provider.

A decoder is fed the events of one reply (or one whole body) and gives back the core's events of it. It never raises
for what a server sent: a reply that cannot go on is a `Failed` value, after which the decoder is of no use. Every
decoder ends in exactly one `ReplyEnded` or one `Failed`, at the latest in `finish`.

Must not go in here: retries (`providers.http`), any provider's field names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from msgspec import Struct

from lastcall.core.events import BlockEnded, Progress, ReplyEnded, ReplyStarted
from lastcall.nouns.ids import MessageId
from lastcall.nouns.profile import Profile
from lastcall.nouns.result import Failed, FailureKind, Usage
from lastcall.wire.json import DEFAULT_LIMITS, CallLimits
from lastcall.wire.sse import SseEvent

Heard = ReplyStarted | BlockEnded | ReplyEnded | Progress | Failed
"""What feeding a decoder may give; `Failed` says why the reply cannot be completed."""

Mint = Callable[[], str]
"""Makes a new unique name; ids come into the pure layers from outside."""


class ReplyRules(Struct, frozen=True):
    """The choices of a profile about replies that are not as the protocol says.

    `takes_unclosed`: a block whose end was not announced is whole once the reply has ended properly (else it is
    dropped). `takes_orderly_close`: a stream that closes without its end, after at least one whole block, is a reply
    without a stop reason (else it is broken).
    """

    takes_unclosed: bool = True
    takes_orderly_close: bool = False


RULES = {
    Profile.NATIVE: ReplyRules(),
    Profile.COMPAT: ReplyRules(takes_unclosed=False, takes_orderly_close=True),
}


class Hearing(Struct, frozen=True):
    """What a decoder is given beside the events.

    `request` is the request's number, `model` the name that was asked for (a server may leave it out), `max_tokens` the
    bound that was sent (some servers hide that it was reached). `progress` says whether `Progress` is wanted at all.
    """

    request: int
    model: str
    mint: Mint
    max_tokens: int = 0
    rules: ReplyRules = ReplyRules()
    limits: CallLimits = DEFAULT_LIMITS
    progress: bool = True


class ReplyDecoder(Protocol):
    """One reply on its way in."""

    @property
    def message_id(self) -> MessageId | None:
        """The reply's id once it has begun."""
        ...

    @property
    def blocks_ended(self) -> int:
        """How many whole blocks were given."""
        ...

    @property
    def usage(self) -> Usage:
        """What the reply is known to have spent so far."""
        ...

    @property
    def complete(self) -> bool:
        """Whether `finish` would give a reply: nothing that matters is missing."""
        ...

    def feed(self, event: SseEvent) -> list[Heard]:
        """What one event of the stream says."""
        ...

    def finish(self, torn: SseEvent | None = None) -> list[Heard]:
        """What the end of the stream says. `torn` is what `SseDecoder.finish` gave."""
        ...

    def whole(self, body: bytes) -> list[Heard]:
        """What a body that is the whole reply says; used instead of `feed` and `finish`."""
        ...


def broken(detail: str, provider_kind: str = "") -> Failed:
    """A reply that is not as the protocol says."""
    return Failed(FailureKind.BROKEN_STREAM, detail, provider_kind=provider_kind)


NO_REPLY = "no_reply"
"""The `provider_kind` of a stream in which no reply began: an empty one, a page of HTML, another protocol."""


def no_reply(detail: str) -> Failed:
    """An answer with status 200 that holds no reply; it may be asked for again without streaming."""
    return broken(detail, NO_REPLY)


def excerpt(data: bytes, length: int = 120) -> str:
    """The beginning of foreign bytes as one line of text."""
    text = " ".join(data[: length * 4].decode("utf-8", "replace").split())
    return text if len(text) <= length else text[:length] + "…"


def said(event: Mapping[str, Any], hearing: Hearing) -> list[Heard]:
    """The event as progress, if that is wanted."""
    return [Progress(hearing.request, event)] if hearing.progress else []
