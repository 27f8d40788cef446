"""Plays the world's part against the machine: events in, steps out. Shared by the tests of the core."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from lastcall.contract import Contract, compile_contract
from lastcall.contract.parse import schema_from_value
from lastcall.core import events as e
from lastcall.core import records as r
from lastcall.core.decide import decide
from lastcall.core.evolve import evolve
from lastcall.core.policy import Policy, native
from lastcall.core.request import build_request
from lastcall.core.resume import resume
from lastcall.core.state import RunState, Setting, begin
from lastcall.nouns.messages import AssistantBlock, TextBlock
from lastcall.nouns.profile import Profile
from lastcall.nouns.request import Channel
from lastcall.nouns.result import Failed, FailureKind, Signal, Usage
from lastcall.nouns.tools import Arguments, ResultKind, ToolCall, ToolDefinition, ToolResult, Unreadable, define

SCHEMA = {
    "type": "object",
    "properties": {"title": {"type": "string", "minLength": 2}, "count": {"type": "integer"}},
    "required": ["title"],
    "additionalProperties": False,
}
GOOD, OTHER = '{"title":"Disk full"}', '{"title":"Disk replaced"}'
BAD, WORSE = '{"title":"Disk full","count":"3"}', '{"count":"4"}'
"""One problem: `/count`. Two: `title` missing, `/count`."""

READ = define("Read", "reads", {"type": "object"}, read_only=True)
BASH = define("Bash", "acts", {"type": "object"})
OVERLOADED = Failed(FailureKind.OVERLOADED, "Overloaded", 529)


class OneCheck:
    """A check that the test answers itself."""

    name = "check"

    async def run(self, object_text: str) -> Any:
        raise AssertionError("the core runs no checks")


def contract_of(schema: Any = SCHEMA, *, profile: Profile = Profile.NATIVE, **choices: Any) -> Contract:
    """A compiled contract."""
    return compile_contract(schema_from_value(schema, profile=profile), profile=profile, **choices)


CONTRACT = contract_of()
COMPAT_CONTRACT = contract_of(profile=Profile.COMPAT)
CHECKED = contract_of(checks=(OneCheck(),))


def call(call_id: str, name: str = "Read", text: str | Unreadable = "{}", message_id: str = "") -> ToolCall:
    """A call; its message is filled in by `Play.says`."""
    return ToolCall(call_id, message_id, name, text if isinstance(text, Unreadable) else Arguments(text))


def finish(call_id: str, text: str | Unreadable = GOOD) -> ToolCall:
    """A finishing call."""
    return call(call_id, "StructuredOutput", text)


def decline(call_id: str, text: str = '{"reason":"no log"}') -> ToolCall:
    """A call of the decline tool."""
    return call(call_id, "DeclineOutput", text)


class Play:
    """One session: `state`, and all records and actions so far. Each method plays events and gives the new records."""

    def __init__(
        self,
        policy: Policy | None = None,
        contract: Contract | None = CONTRACT,
        *,
        tools: tuple[ToolDefinition, ...] = (READ, BASH),
        channel: Channel = Channel.TOOL,
        **setting: Any,
    ) -> None:
        chosen = Setting(policy or native(), contract, tools, channel=channel, **setting)
        self.setting = chosen
        self.state: RunState = begin(chosen)
        self.records: list[r.Record] = []
        self.actions: list[Any] = []
        self._names = 0

    def hear(self, *events: e.Event) -> list[r.Record]:
        """Each event decided upon; the state must be the fold of the records."""
        new: list[r.Record] = []
        for event in events:
            step = decide(self.state, event)
            self._take(step)
            new += step.records
        return new

    def resume(self, *, reopens: bool = False) -> list[r.Record]:
        """The process died and another one goes on."""
        step = resume(self.state, reopens=reopens)
        self._take(step)
        return list(step.records)

    def _take(self, step: Any) -> None:
        state = self.state
        for record in step.records:
            state = evolve(state, record)
        assert state == step.state
        self.state = step.state
        self.records += step.records
        self.actions += step.actions

    # -- the world ----------------------------------------------------------------------------------------------------

    def prompt(self, text: str = "go", run: str = "") -> list[r.Record]:
        """A user message."""
        self._names += 1
        return self.hear(e.Prompted(run or f"run_{self._names}", (TextBlock(text),), "uuid", 1.0))

    def starts(self, message_id: str = "", model: str = "m") -> list[r.Record]:
        """The reply to the outstanding request begins."""
        self._names += 1
        self.message = message_id or f"msg_{self._names}"
        return self.hear(e.ReplyStarted(self.state.asked, self.message, model))

    def says(self, *blocks: AssistantBlock | str) -> list[r.Record]:
        """Whole blocks of the reply that began."""
        new: list[r.Record] = []
        for block in blocks:
            said = TextBlock(block) if isinstance(block, str) else block
            if isinstance(said, ToolCall):
                said = replace(said, message_id=self.message)
            new += self.hear(e.BlockEnded(self.state.asked, self.message, said, "uuid"))
        return new

    def stops(self, stop_reason: str | None = None, **more: Any) -> list[r.Record]:
        """The reply is complete."""
        reason = stop_reason or ("tool_use" if self.state.reply.calls else "end_turn")
        usage = more.pop("usage", Usage(100, 20))
        return self.hear(e.ReplyEnded(self.state.asked, self.message, reason, usage, **more))

    def reply(self, *blocks: AssistantBlock | str, stop: str | None = None, **more: Any) -> list[r.Record]:
        """A whole reply."""
        return [*self.starts(), *self.says(*blocks), *self.stops(stop, **more)]

    def tool(self, call_id: str, content: str = "done", *, fails: bool = False) -> list[r.Record]:
        """A tool answers."""
        kind = ResultKind.FAILED if fails else ResultKind.OK
        return self.hear(
            e.ToolFinished(ToolResult(call_id, kind, content, is_error=True if fails else None), "uuid", 5)
        )

    def retries(self, *retracted: str, **more: Any) -> list[r.Record]:
        """The transport sends the request again."""
        return self.hear(e.Retrying(self.state.asked, 1, 10, 500, OVERLOADED, retracted, "m", **more))

    def falls_back(self, *retracted: str, **more: Any) -> list[r.Record]:
        """Another model takes over."""
        return self.hear(e.FellBack(self.state.asked, "m", "m2", "overloaded", "uuid", retracted, **more))

    def fails(self, failure: Failed = OVERLOADED, **more: Any) -> list[r.Record]:
        """The request is lost."""
        return self.hear(e.RequestFailed(self.state.asked, failure, "uuid", **more))

    def interrupt(self) -> list[r.Record]:
        """Ctrl-C."""
        return self.hear(e.Interrupted(Signal.INTERRUPT, "uuid"))

    # -- what is asked --------------------------------------------------------------------------------------------------

    @property
    def outcome(self) -> Any:
        """How the run ended."""
        return self.state.outcome

    @property
    def verdicts(self) -> list[str]:
        """The ledger in short."""
        return [a.verdict.value for a in self.state.attempts]

    def history(self) -> list[tuple[str, list[Any]]]:
        """The messages of the outstanding request, in short: who, and texts, `call id`s and `id: answer`s."""
        return [_short(m) for m in build_request(self.state).messages]

    def answers(self) -> dict[str, ResultKind]:
        """The kind of every answer so far, by call."""
        return {x.result.call_id: x.result.kind for x in self.records if isinstance(x, r.CallAnswered)}


def _short(message: Any) -> tuple[str, list[Any]]:
    who = "model" if hasattr(message, "message_id") else "user"
    return who, [_words(block) for block in message.blocks]


def _words(block: Any) -> Any:
    match block:
        case TextBlock(text=text):
            return text
        case ToolCall(call_id=call_id):
            return f"call {call_id}"
        case ToolResult(call_id=call_id, kind=kind):
            return f"{call_id}: {kind.value}"
        case _:
            return block


def kinds(records: list[r.Record]) -> list[str]:
    """The names of records, in order."""
    return [type(x).__name__ for x in records]


def ended(records: list[r.Record]) -> list[Any]:
    """The outcomes among records."""
    return [x.outcome for x in records if isinstance(x, r.Ended)]


def dollars(text: str) -> Decimal:
    """An amount."""
    return Decimal(text)


def compact(value: Any) -> str:
    """JSON text."""
    return json.dumps(value, separators=(",", ":"))
