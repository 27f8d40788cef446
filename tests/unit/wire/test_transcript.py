"""Transcripts of the reference as messages. The records have the observed form."""

from __future__ import annotations

import json

from lastcall.nouns.messages import AssistantMessage, OpaqueBlock, TextBlock, ThinkingBlock, UserMessage
from lastcall.nouns.tools import Arguments, ResultKind, ToolCall, ToolResult
from lastcall.wire.transcript import read_transcript

COMMON = {"sessionId": "s", "timestamp": "2026-01-01T00:00:00Z", "isSidechain": False}


class Writer:
    """Records of one chain, each on the one before unless told otherwise."""

    def __init__(self):
        self.lines = []
        self.last = None

    def add(self, uuid, kind, content, *, parent="", role=None, **more):
        message = {"role": role or kind, "content": content, **more.pop("message", {})}
        record = {"uuid": uuid, "parentUuid": self.last if parent == "" else parent, "type": kind, "message": message}
        self.lines.append(json.dumps({**COMMON, **record, **more}).encode())
        self.last = uuid

    @property
    def messages(self):
        return read_transcript(self.lines)


def use(call_id, value, name="StructuredOutput"):
    return {"type": "tool_use", "id": call_id, "name": name, "input": value}


def answer(call_id, content, **more):
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def test_a_structured_run_comes_back_as_it_was_sent():
    w = Writer()
    w.lines.append(b'{"type":"queue-operation","operation":"enqueue","sessionId":"s"}')
    w.add("u1", "user", "report it")
    w.add("a1", "assistant", [{"type": "text", "text": "hm"}], message={"id": "m1", "model": "claude"})
    w.add("u2", "user", "[structured-output-enforce] call it", isMeta=True)
    w.add("a2", "assistant", [use("t1", {"x": 1})], message={"id": "m2"})
    w.lines.append(json.dumps({**COMMON, "type": "attachment", "uuid": "x", "parentUuid": "a2"}).encode())
    w.add("u3", "user", [answer("t1", "bad", is_error=True)])
    w.add("a3", "assistant", [use("t2", {"x": 2})], message={"id": "m3"})
    w.add("u4", "user", [answer("t2", "Structured output provided successfully")])
    assert w.messages == (
        UserMessage((TextBlock("report it"),)),
        AssistantMessage("m1", (TextBlock("hm"),)),
        UserMessage((TextBlock("[structured-output-enforce] call it"),), nudge=True),
        AssistantMessage("m2", (ToolCall("t1", "m2", "StructuredOutput", Arguments('{"x":1}')),)),
        UserMessage((ToolResult("t1", ResultKind.FAILED, "bad", True),)),
        AssistantMessage("m3", (ToolCall("t2", "m3", "StructuredOutput", Arguments('{"x":2}')),)),
        UserMessage((ToolResult("t2", ResultKind.OK, "Structured output provided successfully"),)),
    )


def test_only_the_path_to_the_last_leaf_counts():
    w = Writer()
    w.add("u1", "user", "one")
    w.add("a1", "assistant", [{"type": "text", "text": "first"}])
    w.add("a2", "assistant", [{"type": "text", "text": "second"}], parent="u1", message={"id": "m2"})
    assert w.messages == (UserMessage((TextBlock("one"),)), AssistantMessage("m2", (TextBlock("second"),)))


def test_a_record_without_its_parent_begins_anew_and_a_circle_ends():
    w = Writer()
    w.add("u1", "user", "lost")
    w.add("u2", "user", "found", parent="gone")
    assert w.messages == (UserMessage((TextBlock("found"),)),)
    w = Writer()
    w.add("u1", "user", "a", parent="u2")
    w.add("u2", "user", "b", parent="u1")
    assert w.messages == (UserMessage((TextBlock("a"), TextBlock("b"))),)


def test_blocks_of_one_reply_and_neighbours_of_one_side_are_joined():
    w = Writer()
    w.add("u1", "user", "one")
    w.add("u2", "user", [{"type": "image", "source": {}}])
    w.add("a1", "assistant", [{"type": "thinking", "thinking": "t", "signature": "s"}], message={"id": "m"})
    w.add(
        "a2",
        "assistant",
        [{"type": "redacted_thinking", "data": "d"}, {"type": "text", "text": "x"}],
        message={"id": "m"},
    )
    said = (ThinkingBlock("t", "s"), OpaqueBlock("redacted_thinking", {"type": "redacted_thinking", "data": "d"}))
    assert w.messages == (
        UserMessage((TextBlock("one"), OpaqueBlock("image", {"type": "image", "source": {}}))),
        AssistantMessage("m", (*said, TextBlock("x"))),
    )


def test_calls_and_answers_that_do_not_pair_are_left_out():
    w = Writer()
    w.add("u1", "user", "one")
    w.add("a1", "assistant", [use("t1", {}), {"type": "text", "text": "x"}], message={"id": "m"})
    w.add("u2", "user", [answer("t9", "late"), {"type": "text", "text": "two"}])
    w.add("a2", "assistant", [use("t2", {})])
    w.add("u3", "user", [answer("t8", "late")])
    assert w.messages == (
        UserMessage((TextBlock("one"),)),
        AssistantMessage("m", (TextBlock("x"),)),
        UserMessage((TextBlock("two"),)),
    )


def test_what_the_reference_put_in_itself_is_passed_over():
    w = Writer()
    w.add("u1", "user", "one")
    w.add("a1", "assistant", [{"type": "text", "text": "API Error"}], message={"model": "<synthetic>"})
    w.add("y1", "system", "fell back")
    w.add("u2", "user", [answer("t1", [{"type": "text", "text": "5"}])], isSidechain=True)
    w.add("u3", "user", 7, parent="y1")
    assert w.messages == (UserMessage((TextBlock("one"),)),)


def test_an_answer_in_blocks_stays_in_blocks():
    w = Writer()
    w.add("a1", "assistant", [use("t1", {}, "mcp__t__add")], message={"id": "m"})
    w.add("u1", "user", [answer("t1", [{"type": "text", "text": "5"}], is_error=False)])
    (_, told) = w.messages
    assert told.blocks == (ToolResult("t1", ResultKind.OK, '[{"type":"text","text":"5"}]', False, blocks=True),)


def test_what_holds_no_record_is_no_transcript():
    assert read_transcript([b"", b"{", b"7", b"\xff", b'{"uuid":"u"}', b'{"sessionId":"s"}']) is None
    only = json.dumps({**COMMON, "uuid": "x", "type": "system"}).encode()
    assert read_transcript([only]) == ()
    bare = json.dumps({"uuid": "u", "timestamp": "t", "type": "user", "message": "words"}).encode()
    assert read_transcript([bare]) == ()
