"""What the world can tell the core: past participles of the world.

Events come from adapters (providers, tools, checks), from the limits and from the driver; they carry every id and every
time that the core needs, so that the core makes none. A provider's event names the request it belongs to: events of a
request that is no longer outstanding are late, and `decide` drops them.

Must not go in here: live handles, raw wire frames, anything that is not a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from msgspec import Struct

from lastcall.nouns.attachment import Problem
from lastcall.nouns.hooks import HookPoint, HookVerdict
from lastcall.nouns.ids import CallId, MessageId, RunId, Uuid
from lastcall.nouns.messages import AssistantBlock, UserBlock
from lastcall.nouns.result import CheckVerdict, Failed, Limit, Signal, Usage
from lastcall.nouns.tools import ToolResult


class Prompted(Struct, frozen=True, tag=True):
    """A user message begins a run. `at` is seconds since the epoch."""

    run_id: RunId
    blocks: tuple[UserBlock, ...]
    uuid: Uuid
    at: float


# -- a model's reply, block by block --------------------------------------------------------------------------------


class ReplyStarted(Struct, frozen=True, tag=True):
    """The first bytes of a reply. `message_id` is the provider's, or one made by the adapter where it sent none.

    `usage` is what is known at the start; a reply that was not streamed is known as a whole, its `stop_reason` too.
    """

    request: int
    message_id: MessageId
    model: str
    usage: Usage = Usage()
    stop_reason: str | None = None


class BlockEnded(Struct, frozen=True, tag=True):
    """One whole block of a reply. `uuid` is the identity of its frame on the stream."""

    request: int
    message_id: MessageId
    block: AssistantBlock
    uuid: Uuid


class ReplyEnded(Struct, frozen=True, tag=True):
    """The reply is complete, as the protocol says (a stream that stops without its end is `RequestFailed`).

    `stop_reason` is in the Messages API's words whatever the provider: `end_turn`, `tool_use`, `max_tokens`,
    `stop_sequence`, `refusal`, `pause_turn`, `model_context_window_exceeded`, or the provider's own word. `cost_usd` is
    `None` where the price or the usage is unknown.
    """

    request: int
    message_id: MessageId
    stop_reason: str | None
    usage: Usage
    stop_sequence: str | None = None
    stop_details: Mapping[str, Any] | None = None
    cost_usd: Decimal | None = None
    took_ms: int = 0
    announced: bool = True
    """Whether the stream told that the reply is over; a stream may also just stop where nothing is missing."""
    window: int | None = None
    """Tokens that the model's window holds, question and answer together, where that is known."""


class RequestFailed(Struct, frozen=True, tag=True):
    """The request is over without a complete reply, after all the transport's retries and fallbacks.

    `uuid` is the identity of the frame that tells so on the stream, `usage` what the broken reply is known to have spent.
    """

    request: int
    failure: Failed
    uuid: Uuid
    took_ms: int = 0
    usage: Usage = Usage()


class Retrying(Struct, frozen=True, tag=True):
    """The transport will send the request again. Blocks already seen for it are void (`retracted` by message id).

    `attempt` counts the retries of this request from 1; `usage` is what the broken reply is known to have spent.
    """

    request: int
    attempt: int
    max_retries: int
    delay_ms: int
    failure: Failed
    retracted: tuple[MessageId, ...] = ()
    from_model: str = ""
    usage: Usage = Usage()
    cost_usd: Decimal | None = None


class FellBack(Struct, frozen=True, tag=True):
    """Another model of the chain takes over; replies in `retracted` are taken back.

    `trigger` is the reference's word for the reason (`overloaded`, `refusal`, `stream_error`, ...). The request itself
    goes on: its later events come from `to_model`. `usage` is what the replies taken back have spent, `details` the
    provider's word on a refusal (category, explanation).
    """

    request: int
    from_model: str
    to_model: str
    trigger: str
    uuid: Uuid
    retracted: tuple[MessageId, ...] = ()
    usage: Usage = Usage()
    cost_usd: Decimal | None = None
    details: Mapping[str, Any] = {}


class ChannelChanged(Struct, frozen=True, tag=True):
    """The deployment refused a feature and the request went out again without it. `feature` is `wire.dialect`'s name.

    What was already said in its reply is void. Without tool calls the request is not sent again: it has to be another.
    """

    request: int
    feature: str
    detail: str


# -- tools, checks, limits ------------------------------------------------------------------------------------------


class ToolFinished(Struct, frozen=True, tag=True):
    """A tool answered. `uuid` is the identity of the frame that carries the result."""

    result: ToolResult
    uuid: Uuid
    took_ms: int = 0


class ChecksFinished(Struct, frozen=True, tag=True):
    """Checks that need I/O were run on the object of a finishing call; no problems means it passed."""

    call_id: CallId
    problems: tuple[Problem, ...]
    verdicts: tuple[CheckVerdict, ...]


class HooksFinished(Struct, frozen=True, tag=True):
    """The caller's hooks of one point were asked. `call_id` is `""` where no call is meant."""

    point: HookPoint
    call_id: CallId
    verdict: HookVerdict


class LimitNear(Struct, frozen=True, tag=True):
    """The next request is the last one that fits (deadline; turns and budget are known to the core itself)."""

    limit: Limit


class LimitHit(Struct, frozen=True, tag=True):
    """A limit passed that only a clock can see."""

    limit: Limit


class Interrupted(Struct, frozen=True, tag=True):
    """Ended from outside."""

    signal: Signal
    uuid: Uuid


class Faulted(Struct, frozen=True, tag=True):
    """lastcall itself failed (a bug, the journal's disk); the run ends and says so."""

    failure: Failed


Event = (
    Prompted
    | ReplyStarted
    | BlockEnded
    | ReplyEnded
    | RequestFailed
    | Retrying
    | FellBack
    | ChannelChanged
    | ToolFinished
    | ChecksFinished
    | HooksFinished
    | LimitNear
    | LimitHit
    | Interrupted
    | Faulted
)

Heard = ReplyStarted | BlockEnded | ReplyEnded | RequestFailed | Retrying | FellBack | ChannelChanged
"""What is heard of the request that is outstanding."""

# -- progress: published, never journalled, never decided upon ------------------------------------------------------


class Progress(Struct, frozen=True, tag=True):
    """A piece of a block in the making. May be lost; holds nothing that a later event does not hold.

    `event` is a raw event in the Messages API's form (`message_start`, `content_block_delta`, ...), whatever the provider.
    """

    request: int
    event: Mapping[str, Any]


ProviderEvent = Heard | Progress
"""What a provider's stream may yield."""
