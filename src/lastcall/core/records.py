"""What is true from now on: past participles of the run.

Records are what is journalled and streamed; the state is their fold (`core.evolve`), and resume, stream-json, the viewer
and replay are views of the same list. A record is never edited or removed: a retraction is a record of its own, and a
new rule in `core.decide` never rewrites an old run.

Must not go in here: what must be done (`core.actions`), raw wire frames.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Any

from msgspec import Struct

from lastcall.nouns.attachment import Attachment, Problem
from lastcall.nouns.hooks import HookPoint, HookVerdict
from lastcall.nouns.ids import CallId, MessageId, RunId, SessionId, Uuid
from lastcall.nouns.messages import AssistantBlock, Message, UserBlock
from lastcall.nouns.request import Choice, Purpose
from lastcall.nouns.result import Attempt, CheckVerdict, Failed, Limit, Outcome, RunWarning, Usage, VerdictKind
from lastcall.nouns.tools import ToolResult

# -- the session and its runs ---------------------------------------------------------------------------------------


class Opened(Struct, frozen=True, tag=True):
    """A session begins, or goes on in another process: who runs it, under which contract. The first record of a file."""

    session_id: SessionId
    version: str
    profile: str
    model: str
    cwd: str
    at: float
    contract_digest: str = ""
    schema_text: str = ""
    rules: tuple[str, ...] = ()
    """Names of all of the contract's rules and checks."""
    expressions: tuple[str, ...] = ()
    """The rules among them that are expressions, and can be made again of their text."""
    commands: tuple[str, ...] = ()
    """The checks among them that are commands, likewise; each may take `check_timeout_s`."""
    check_timeout_s: float | None = None
    strict_values: bool = False


class Started(Struct, frozen=True, tag=True):
    """A user message began a run. Attempts, nudges and limits count anew."""

    run_id: RunId
    blocks: tuple[UserBlock, ...]
    uuid: Uuid
    at: float


class Resumed(Struct, frozen=True, tag=True):
    """A run that a crash cut off goes on. What was asked and not answered is void."""


class Ended(Struct, frozen=True, tag=True):
    """The run is over."""

    outcome: Outcome


# -- the model ------------------------------------------------------------------------------------------------------


class Asked(Struct, frozen=True, tag=True):
    """A request is outstanding. `number` counts the session's requests from 1, so that no two runs share one.

    Of a request for a summary, `choice` is that of the turn that comes after it, and `refused_size` is as in `Compacted`.
    """

    number: int
    choice: Choice = Choice.AUTO
    reserved: bool = False
    purpose: Purpose = Purpose.TURN
    refused_size: int | None = None


class SummarySaid(Struct, frozen=True, tag=True):
    """A piece of the summary that was asked for."""

    request: int
    text: str
    message_id: MessageId = MessageId("")


class ReplyBegan(Struct, frozen=True, tag=True):
    """The first bytes of a reply arrived."""

    request: int
    message_id: MessageId
    model: str
    usage: Usage
    whole: bool = False
    """Whether the reply came as a whole, not as a stream."""


class BlockSaid(Struct, frozen=True, tag=True):
    """The model said one whole block."""

    request: int
    message_id: MessageId
    block: AssistantBlock
    uuid: Uuid


class ReplyClosed(Struct, frozen=True, tag=True):
    """The reply is complete; nothing is outstanding any more.

    `window` is how many tokens the model's window holds, where that is known. `cut` says that it was cut off, so no call
    in it counts; `counted` is false where the reference leaves its tokens out of the total (a budget that ends the run).
    """

    request: int
    message_id: MessageId
    stop_reason: str | None
    usage: Usage
    stop_sequence: str | None = None
    stop_details: Mapping[str, Any] | None = None
    cost_usd: Decimal | None = None
    took_ms: int = 0
    cut: bool = False
    counted: bool = True
    window: int | None = None


class RequestLost(Struct, frozen=True, tag=True):
    """The request ended without a complete reply; what was said of it is void, what it spent is not."""

    request: int
    failure: Failed
    uuid: Uuid
    took_ms: int = 0
    usage: Usage = Usage()
    goes_on: bool = False
    """Whether the run goes on with what was said before the reply broke off."""


class RetryNoted(Struct, frozen=True, tag=True):
    """The transport sends the request again; replies in `retracted` are void."""

    request: int
    attempt: int
    max_retries: int
    delay_ms: int
    failure: Failed
    retracted: tuple[MessageId, ...] = ()
    from_model: str = ""
    usage: Usage = Usage()
    cost_usd: Decimal | None = None


class FallbackNoted(Struct, frozen=True, tag=True):
    """Another model took over; replies in `retracted` are taken back with their calls, answers and objects."""

    request: int
    from_model: str
    to_model: str
    trigger: str
    uuid: Uuid
    retracted: tuple[MessageId, ...] = ()
    usage: Usage = Usage()
    cost_usd: Decimal | None = None
    details: Mapping[str, Any] = {}


class FeatureDropped(Struct, frozen=True, tag=True):
    """The deployment refused a feature; the request went out without it, and replies in `retracted` are void."""

    request: int
    feature: str
    detail: str
    retracted: tuple[MessageId, ...] = ()


# -- calls and their answers ----------------------------------------------------------------------------------------


class ToolStarted(Struct, frozen=True, tag=True):
    """A call of an ordinary tool is running. On disk before the tool starts."""

    call_id: CallId
    name: str
    read_only: bool


class CallAnswered(Struct, frozen=True, tag=True):
    """A call has its one answer."""

    result: ToolResult
    uuid: Uuid = Uuid("")
    took_ms: int = 0


class Attempted(Struct, frozen=True, tag=True):
    """A finishing call was judged: a new line of the ledger."""

    attempt: Attempt


class AttemptRevised(Struct, frozen=True, tag=True):
    """The verdict on an attempt changed: a held object was taken or not, a check refused it."""

    call_id: CallId
    verdict: VerdictKind
    problems: tuple[Problem, ...] = ()


class HeldBack(Struct, frozen=True, tag=True):
    """An object passed the contract and waits: for the reply's other calls, for checks (`checking`).

    `warnings` are told if it is taken.
    """

    attachment: Attachment
    checking: bool = False
    warnings: tuple[RunWarning, ...] = ()


class Checked(Struct, frozen=True, tag=True):
    """The verdicts of checks on a held object."""

    call_id: CallId
    verdicts: tuple[CheckVerdict, ...]
    passed: bool


class Attached(Struct, frozen=True, tag=True):
    """An object is the run's answer unless it is taken back.

    `answered_before` lists calls whose results the model had not seen when it wrote it.
    """

    attachment: Attachment
    answered_before: tuple[CallId, ...] = ()


class HooksAsked(Struct, frozen=True, tag=True):
    """The caller's hooks of one point are being asked; the run waits for them."""

    point: HookPoint
    call_id: CallId = CallId("")


class HooksHeard(Struct, frozen=True, tag=True):
    """What they said."""

    point: HookPoint
    call_id: CallId
    verdict: HookVerdict


class DeclineHeard(Struct, frozen=True, tag=True):
    """The model called the decline tool; `accepted` is false when it was challenged."""

    call_id: CallId
    reason: str
    missing: tuple[str, ...]
    accepted: bool


# -- what lastcall itself said --------------------------------------------------------------------------------------


class NudgeKind(StrEnum):
    """Why lastcall spoke to the model on its own."""

    ENFORCE = "enforce"
    CUT_OFF = "cut_off"
    NO_OUTPUT = "no_output"
    FEEDBACK = "feedback"
    MALFORMED = "malformed"
    STOP_HOOK = "stop_hook"
    INTERRUPT = "interrupt"
    REPEATING = "repeating"


class Nudged(Struct, frozen=True, tag=True):
    """lastcall told the model something that no user wrote."""

    kind: NudgeKind
    text: str


class Noted(Struct, frozen=True, tag=True):
    """Texts that the model will read before the next prompt: what happened between two user messages."""

    texts: tuple[str, ...]


class Bridged(Struct, frozen=True, tag=True):
    """A session that ended on the user's side is taken up as the reference does: with a word to the model, and its own."""

    told: str
    said: str


class Imported(Struct, frozen=True, tag=True):
    """The history was taken over from elsewhere, as messages."""

    messages: tuple[Message, ...]


class Compacted(Struct, frozen=True, tag=True):
    """The history that goes to the model is this shorter one from now on; the journal keeps what was left out.

    `refused_size` is the size (characters) of a history that the model's window did not hold, `None` where nobody refused.
    `summarized`: the model's own summary stands in it.
    """

    messages: tuple[Message, ...]
    refused_size: int | None = None
    summarized: bool = False


class Warned(Struct, frozen=True, tag=True):
    """Something the caller should know."""

    warning: RunWarning


class LimitNoted(Struct, frozen=True, tag=True):
    """A limit is near (the next request is the last that fits) or passed (`hit`)."""

    limit: Limit
    hit: bool


Record = (
    Opened
    | Started
    | Resumed
    | Ended
    | Asked
    | SummarySaid
    | ReplyBegan
    | BlockSaid
    | ReplyClosed
    | RequestLost
    | RetryNoted
    | FallbackNoted
    | FeatureDropped
    | ToolStarted
    | CallAnswered
    | Attempted
    | AttemptRevised
    | HeldBack
    | Checked
    | Attached
    | DeclineHeard
    | Nudged
    | Noted
    | Bridged
    | Imported
    | Compacted
    | HooksAsked
    | HooksHeard
    | Warned
    | LimitNoted
)
