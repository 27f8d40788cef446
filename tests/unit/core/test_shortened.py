"""What a shorter history and a summary do to the state."""

from __future__ import annotations

from msgspec.structs import replace

from lastcall.core.records import Compacted, SummarySaid
from lastcall.core.shortened import compacted, summary_said
from lastcall.core.state import Reply, Summing
from lastcall.nouns.messages import TextBlock, UserMessage
from machine_tools import Play

OLD, NEW = (UserMessage((TextBlock("old"),)),), (UserMessage((TextBlock("new"),)),)


def test_what_is_left_out_is_remembered_and_the_smallest_refused_size_counts():
    state = replace(Play().state, messages=OLD, filled=9, room=50)
    now = compacted(state, Compacted(NEW, 70))
    assert (now.messages, now.left_out, now.room, now.filled, now.squeezed) == (NEW, OLD, 50, 0, True)
    assert compacted(state, Compacted(NEW)).squeezed is False


def test_a_summary_that_was_waited_for_is_over_and_counts_as_lost_unless_it_stands_there():
    state = replace(Play().state, summing=Summing(), reply=Reply(closed=True))
    assert compacted(state, Compacted(NEW, summarized=True)).lost_summaries == 0
    lost = compacted(state, Compacted(NEW))
    assert (lost.lost_summaries, lost.summing, lost.reply) == (1, None, Reply())
    assert compacted(Play().state, Compacted(NEW)).lost_summaries == 0


def test_pieces_of_a_summary_are_put_together_and_their_messages_named_once():
    state = replace(Play().state, summing=Summing(7))
    for text, message in (("a", "m1"), ("b", "m1"), ("c", "m2")):
        state = summary_said(state, SummarySaid(1, text, message))
    assert state.summing == Summing(7, "a\nb\nc\n")
    assert state.reply.message_ids == ("m1", "m2")
