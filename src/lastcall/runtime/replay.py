"""A recorded session against a contract of today: the same replies, the same answers of tools, no model and no tool.

What the model said is fed to the machine again; whatever the machine asks for is looked up in the recording. Where it
asks for something that was never recorded (another reply, a tool that was not run) the rest cannot be known, and that is
the result.

Must not go in here: reading journals, showing anything.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from lastcall.contract import Contract
from lastcall.core import events as e
from lastcall.core import records as r
from lastcall.core.actions import Action, AskModel, RunTool
from lastcall.core.decide import decide
from lastcall.core.evolve import evolve
from lastcall.core.policy import Policy
from lastcall.core.resume import resume
from lastcall.core.state import RunState, Setting, begin
from lastcall.core.step import Step
from lastcall.nouns.ids import Uuid
from lastcall.nouns.request import Channel, Purpose
from lastcall.nouns.result import Answered, Attempt, Cancelled, Failed, Outcome, Stopped, outcome_name

_NATIVE_SOURCE = "native_format"


class Replayed(Struct, frozen=True):
    """One run: how it ended when it was recorded, and how it would end now.

    `now` is `None` where that cannot be known, and `unknown` says why. `before` is `None` for a run that was cut off.
    """

    number: int
    before: Outcome | None
    now: Outcome | None
    attempts_before: tuple[Attempt, ...]
    attempts_now: tuple[Attempt, ...]
    unknown: str = ""

    @property
    def same(self) -> bool:
        """Whether it would end in the same way, and in the same object."""
        return self.now is not None and _gist(self.before) == _gist(self.now)


def replay(records: Sequence[r.Record], contract: Contract | None, policy: Policy) -> tuple[Replayed, ...]:
    """Every run of a session. `contract` is the one to judge by."""
    policy = replace(policy, summarizes=False)
    return tuple(_replay(number, run, contract, policy) for number, run in enumerate(_runs(records), 1))


def _gist(outcome: Outcome | None) -> tuple[str, str]:
    if outcome is None:
        return "", ""
    held = outcome.attachment if isinstance(outcome, Answered) else None
    return outcome_name(outcome), held.text if held is not None else ""


def _runs(records: Sequence[r.Record]) -> Iterator[list[r.Record]]:
    """The records of each run, its `Started` first."""
    run: list[r.Record] = []
    for record in records:
        if isinstance(record, r.Started):
            if run:
                yield run
            run = []
        if run or isinstance(record, r.Started):
            run.append(record)
    if run:
        yield run


def _replay(number: int, run: list[r.Record], contract: Contract | None, policy: Policy) -> Replayed:
    as_text = any(isinstance(x, r.Attached) and x.attachment.source == _NATIVE_SOURCE for x in run)
    setting = Setting(policy, contract, channel=Channel.NATIVE if as_text else Channel.TOOL)
    recorded = begin(setting)
    for record in run:
        recorded = evolve(recorded, record)
    player = _Player(run, setting)
    player.play()
    return Replayed(
        number, recorded.outcome, player.state.outcome, recorded.attempts, player.state.attempts, player.unknown
    )


class _Player:
    """The machine with a recording in the place of the world."""

    def __init__(self, run: list[r.Record], setting: Setting) -> None:
        self.state: RunState = begin(setting)
        self.unknown = ""
        self._run = run
        self._replies = deque(_replies(run))
        self._answers = {x.result.call_id: x for x in run if isinstance(x, r.CallAnswered)}
        self._events: deque[e.Event] = deque()

    def play(self) -> None:
        """To the end, or to the first thing that the recording does not hold."""
        started = self._run[0]
        assert isinstance(started, r.Started)
        self._events.append(e.Prompted(started.run_id, started.blocks, started.uuid, started.at))
        while self.state.outcome is None and not self.unknown:
            if self._events:
                self._take(decide(self.state, self._events.popleft()))
            elif self.state.outstanding and self._replies:  # the reply was cut off by a crash, and asked for again
                self._take(resume(self.state))
            else:
                self._end_from_outside()

    def _take(self, step: Step) -> None:
        self.state = step.state
        for action in step.actions:
            self._look_up(action)

    def _look_up(self, action: Action) -> None:
        match action:
            case AskModel(number=request):
                if self._replies:
                    self._events.extend(_as_events(self._replies.popleft(), request))
                elif self._outside() is None:
                    self.unknown = "the model would be asked again, and there is no further reply in the recording"
            case RunTool(call=call):
                found = self._answers.get(call.call_id)
                if found is not None:
                    self._events.appendleft(e.ToolFinished(found.result, found.uuid, found.took_ms))
                elif self._outside() is None:
                    self.unknown = f"it would run {call.name}, which was not run when this was recorded"
            case _:
                pass  # cancelling is done; checks and hooks are no part of a journal's contract

    def _outside(self) -> e.Event | None:
        """What ended the recorded run from outside, if that is how it ended."""
        ended = next((x.outcome for x in reversed(self._run) if isinstance(x, r.Ended)), None)
        match ended:
            case Cancelled(signal=signal):
                return e.Interrupted(signal, Uuid(""))
            case Stopped(limit=limit):
                return e.LimitHit(limit)
            case Failed():
                return e.Faulted(ended)
            case _:
                return None

    def _end_from_outside(self) -> None:
        event = self._outside()
        if event is None:
            self.unknown = "the recording was cut off"
        else:
            self._take(decide(self.state, event))
            if self.state.outcome is None:
                self.unknown = "the recording ends before the run does"


def _replies(run: Sequence[r.Record]) -> Iterator[list[r.Record]]:
    """What was heard of each request, in order."""
    heard: list[r.Record] | None = None
    for record in run:
        if isinstance(record, r.Asked):
            if heard is not None:
                yield heard
            heard = (
                [] if record.purpose is Purpose.TURN else None
            )  # a summary is no reply; without one, a note stands there
        elif heard is not None:
            heard.append(record)
    if heard is not None:
        yield heard


def _as_events(heard: Sequence[r.Record], request: int) -> Iterator[e.Event]:
    """The events that led to these records."""
    for x in heard:
        match x:
            case r.ReplyBegan():
                yield e.ReplyStarted(request, x.message_id, x.model, x.usage, "" if x.whole else None)
            case r.BlockSaid():
                yield e.BlockEnded(request, x.message_id, x.block, x.uuid)
            case r.ReplyClosed():
                yield e.ReplyEnded(
                    request,
                    x.message_id,
                    x.stop_reason,
                    x.usage,
                    x.stop_sequence,
                    x.stop_details,
                    x.cost_usd,
                    x.took_ms,
                )
            case r.RequestLost():
                yield e.RequestFailed(request, x.failure, x.uuid, x.took_ms, x.usage)
            case r.RetryNoted():
                yield e.Retrying(
                    request,
                    x.attempt,
                    x.max_retries,
                    x.delay_ms,
                    x.failure,
                    x.retracted,
                    x.from_model,
                    x.usage,
                    x.cost_usd,
                )
            case r.FallbackNoted():
                yield e.FellBack(
                    request, x.from_model, x.to_model, x.trigger, x.uuid, x.retracted, x.usage, x.cost_usd, x.details
                )
            case r.FeatureDropped():
                yield e.ChannelChanged(request, x.feature, x.detail)
            case _:
                pass
