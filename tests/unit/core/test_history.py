"""Pending entries become messages that every protocol takes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastcall.core.history import close_messages
from lastcall.core.state import Said, Told
from lastcall.nouns.messages import AssistantMessage, OpaqueBlock, TextBlock, ThinkingBlock, UserMessage
from lastcall.nouns.tools import Arguments, ResultKind, ToolCall, ToolResult

PROMPT = UserMessage((TextBlock("go"),))


def said(block: Any, message: str = "m1") -> Said:
    return Said(message, TextBlock(block) if isinstance(block, str) else block)


def call(call_id: str, *, given_id: str = "") -> ToolCall:
    return ToolCall(call_id, "m1", "Read", Arguments("{}"), made_id=bool(given_id), given_id=given_id)


def result(call_id: str) -> Told:
    return Told(ToolResult(call_id, ResultKind.OK, "x"))


def told(text: str, **how: bool) -> Told:
    return Told(TextBlock(text), **how)


def close(*entries: Any, after: Any = (PROMPT,), joins: bool = False) -> Any:
    return close_messages(after, entries, joins=joins)


def test_nothing_pending_changes_nothing():
    assert close() == (PROMPT,)


def test_what_one_reply_said_is_one_message_whatever_was_told_in_between():
    entries = (said("a"), said(call("c1")), result("c1"), said(call("c2")), said("b"), result("c2"))
    assert close(*entries)[1:] == (
        AssistantMessage("m1", (TextBlock("a"), call("c1"), call("c2"), TextBlock("b"))),
        UserMessage((result("c1").block, result("c2").block)),
    )


def test_what_was_told_before_the_reply_stands_before_it():
    assert close(told("more"), said("a"), told("and"), said("b"), after=(PROMPT,)) == (
        UserMessage((TextBlock("go"), TextBlock("more"))),
        AssistantMessage("m1", (TextBlock("a"), TextBlock("b"))),
        UserMessage((TextBlock("and"),)),
    )


def test_a_call_without_an_answer_and_an_answer_without_a_call_are_left_out():
    entries = (said(call("c1")), said(call("c2")), result("c2"), result("c3"))
    assert close(*entries)[1:] == (AssistantMessage("m1", (call("c2"),)), UserMessage((result("c2").block,)))


@pytest.mark.parametrize(
    "block", [ThinkingBlock("hm", "s"), OpaqueBlock("redacted_thinking", {}), TextBlock(""), TextBlock(" \n")]
)
def test_a_reply_with_nothing_to_show_is_left_out_and_the_users_words_join(block):
    assert close(said(block), told("please")) == (UserMessage((TextBlock("go"), TextBlock("please"))),)


def test_thoughts_beside_something_to_show_are_kept():
    server = OpaqueBlock("server_tool_use", {"id": "s"})
    assert close(said(ThinkingBlock("hm")), said(server))[1:] == (
        AssistantMessage("m1", (ThinkingBlock("hm"), server)),
    )


def test_a_reply_after_a_reply_joins_it():
    after = (PROMPT, AssistantMessage("m0", (TextBlock("a"),)))
    assert close(said("b"), after=after) == (PROMPT, AssistantMessage("m0", (TextBlock("a"), TextBlock("b"))))


def test_a_history_begins_with_the_prompt():
    assert close(told("go"), after=()) == (PROMPT,)
    assert close(said("a"), after=()) == (AssistantMessage("m1", (TextBlock("a"),)),)


def test_words_of_ours_beside_texts_are_set_apart_as_the_reference_does():
    assert close(told("nudge", nudge=True), told("two"), joins=True) == (
        UserMessage((TextBlock("go\n"), TextBlock("nudge\n"), TextBlock("two"))),
    )
    assert close(told("a"), told("b"), joins=True) == (UserMessage((TextBlock("go"), TextBlock("a"), TextBlock("b"))),)
    assert close(said(call("c1")), result("c1"), told("nudge", nudge=True), joins=True)[-1] == UserMessage(
        (result("c1").block, TextBlock("nudge"))
    )


def test_a_nudge_alone_is_a_message_of_its_own():
    assert close(told("nudge", nudge=True, alone=True), told("two")) == (
        PROMPT,
        UserMessage((TextBlock("nudge"), TextBlock("two"))),
    )
    assert close(told("nudge", nudge=True, alone=True))[-1] == UserMessage((TextBlock("nudge"),), nudge=True)


def test_only_compat_leaves_a_call_out_whose_id_was_used_before():
    entries = (said("a"), said(call("c1_2", given_id="c1")), result("c1_2"))
    assert close(*entries)[1:] == (
        AssistantMessage("m1", (TextBlock("a"), call("c1_2", given_id="c1"))),
        UserMessage((result("c1_2").block,)),
    )
    assert close(*entries, joins=True)[1:] == (AssistantMessage("m1", (TextBlock("a"),)),)


def test_compat_puts_the_references_words_in_the_place_of_a_reply_of_such_a_call_alone():
    entries = (said(call("c1_2", given_id="c1")), result("c1_2"))
    words = OpaqueBlock("text", {"type": "text", "text": "[Tool use interrupted]", "citations": []})
    assert close(*entries, joins=True)[1:] == (
        AssistantMessage("", (words,)),
        UserMessage((TextBlock("(no content)"),), nudge=True),
    )
    assert close(*entries, told("nudge"), joins=True)[-1] == UserMessage((TextBlock("nudge"),))


ENTRIES = st.lists(
    st.one_of(
        st.sampled_from(["a", "", "b"]).map(said),
        st.sampled_from(["c1", "c2", "c3"]).map(lambda c: said(call(c))),
        st.sampled_from(["c1", "c2", "c3"]).map(result),
        st.sampled_from(["x", "y"]).map(told),
        st.just(said(ThinkingBlock("hm"))),
    ),
    max_size=12,
    unique_by=repr,
)


def in_order(entries: list[Any]) -> list[Any]:
    """Without answers to calls that come only later: no machine gives those."""
    out: list[Any] = []
    for n, entry in enumerate(entries):
        later = [x.block.call_id for x in entries[n:] if isinstance(x.block, ToolCall)]
        if not (isinstance(entry.block, ToolResult) and entry.block.call_id in later):
            out.append(entry)
    return out


@given(st.lists(ENTRIES.map(in_order), max_size=4))
def test_any_entries_make_a_history_that_alternates_and_whose_calls_are_answered(rounds):
    messages: Any = (PROMPT,)
    for entries in rounds:
        messages = close_messages(messages, entries, joins=False)
    users = [isinstance(m, UserMessage) for m in messages]
    assert users == [n % 2 == 0 for n in range(len(users))]
    for message, after in zip(messages, (*messages[1:], PROMPT), strict=True):
        calls = {b.call_id for b in message.blocks if isinstance(b, ToolCall)}
        answers = {b.call_id for b in after.blocks if isinstance(b, ToolResult)}
        assert not calls or calls <= answers
