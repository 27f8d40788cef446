"""Records as the frames of the stream; the compat forms are the recorded ones."""

from __future__ import annotations

from decimal import Decimal
from itertools import count

import pytest
from msgspec.structs import replace

from lastcall.core import events as e
from lastcall.core import records as r
from lastcall.nouns.attachment import Attachment
from lastcall.nouns.messages import OpaqueBlock, TextBlock, ThinkingBlock
from lastcall.nouns.profile import Profile
from lastcall.nouns.result import Answered, Failed, FailureKind, Limit, RunWarning, Stopped, Usage
from lastcall.nouns.tools import Arguments, ResultKind, ToolCall, ToolResult, Unreadable, UnreadableCause
from lastcall.wire.frames import Framer, Stage, block_value, input_value, plain_value, result_value, usage_value

NATIVE = Stage("s", Profile.NATIVE, "m")
COMPAT = replace(NATIVE, profile=Profile.COMPAT, host="h:1")
USAGE = Usage(100, 1, 0, 0)
BROKEN = Unreadable('{"a":', UnreadableCause.TRUNCATED, "ends", 1, 6, 5, 5)
OVERLOADED = Failed(FailureKind.OVERLOADED, "Overloaded", 529)


def framer(stage=COMPAT):
    numbers = count(1)
    return Framer(stage, lambda: f"id{next(numbers)}")


def call(call_id="c1", name="Read", text='{"p":1}', **more):
    return ToolCall(call_id, "m1", name, Arguments(text), **more)


def said(block, uuid="u1", message_id="m1"):
    return r.BlockSaid(1, message_id, block, uuid)


def answered(call_id="c1", uuid="u2", **more):
    result = ToolResult(call_id, **{"kind": ResultKind.OK, "content": "out", **more})
    return r.CallAnswered(result, uuid)


def frames(f, *records):
    return [frame for record in records for frame in f.frames(record)]


def bare(frame):
    return {k: v for k, v in frame.items() if k not in ("uuid", "session_id", "parent_tool_use_id")}


# -- the run ----------------------------------------------------------------------------------------------------------


def test_each_user_message_begins_with_what_the_session_is():
    stage = replace(COMPAT, cwd="/w", tools=("Read",), mcp_servers=({"name": "t", "status": "connected"},), version="1")
    (init,) = framer(stage).frames(r.Started("run", (), "prompt", 1.0))
    assert (init["type"], init["subtype"], init["cwd"], init["tools"]) == ("system", "init", "/w", ["Read"])
    assert (init["mcp_servers"], init["model"], init["permissionMode"]) == (
        [{"name": "t", "status": "connected"}],
        "m",
        "default",
    )
    assert framer().frames(r.Resumed())[0]["subtype"] == "init"


def test_a_session_that_changed_says_so_from_then_on():
    f = framer()
    f.restage(replace(COMPAT, model="other", permission_mode="plan"))
    assert (f.init()["model"], f.init()["permissionMode"]) == ("other", "plan")
    assert bare(f.system("hook_started", {"hook_id": "h"})) == {
        "type": "system",
        "subtype": "hook_started",
        "hook_id": "h",
    }


def test_a_request_is_shown_only_with_partial_messages():
    asked = r.Asked(1)
    assert framer().frames(asked) == []
    (shown,) = framer(replace(COMPAT, partial=True)).frames(asked)
    assert (shown["subtype"], shown["status"]) == ("status", "requesting")


def test_a_block_is_an_assistant_message_with_what_was_known_at_the_start():
    f = framer()
    (frame,) = frames(f, r.ReplyBegan(1, "m1", "claude", USAGE), said(TextBlock("hi")))
    assert (frame["type"], frame["uuid"]) == ("assistant", "u1")
    message = frame["message"]
    assert (message["id"], message["model"], message["content"]) == ("m1", "claude", [{"type": "text", "text": "hi"}])
    assert message["usage"] == usage_value(USAGE)
    assert frames(framer(), said(TextBlock("hi")))[0]["message"]["usage"]["input_tokens"] is None


def test_an_answer_is_a_user_message_with_its_display_and_meta():
    f = framer()
    _, frame = frames(f, said(call()), answered(display={"x": 1}, meta={"non_execution_kind": "permission-rule"}))
    assert frame["message"]["content"] == [{"type": "tool_result", "content": "out", "tool_use_id": "c1"}]
    assert frame["tool_use_result"] == {"x": 1}
    assert frame["tool_result_meta"] == [{"id": "c1", "non_execution_kind": "permission-rule"}]
    assert frames(framer(), answered("other"))[0]["tool_use_result"] == "out"


def test_a_denial_by_a_rule_is_told_before_its_answer_and_one_by_a_hook_is_not():
    f = framer()
    _, denied, _ = frames(f, said(call(name="Bash")), answered(kind=ResultKind.DENIED, content="no", is_error=True))
    assert (denied["subtype"], denied["tool_name"], denied["message"]) == ("permission_denied", "Bash", "no")
    assert frames(framer(), answered("lost", kind=ResultKind.DENIED))[0]["tool_name"] == ""
    assert len(frames(framer(), said(call()), answered(kind=ResultKind.BLOCKED, is_error=True))) == 2


def test_in_compat_a_call_is_shown_under_the_id_that_the_service_gave():
    again = call("c1_2", given_id="c1")
    shown, answer = frames(framer(), said(again), answered("c1_2"))
    assert shown["message"]["content"][0]["id"] == "c1"
    assert answer["message"]["content"][0]["tool_use_id"] == "c1"
    shown, answer = frames(framer(NATIVE), said(again), answered("c1_2"))
    assert shown["message"]["content"][0]["id"] == answer["message"]["content"][0]["tool_use_id"] == "c1_2"


# -- what lastcall says -----------------------------------------------------------------------------------------------


def test_nudges_are_synthetic_user_messages_and_an_interrupt_is_a_plain_one():
    nudged = {"role": "user", "content": [{"type": "text", "text": "call it"}]}
    assert bare(framer().frames(r.Nudged(r.NudgeKind.ENFORCE, "call it"))[0]) == {
        "type": "user", "message": nudged, "isSynthetic": True,
    }  # fmt: skip
    assert "isSynthetic" not in framer().frames(r.Nudged(r.NudgeKind.INTERRUPT, "stop"))[0]
    assert framer().frames(r.Nudged(r.NudgeKind.CUT_OFF, "go on")) == []
    assert len(framer(NATIVE).frames(r.Nudged(r.NudgeKind.CUT_OFF, "go on"))) == 1


def test_the_first_feedback_of_a_stop_hook_is_followed_by_a_notice_in_compat():
    record = r.Nudged(r.NudgeKind.STOP_HOOK, "again")
    f = framer()
    assert [x.get("subtype") for x in frames(f, record, record)] == [None, "notification", None]
    assert [x.get("subtype") for x in frames(framer(NATIVE), record)] == [None]


def test_a_retry_is_shown_unless_its_reply_had_begun():
    record = r.RetryNoted(1, 2, 10, 500, OVERLOADED)
    assert bare(framer().frames(record)[0]) == {
        "type": "system", "subtype": "api_retry", "attempt": 2, "max_retries": 10, "retry_delay_ms": 500,
        "error_status": 529, "error": "overloaded",
    }  # fmt: skip
    assert framer().frames(replace(record, retracted=("m1",))) == []
    assert len(framer(NATIVE).frames(replace(record, retracted=("m1",)))) == 1


def test_a_retraction_names_all_frames_of_its_messages_and_the_next_message_supersedes_them():
    f = framer()
    fell = r.FallbackNoted(
        1,
        "claude-fable-5",
        "claude-opus-4-8",
        "refusal",
        "fb",
        ("m1",),
        details={"category": "cyber", "explanation": "E"},
    )
    frames(f, r.Started("run", (), "prompt", 1.0), said(call(), "u1"), answered(uuid="u2"))
    told, after = frames(f, fell, said(TextBlock("new"), "u3", "m2"))
    assert (told["subtype"], told["uuid"]) == ("model_refusal_fallback", "fb")
    assert told["retracted_message_uuids"] == ["u1", "u2"]
    assert (told["api_refusal_category"], told["api_refusal_explanation"]) == ("cyber", "E")
    assert told["refused_user_message_uuid"] == "prompt"
    assert after["supersedes"] == ["u1", "u2"]
    (later,) = frames(f, said(TextBlock("newer"), "u4", "m2"))
    assert "supersedes" not in later


def test_another_fallback_names_what_it_took_back_only_if_there_was_anything():
    fell = r.FallbackNoted(1, "claude-haiku-4-5", "claude-sonnet-5", "overloaded", "fb", ("m1",))
    told = frames(framer(), fell)[0]
    assert (told["subtype"], told["trigger"]) == ("model_fallback", "overloaded")
    assert "retracted_message_uuids" not in told
    f = framer()
    frames(f, said(TextBlock("x"), "u1"))
    assert frames(f, fell)[0]["retracted_message_uuids"] == ["u1"]


@pytest.mark.parametrize(
    ("record", "subtype", "fields"),
    [
        (r.FeatureDropped(1, "strict", "no"), "feature_dropped", {"feature": "strict", "detail": "no"}),
        (r.Warned(RunWarning("c", "w", "/a")), "warning", {"code": "c", "message": "w", "path": "/a"}),
        (
            r.Attached(Attachment("c1", "m1", "{}"), ("c0",)),
            "attached",
            {"tool_use_id": "c1", "answered_before": ["c0"]},
        ),
        (r.LimitNoted(Limit.TURNS, hit=False), "limit", {"limit": "turns", "hit": False}),
    ],
)
def test_what_the_reference_does_not_tell_is_told_natively_alone(record, subtype, fields):
    assert [bare(x) for x in framer(NATIVE).frames(record)] == [{"type": "system", "subtype": subtype, **fields}]
    assert framer().frames(record) == []


# -- the end ----------------------------------------------------------------------------------------------------------


def test_a_failure_is_an_assistant_message_of_the_references_own():
    ended = r.Ended(OVERLOADED)
    (frame,) = framer().frames(ended)
    assert (frame["message"]["model"], frame["error"], frame["is_api_error_message"]) == (
        "<synthetic>",
        "server_error",
        True,
    )
    assert frame["message"]["stop_reason"] == "stop_sequence"
    assert framer(NATIVE).frames(ended) == []


def test_a_refusal_is_told_twice():
    notice, said_so = framer().frames(r.Ended(Failed(FailureKind.REFUSAL, "no", provider_kind="cyber")))
    assert (notice["subtype"], notice["api_refusal_category"]) == ("model_refusal_no_fallback", "cyber")
    assert said_so["message"]["stop_reason"] == "refusal"


def test_a_broken_reply_after_which_the_run_goes_on_is_told_too():
    (frame,) = framer().frames(r.RequestLost(1, OVERLOADED, "u", goes_on=True))
    assert "mid-response" in frame["message"]["content"][0]["text"] or "529" in frame["message"]["content"][0]["text"]
    assert framer().frames(r.RequestLost(1, OVERLOADED, "u")) == []


def test_a_blocked_prompt_is_told_and_other_ends_are_the_result_frames_affair():
    (frame,) = framer().frames(r.Ended(Stopped(Limit.PROMPT_HOOK, "blocked")))
    assert (frame["subtype"], frame["content"], frame["level"]) == ("informational", "blocked", "warning")
    assert framer().frames(r.Ended(Answered(None, "hi"))) == []


# -- pieces -----------------------------------------------------------------------------------------------------------


def progress(f, **event):
    return f.progress(e.Progress(1, event))


def thinking(text):
    return {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": text}}


def test_raw_events_are_shown_where_they_are_wanted():
    assert progress(framer(), type="ping") == []
    (shown,) = progress(framer(replace(COMPAT, partial=True)), type="ping")
    assert (shown["type"], shown["event"]) == ("stream_event", {"type": "ping"})


def test_the_estimate_of_thinking_grows_with_text_and_signature():
    f = framer()
    assert progress(f, type="message_start") == []
    assert progress(f, **thinking("x" * 8))[0]["estimated_tokens"] == 2
    assert progress(f, **thinking("")) == []
    assert progress(f, type="content_block_delta", delta={"type": "text_delta", "text": "words"}) == []
    signed = {"type": "content_block_delta", "delta": {"type": "signature_delta", "signature": "AAAAAAAA"}}
    assert progress(f, **signed)[0]["estimated_tokens"] == 4
    odd = {"type": "content_block_delta", "delta": {"type": "signature_delta", "signature": "A"}}
    assert progress(f, **odd) == []
    assert progress(f, type="message_start") == []
    assert progress(f, **thinking("x" * 8))[0]["estimated_tokens"] == 2
    kinds = [x["type"] for x in progress(framer(replace(COMPAT, partial=True)), **thinking("x" * 8))]
    assert kinds == ["system", "stream_event"]


# -- values -----------------------------------------------------------------------------------------------------------


def test_blocks_are_written_as_the_messages_api_does():
    assert block_value(ThinkingBlock("t", "s")) == {"type": "thinking", "thinking": "t", "signature": "s"}
    assert block_value(OpaqueBlock("x", {"type": "x"})) == {"type": "x"}
    assert block_value(call()) == {"type": "tool_use", "id": "c1", "name": "Read", "input": {"p": 1}}
    unread = ToolCall("c1", "m1", "Read", BROKEN)
    assert input_value(unread) == {"__unparsedToolInput": {"raw": '{"a":', "len": 5}}


def test_values_are_exact_and_text_that_is_none_stands_for_itself():
    assert plain_value("19.99") == Decimal("19.99")
    assert plain_value("not json") == "not json"


def test_an_answer_in_blocks_is_a_list():
    blocks = ToolResult("c1", ResultKind.OK, '[{"type":"text","text":"5"}]', False, blocks=True)
    assert result_value(blocks) == {
        "type": "tool_result", "content": [{"type": "text", "text": "5"}], "is_error": False, "tool_use_id": "c1",
    }  # fmt: skip
