"""What is true of a session now: the fold of its records.

Counts are properties, never stored twice. The history that goes to the model is kept in two parts: `messages`, closed when
a request was asked and never touched again (so that their encoded bytes can be kept), and `pending`, what was said since.
Only `pending` can be retracted.

Must not go in here: rules, and anything mutable.
"""

from __future__ import annotations

from decimal import Decimal
from itertools import takewhile

from msgspec import Struct
from msgspec.structs import replace

from lastcall.contract import Contract
from lastcall.core.policy import Policy
from lastcall.core.records import DeclineHeard, HeldBack, NudgeKind
from lastcall.nouns.attachment import Attachment
from lastcall.nouns.hooks import HookPoint
from lastcall.nouns.ids import CallId, MessageId, RunId, SessionId
from lastcall.nouns.messages import AssistantBlock, Message, UserBlock, UserMessage
from lastcall.nouns.profile import Profile
from lastcall.nouns.request import Channel, Choice
from lastcall.nouns.result import Attempt, CheckVerdict, Limit, Outcome, RunWarning, SideEffect, Usage, VerdictKind
from lastcall.nouns.tools import Halt, ResultKind, ToolCall, ToolDefinition, ToolResult


class Said(Struct, frozen=True):
    """A pending block of the model."""

    message_id: MessageId
    block: AssistantBlock


class Told(Struct, frozen=True):
    """A pending block to the model: a prompt's block, an answer to a call, a nudge (`alone`: in a message of its own)."""

    block: UserBlock
    nudge: bool = False
    alone: bool = False


Entry = Said | Told

Exchange = tuple[tuple[str, str, ResultKind, str], ...]
"""The calls of one reply as tool, arguments, kind of answer, answer."""


class Reply(Struct, frozen=True):
    """The reply to the latest request: how far it came.

    `message_ids` are all messages that spoke in it. `calls` are in the order of the reply. `text` is the last text in it,
    `tail` the same if it is the last block, else `""`.
    """

    message_ids: tuple[MessageId, ...] = ()
    model: str = ""
    calls: tuple[ToolCall, ...] = ()
    text: str = ""
    tail: str = ""
    blocks: int = 0
    closed: bool = False
    cut: bool = False
    whole: bool = False
    stop_reason: str | None = None
    category: str = ""


class Summing(Struct, frozen=True):
    """A summary in the making: what was said of it so far. `refused` as in `records.Compacted`."""

    refused: int | None = None
    text: str = ""


class Setting(Struct, frozen=True):
    """What a session is run with; not from records, given anew when a journal is loaded."""

    policy: Policy
    contract: Contract | None = None
    tools: tuple[ToolDefinition, ...] = ()
    system: str = ""
    strict_rules: str = "none"
    channel: Channel = Channel.TOOL
    forces: bool = True
    """Whether the deployment takes a forced choice in this run (not, for example, with extended thinking)."""
    hooks: frozenset[HookPoint] = frozenset()
    """The points at which somebody has to be asked; of those about calls, the ones that concern the finishing tool."""
    finishing_denied: bool = False
    """Whether a permission rule denies the finishing tool, as the reference allows; natively that is a usage error."""

    def with_plain_names(self) -> Setting:
        """The same for a deployment that takes plain property names only; the reference sends names as they are."""
        if self.policy.profile is Profile.COMPAT:
            return self
        from lastcall.contract.plain_names import plain_tool  # noqa: PLC0415 -- most services take any name

        contract = None if self.contract is None else self.contract.with_plain_names()
        return replace(self, contract=contract, tools=tuple(map(plain_tool, self.tools)))


class RunState(Struct, frozen=True, kw_only=True):
    """A session, in the middle of a run or between two.

    Everything from `run_id` on belongs to the run and is reset by a new user message. Request numbers go on through the
    session (`asked` is the latest, `asked_before` the last one of earlier runs), so that an event of an earlier run is
    late by its number. `prompted` is how many blocks the prompt has. `hooking` are the questions to hooks that are open,
    `stop_asked` says whether they were asked about the end of the latest reply, `halt` that the run has to end. `cuts`
    counts the replies in a row that were cut off, `pauses` those that only paused.
    """

    setting: Setting
    session_id: SessionId = SessionId("")
    messages: tuple[Message, ...] = ()
    pending: tuple[Entry, ...] = ()
    call_ids: frozenset[CallId] = frozenset()
    retracted_messages: frozenset[MessageId] = frozenset()
    left_out: tuple[Message, ...] = ()
    """What the model was sent before the history was made shorter: it was seen all the same."""
    room: int | None = None
    """The smallest history (characters) that the model's window did not hold."""
    window: int | None = None
    """Tokens that the model's window holds, where that is known."""
    filled: int = 0
    """Tokens of it that the latest turn filled, its reply included."""
    toolless: bool = False
    """Whether the deployment turned out to have no tool calls."""
    asked: int = 0

    run_id: RunId = RunId("")
    outcome: Outcome | None = None
    prompted: int = 0
    prompt_text: str = ""
    asked_before: int = 0
    voided: int = 0
    outstanding: bool = False
    reserved: bool = False
    choice: Choice = Choice.AUTO
    reply: Reply = Reply()
    results: tuple[ToolResult, ...] = ()
    running: tuple[CallId, ...] = ()
    held: tuple[HeldBack, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    answered_before: tuple[CallId, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    checks: tuple[CheckVerdict, ...] = ()
    decline: DeclineHeard | None = None
    hooking: tuple[tuple[HookPoint, CallId], ...] = ()
    stop_asked: bool = False
    halt: Halt | None = None
    nudges: tuple[NudgeKind, ...] = ()
    cuts: int = 0
    pauses: int = 0
    silences: int = 0
    summing: Summing | None = None
    """The summary that is being waited for."""
    lost_summaries: int = 0
    squeezed: bool = False
    """Whether the history was made shorter after a refusal, and no turn came of it yet."""
    limits_near: frozenset[Limit] = frozenset()
    limits_hit: frozenset[Limit] = frozenset()
    warnings: tuple[RunWarning, ...] = ()
    side_effects: tuple[SideEffect, ...] = ()
    denied: tuple[ToolCall, ...] = ()
    stop_reason: str | None = None
    usage: Usage = Usage()
    usage_by_model: tuple[tuple[str, Usage], ...] = ()
    cost_usd: Decimal | None = None
    dearest_usd: Decimal = Decimal(0)
    dearest_tokens: int = 0
    exchanges: tuple[Exchange, ...] = ()
    """What the latest replies called and were answered, as far as the policy looks back for circles."""
    api_ms: int = 0
    told: int = 0
    """Messages that were sent back to the model in this run; the reference's `num_turns` is one more."""

    @property
    def policy(self) -> Policy:
        """The run's choices."""
        return self.setting.policy

    @property
    def contract(self) -> Contract | None:
        """What the object must satisfy; `None` when prose is asked for."""
        return self.setting.contract

    @property
    def channel(self) -> Channel:
        """Through which part of the protocol the object comes."""
        return Channel.NATIVE if self.toolless else self.setting.channel

    @property
    def replies(self) -> int:
        """Turns spent or under way: requests that did not come to nothing."""
        return self.asked - self.asked_before - self.voided

    @property
    def tokens(self) -> int:
        """All tokens that are known to be spent: read, written, cached, in vain."""
        return sum(usage.total for _, usage in self.usage_by_model)

    @property
    def surviving(self) -> Attachment | None:
        """The object that ends the run: the last one that was not taken back."""
        return self.attachments[-1] if self.attachments else None

    @property
    def exhausted(self) -> bool:
        """Whether the attempts are used up without an object, one that is held included."""
        objects = self.attachments or self.held
        return self.contract is not None and not objects and len(self.attempts) >= self.policy.max_attempts

    @property
    def retracted_attempts(self) -> int:
        """Attempts that a fallback took back."""
        return sum(a.verdict is VerdictKind.RETRACTED for a in self.attempts)

    @property
    def lost_object(self) -> bool:
        """Whether an accepted object was taken back."""
        return any(a.before is VerdictKind.ACCEPTED for a in self.attempts)

    @property
    def stop_blocks(self) -> int:
        """How often Stop hooks kept this run from ending."""
        return self.nudges.count(NudgeKind.STOP_HOOK)

    @property
    def repeats(self) -> int:
        """In how many replies in a row the latest rejected arguments came with the same problems; 0 if it was not rejected.

        Twice in one reply is once, since the model had not seen the answer. What a fallback took back does not count.
        """
        seen = [a for a in self.attempts if a.verdict is not VerdictKind.RETRACTED]
        if not seen or seen[-1].verdict not in (VerdictKind.REJECTED, VerdictKind.UNREADABLE):
            return 0
        same = takewhile(lambda a: _gist(a) == _gist(seen[-1]), reversed(seen))
        return len({a.request for a in same})

    def sent_back_for(self, keyword: str) -> bool:
        """Whether an attempt was already rejected with such a problem, for what is sent back only once."""
        told = (a for a in self.attempts if a.verdict is not VerdictKind.RETRACTED)
        return any(p.keyword == keyword for a in told for p in a.problems)

    @property
    def unanswered(self) -> tuple[ToolCall, ...]:
        """Calls of the latest reply that have no answer yet, in their order."""
        answered = {r.call_id for r in self.results}
        return tuple(c for c in self.reply.calls if c.call_id not in answered)

    @property
    def has_news(self) -> bool:
        """Whether the model was told anything since it was last asked: answers to its calls, feedback."""
        return any(isinstance(entry, Told) for entry in self.pending)

    @property
    def ends_with_user(self) -> bool:
        """Whether the history ends on the user's side, so that a prompt would follow a prompt."""
        if self.pending:
            return isinstance(self.pending[-1], Told)
        return bool(self.messages) and isinstance(self.messages[-1], UserMessage)

    @property
    def checking(self) -> bool:
        """Whether a held object waits for checks."""
        return any(h.checking for h in self.held)

    @property
    def turns(self) -> int:
        """The reference's `num_turns`: 1 and every message sent back."""
        return 1 + self.told


def _gist(attempt: Attempt) -> object:
    """What makes two attempts the same: figures of problems are left out, a journal does not keep their types."""
    return attempt.draft, attempt.sent, [(p.path, p.keyword, p.message) for p in attempt.problems]


def begin(setting: Setting) -> RunState:
    """A session before its first record."""
    return RunState(setting=setting)
