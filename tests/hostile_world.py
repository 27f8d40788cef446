"""A world that does not keep to the protocol, and an oracle that remembers what really happened.

`World.play(tape)` turns a byte string into events: mostly what a service, tools and a driver would send, but known ids come
back, messages that were taken back speak again, replies are cut, results arrive for calls that are over, and processes die.
The oracle keeps its truth from the events that it sent and from what the steps told to do; it never looks into the state
under test. Zeros on the tape mean the polite choice, so that a failing tape shrinks to a short story.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from typing import Any

from lastcall.core import actions as a
from lastcall.core import events as e
from lastcall.core import records as r
from lastcall.core.decide import decide
from lastcall.core.evolve import evolve
from lastcall.core.policy import compat, native
from lastcall.core.request import build_request
from lastcall.core.resume import resume
from lastcall.core.state import RunState, Setting, begin
from lastcall.nouns.attachment import Problem
from lastcall.nouns.hooks import NOTHING_SAID, HookDecision, HookPoint, HookVerdict
from lastcall.nouns.messages import AssistantMessage, TextBlock, ThinkingBlock, UserMessage
from lastcall.nouns.request import Channel
from lastcall.nouns.result import Answered, CheckVerdict, Failed, FailureKind, Limit, Signal, Usage
from lastcall.nouns.tools import Arguments, ResultKind, ToolCall, ToolResult, Unreadable, UnreadableCause
from machine_tools import BASH, CHECKED, COMPAT_CONTRACT, CONTRACT, OVERLOADED, READ

CUT = ("max_tokens", "refusal", "model_context_window_exceeded")
TOO_LONG = Failed(FailureKind.TOO_LONG, "prompt is too long: 300 tokens > 200 maximum")
BROKEN = Unreadable('{"title": "x', UnreadableCause.TRUNCATED, "the text ends inside a string", 1, 13, 12, 12)


class Tape:
    """Choices, read off a byte string; at its end every choice is the polite one."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def over(self) -> bool:
        """Whether nothing is left."""
        return self._at >= len(self._data)

    def pick(self, *options: Any) -> Any:
        """One of `options`; the first is the polite one."""
        if self.over:
            return options[0]
        self._at += 1
        return options[self._data[self._at - 1] % len(options)]

    def odd(self, one_in: int) -> bool:
        """Whether something rare happens here."""
        return self.pick(*(False,) * (one_in - 1), True) if one_in > 1 else True


def fits(text: str) -> bool:
    """Whether a text is an object of the tests' schema: by hand, not by the contract under test."""
    try:
        value = json.loads(text)
    except ValueError:
        return False
    if not isinstance(value, dict) or set(value) - {"title", "count"}:
        return False
    count = value.get("count", 0)
    return isinstance(value.get("title"), str) and len(value["title"]) >= 2 and type(count) is int


@dataclass
class Called:
    """What the oracle knows of a call."""

    name: str
    text: str | None
    message: str
    request: int
    answers: int = 0
    runs: int = 0
    failed: bool = False
    passed: bool | None = None
    void: bool = False
    asked_hooks: bool = False
    denied: bool = False


@dataclass
class Truth:
    """What happened, by the world's own account. A run's part is made anew with each prompt."""

    live: bool = False
    prompt: str = ""
    open: int = 0
    void_texts: set[str] = field(default_factory=set)
    dead: set[str] = field(default_factory=set)
    calls: dict[str, Called] = field(default_factory=dict)
    texts: dict[str, Called] = field(default_factory=dict)
    said_calls: int = 0
    speaking: list[str] = field(default_factory=list)
    reply_calls: list[str] = field(default_factory=list)
    reply_texts: list[str] = field(default_factory=list)
    closed_cut: bool = False
    complete: bool = False
    summing: bool = False
    running: set[str] = field(default_factory=set)
    checking: set[str] = field(default_factory=set)
    hooking: set[tuple[str, str]] = field(default_factory=set)
    attempts: int = 0
    enforced: int = 0
    asks: int = 0
    voided: int = 0
    messages: list[str] = field(default_factory=list)
    last_request: int = 0


class World:
    """One session under attack."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.compat = tape.pick(False, False, True)
        self.text_channel = tape.pick(False, False, False, not self.compat)
        self.checked = tape.pick(False, False, not self.compat)
        self.cap = tape.pick(5, 2, 3, 1)
        self.max_turns = tape.pick(None, None, 4, 2)
        budget = tape.pick(None, None, Decimal(2), Decimal(9))
        often = None if self.compat else tape.pick(None, 1, 2)
        policy = (compat if self.compat else native)(
            max_attempts=self.cap,
            max_turns=self.max_turns,
            max_budget_usd=budget,
            budget_words="$2",
            compact_after_turns=often,
        )
        contract = COMPAT_CONTRACT if self.compat else CHECKED if self.checked else CONTRACT
        self.finishing = {"StructuredOutput"} if self.compat else {"StructuredOutput", "DeclineOutput"}
        self.tools = () if self.text_channel else (READ, BASH)
        channel = Channel.NATIVE if self.text_channel else Channel.TOOL
        hooks = frozenset(tape.pick((), (), tuple(HookPoint), (HookPoint.BEFORE_CALL,), (HookPoint.STOP,)))
        forces = tape.pick(True, False)
        self.setting = Setting(policy, contract, self.tools, channel=channel, forces=forces, hooks=hooks)
        self.state: RunState = begin(self.setting)
        self.records: list[r.Record] = []
        self.truth = Truth()
        self.serial = 0

    # -- the story ----------------------------------------------------------------------------------------------------

    def play(self) -> None:
        """The whole tape, then a polite end: whatever was done to it, the run ends."""
        self.prompt()
        while not self.tape.over:
            self.move()
        for _ in range(60):
            if not self.truth.live:
                return
            self.settle()
        raise AssertionError("the run does not end")

    def move(self) -> None:
        """One thing that happens: likely what is waited for, now and then anything."""
        truth = self.truth
        if not truth.live and not self.tape.odd(4):
            self.prompt()
        elif truth.checking and not self.tape.odd(2):
            self.check()
        elif truth.hooking and not self.tape.odd(3):
            self.hook()
        elif truth.running and not self.tape.odd(2):
            self.tool()
        else:
            self.tape.pick(
                self.whole_reply, self.whole_reply, self.whole_reply, self.block, self.block, self.block, self.start,
                self.end, self.tool, self.check, self.retry, self.fall_back, self.fall_back, self.fail, self.channel,
                self.limit, self.interrupt, self.crash, self.prompt, self.hook,
            )()  # fmt: skip

    def settle(self) -> None:
        """What a patient world does next."""
        truth = self.truth
        if truth.running:
            self.finish_tool(min(truth.running), fails=False)
        elif truth.checking:
            self.finish_check(min(truth.checking), fails=False)
        elif truth.hooking:
            self.finish_hook(*min(truth.hooking), NOTHING_SAID)
        else:
            self.begin_reply(self.fresh("msg"))
            self.say(truth.open, self.current, TextBlock("I am done."))
            self.close(truth.open, self.current, "end_turn", None)

    # -- moves --------------------------------------------------------------------------------------------------------

    @property
    def current(self) -> str:
        """The message that speaks."""
        return self.truth.speaking[-1] if self.truth.speaking else self.fresh("msg")

    def fresh(self, kind: str) -> str:
        """A name that was never used."""
        self.serial += 1
        return f"{kind}_{self.serial}"

    def request(self) -> int:
        """The number of the request that an event claims to belong to."""
        return max(0, self.truth.open + self.tape.pick(0, 0, 0, 0, 0, 0, -1, 1))

    def message(self) -> str:
        """The message that an event claims to belong to."""
        dead = sorted(self.truth.dead)
        known = self.truth.messages
        if dead and self.tape.odd(6):
            return self.tape.pick(*dead)
        if known and self.tape.odd(12):
            return self.tape.pick(*known)
        return self.current

    def prompt(self) -> None:
        run = self.fresh("run")
        before = self.truth.live
        event = e.Prompted(run, (TextBlock(f"prompt {run}"),), self.fresh("uuid"), 1.0)
        if not before:
            kept = self.truth
            self.truth = Truth(
                live=True, prompt=f"prompt {run}", dead=kept.dead, calls=kept.calls, messages=kept.messages, last_request=kept.last_request,
                void_texts=kept.void_texts,
            )  # fmt: skip
        self.send(event, heard=not before)

    def whole_reply(self) -> None:
        self.begin_reply(self.message() if self.tape.odd(8) else self.fresh("msg"))
        for _ in range(self.tape.pick(1, 1, 2, 3)):
            self.block()
        self.end()

    def start(self) -> None:
        self.begin_reply(self.message() if self.tape.odd(3) else self.fresh("msg"), self.request())

    def begin_reply(self, message: str, request: int | None = None) -> None:
        request = self.truth.open if request is None else request
        heard = self.hears(request)
        if heard:
            self.truth.dead.discard(message)  # a server may give the same name again
            self.speaks(message)
        self.send(e.ReplyStarted(request, message, "m"), heard=heard)

    def block(self) -> None:
        self.say(self.request(), self.message(), self.some_block())

    def some_block(self) -> Any:
        tape = self.tape
        kind = tape.pick("finish", "finish", "finish", "read", "bash", "text", "decline", "thinking", "unknown")
        if kind == "text":
            words = f"words {self.fresh('t')}{' and more' * tape.pick(0, 400)}"
            return TextBlock(tape.pick(words, *([self.object_text()] * 3 if self.text_channel else [words, ""])))
        if kind == "thinking":
            return ThinkingBlock("hm", "signed")
        known = list(self.truth.calls)
        call_id = tape.pick(*known) if known and tape.odd(5) else tape.pick(*[self.fresh("call")] * 7, "")
        if kind == "finish":
            broken = tape.odd(8)
            return ToolCall(call_id, "", "StructuredOutput", BROKEN if broken else Arguments(self.object_text()))
        if kind == "decline":
            text = tape.pick('{"reason":"no log"}', "{}", "nonsense")
            return ToolCall(call_id, "", "DeclineOutput", Arguments(text))
        return ToolCall(call_id, "", {"read": "Read", "bash": "Bash", "unknown": "Fly"}[kind], Arguments("{}"))

    def object_text(self) -> str:
        title = self.fresh("title")
        return self.tape.pick(
            f'{{"title":"{title}"}}', f'{{"title":"{title}","count":1.5}}', '{"title":"same","count":true}', "[]",
            '{"title":"x"}', f'{{"title":"{title}","more":1}}', '{"title": ', '{"title":"test"}',
        )  # fmt: skip

    def say(self, request: int, message: str, block: Any) -> None:
        if isinstance(block, ToolCall):
            named = message if self.tape.odd(30) is False else "msg_of_another"
            block = ToolCall(block.call_id, named, block.name, block.arguments)
        heard = self.hears(request, message)
        if heard:
            self.speaks(message)
        self.send(e.BlockEnded(request, message, block, self.fresh("uuid")), heard=heard, block=block)

    def end(self) -> None:
        reason = self.tape.pick(
            "", "", "", "", "max_tokens", "refusal", "pause_turn", "end_turn", "tool_use", None,
            "model_context_window_exceeded",
        )  # fmt: skip
        if reason == "":
            reason = "tool_use" if self.truth.reply_calls else "end_turn"
        self.close(self.request(), self.message(), reason, self.tape.pick(None, Decimal("0.5"), Decimal(1)))

    def close(self, request: int, message: str, reason: str | None, cost: Decimal | None) -> None:
        heard = self.hears(request, message)
        if heard:
            truth = self.truth
            truth.open = 0
            truth.complete = not truth.summing
            truth.closed_cut = reason in CUT and not truth.summing
        self.send(e.ReplyEnded(request, message, reason, Usage(10, 2), cost_usd=cost), heard=heard)

    def tool(self) -> None:
        truth = self.truth
        known = list(truth.calls)
        call_id = self.tape.pick(*sorted(truth.running)) if truth.running else self.fresh("call")
        if known and self.tape.odd(5):
            call_id = self.tape.pick(*known)
        self.finish_tool(call_id, fails=self.tape.odd(4))

    def finish_tool(self, call_id: str, *, fails: bool) -> None:
        heard = call_id in self.truth.running
        if heard:
            self.truth.running.discard(call_id)
            self.truth.calls[call_id].failed = fails
        kind = ResultKind.FAILED if fails else ResultKind.OK
        result = ToolResult(call_id, kind, "result", is_error=True if fails else None)
        self.send(e.ToolFinished(result, self.fresh("uuid")), heard=heard)

    def check(self) -> None:
        truth = self.truth
        known = list(truth.calls)
        call_id = self.tape.pick(*sorted(truth.checking)) if truth.checking else self.fresh("call")
        if known and self.tape.odd(5):
            call_id = self.tape.pick(*known)
        self.finish_check(call_id, fails=self.tape.odd(3))

    def finish_check(self, call_id: str, *, fails: bool) -> None:
        heard = call_id in self.truth.checking
        if heard:
            self.truth.checking.discard(call_id)
            self.candidate(call_id).passed = not fails
        problems = (Problem("/title", "check", "is wrong"),) if fails else ()
        self.send(e.ChecksFinished(call_id, problems, (CheckVerdict("check", not fails),)), heard=heard)

    def hook(self) -> None:
        truth = self.truth
        point, call_id = self.tape.pick(*sorted(truth.hooking)) if truth.hooking else (HookPoint.STOP, "")
        if self.tape.odd(6):
            point, call_id = self.tape.pick(*HookPoint), self.tape.pick("", *truth.calls)
        verdict = self.tape.pick(
            NOTHING_SAID, NOTHING_SAID, HookVerdict(decision=HookDecision.DENY, reason="no"),
            HookVerdict(arguments=self.object_text()), HookVerdict(context=("by the way",)), HookVerdict(blocked=("no",)),
            HookVerdict(halt="enough"),
        )  # fmt: skip
        self.finish_hook(point, call_id, verdict)

    def finish_hook(self, point: str, call_id: str, verdict: HookVerdict) -> None:
        truth = self.truth
        heard = truth.live and (point, call_id) in truth.hooking
        if heard:
            truth.hooking.discard((point, call_id))
        if heard and point == HookPoint.BEFORE_CALL:
            source = truth.calls[call_id]
            source.asked_hooks = True
            source.denied = verdict.decision is HookDecision.DENY
            source.text = source.text if verdict.arguments is None else verdict.arguments
        if heard and point == HookPoint.PROMPT and (verdict.blocked or verdict.halt is not None):
            truth.void_texts.add(truth.prompt)
        self.send(e.HooksFinished(HookPoint(point), call_id, verdict), heard=heard)

    def retry(self) -> None:
        request, named = self.request(), self.some_messages()
        heard = self.hears(request)
        if heard:
            self.take_back(named)
        self.send(e.Retrying(request, 1, 10, 5, OVERLOADED, named, "m"), heard=heard)

    def fall_back(self) -> None:
        request, named = self.request(), self.some_messages()
        heard = self.hears(request)
        if heard:
            self.take_back(named)
        self.send(e.FellBack(request, "m", "n", "overloaded", self.fresh("uuid"), named, Usage(5, 1)), heard=heard)

    def some_messages(self) -> tuple[str, ...]:
        spoke = tuple(self.truth.speaking)
        return self.tape.pick(spoke, spoke, (), spoke[:1], (*spoke, "never_heard"))

    def fail(self) -> None:
        if not self.truth.summing and not self.tape.odd(4):
            return self.block()
        request = self.request()
        heard = self.hears(request)
        failure = self.tape.pick(OVERLOADED, TOO_LONG)
        goes_on = self.compat or self.truth.summing or failure is TOO_LONG
        if heard and goes_on:  # in compat with the calls that were answered, else with less of the history
            self.void_reply()
            self.truth.open = 0
            self.truth.voided += not self.truth.summing
            self.truth.complete = self.compat
            self.truth.reply_calls = self.truth.reply_calls if self.compat else []
        self.send(e.RequestFailed(request, failure, self.fresh("uuid")), heard=heard, ends=heard and not goes_on)
        return None

    def channel(self) -> None:
        if not self.tape.odd(4):
            return self.tool()
        request, feature = self.request(), self.tape.pick("strict", "tools")
        heard = self.hears(request)
        if heard and self.truth.summing:
            if feature == "tools":
                self.truth.open = 0
            else:
                self.take_back(())
        elif heard:
            self.take_back(())
            if feature == "tools":
                self.truth.open = 0
                self.truth.voided += 1
                self.text_channel = True
        self.send(e.ChannelChanged(request, feature, "400"), heard=heard)
        return None

    def limit(self) -> None:
        limit = self.tape.pick(Limit.DEADLINE, Limit.BUDGET)
        if self.tape.odd(4):
            self.send(e.LimitHit(limit), heard=self.truth.live, ends=True)
        else:
            self.send(e.LimitNear(limit), heard=self.truth.live)

    def interrupt(self) -> None:
        if self.tape.odd(3):
            fault = Failed(FailureKind.INTERNAL, "bug")
            event = self.tape.pick(e.Interrupted(Signal.INTERRUPT, self.fresh("uuid")), e.Faulted(fault))
            self.send(event, heard=self.truth.live, ends=True)
        else:
            self.whole_reply()

    def crash(self) -> None:
        """The process dies; another one folds the journal and goes on."""
        truth = self.truth
        state = begin(self.setting)
        for record in self.records:
            state = evolve(state, record)
        step = resume(state)
        if truth.open:
            self.void_reply()
            truth.open = 0
            truth.voided += not truth.summing
        truth.running.clear()
        truth.checking.clear()
        truth.hooking.clear()
        if not truth.live:
            assert step.records == () == step.actions
            return
        self.take(step, resumed=True)

    # -- the truth ----------------------------------------------------------------------------------------------------

    def hears(self, request: int, message: str | None = None) -> bool:
        """Whether the machine has to take notice of such an event."""
        truth = self.truth
        return truth.live and request != 0 and request == truth.open and message not in truth.dead

    def speaks(self, message: str) -> None:
        if message not in self.truth.speaking:
            self.truth.speaking.append(message)
        if message not in self.truth.messages:
            self.truth.messages.append(message)

    def take_back(self, named: tuple[str, ...]) -> None:
        """The reply starts anew: whoever spoke in it is dead, and what its calls were doing is over."""
        truth = self.truth
        truth.dead.update(named, truth.speaking)
        self.void_reply(even_real=True)
        truth.running.clear()
        truth.checking.clear()
        truth.hooking.clear()
        truth.speaking, truth.reply_calls, truth.reply_texts = [], [], []

    def void_reply(self, *, even_real: bool = False) -> None:
        """Nothing of the open reply may be seen again; in compat, calls that were taken happened, unless taken back."""
        truth = self.truth
        if even_real or not self.compat:
            truth.void_texts.update(x for x in truth.reply_texts if "_" in x)
            for call_id in truth.reply_calls:
                truth.calls[call_id].void = True

    def send(self, event: e.Event, *, heard: bool, ends: bool = False, block: Any = None) -> Any:
        """The machine's step on an event. `heard`: whether it may matter; what is not heard leaves no trace."""
        step = decide(self.state, event)
        assert step == decide(self.state, event), "the same twice is not the same"
        if not heard:
            assert (step.records, step.actions) == ((), ()), f"{event} is late and must mean nothing"
        if block is not None and heard and self.truth.summing:
            assert not any(isinstance(x, r.BlockSaid | r.Attempted | r.ToolStarted) for x in step.records), (
                "a summary acts"
            )
        elif block is not None and heard:
            self.note_block(step, block)
        self.take(step, ends=ends and heard)
        return step

    def note_block(self, step: Any, block: Any) -> None:
        said = next(x for x in step.records if isinstance(x, r.BlockSaid))
        truth = self.truth
        if isinstance(block, TextBlock):
            truth.reply_texts.append(block.text)
        if not isinstance(block, ToolCall):
            return
        call_id = said.block.call_id
        assert call_id, "a call without an id"
        assert call_id not in truth.calls, "two calls of one id"
        assert said.block.message_id == said.message_id, "a call of a message that did not make it"
        text = block.arguments.text if isinstance(block.arguments, Arguments) else None
        truth.calls[call_id] = Called(block.name, text, said.message_id, said.request)
        truth.reply_calls.append(call_id)
        truth.said_calls += 1

    def candidate(self, call_id: str) -> Called:
        """Where an object came from."""
        return self.truth.texts.get(call_id) or self.truth.calls[call_id]

    # -- the judgement ------------------------------------------------------------------------------------------------

    def take(self, step: Any, *, ends: bool = False, resumed: bool = False) -> None:
        state = self.state
        if resumed:
            state = begin(self.setting)
            for record in self.records:
                state = evolve(state, record)
        for record in step.records:
            state = evolve(state, record)
        assert state == step.state, "the state is the fold of the records"
        self.state = state
        was_live = self.truth.live
        outcomes = [x.outcome for x in step.records if isinstance(x, r.Ended)]
        for record in step.records:
            self.judge_record(record)
        for action in step.actions:
            self.judge_action(action, step.state, resumed=resumed)
        self.records += step.records
        assert len(outcomes) <= 1, "ended twice"
        if outcomes:
            assert was_live, "acting after the end"
            self.judge_end(outcomes[0])
        assert not ends or outcomes, "it had to end here"
        truth = self.truth
        if truth.live:
            assert truth.open or truth.running or truth.checking or truth.hooking, (
                "nothing is open, and the run goes on: it hangs"
            )

    def judge_record(self, record: r.Record) -> None:
        truth = self.truth
        match record:
            case r.CallAnswered(result=result):
                known = truth.calls.get(result.call_id)
                assert known is not None, "an answer without a call"
                known.answers += 1
                assert known.answers == 1, "a call answered twice"
                assert not known.void, "an answer to a call that was taken back"
            case r.Attempted(attempt=attempt):
                truth.attempts += 1
                assert attempt.n == truth.attempts, "attempts are counted one by one"
                assert truth.attempts < self.cap + max(2, truth.said_calls + 1), "attempts far beyond the cap"
                if attempt.call_id not in truth.calls:  # an object that came as text
                    assert self.text_channel, "an attempt without a call"
                    text = truth.reply_texts[-1]
                    truth.texts[attempt.call_id] = Called("", text, truth.speaking[-1], truth.last_request)
            case r.Nudged(kind=r.NudgeKind.ENFORCE):
                truth.enforced += 1
                assert truth.enforced == 1, "nudged twice"
            case _:
                pass

    def judge_action(self, action: Any, state: RunState, *, resumed: bool) -> None:
        truth = self.truth
        match action:
            case a.AskModel(number=number):
                assert not truth.open, "two requests at once"
                assert not truth.running, "asked while a tool runs"
                assert not truth.checking, "asked while a check runs"
                assert not truth.hooking, "asked while hooks are asked"
                assert number == truth.last_request + 1, "requests are counted one by one"
                truth.open = truth.last_request = number
                truth.asks += 1
                truth.summing = state.summing is not None
                if truth.summing:
                    self.judge_summary(state, number)
                    return
                spent = truth.attempts >= self.cap and truth.asks > 1
                assert not spent or (self.compat and not truth.reply_calls), "asked although the attempts are used up"
                turns = truth.asks - truth.voided
                assert self.max_turns is None or turns <= self.max_turns, "asked beyond the turn limit"
                self.judge_request(state, number)
                truth.speaking, truth.reply_calls, truth.reply_texts, truth.complete = [], [], [], False
                truth.said_calls = 0
            case a.RunTool(call=call):
                known = truth.calls[call.call_id]
                assert known.name not in self.finishing, "a finishing call given to the tools"
                assert not known.void, "a call run that was taken back"
                assert self.compat or (truth.complete and not truth.closed_cut), "a call of a cut-off reply was run"
                assert not known.answers, "a call run after its answer"
                known.runs += 1
                assert known.runs == 1 or (resumed and known.name == "Read"), "a call run twice"
                truth.running.add(call.call_id)
            case a.RunChecks(call_id=call_id, object_text=text):
                assert fits(text), "checks run on what does not pass"
                assert self.candidate(call_id).passed is None, "checks run twice"
                truth.checking.add(call_id)
            case a.RunHooks(point=point):
                key = (point, action.call_id)
                assert key not in truth.hooking, "hooks asked twice"
                known = truth.calls.get(key[1])
                assert known is None or not known.void, "hooks asked about a call that was taken back"
                rejected = point is HookPoint.REJECTED  # which a cut-off attempt is too
                assert known is None or self.compat or rejected or (truth.complete and not truth.closed_cut), (
                    "a call of a cut-off reply"
                )
                truth.hooking.add(key)
            case a.CancelCalls() | a.CancelRequest():
                pass

    def judge_summary(self, state: RunState, number: int) -> None:
        """The request for a summary can lead to nothing but words, and costs no turn."""
        truth = self.truth
        request = build_request(state)
        assert not self.compat, "the reference asks for no summary"
        assert (request.number, request.tools, len(request.messages)) == (number, (), 1)
        truth.voided += 1
        truth.speaking, truth.reply_calls, truth.reply_texts, truth.complete = [], [], [], False
        truth.said_calls = 0

    def judge_request(self, state: RunState, number: int) -> None:
        """The request is well-formed, and nothing in it was taken back."""
        request = build_request(state)
        assert request.number == number
        roles = [isinstance(m, UserMessage) for m in request.messages]
        assert roles[0], "begins with the model"
        both = pairwise(roles)  # the reference leaves some user messages apart
        assert all(x != y or (x and self.compat) for x, y in both), "two in a row"
        open_calls: list[str] = []
        seen: set[str] = set()
        for message in request.messages:
            if isinstance(message, AssistantMessage):
                assert not open_calls, "the model speaks before its calls are answered"
                open_calls = [b.call_id for b in message.blocks if isinstance(b, ToolCall)]
                assert not seen & set(open_calls), "a call twice"
                seen.update(open_calls)
                assert not any(self.truth.calls[c].void for c in open_calls), "a call that was taken back"
                words = {b.text for b in message.blocks if isinstance(b, TextBlock)}
                assert not words & self.truth.void_texts, "words that were taken back"
            else:
                told = {b.text for b in message.blocks if isinstance(b, TextBlock)}
                assert not told & self.truth.void_texts, "a prompt that hooks blocked"
                answers = [b.call_id for b in message.blocks if isinstance(b, ToolResult)]
                assert sorted(answers) == sorted(open_calls), "calls and answers do not pair"
                open_calls = []
        assert not open_calls, "a call without an answer"

    def judge_end(self, outcome: Any) -> None:
        truth = self.truth
        if truth.open:
            self.void_reply()
        truth.live = False
        truth.open = 0
        truth.running.clear()
        truth.checking.clear()
        truth.hooking.clear()
        if not self.compat and truth.complete:
            unanswered = [c for c in truth.reply_calls if not truth.calls[c].answers]
            assert not unanswered, "calls left without an answer"
        if not isinstance(outcome, Answered):
            return
        attachment = outcome.attachment
        assert attachment is not None, "success without an object"
        source = self.candidate(attachment.call_id)
        assert source.text is not None
        assert not source.denied, "an object that hooks denied"
        readable = source.name and source.text.lstrip().startswith("{")
        asked = HookPoint.BEFORE_CALL in self.setting.hooks and readable
        assert not asked or source.asked_hooks, "an object that did not wait for hooks"
        assert fits(source.text), "an object that does not pass"
        assert fits(attachment.text)
        assert json.loads(attachment.text) == json.loads(source.text), "not the object that was sent"
        assert source.name in ("", "StructuredOutput")
        assert not source.void, "an object that was taken back"
        assert not self.checked or source.passed is True, "an object whose checks did not pass"
        if self.compat:
            return
        assert truth.complete, "taken before the reply was complete"
        assert not truth.closed_cut, "an object of a cut-off reply"
        siblings = [truth.calls[c] for c in truth.reply_calls if truth.calls[c].name not in self.finishing]
        assert all(s.runs and s.answers and not s.failed for s in siblings), "an object that did not wait"
