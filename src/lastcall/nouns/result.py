"""How a run ends.

`Outcome` is a union of values, not a string. The envelope's `subtype`, the exit code and every sentence a person reads are
computed from it, each in one function (`wire.frames`, `cli.exits`, `reason` below). `TerminalResult` is made only by
`runtime.driver.finish`: status, object and outcome in it cannot contradict each other, and its constructor checks that.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Any, assert_never

from msgspec import Struct

from lastcall.errors import LastcallBug, NoAnswer
from lastcall.nouns.attachment import Attachment, Problem
from lastcall.nouns.ids import CallId, RunId, SessionId

# -- outcomes -------------------------------------------------------------------------------------------------------


class Limit(StrEnum):
    """What can stop a run."""

    TURNS = "turns"
    BUDGET = "budget"
    TOKENS = "tokens"
    REPEATS = "repeats"
    WINDOW = "window"
    DEADLINE = "deadline"
    PROMPT_HOOK = "prompt_hook"
    TOOL_HOOK = "tool_hook"
    STOP_HOOK = "stop_hook"


class FailureKind(StrEnum):
    """Whose failure ended the run, and whether asking again may help."""

    AUTHENTICATION = "authentication"
    BAD_REQUEST = "bad_request"
    NOT_FOUND = "not_found"
    TOO_LONG = "too_long"
    BILLING = "billing"
    REFUSAL = "refusal"
    OUTPUT_LIMIT = "output_limit"
    OVERLOADED = "overloaded"
    RATE_LIMIT = "rate_limit"
    SERVER = "server"
    NETWORK = "network"
    TIMEOUT = "timeout"
    BROKEN_STREAM = "broken_stream"
    MODEL_UNAVAILABLE = "model_unavailable"
    JOURNAL = "journal"
    INTERNAL = "internal"


LASTING = frozenset(
    {
        FailureKind.AUTHENTICATION,
        FailureKind.BAD_REQUEST,
        FailureKind.NOT_FOUND,
        FailureKind.TOO_LONG,
        FailureKind.BILLING,
        FailureKind.REFUSAL,
        FailureKind.OUTPUT_LIMIT,
        FailureKind.MODEL_UNAVAILABLE,
    }
)
"""Failures that the same request will meet again."""

OURS = frozenset({FailureKind.JOURNAL, FailureKind.INTERNAL})
"""Failures on this machine, not the provider's."""


class Answered(Struct, frozen=True, tag=True):
    """A verified object; without a contract, an answer in prose (`text`)."""

    attachment: Attachment | None
    text: str = ""


class Declined(Struct, frozen=True, tag=True):
    """The model said, through the decline tool, that it cannot, and why."""

    reason: str
    missing: tuple[str, ...] = ()


class GaveUp(Struct, frozen=True, tag=True):
    """The model stopped without the call although asked; `text` holds its last words."""

    text: str


class OutOfAttempts(Struct, frozen=True, tag=True):
    """The cap on finishing calls was reached, or the same rejected object came three times (`repeated`)."""

    limit: int
    repeated: bool = False


class Retracted(Struct, frozen=True, tag=True):
    """There were only objects that were taken back: `retracted` of `attempts` attempts.

    `exhausted` says that the cap ended the run, else the model stopped.
    """

    attempts: int
    retracted: int
    exhausted: bool


class Stopped(Struct, frozen=True, tag=True):
    """A limit ended the run. `bound` is its value as the caller wrote it; of a hook its reason, of a window the refusal."""

    limit: Limit
    bound: str


class Failed(Struct, frozen=True, tag=True):
    """Something outside the run's rules failed. `detail` is the other side's message, redacted.

    `mid_reply`: whole blocks of the reply had been heard before.
    """

    kind: FailureKind
    detail: str
    status: int | None = None
    provider_kind: str = ""
    mid_reply: bool = False


class Signal(StrEnum):
    """Who ended it from outside."""

    INTERRUPT = "interrupt"
    TERMINATE = "terminate"
    HANGUP = "hangup"


class Cancelled(Struct, frozen=True, tag=True):
    """Ended from outside: Ctrl-C, SIGTERM, SIGHUP, a client's interrupt, a cancelled task."""

    signal: Signal


Outcome = Answered | Declined | GaveUp | OutOfAttempts | Retracted | Stopped | Failed | Cancelled


def outcome_name(outcome: Outcome) -> str:
    """The outcome's stable slug, as in the envelope's `lastcall.outcome`."""
    match outcome:
        case Answered():
            return "answered"
        case Declined():
            return "declined"
        case GaveUp():
            return "gave_up"
        case OutOfAttempts():
            return "out_of_attempts"
        case Retracted():
            return "retracted"
        case Stopped():
            return "stopped"
        case Failed():
            return "failed"
        case Cancelled():
            return "cancelled"
        case _:
            assert_never(outcome)


def reason(outcome: Outcome) -> str:  # noqa: C901, PLR0911, PLR0912
    """One sentence for people: why the run ended so."""
    match outcome:
        case Answered(attachment=None):
            return "The model answered."
        case Answered():
            return "The object passed the contract."
        case Declined(reason=words, missing=missing):
            lacks = f" Missing: {', '.join(missing)}." if missing else ""
            return f"The model declined: {words}{lacks}"
        case GaveUp():
            return "The model stopped without calling the finishing tool although it was asked to."
        case OutOfAttempts(limit=n, repeated=True):
            return f"The model sent the same rejected object three times in a row (limit {n} attempts)."
        case OutOfAttempts(limit=n):
            return f"No object passed the contract within {n} attempts."
        case Retracted(attempts=n, retracted=m, exhausted=True):
            return f"The {n} attempts are used up, and {m} of them were taken back by a model fallback."
        case Retracted():
            return "The object was taken back by a model fallback, and the model sent no other."
        case Stopped(limit=limit, bound=bound):
            return _stopped_reason(limit, bound)
        case Failed(kind=kind, detail=detail, status=status):
            code = f" (HTTP {status})" if status else ""
            return f"{kind.value.replace('_', ' ').capitalize()}{code}: {detail}"
        case Cancelled(signal=Signal.INTERRUPT):
            return "The run was interrupted."
        case Cancelled(signal=Signal.HANGUP):
            return "The terminal that the run belonged to was closed."
        case Cancelled():
            return "The run was terminated."
        case _:
            assert_never(outcome)


def _stopped_reason(limit: Limit, bound: str) -> str:
    match limit:
        case Limit.TURNS:
            return f"The limit of {bound} turns was reached without an object."
        case Limit.BUDGET:
            return f"The budget of {bound} was reached without an object."
        case Limit.TOKENS:
            return f"The budget of {bound} tokens was reached without an object."
        case Limit.REPEATS:
            return f"The model went in circles: {bound} replies in a row repeated the same calls with the same answers."
        case Limit.WINDOW:
            return f"The conversation no longer fits the model's window: {bound}"
        case Limit.DEADLINE:
            return f"The deadline of {bound} passed without an object."
        case Limit.PROMPT_HOOK:
            return f"A hook blocked the prompt: {bound}"
        case Limit.TOOL_HOOK | Limit.STOP_HOOK:
            return f"A hook ended the run without an object: {bound or 'it gave no reason'}"
        case _:
            assert_never(limit)


# -- the ledger -----------------------------------------------------------------------------------------------------


class VerdictKind(StrEnum):
    """What became of one attempt."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNREADABLE = "unreadable"
    CUT_OFF = "cut_off"
    RETRACTED = "retracted"
    HELD = "held"
    DECLINED = "declined"
    INTERRUPTED = "interrupted"


class Attempt(Struct, frozen=True, tag=True):
    """One finishing call.

    `n` counts from 1 within the user message; `draft` is the JSON text of what was sent (empty for a decline); `before` is
    the verdict that a retraction replaced; `request` is the number of the request whose reply it came in. A revision's
    draft is the whole that it made of the draft of attempt `base`; one that made none has no draft, only what was `sent`.
    """

    n: int
    call_id: CallId
    model: str
    verdict: VerdictKind
    problems: tuple[Problem, ...] = ()
    draft: str = ""
    before: VerdictKind | None = None
    request: int = 0
    base: int = 0
    sent: str = ""


class RunWarning(Struct, frozen=True, tag=True):
    """A valid value that looks wrong, or a circumstance the caller should know."""

    code: str
    message: str
    path: str = ""


class CheckVerdict(Struct, frozen=True, tag=True):
    """The verdict of one rule or check beyond the schema, on the object of one attempt (`call_id`)."""

    name: str
    passed: bool
    message: str = ""
    took_ms: int = 0
    call_id: CallId = CallId("")


class Usage(Struct, frozen=True, tag=True):
    """Tokens. `None` where no reply told them: unknown is not zero."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            *(
                None if a is None and b is None else (a or 0) + (b or 0)
                for a, b in zip(self.figures, other.figures, strict=True)
            )
        )

    @property
    def total(self) -> int:
        """All tokens that were told."""
        return sum(figure or 0 for figure in self.figures)

    @property
    def figures(self) -> tuple[int | None, int | None, int | None, int | None]:
        """The four counts in the order of the fields."""
        return (
            self.input_tokens,
            self.output_tokens,
            self.cache_creation_input_tokens,
            self.cache_read_input_tokens,
        )


NO_USAGE = Usage()


class SideEffect(Struct, frozen=True, tag=True):
    """A call of a tool that may have changed something outside the run."""

    tool: str
    call_id: CallId
    status: str


class ContractFacts(Struct, frozen=True, tag=True):
    """What the envelope says about the contract: digest of the schema, dialect, and the form that went on the wire."""

    digest: str
    dialect: str
    wire: str


class JournalSeal(Struct, frozen=True, tag=True):
    """A journal as it stood when the run was over: the SHA-256 of its first `size` bytes, in hex."""

    sha256: str
    size: int


class Receipt(Struct, frozen=True, tag=True):
    """Digests (SHA-256, hex) of what a result came from; `""` for what there was not.

    `contract` is the schema's, `rules` that of the rules' and checks' names, `object` the object's. `journal` is `None`
    where none was kept.
    """

    version: str
    contract: str
    rules: str
    object: str
    journal: JournalSeal | None = None


class TerminalResult(Struct, frozen=True, tag=True):
    """How a run ended, and everything it leaves behind.

    `object_text` is the JSON text of the verified object (unwrapped), present exactly when `outcome` is `Answered` with an
    attachment; `output` is the same as a value or the caller's type. `stop_reason` and `turns` are the reference's figures
    (`num_turns` counts 1 plus every message sent back). `draft` is the best rejected attempt's text. `kept_object_text` is
    an object that the reference would print beside a failure; only the compat frame shows it,
    unless `kept_hidden`.
    """

    outcome: Outcome
    run_id: RunId
    session_id: SessionId
    object_text: str | None
    output: Any
    text: str
    attempts: tuple[Attempt, ...]
    checks: tuple[CheckVerdict, ...]
    warnings: tuple[RunWarning, ...]
    answered_before: tuple[CallId, ...]
    side_effects: tuple[SideEffect, ...]
    contract: ContractFacts | None
    usage: Usage
    usage_by_model: Mapping[str, Usage]
    cost_usd: Decimal | None
    turns: int
    stop_reason: str | None
    permission_denials: tuple[Mapping[str, Any], ...]
    draft: str | None
    duration_ms: int = 0
    duration_api_ms: int = 0
    channel: str = "tool"
    source: str = ""
    last_model: str = ""
    kept_object_text: str | None = None
    kept_hidden: bool = False
    interrupted_calls: bool = False
    halted: bool = False
    """Whether a hook asked for the end, also where an object stood by then."""
    receipt: Receipt | None = None

    def __post_init__(self) -> None:
        has_object = isinstance(self.outcome, Answered) and self.outcome.attachment is not None
        if has_object != (self.object_text is not None):
            raise LastcallBug("a result holds an object exactly when its outcome says so")

    @property
    def ok(self) -> bool:
        """Whether the run did what it was asked for."""
        return isinstance(self.outcome, Answered)

    @property
    def reason(self) -> str:
        """One sentence: why the run ended so."""
        return reason(self.outcome)

    def unwrap(self) -> Any:
        """The verified object (without a contract: the answer's text).

        Raises `NoAnswer` if there is none.
        """
        if not self.ok:
            raise NoAnswer(self)
        return self.text if self.object_text is None else self.output
