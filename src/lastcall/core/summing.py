"""Making a history shorter, with a summary by the model of what is left out where that can be had.

The request for a summary is one of its own: it costs no turn, but what it spends is spent. Whatever comes of it but a plain
text of bearable length (a failure, a refusal, a cut reply, calls, nothing at all) means that a note takes the place of
what is left out; a summary never ends a run.

Must not go in here: what is left out (`core.compaction`), when (`core.window`), the words (`contract.long_run_words`).
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final, assert_never

from lastcall.contract import long_run_words
from lastcall.core import events as e
from lastcall.core import notes
from lastcall.core import records as r
from lastcall.core.actions import AskModel
from lastcall.core.compaction import Shorter, history_size, record_of, shorten
from lastcall.core.evolve import TOOLS
from lastcall.core.limits import leaves_room_for_more
from lastcall.core.state import RunState
from lastcall.core.step import Draft
from lastcall.nouns.ids import MessageId, Uuid
from lastcall.nouns.messages import Message, TextBlock, UserMessage
from lastcall.nouns.request import Choice, ModelRequest, Purpose
from lastcall.nouns.result import Failed, FailureKind

_WORTH: Final = 2_000
"""Characters; less than that needs no summary."""
_TRIES: Final = 2
"""Summaries that may fail in one run before no further one is asked for."""
_WHOLE: Final = frozenset({"end_turn", "stop_sequence"})
"""Stop reasons of a reply that is a text to its end."""


class Shortening(Enum):
    """What became of the wish for a shorter history."""

    IMPOSSIBLE = auto()
    DONE = auto()
    WAITS = auto()
    """A summary was asked for."""


def make_shorter(draft: Draft, choice: Choice, refused: int | None = None) -> Shortening:
    """Make the history shorter, or ask for the summary that it takes. `refused`: a size that the window did not hold.

    `choice` is that of the turn to come after it.
    """
    state = draft.state
    if not state.policy.compacts:
        return Shortening.IMPOSSIBLE
    shorter = plan(state.messages, refused)
    if shorter is None:
        return Shortening.IMPOSSIBLE
    if not _worth_a_summary(state, shorter):
        draft.note(r.Compacted(shorter.messages(), refused))
        return Shortening.DONE
    _ask(draft, choice, refused)
    return Shortening.WAITS


def ask_again(draft: Draft) -> None:
    """After a crash: the same summary once more."""
    _ask(draft, draft.state.choice, _refused(draft.state))


def plan(messages: tuple[Message, ...], refused: int | None) -> Shorter | None:
    """What is left out: half of the history; of one that was refused, until half of what the window holds is left."""
    if refused is None:
        return shorten(messages)
    return shorten(messages, min(refused // 2, history_size(messages) // 2))


def summary_request(state: RunState) -> ModelRequest:
    """The request for the summary that the state waits for: the record as text, so that it needs no tools."""
    refused = _refused(state)
    shorter = plan(state.messages, refused)
    gone = shorter.gone if shorter is not None else ()
    rooms = [size for size in (state.room, refused) if size is not None]
    cap = min((*rooms, history_size(state.messages))) * 2 // 3
    words = long_run_words.ask(record_of(gone, cap))
    return ModelRequest(
        number=state.asked,
        system=long_run_words.SYSTEM,
        messages=(UserMessage((TextBlock(words),)),),
        tools=(),
        purpose=Purpose.SUMMARY,
    )


def heard(draft: Draft, event: e.Heard) -> bool:
    """Take what comes of the request for a summary; whether it is over, and the history shorter."""
    match event:
        case e.ReplyStarted():
            draft.note(r.ReplyBegan(event.request, event.message_id, event.model, event.usage))
        case e.BlockEnded():
            text = event.block.text if isinstance(event.block, TextBlock) else ""
            draft.note(r.SummarySaid(event.request, text, event.message_id))
        case e.ReplyEnded():
            draft.note(notes.reply_closed(event, cut=False, counted=True))
            whole = event.stop_reason in _WHOLE
            _conclude(draft, draft.state.summing.text.strip() if whole and draft.state.summing is not None else "")
        case e.RequestFailed():
            draft.note(notes.request_lost(event, goes_on=False))
            _conclude(draft, "")
        case e.Retrying():
            draft.note(notes.retry_noted(event, _taken_back(draft, event.retracted)))
        case e.FellBack():
            draft.note(notes.fallback_noted(event, _taken_back(draft, event.retracted)))
        case e.ChannelChanged():
            if event.feature == TOOLS:  # which it does not use; the next turn will tell what that means
                draft.note(r.RequestLost(event.request, Failed(FailureKind.BAD_REQUEST, event.detail), Uuid("")))
                _conclude(draft, "")
            else:
                draft.note(notes.feature_dropped(event, _taken_back(draft, ())))
        case _:
            assert_never(event)
    return draft.state.summing is None


def _taken_back(draft: Draft, named: tuple[MessageId, ...]) -> tuple[MessageId, ...]:
    """The summary begins anew: what was said of it is void."""
    return tuple(dict.fromkeys((*named, *draft.state.reply.message_ids)))


def _conclude(draft: Draft, summary: str) -> None:
    state = draft.state
    refused = _refused(state)
    shorter = plan(state.messages, refused)
    if shorter is None:
        raise AssertionError("a summary of nothing was asked for")  # pragma: no cover
    taken = summary if len(summary) <= long_run_words.LONGEST else ""
    messages = shorter.messages(taken)
    if taken and history_size(messages) >= history_size(state.messages):
        taken, messages = "", shorter.messages()
    draft.note(r.Compacted(messages, refused, summarized=bool(taken)))


def _ask(draft: Draft, choice: Choice, refused: int | None) -> None:
    draft.note(r.Asked(draft.state.asked + 1, choice, purpose=Purpose.SUMMARY, refused_size=refused))
    draft.do(AskModel(draft.state.asked))


def _refused(state: RunState) -> int | None:
    return state.summing.refused if state.summing is not None else None


def _worth_a_summary(state: RunState, shorter: Shorter) -> bool:
    policy = state.policy
    wanted = policy.summarizes and history_size(shorter.gone) >= _WORTH
    return wanted and state.lost_summaries < _TRIES and leaves_room_for_more(state)
