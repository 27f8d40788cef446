"""The rules: an event to records and actions. The order of all rules of a run's end stands in this file.

How to read it: `decide` finds the rule for the event; each rule notes what is now true and, at the end, asks
`_conclude`, the one place that knows when a run is over. The order in `_settled` is the order of the rules: an object that
survives ends the run before anything else does; then a decline, the attempts; only then is the model asked again, unless
`asking.over` finds that a limit leaves no room for it (which limits there are is in `limits`, their ends in `endings`).

Three things are refused everywhere: events of a request that is not outstanding (late), words of a message that was taken
back (until a reply begins anew under its name: servers repeat them), and anything after the end. They leave no record.

Must not go in here: clocks, ids, I/O, logging, wording.
"""

from __future__ import annotations

from typing import assert_never

from lastcall.contract import hook_words, long_run_words, wording
from lastcall.core import asking, calls, endings, hooking, naming, notes, summing
from lastcall.core import events as e
from lastcall.core import records as r
from lastcall.core.actions import CancelCalls
from lastcall.core.evolve import NAMES, PAUSE, TOOLS
from lastcall.core.limits import budget_blind, goes_in_circles, over_budget
from lastcall.core.repeats import repeats
from lastcall.core.state import RunState
from lastcall.core.step import Draft, Step
from lastcall.core.summing import Shortening, make_shorter
from lastcall.core.window import WINDOW_FULL, refused_size
from lastcall.nouns.hooks import HookPoint, HookVerdict
from lastcall.nouns.ids import MessageId
from lastcall.nouns.request import Choice
from lastcall.nouns.result import (
    Answered,
    Cancelled,
    Declined,
    Failed,
    FailureKind,
    Limit,
    OutOfAttempts,
    RunWarning,
    Signal,
    Stopped,
)
from lastcall.nouns.tools import ToolCall

REFUSAL = "refusal"
STREAM = "stream"
"""A feature of a deployment (`wire.dialect.Feature`) that nobody misses; without `TOOLS` the envelope's channel says so."""

CUT_REASONS = frozenset({"max_tokens", REFUSAL, WINDOW_FULL})
"""Stop reasons of a reply that was cut off; after all but a refusal the model may be asked to go on."""


def decide(state: RunState, event: e.Event) -> Step:
    """What `event` leads to. Total: an event that means nothing now gives an empty step."""
    draft = Draft(state)
    if isinstance(event, e.Prompted):
        _prompted(draft, event)
    elif state.outcome is None and state.run_id:
        _apply(draft, event)
    return draft.step()


def _apply(draft: Draft, event: e.Event) -> None:  # noqa: C901, PLR0912 -- one line an event
    match event:
        case e.Prompted():
            raise AssertionError("a prompt is not applied to a run")  # pragma: no cover
        case (
            e.ReplyStarted()
            | e.BlockEnded()
            | e.ReplyEnded()
            | e.RequestFailed()
            | e.Retrying()
            | e.FellBack()
            | e.ChannelChanged()
        ):
            if draft.state.outstanding and event.request == draft.state.asked:
                _heard(draft, event)
        case e.ToolFinished():
            if event.result.call_id in draft.state.running:
                draft.note(r.CallAnswered(event.result, event.uuid, event.took_ms))
                _conclude(draft)
        case e.ChecksFinished():
            _checks_finished(draft, event)
        case e.HooksFinished():
            if (event.point, event.call_id) in draft.state.hooking:
                draft.note(r.HooksHeard(event.point, event.call_id, event.verdict))
                _hooks_finished(draft, event)
        case e.LimitNear(limit=limit):
            if limit not in draft.state.limits_near:
                draft.note(r.LimitNoted(limit, hit=False))
        case e.LimitHit(limit=limit):
            draft.note(r.LimitNoted(limit, hit=True))
            asking.end(draft, endings.stopped(draft.state, limit))
        case e.Interrupted(signal=signal):
            calls.note_interrupt(draft)
            asking.end(draft, Cancelled(signal))
        case e.Faulted(failure=failure):
            asking.end(draft, failure)
        case _:
            assert_never(event)


# -- the prompt and the requests ------------------------------------------------------------------------------------


def _prompted(draft: Draft, event: e.Prompted) -> None:
    """A new user message begins a run, unless one is under way (the driver queues it)."""
    if draft.state.run_id and draft.state.outcome is None:
        return
    started = r.Started(event.run_id, event.blocks, event.uuid, event.at)
    draft.note(started)
    if not hooking.ask_about_prompt(draft, started):
        asking.ask(draft)


# -- the reply ------------------------------------------------------------------------------------------------------


def _heard(draft: Draft, event: e.Heard) -> None:  # noqa: C901 -- one line an event
    if isinstance(event, e.BlockEnded | e.ReplyEnded) and event.message_id in draft.state.retracted_messages:
        return
    if draft.state.summing is not None:
        if summing.heard(draft, event) and not asking.over(draft):
            asking.send(draft, draft.state.choice)
        return
    match event:
        case e.ReplyStarted():
            whole = event.stop_reason is not None
            draft.note(r.ReplyBegan(event.request, event.message_id, event.model, event.usage, whole))
        case e.BlockEnded():
            _block_ended(draft, event)
        case e.ReplyEnded():
            _reply_ended(draft, event)
        case e.RequestFailed():
            _request_failed(draft, event)
        case e.Retrying():
            draft.note(notes.retry_noted(event, _taken_back(draft, event.retracted)))
        case e.FellBack():
            draft.note(notes.fallback_noted(event, _taken_back(draft, event.retracted)))
        case e.ChannelChanged():
            _channel_changed(draft, event)
        case _:
            assert_never(event)


def _block_ended(draft: Draft, event: e.BlockEnded) -> None:
    block = event.block
    if isinstance(block, ToolCall):
        block = naming.as_seen(draft, naming.distinct(draft, block, event.message_id))
    draft.note(r.BlockSaid(event.request, event.message_id, block, event.uuid))
    if isinstance(block, ToolCall) and draft.state.policy.eager:
        calls.take(draft, block)
        _end_if_spent(draft)


def _end_if_spent(draft: Draft) -> None:
    """The reference ends with the attempt that was one too many, in the middle of the reply."""
    if draft.state.policy.eager and draft.state.exhausted and not draft.state.hooking:
        asking.end(draft, endings.spent(draft.state))


def _reply_ended(draft: Draft, event: e.ReplyEnded) -> None:
    policy = draft.state.policy
    counts = policy.takes_cut_calls and bool(draft.state.reply.calls)
    cut = event.stop_reason in CUT_REASONS and not counts
    overdrawn = policy.eager and over_budget(draft.state, event.cost_usd)
    untold = policy.eager and (draft.state.reply.whole or not event.announced)
    blind = budget_blind(draft.state, event.usage, event.cost_usd)
    draft.note(notes.reply_closed(event, cut=cut, counted=not overdrawn and not untold))
    if blind is not None:
        draft.note(r.Warned(blind))
    if cut:
        calls.answer_cut_off(draft)
    else:
        calls.take_reply(draft)
    if overdrawn and event.stop_reason != REFUSAL:
        asking.end(draft, endings.stopped(draft.state, Limit.BUDGET))
    _conclude(draft)


def _taken_back(draft: Draft, named: tuple[MessageId, ...]) -> tuple[MessageId, ...]:
    """What is void when a reply starts anew: the messages named, and whatever else spoke in it. Their tools are stopped."""
    if draft.state.running:
        draft.do(CancelCalls(draft.state.running))
    return tuple(dict.fromkeys((*named, *draft.state.reply.message_ids)))


def _request_failed(draft: Draft, event: e.RequestFailed) -> None:
    """The end, except that the reference goes on where a call of the broken reply has its answer and no object stands."""
    state = draft.state
    goes_on = state.policy.eager and bool(state.results) and state.surviving is None
    draft.note(notes.request_lost(event, goes_on=goes_on))
    if goes_on:
        _conclude(draft)
        return
    shortening = Shortening.IMPOSSIBLE
    if event.failure.kind is FailureKind.TOO_LONG and not state.squeezed:
        shortening = make_shorter(draft, state.choice, refused_size(state, event.failure))
    match shortening:
        case Shortening.IMPOSSIBLE:
            asking.end(draft, endings.lost(state, event.failure))
        case Shortening.DONE:
            asking.reask(draft)
        case Shortening.WAITS:
            return
        case _:
            assert_never(shortening)


def _channel_changed(draft: Draft, event: e.ChannelChanged) -> None:
    """Go on without a refused feature; without tool calls only in the JSON format, if no other tools are in play."""
    draft.note(notes.feature_dropped(event, _taken_back(draft, ())))
    if event.feature not in (STREAM, TOOLS):
        words = f"the deployment refused {event.feature}; it was asked without"
        draft.note(r.Warned(RunWarning("feature_dropped", words)))
    if event.feature not in (TOOLS, NAMES):
        return
    if event.feature == NAMES and (draft.state.contract is not None or draft.state.setting.tools):
        asking.reask(draft)
    elif draft.state.setting.tools or draft.state.contract is None:
        asking.end(draft, Failed(FailureKind.BAD_REQUEST, f"the deployment has no tool calls: {event.detail}"))
    else:
        asking.reask(draft)


def _checks_finished(draft: Draft, event: e.ChecksFinished) -> None:
    state = draft.state
    waiting = any(h.attachment.call_id == event.call_id and h.checking for h in state.held)
    if not waiting:
        return
    draft.note(r.Checked(event.call_id, event.verdicts, passed=not event.problems))
    if event.problems:
        calls.check_failed(draft, event.call_id, event.problems)
    _conclude(draft)


def _hooks_finished(draft: Draft, event: e.HooksFinished) -> None:
    verdict = event.verdict
    match event.point:
        case HookPoint.PROMPT:
            stopped = endings.prompt_stopped(verdict)
            if stopped is None:
                asking.ask(draft)
            else:
                asking.end(draft, stopped)
        case HookPoint.STOP:
            _stop_heard(draft, verdict)
        case HookPoint.BEFORE_CALL:
            calls.go_on_with(draft, event.call_id, verdict)
            _end_if_spent(draft)
            _conclude(draft)
        case HookPoint.AFTER_CALL | HookPoint.AFTER_FAILURE | HookPoint.REJECTED:
            _end_if_spent(draft)
            _conclude(draft)
        case _:
            assert_never(event.point)


def _stop_heard(draft: Draft, verdict: HookVerdict) -> None:
    """Hooks may keep a run without an object from ending; an object that stands ends it all the same."""
    state = draft.state
    if state.surviving is not None or not (verdict.blocked or verdict.halt is not None):
        _conclude(draft)
        return
    policy, bound = state.policy, endings.stop_bound_reached(state, verdict)
    if bound is not None:
        asking.end(draft, bound)
        return
    unused = state.contract is not None and r.NudgeKind.ENFORCE not in state.nudges
    if unused and (policy.eager or verdict.halt is None):
        draft.note(r.Nudged(r.NudgeKind.ENFORCE, _enforce_words(state)))
    if verdict.halt is not None:
        asking.end(draft, Stopped(Limit.STOP_HOOK, verdict.halt))
        return
    for words in verdict.blocked:
        draft.note(r.Nudged(r.NudgeKind.STOP_HOOK, hook_words.stop_feedback(words, policy.profile)))
    asking.ask(draft, choice=Choice.FINISH if unused else Choice.AUTO)


# -- the end --------------------------------------------------------------------------------------------------------


def _conclude(draft: Draft) -> None:
    """The run is over, or the model is asked again, or something is still open and nothing happens."""
    state = draft.state
    if state.outcome is not None or state.outstanding:
        return
    if state.reply.stop_reason == REFUSAL:
        words = state.reply.text or "the model refused"
        asking.end(draft, Failed(FailureKind.REFUSAL, words, provider_kind=state.reply.category))
    elif not state.running and not state.checking and not state.hooking:
        calls.release(draft)
        if not draft.state.hooking:
            _settled(draft)


def _settled(draft: Draft) -> None:
    """Nothing is open: the rules of the end, in their order."""
    state = draft.state
    attachment, halt = state.surviving, state.halt
    if halt is not None and halt.interrupts:
        calls.note_interrupt(draft, tools=True)
        asking.end(draft, Cancelled(Signal.INTERRUPT))
    elif attachment is not None:
        if halt is not None or not hooking.ask_about_stop(draft):
            asking.end(draft, Answered(attachment, state.reply.tail))
    elif halt is not None:
        asking.end(draft, Stopped(Limit.TOOL_HOOK, halt.reason))
    elif state.decline is not None:
        asking.end(draft, Declined(state.decline.reason, state.decline.missing))
    elif state.policy.cuts_repeats and state.repeats >= 3:
        asking.end(draft, OutOfAttempts(state.policy.max_attempts, repeated=True))
    elif state.exhausted and (state.reply.calls or not state.policy.eager):
        asking.end(draft, endings.spent(state))
    elif state.reply.cut:
        _after_cut(draft)
    elif state.has_news:
        _watch_for_circles(draft)
        asking.ask(draft)
    else:
        _without_calls(draft)


def _watch_for_circles(draft: Draft) -> None:
    """Tell a model that does the same over and over; after as many times again, what it gets is its last call."""
    state, most = draft.state, draft.state.policy.max_repeats
    times = repeats(state) if most is not None else 0
    last = goes_in_circles(state)
    if last:
        draft.note(r.LimitNoted(Limit.REPEATS, hit=False))
    if most is not None and (last or 0 < times == most // 2):
        draft.note(r.Nudged(r.NudgeKind.REPEATING, long_run_words.going_in_circles(times, last=last)))


def go_on(draft: Draft) -> None:
    """After a crash: conclude from the reply that was complete, or ask again for the one that was not."""
    state = draft.state
    if state.running or state.checking or state.hooking:
        return
    if state.summing is not None:
        summing.ask_again(draft)
    elif state.reply.closed or state.reply.calls:
        _conclude(draft)
    elif state.asked == state.asked_before:
        asking.ask(draft)
    else:
        asking.reask(draft)


def _after_cut(draft: Draft) -> None:
    """A reply that was cut off: go on, but not for ever. The answers to its calls say what happened, else a nudge does."""
    state = draft.state
    reason = state.reply.stop_reason
    if state.cuts > state.policy.continues and reason == WINDOW_FULL and state.policy.stops_at_window:
        asking.end(draft, Stopped(Limit.WINDOW, wording.output_limit(reason)))
    elif state.cuts > state.policy.continues:
        asking.end(draft, Failed(FailureKind.OUTPUT_LIMIT, wording.output_limit(reason)))
    elif state.has_news:
        asking.ask(draft)
    else:
        asking.nudge(draft, r.NudgeKind.CUT_OFF, wording.go_on(reason, state.policy.profile, state.channel))


def _without_calls(draft: Draft) -> None:
    """A reply without any call: paused, silent, or prose."""
    state = draft.state
    policy, reason = state.policy, state.reply.stop_reason
    if reason == "tool_use" and r.NudgeKind.MALFORMED not in state.nudges:
        asking.nudge(draft, r.NudgeKind.MALFORMED, wording.MALFORMED_CALL)
    elif reason == PAUSE and not policy.eager and state.pauses <= policy.continues:
        asking.ask(draft)
    elif policy.nudges_silence and not state.reply.text and not state.silences:
        asking.nudge(draft, r.NudgeKind.NO_OUTPUT, wording.NO_VISIBLE_OUTPUT)
    elif hooking.ask_about_stop(draft):
        return
    elif state.contract is None:
        asking.end(draft, Answered(None, state.reply.tail))
    elif r.NudgeKind.ENFORCE not in state.nudges:
        asking.nudge(draft, r.NudgeKind.ENFORCE, _enforce_words(state), choice=Choice.FINISH)
    else:
        asking.end(draft, endings.gave_up(state))


def _enforce_words(state: RunState) -> str:
    policy = state.policy
    forced = policy.forces and state.setting.forces
    return wording.enforce(policy.profile, state.channel, forced=forced, declines=policy.declines)
