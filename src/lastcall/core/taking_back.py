"""Taking back: what is left of a reply that somebody withdrew, or that never ended.

Attempts stay, marked; what was really started stays too, and what it came to is unknown.

Must not go in here: when a reply is taken back (`core.decide`), the records of it (`core.evolve`).
"""

from __future__ import annotations

from msgspec.structs import replace

from lastcall.core.state import Entry, Reply, RunState, Said, Told
from lastcall.nouns.ids import CallId, MessageId
from lastcall.nouns.result import Attempt, SideEffect, VerdictKind
from lastcall.nouns.tools import ToolCall

STARTED = "started"
UNKNOWN = "unknown"
"""What a call with a side effect came to, before its answer, and where none was waited for; else the answer's kind."""


def retracted(state: RunState, message_ids: tuple[MessageId, ...]) -> RunState:
    """Everything that came from these messages is taken back; the attempts stay, marked so."""
    gone = frozenset(message_ids)
    calls = frozenset(c.call_id for c in state.reply.calls if c.message_id in gone)
    return replace(
        state,
        pending=tuple(e for e in state.pending if not _is_gone(e, gone, calls)),
        retracted_messages=state.retracted_messages | gone,
        reply=Reply(),
        summing=replace(state.summing, text="") if state.summing is not None else None,
        results=tuple(x for x in state.results if x.call_id not in calls),
        running=tuple(x for x in state.running if x not in calls),
        side_effects=left_open(state, calls),
        held=tuple(h for h in state.held if h.attachment.call_id not in calls),
        hooking=tuple(h for h in state.hooking if h[1] not in calls),
        attachments=tuple(a for a in state.attachments if a.message_id not in gone),
        attempts=tuple(_taken_back(a) if a.call_id in calls else a for a in state.attempts),
        decline=None if state.decline and state.decline.call_id in calls else state.decline,
    )


def void_open_reply(state: RunState, *, keeps_text: bool = False) -> RunState:
    """A reply that never ended is void, except for calls that were started or answered: those happened.

    The reference keeps its text too when nobody is going to ask for the same again.
    """
    if not state.outstanding or state.reply.closed:
        return state
    real = {x.call_id for x in state.results} | set(state.running)
    kept = tuple(c for c in state.reply.calls if c.call_id in real)
    pending = tuple(
        e
        for e in state.pending
        if isinstance(e, Told)
        or ((kept or keeps_text) and (not isinstance(e.block, ToolCall) or e.block.call_id in real))
    )
    return replace(
        state,
        pending=pending,
        reply=replace(state.reply, calls=kept),
        held=tuple(h for h in state.held if h.attachment.call_id in real),
        hooking=tuple(h for h in state.hooking if h[1] in real),
        voided=state.voided + (state.summing is None),
    )


def left_open(state: RunState, calls: frozenset[CallId]) -> tuple[SideEffect, ...]:
    """The side effects, once nobody waits for these calls any more: what they came to is unknown."""
    return tuple(
        replace(e, status=UNKNOWN) if e.call_id in calls and e.status == STARTED else e for e in state.side_effects
    )


def _is_gone(entry: Entry, gone: frozenset[MessageId], calls: frozenset[CallId]) -> bool:
    if isinstance(entry, Said):
        return entry.message_id in gone
    return getattr(entry.block, "call_id", None) in calls


def _taken_back(attempt: Attempt) -> Attempt:
    return replace(attempt, verdict=VerdictKind.RETRACTED, before=attempt.verdict)
