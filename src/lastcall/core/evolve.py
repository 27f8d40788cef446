"""Records to a new state. Total, never refuses, holds no rule: what a record says is true.

Each function answers for one record. The history is closed in `_asked`: what is pending becomes messages (`core.history`),
and from then on it is never touched.
"""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from lastcall.core import records as r
from lastcall.core.history import close_messages
from lastcall.core.repeats import remembered
from lastcall.core.shortened import compacted, summary_said
from lastcall.core.spending import paid, paid_in_vain
from lastcall.core.state import Reply, RunState, Said, Summing, Told
from lastcall.core.taking_back import STARTED, left_open, retracted, void_open_reply
from lastcall.nouns.hooks import HookPoint
from lastcall.nouns.ids import CallId, MessageId
from lastcall.nouns.messages import TextBlock
from lastcall.nouns.request import Purpose
from lastcall.nouns.result import SideEffect
from lastcall.nouns.tools import Halt, ResultKind, ToolCall

PAUSE = "pause_turn"
"""The stop reason of a reply that wants to be asked on."""

LOST_REASON = "stop_sequence"
"""The stop reason that the reference shows for a reply that broke off."""

NAMES = "free_names"
"""The feature whose refusal makes the names of properties plain (`wire.dialect.Feature.FREE_NAMES`)."""

TOOLS = "tools"
"""The feature whose refusal moves the run to the native channel (`wire.dialect.Feature.TOOLS`)."""


def evolve(state: RunState, record: r.Record) -> RunState:  # noqa: C901, PLR0911, PLR0912 -- one line a record
    """The state after `record`."""
    match record:
        case r.Opened():
            return replace(state, session_id=record.session_id)
        case r.Started():
            return _started(state, record)
        case r.Resumed():
            return _resumed(state)
        case r.Ended():
            ended = void_open_reply(state, keeps_text=state.policy.eager)
            effects = left_open(state, frozenset(state.running))
            return replace(
                ended, outcome=record.outcome, outstanding=False, running=(), held=(), hooking=(), side_effects=effects
            )
        case r.Asked():
            return _asked(state, record)
        case r.ReplyBegan():
            ids = _joined(state.reply.message_ids, record.message_id)
            reply = replace(state.reply, message_ids=ids, model=record.model, whole=record.whole)
            return replace(state, reply=reply, retracted_messages=state.retracted_messages - {record.message_id})
        case r.BlockSaid():
            return _block_said(state, record)
        case r.ReplyClosed():
            return _reply_closed(state, record)
        case r.RequestLost():
            return _request_lost(state, record)
        case r.RetryNoted():
            return _retried(state, record)
        case r.FallbackNoted():
            return paid_in_vain(retracted(state, record.retracted), record.from_model, record.usage, record.cost_usd)
        case r.FeatureDropped():
            return _feature_dropped(retracted(state, record.retracted), record)
        case r.ToolStarted():
            return _tool_started(state, record)
        case r.CallAnswered():
            return _call_answered(state, record)
        case r.Attempted():
            return replace(state, attempts=(*state.attempts, record.attempt))
        case r.AttemptRevised():
            return _attempt_revised(state, record)
        case r.HeldBack():
            return replace(state, held=(*state.held, record))
        case r.Checked():
            held = tuple(_checked(h, record.call_id) for h in state.held)
            return replace(state, checks=(*state.checks, *record.verdicts), held=held)
        case r.Attached():
            return _attached(state, record)
        case r.DeclineHeard():
            return replace(state, decline=record if record.accepted else state.decline)
        case r.Nudged():
            return _nudged(state, record)
        case r.Noted():
            return replace(state, pending=(*state.pending, *(Told(TextBlock(t), nudge=True) for t in record.texts)))
        case r.Bridged():
            return _bridged(state, record)
        case r.Imported():
            known = frozenset(b.call_id for m in record.messages for b in m.blocks if isinstance(b, ToolCall))
            return replace(state, messages=record.messages, pending=(), call_ids=state.call_ids | known)
        case r.SummarySaid():
            return summary_said(state, record)
        case r.Compacted():
            return compacted(state, record)
        case r.HooksAsked():
            asked = (*state.hooking, (record.point, record.call_id))
            return replace(state, hooking=asked, stop_asked=state.stop_asked or record.point is HookPoint.STOP)
        case r.HooksHeard():
            return _hooks_heard(state, record)
        case r.Warned():
            return replace(state, warnings=(*state.warnings, record.warning))
        case r.LimitNoted():
            if record.hit:
                return replace(state, limits_hit=state.limits_hit | {record.limit})
            return replace(state, limits_near=state.limits_near | {record.limit})
        case _:
            assert_never(record)


# -- runs -----------------------------------------------------------------------------------------------------------


def _started(state: RunState, record: r.Started) -> RunState:
    """A fresh run on the session's history."""
    return RunState(
        setting=state.setting,
        session_id=state.session_id,
        messages=state.messages,
        pending=(*state.pending, *(Told(b) for b in record.blocks)),
        call_ids=state.call_ids,
        retracted_messages=state.retracted_messages,
        toolless=state.toolless,
        left_out=state.left_out,
        room=state.room,
        window=state.window,
        filled=state.filled,
        asked=state.asked,
        asked_before=state.asked,
        run_id=record.run_id,
        prompted=len(record.blocks),
        prompt_text="\n".join(b.text for b in record.blocks if isinstance(b, TextBlock)),
    )


def _resumed(state: RunState) -> RunState:
    """The reply that was under way is void; a run that was ended from outside is open again, and free of what ended it."""
    resumed = replace(void_open_reply(state), outstanding=False, running=())
    if state.outcome is None:
        return resumed
    return replace(resumed, outcome=None, halt=None, limits_hit=frozenset(), limits_near=frozenset(), exchanges=())


def _bridged(state: RunState, record: r.Bridged) -> RunState:
    """The history as it stands, then the two words, so that the next prompt comes after something the model said."""
    joins = state.policy.joins_user_text
    closed = close_messages(state.messages, state.pending, joins=joins)
    said = Said(MessageId(""), TextBlock(record.said))
    words = (Told(TextBlock(record.told), nudge=True), said)
    return replace(state, messages=close_messages(closed, words, joins=joins), pending=())


def _asked(state: RunState, record: r.Asked) -> RunState:
    sums = record.purpose is Purpose.SUMMARY
    return replace(
        state,
        messages=close_messages(state.messages, state.pending, joins=state.policy.joins_user_text),
        pending=(),
        exchanges=remembered(state),
        asked=record.number,
        outstanding=True,
        reserved=record.reserved,
        choice=record.choice,
        reply=Reply(),
        results=(),
        held=(),
        stop_asked=False,
        summing=Summing(record.refused_size) if sums else None,
        voided=state.voided + sums,
    )


# -- replies --------------------------------------------------------------------------------------------------------


def _block_said(state: RunState, record: r.BlockSaid) -> RunState:
    block, reply = record.block, state.reply
    calls, call_ids, text, tail = reply.calls, state.call_ids, reply.text, ""
    if isinstance(block, ToolCall):
        calls, call_ids = (*calls, block), call_ids | {block.call_id}
    elif isinstance(block, TextBlock):
        text = tail = block.text
    return replace(
        state,
        pending=(*state.pending, Said(record.message_id, block)),
        call_ids=call_ids,
        reply=replace(
            reply,
            message_ids=_joined(reply.message_ids, record.message_id),
            calls=calls,
            text=text,
            tail=tail,
            blocks=reply.blocks + 1,
        ),
    )


def _joined(ids: tuple[MessageId, ...], new: MessageId) -> tuple[MessageId, ...]:
    return ids if new in ids else (*ids, new)


def _reply_closed(state: RunState, record: r.ReplyClosed) -> RunState:
    closed = replace(paid(state, record), outstanding=False)
    if state.summing is not None:
        return closed
    return replace(
        closed,
        reply=replace(
            state.reply,
            closed=True,
            cut=record.cut,
            stop_reason=record.stop_reason,
            category=str((record.stop_details or {}).get("category") or ""),
        ),
        window=record.window or state.window,
        filled=record.usage.total,
        squeezed=False,
        stop_reason=record.stop_reason if record.counted or not state.held else state.stop_reason,
        cuts=state.cuts + 1 if record.cut else 0,
        pauses=state.pauses + 1 if record.stop_reason == PAUSE else 0,
    )


def _retried(state: RunState, record: r.RetryNoted) -> RunState:
    """The reference counts what a retried reply spent in the total too."""
    spent = paid_in_vain(retracted(state, record.retracted), record.from_model, record.usage, record.cost_usd)
    return replace(spent, usage=state.usage + record.usage) if state.policy.eager else spent


def _request_lost(state: RunState, record: r.RequestLost) -> RunState:
    vain = paid_in_vain(state, state.reply.model, record.usage)
    if record.goes_on:
        lost = replace(vain, reply=replace(vain.reply, closed=True), stop_reason=LOST_REASON)
    else:
        lost = void_open_reply(vain, keeps_text=state.policy.eager)
    return replace(lost, outstanding=False, api_ms=state.api_ms + record.took_ms)


def _feature_dropped(state: RunState, record: r.FeatureDropped) -> RunState:
    again = replace(state, outstanding=False, voided=state.voided + (state.summing is None))
    if record.feature == TOOLS:
        return replace(again, toolless=True)
    if record.feature == NAMES:
        return replace(again, setting=state.setting.with_plain_names())
    return state


# -- calls ----------------------------------------------------------------------------------------------------------


def _tool_started(state: RunState, record: r.ToolStarted) -> RunState:
    effects = state.side_effects
    if not record.read_only:
        effects = (*effects, SideEffect(record.name, record.call_id, STARTED))
    return replace(state, running=(*state.running, record.call_id), side_effects=effects)


def _call_answered(state: RunState, record: r.CallAnswered) -> RunState:
    result = record.result
    told = result
    if result.kind is ResultKind.BLOCKED and state.policy.joins_user_text:  # as the reference sends it
        told = replace(result, content=result.content.rstrip())
    denied = state.denied
    if result.kind in (ResultKind.DENIED, ResultKind.BLOCKED):
        denied = (*denied, *(c for c in state.reply.calls if c.call_id == result.call_id))
    return replace(
        state,
        pending=(*state.pending, Told(told)),
        results=(*state.results, result),
        running=tuple(x for x in state.running if x != result.call_id),
        side_effects=tuple(
            replace(e, status=result.kind.value) if e.call_id == result.call_id else e for e in state.side_effects
        ),
        denied=denied,
        halt=result.halt or state.halt,
        told=state.told + 1,
    )


def _hooks_heard(state: RunState, record: r.HooksHeard) -> RunState:
    """What hooks add is told to the model and counts as nothing; a prompt that they block was never said."""
    verdict = record.verdict
    pending = state.pending
    if record.point is HookPoint.PROMPT and (verdict.blocked or verdict.halt is not None):
        pending = pending[: len(pending) - state.prompted]
    elif record.point is not HookPoint.STOP:
        pending = (*pending, *(Told(TextBlock(text), nudge=True) for text in verdict.context))
    return replace(
        state,
        pending=pending,
        hooking=tuple(h for h in state.hooking if h != (record.point, record.call_id)),
        halt=state.halt if verdict.halt is None else Halt(verdict.halt),
    )


def _attempt_revised(state: RunState, record: r.AttemptRevised) -> RunState:
    attempts = tuple(
        replace(a, verdict=record.verdict, problems=record.problems) if a.call_id == record.call_id else a
        for a in state.attempts
    )
    return replace(state, attempts=attempts, held=_without(state.held, record.call_id))


def _attached(state: RunState, record: r.Attached) -> RunState:
    return replace(
        state,
        attachments=(*state.attachments, record.attachment),
        answered_before=record.answered_before,
        held=_without(state.held, record.attachment.call_id),
    )


def _without(held: tuple[r.HeldBack, ...], call_id: CallId) -> tuple[r.HeldBack, ...]:
    return tuple(h for h in held if h.attachment.call_id != call_id)


def _checked(held: r.HeldBack, call_id: CallId) -> r.HeldBack:
    return replace(held, checking=False) if held.attachment.call_id == call_id else held


def _nudged(state: RunState, record: r.Nudged) -> RunState:
    quiet = record.kind is r.NudgeKind.CUT_OFF and state.policy.takes_cut_calls
    alone = record.kind is r.NudgeKind.ENFORCE and state.policy.joins_user_text
    return replace(
        state,
        pending=(*state.pending, Told(TextBlock(record.text), nudge=True, alone=alone)),
        nudges=(*state.nudges, record.kind),
        silences=state.silences + (record.kind is r.NudgeKind.NO_OUTPUT),
        told=state.told + (not quiet),
    )
