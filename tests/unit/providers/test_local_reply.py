"""The engine's text to events, in any cutting."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastcall.core.events import BlockEnded, Progress, ProviderEvent, ReplyEnded, ReplyStarted
from lastcall.nouns.messages import TextBlock
from lastcall.nouns.result import Usage
from lastcall.nouns.tools import Arguments, ToolCall, Unreadable
from lastcall.providers.local_grammar import Offer, call_text
from lastcall.providers.local_reply import LocalReply, NotAsOffered
from wire_tools import counting_mint

CALLS = Offer(tools=("Read", "ReadAll"))
EITHER = Offer(tools=("Read",), text=True)
TEXT = Offer(text=True)
NATIVE = Offer(native=True)
USAGE = Usage(7, 3, 0, 0)


def heard(pieces: list[str], offered: Offer, limit: str | None = None) -> list[ProviderEvent]:
    reply = LocalReply(4, "local:tiny", offered, counting_mint())
    events = [event for piece in pieces for event in reply.feed(piece)]
    return events + reply.finish(limit=limit, usage=USAGE)


def block_of(events: list[ProviderEvent]) -> object:
    return next(event.block for event in events if isinstance(event, BlockEnded))


def cuttings(text: str) -> st.SearchStrategy[list[str]]:
    return st.sets(st.integers(1, max(1, len(text) - 1))).map(
        lambda cuts: [text[a:b] for a, b in itertools.pairwise([0, *sorted(cuts), len(text)])]
    )


@given(st.data())
def test_a_call_is_the_same_in_any_cutting(data: st.DataObject) -> None:
    arguments = '{"file_path": "a}", "n": {"x": "}}"}}'
    pieces = data.draw(cuttings(call_text("Read", arguments)))
    events = heard(pieces, CALLS)
    call = block_of(events)
    assert isinstance(call, ToolCall)
    assert (call.name, call.arguments) == ("Read", Arguments(arguments))
    deltas = [
        e.event["delta"]["partial_json"]
        for e in events
        if isinstance(e, Progress) and "partial_json" in e.event.get("delta", {})
    ]
    assert "".join(deltas) == arguments
    assert isinstance(events[0], ReplyStarted)
    assert isinstance(events[-1], ReplyEnded)
    assert (events[-1].stop_reason, events[-1].usage) == ("tool_use", USAGE)


@given(st.data())
def test_a_text_is_the_same_in_any_cutting(data: st.DataObject) -> None:
    pieces = data.draw(cuttings("It is {not} a call."))
    events = heard(pieces, EITHER)
    assert block_of(events) == TextBlock("It is {not} a call.")
    assert isinstance(events[-1], ReplyEnded)
    assert events[-1].stop_reason == "end_turn"


def test_one_tool_whose_name_begins_another_is_told_from_it() -> None:
    call = block_of(heard([call_text("ReadAll", "{}")], CALLS))
    assert isinstance(call, ToolCall)
    assert call.name == "ReadAll"


@pytest.mark.parametrize("start", ["Sure", '{"tool": "Write"', '{"name"', "[", '{"tool":"Read"'])
def test_a_beginning_that_no_tool_on_offer_has_is_refused_at_once(start: str) -> None:
    reply = LocalReply(1, "m", CALLS, counting_mint())
    with pytest.raises(NotAsOffered):
        reply.feed(start)
    assert not reply.begun


def test_a_brace_where_text_is_allowed_too_must_begin_a_call() -> None:
    with pytest.raises(NotAsOffered):
        heard(['{"result": 1}'], EITHER)


def test_without_tools_a_brace_is_text_like_any_other() -> None:
    assert block_of(heard(['{"result": 1}'], TEXT)) == TextBlock('{"result": 1}')


def test_the_native_format_is_text_that_is_an_object() -> None:
    assert block_of(heard(['{"a": ', "1}"], NATIVE)) == TextBlock('{"a": 1}')
    with pytest.raises(NotAsOffered):
        heard(["The answer"], NATIVE)
    with pytest.raises(NotAsOffered):
        heard(['{"a": 1} is it'], NATIVE)


def test_a_call_that_does_not_end_as_one_is_refused() -> None:
    with pytest.raises(NotAsOffered):
        heard(['{"tool": "Read", "input": {"a": 1}} and more'], CALLS)


@pytest.mark.parametrize("limit", ["max_tokens", "model_context_window_exceeded"])
def test_a_call_that_was_cut_off_is_unreadable_and_says_why_it_ended(limit: str) -> None:
    events = heard(['{"tool": "Read", "input": {"file_path": "a'], CALLS, limit)
    call = block_of(events)
    assert isinstance(call, ToolCall)
    assert isinstance(call.arguments, Unreadable)
    assert call.arguments.text == '{"file_path": "a'
    assert isinstance(events[-1], ReplyEnded)
    assert events[-1].stop_reason == limit


def test_a_reply_cut_off_before_it_shows_what_it_is_has_its_text() -> None:
    events = heard(['{"tool": "Re'], CALLS, "max_tokens")
    assert block_of(events) == TextBlock('{"tool": "Re')


def test_an_empty_reply_has_no_block() -> None:
    events = heard([], TEXT)
    assert [type(event) for event in events if not isinstance(event, Progress)] == [ReplyStarted, ReplyEnded]


def test_progress_is_a_stream_of_the_messages_api() -> None:
    events = heard([call_text("Read", "{}")], CALLS)
    kinds = [event.event["type"] for event in events if isinstance(event, Progress)]
    assert kinds == [
        "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop",
    ]  # fmt: skip
