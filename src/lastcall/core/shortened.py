"""What a shorter history and a summary of it do to the state: the fold of their records.

Must not go in here: making a history shorter (`core.compaction`), asking for a summary (`core.summing`).
"""

from __future__ import annotations

from msgspec.structs import replace

from lastcall.core import records as r
from lastcall.core.state import Reply, RunState, Summing


def summary_said(state: RunState, record: r.SummarySaid) -> RunState:
    """A piece of the summary; its message speaks in the reply, so that a retry takes it back."""
    summing, ids = state.summing or Summing(), state.reply.message_ids
    ids = ids if record.message_id in ids else (*ids, record.message_id)
    text = f"{summing.text}{record.text}\n"
    return replace(state, reply=replace(state.reply, message_ids=ids), summing=replace(summing, text=text))


def compacted(state: RunState, record: r.Compacted) -> RunState:
    """The shorter history; what was left out was seen all the same."""
    sizes = [size for size in (state.room, record.refused_size) if size is not None]
    waited = state.summing is not None
    return replace(
        state,
        messages=record.messages,
        left_out=(*state.left_out, *state.messages),
        room=min(sizes, default=None),
        filled=0,
        summing=None,
        lost_summaries=state.lost_summaries + (waited and not record.summarized),
        squeezed=state.squeezed or record.refused_size is not None,
        reply=Reply() if waited else state.reply,
    )
