"""What each record makes true. The fold knows no rule, so records stand here that no rule would note together."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from lastcall.core import events as e
from lastcall.core import records as r
from lastcall.core.evolve import evolve
from lastcall.core.policy import compat, native
from lastcall.core.request import build_request
from lastcall.core.state import Reply, RunState, Said, Setting, Told, begin
from lastcall.nouns.attachment import Attachment, Problem
from lastcall.nouns.hooks import HookPoint, HookVerdict
from lastcall.nouns.messages import AssistantMessage, TextBlock, ThinkingBlock, UserMessage
from lastcall.nouns.request import Purpose
from lastcall.nouns.result import (
    Attempt,
    CheckVerdict,
    Failed,
    FailureKind,
    GaveUp,
    Limit,
    RunWarning,
    SideEffect,
    Usage,
    VerdictKind,
)
from lastcall.nouns.tools import Halt, ResultKind, ToolResult, define
from machine_tools import CONTRACT, OVERLOADED, Play, call, contract_of, dollars, finish

SETTING = Setting(native(), CONTRACT)
COMPAT = Setting(compat(), CONTRACT)
OBJECT = Attachment("c1", "msg", '{"title":"Disk full"}')
ATTEMPT = Attempt(1, "c1", "m", VerdictKind.HELD)
STARTED = r.Started("run_1", (TextBlock("go"),), "u", 1.0)


def fold(*records: r.Record, setting: Setting = SETTING, state: RunState | None = None) -> RunState:
    state = begin(setting) if state is None else state
    for record in records:
        state = evolve(state, record)
    return state


def said(block: Any, message: str = "msg") -> r.BlockSaid:
    return r.BlockSaid(1, message, block, "u")


def of(call_id: str, message: str = "msg") -> Any:
    return replace(finish(call_id), message_id=message)


def closed(reason: str = "tool_use", **more: Any) -> r.ReplyClosed:
    return r.ReplyClosed(1, "msg", reason, Usage(10, 2), **more)


def answered(call_id: str, kind: ResultKind = ResultKind.OK, **more: Any) -> r.CallAnswered:
    return r.CallAnswered(ToolResult(call_id, kind, "x", **more))


ASKED = (STARTED, r.Asked(1), r.ReplyBegan(1, "msg", "m", Usage()))


def test_a_session_has_the_id_of_its_first_record():
    assert fold(r.Opened("s1", "0.1", "native", "m", "/", 1.0)).session_id == "s1"


def test_a_run_begins_with_what_belongs_to_it_anew_and_the_session_goes_on():
    state = fold(*ASKED, said(of("c1")), r.Attempted(ATTEMPT), r.RetryNoted(1, 1, 9, 0, OVERLOADED, ("msg",)))
    state = fold(r.FeatureDropped(1, "tools", "400"), r.Asked(2), r.Ended(GaveUp("")), state=state)
    again = fold(r.Started("run_2", (TextBlock("a"), TextBlock("b")), "u", 2.0), state=state)
    assert again == RunState(
        setting=SETTING,
        messages=(UserMessage((TextBlock("go"),)),),
        pending=(Told(TextBlock("a")), Told(TextBlock("b"))),
        call_ids=frozenset({"c1"}),
        retracted_messages=frozenset({"msg"}),
        toolless=True,
        asked=2,
        asked_before=2,
        run_id="run_2",
        prompted=2,
        prompt_text="a\nb",
    )


def test_asking_closes_what_was_said_and_makes_room_for_a_reply():
    state = fold(
        *ASKED, said(TextBlock("hm")), closed(), r.Nudged(r.NudgeKind.ENFORCE, "call it"), r.Asked(2, reserved=True)
    )
    assert state.messages == (
        UserMessage((TextBlock("go"),)),
        AssistantMessage("msg", (TextBlock("hm"),)),
        UserMessage((TextBlock("call it"),), nudge=True),
    )
    assert (state.pending, state.reply, state.results, state.held) == ((), Reply(), (), ())
    assert (state.asked, state.outstanding, state.reserved) == (2, True, True)


def test_a_reply_knows_its_messages_calls_and_last_words():
    state = fold(*ASKED, said(TextBlock("a")), said(of("c1")), said(TextBlock("b"), "msg_2"), said(of("c2")))
    assert state.reply == Reply(
        message_ids=("msg", "msg_2"), model="m", calls=(of("c1"), of("c2")), text="b", tail="", blocks=4
    )
    assert state.pending[1] == Said("msg", of("c1"))
    assert state.call_ids == {"c1", "c2"}


def test_thoughts_after_a_text_take_its_place_as_the_last_block():
    reply = fold(*ASKED, said(TextBlock("a")), said(ThinkingBlock("hm"))).reply
    assert (reply.text, reply.tail, reply.blocks) == ("a", "", 2)


def test_compat_sends_what_blocked_a_call_without_trailing_space():
    blocked = ToolResult("c1", ResultKind.BLOCKED, "no \n", is_error=True)
    state = fold(*ASKED, said(of("c1")), r.CallAnswered(blocked), setting=COMPAT)
    assert state.results == (blocked,)
    assert state.pending[-1] == Told(replace(blocked, content="no"))


def test_a_message_that_begins_twice_is_one():
    assert fold(*ASKED, r.ReplyBegan(1, "msg", "m2", Usage(), whole=True)).reply == Reply(("msg",), "m2", whole=True)


def test_a_complete_reply_is_counted():
    state = fold(*ASKED, closed(stop_details={"category": "cyber"}, cost_usd=dollars("0.5"), took_ms=7, cut=True))
    assert (state.outstanding, state.stop_reason, state.api_ms, state.cuts) == (False, "tool_use", 7, 1)
    assert (state.usage, state.usage_by_model) == (Usage(10, 2), (("m", Usage(10, 2)),))
    assert (state.cost_usd, state.dearest_usd) == (dollars("0.5"), dollars("0.5"))
    assert (state.reply.closed, state.reply.cut, state.reply.category) == (True, True, "cyber")
    more = fold(r.Asked(2), r.ReplyBegan(2, "m2", "m", Usage()), closed("pause_turn"), state=state)
    assert (more.usage, more.cost_usd, more.cuts, more.pauses) == (Usage(20, 4), dollars("0.5"), 0, 1)


def test_what_does_not_count_is_left_out_of_the_total_alone():
    state = fold(*ASKED, r.HeldBack(OBJECT), closed(counted=False))
    assert (state.usage, state.usage_by_model, state.stop_reason) == (Usage(), (("m", Usage(10, 2)),), None)


@pytest.mark.parametrize(
    "record",
    [
        r.RetryNoted(1, 1, 9, 0, OVERLOADED, ("msg",), "m", Usage(5, 1), dollars("1")),
        r.FallbackNoted(1, "m", "m2", "overloaded", "u", ("msg",), Usage(5, 1), dollars("1")),
    ],
)
def test_a_retraction_takes_everything_of_a_message_back_and_keeps_the_attempt(record):
    decline = r.DeclineHeard("c2", "no", (), accepted=True)
    state = fold(
        *ASKED, said(TextBlock("hm")), said(of("c1")), said(of("c2")), r.Attempted(ATTEMPT), r.HeldBack(OBJECT),
        r.Attached(OBJECT), answered("c1"), r.ToolStarted("c2", "Bash", False), decline,
        r.HooksAsked(HookPoint.BEFORE_CALL, "c2"), record,
    )  # fmt: skip
    assert state == replace(
        fold(*ASKED),
        retracted_messages=frozenset({"msg"}),
        call_ids=frozenset({"c1", "c2"}),
        reply=Reply(),
        attempts=(replace(ATTEMPT, verdict=VerdictKind.RETRACTED, before=VerdictKind.HELD),),
        side_effects=(SideEffect("Bash", "c2", "unknown"),),
        usage_by_model=(("m", Usage(5, 1)),),
        cost_usd=dollars("1"),
        told=1,
    )


@pytest.mark.parametrize("last", [r.RetryNoted(1, 1, 9, 0, OVERLOADED, ("msg",)), r.Ended(GaveUp("no"))])
def test_a_call_that_nobody_waits_for_any_more_is_unknown_and_one_that_was_answered_keeps_its_status(last):
    state = fold(
        *ASKED, said(of("c1")), said(of("c2")), said(of("c3", "other")), r.ToolStarted("c1", "Bash", False),
        r.ToolStarted("c2", "Write", False), answered("c2", ResultKind.FAILED), last,
    )  # fmt: skip
    assert state.side_effects == (SideEffect("Bash", "c1", "unknown"), SideEffect("Write", "c2", "failed"))


def test_a_message_that_begins_anew_is_no_longer_taken_back():
    state = fold(*ASKED, r.RetryNoted(1, 1, 9, 0, OVERLOADED, ("msg", "b")), r.ReplyBegan(1, "msg", "m", Usage()))
    assert state.retracted_messages == {"b"}


def test_what_other_messages_said_is_not_taken_back():
    decline = r.DeclineHeard("c2", "no", (), accepted=True)
    state = fold(*ASKED, said(of("c1"), "a"), said(of("c2", "b"), "b"), decline, answered("c2"))
    assert fold(r.RetryNoted(1, 1, 9, 0, OVERLOADED, ("a",)), state=state).decline == decline
    gone = fold(r.RetryNoted(1, 1, 9, 0, OVERLOADED, ("a",)), state=state)
    assert gone.pending == (Said("b", of("c2", "b")), Told(ToolResult("c2", ResultKind.OK, "x")))


def test_compat_counts_what_a_retried_reply_spent_in_the_total():
    state = fold(*ASKED, r.RetryNoted(1, 1, 9, 0, OVERLOADED, (), "m", Usage(5, 1)), setting=COMPAT)
    assert state.usage == Usage(5, 1)


def test_a_refused_feature_voids_the_request_only_where_tools_are_refused():
    state = fold(*ASKED, said(TextBlock("hm")), r.FeatureDropped(1, "strict", "400", ("msg",)))
    assert (state.toolless, state.outstanding, state.replies, state.pending) == (False, True, 1, ())
    state = fold(r.FeatureDropped(1, "tools", "400"), state=state)
    assert (state.toolless, state.outstanding, state.replies) == (True, False, 0)


LOST = r.RequestLost(1, Failed(FailureKind.NETWORK, "gone"), "u", 9, Usage(5, 1))


@pytest.mark.parametrize("last", [LOST, r.Resumed(), r.Ended(GaveUp(""))])
def test_a_reply_that_never_ended_is_void(last):
    state = fold(*ASKED, said(TextBlock("hm")), said(of("c1")), last)
    assert (state.pending, state.reply.calls, state.outstanding, state.replies) == ((), (), False, 0)


@pytest.mark.parametrize("last", [LOST, r.Resumed(), r.Ended(GaveUp(""))])
def test_calls_that_were_taken_in_a_reply_that_never_ended_did_happen(last):
    state = fold(
        *ASKED, said(TextBlock("hm")), said(of("c1")), said(of("c2")), said(of("c3")), r.ToolStarted("c1", "Read", True),
        answered("c2"), r.HeldBack(Attachment("c3", "msg", "{}")), r.HooksAsked(HookPoint.BEFORE_CALL, "c3"), last,
    )  # fmt: skip
    assert [c.call_id for c in state.reply.calls] == ["c1", "c2"]
    assert [getattr(x.block, "call_id", "hm") for x in state.pending] == ["hm", "c1", "c2", "c2"]
    assert (state.held, state.hooking) == ((), ())


def test_a_lost_request_has_spent_what_it_spent():
    state = fold(*ASKED, LOST)
    assert (state.usage_by_model, state.usage, state.api_ms) == ((("m", Usage(5, 1)),), Usage(), 9)


def test_a_lost_request_that_goes_on_is_a_reply_that_broke_off():
    state = fold(*ASKED, said(of("c1")), answered("c1"), replace(LOST, goes_on=True), setting=COMPAT)
    assert (state.reply.closed, state.stop_reason, state.outstanding) == (True, "stop_sequence", False)


def test_compat_keeps_the_words_of_a_reply_that_an_end_broke_off():
    assert fold(*ASKED, said(TextBlock("hm")), r.Ended(GaveUp("")), setting=COMPAT).pending == (
        Said("msg", TextBlock("hm")),
    )


def test_an_end_closes_everything():
    state = fold(
        *ASKED, said(of("c1")), closed(), r.ToolStarted("c1", "Bash", False), r.HeldBack(OBJECT),
        r.HooksAsked(HookPoint.STOP, ""), r.Ended(GaveUp("no")),
    )  # fmt: skip
    assert (state.outcome, state.running, state.held, state.hooking) == (GaveUp("no"), (), (), ())


def test_a_tool_that_acts_is_a_side_effect_whose_status_is_its_answer():
    state = fold(*ASKED, said(of("c1")), r.ToolStarted("c1", "Bash", False), r.ToolStarted("c2", "Read", True))
    assert (state.running, state.side_effects) == (("c1", "c2"), (SideEffect("Bash", "c1", "started"),))
    state = fold(answered("c1", ResultKind.FAILED), state=state)
    assert (state.running, state.side_effects) == (("c2",), (SideEffect("Bash", "c1", "failed"),))
    assert (state.told, state.denied) == (1, ())


@pytest.mark.parametrize("kind", [ResultKind.DENIED, ResultKind.BLOCKED])
def test_denied_calls_are_remembered(kind):
    assert fold(*ASKED, said(of("c1")), said(of("c2")), answered("c2", kind)).denied == (of("c2"),)


def test_an_answer_may_halt_the_run_and_a_later_one_does_not_undo_it():
    state = fold(*ASKED, answered("c1", halt=Halt("enough")), answered("c2"))
    assert state.halt == Halt("enough")


def test_an_attempt_is_revised_and_no_longer_held():
    problem = Problem("", "check", "no")
    state = fold(
        r.Attempted(ATTEMPT), r.Attempted(replace(ATTEMPT, n=2, call_id="c2")), r.HeldBack(OBJECT, checking=True),
        r.HeldBack(Attachment("c2", "msg", "{}"), checking=True), r.Checked("c1", (CheckVerdict("x", False),), False),
        r.AttemptRevised("c1", VerdictKind.REJECTED, (problem,)),
    )  # fmt: skip
    assert state.attempts == (
        replace(ATTEMPT, verdict=VerdictKind.REJECTED, problems=(problem,)),
        replace(ATTEMPT, n=2, call_id="c2"),
    )
    assert state.held == (r.HeldBack(Attachment("c2", "msg", "{}"), checking=True),)
    assert state.checks == (CheckVerdict("x", False),)


def test_an_object_is_attached_and_no_longer_held():
    state = fold(r.HeldBack(OBJECT), r.Attached(OBJECT, ("c7",)))
    assert (state.attachments, state.answered_before, state.held) == ((OBJECT,), ("c7",), ())


def test_only_an_accepted_decline_is_kept():
    accepted = r.DeclineHeard("c1", "no", (), accepted=True)
    assert fold(accepted, r.DeclineHeard("c2", "no", (), accepted=False)).decline == accepted


@pytest.mark.parametrize(
    ("kind", "setting", "silences", "told", "alone"),
    [
        (r.NudgeKind.ENFORCE, SETTING, 0, 1, False),
        (r.NudgeKind.ENFORCE, COMPAT, 0, 1, True),
        (r.NudgeKind.NO_OUTPUT, COMPAT, 1, 1, False),
        (r.NudgeKind.CUT_OFF, SETTING, 0, 1, False),
        (r.NudgeKind.CUT_OFF, COMPAT, 0, 0, False),
    ],
)
def test_a_nudge_is_told_and_remembered(kind, setting, silences, told, alone):
    state = fold(r.Nudged(kind, "x"), setting=setting)
    assert state.pending == (Told(TextBlock("x"), nudge=True, alone=alone),)
    assert (state.nudges, state.silences, state.told) == ((kind,), silences, told)


def test_notes_are_told_and_count_as_nothing():
    state = fold(r.Noted(("a", "b")))
    assert state.pending == (Told(TextBlock("a"), nudge=True), Told(TextBlock("b"), nudge=True))
    assert (state.told, state.nudges) == (0, ())


def test_a_bridge_puts_words_between_a_session_and_its_next_prompt():
    state = fold(STARTED, r.Bridged("go on", "fine"))
    assert [type(m).__name__ for m in state.messages] == ["UserMessage", "AssistantMessage"]
    assert state.messages[-1] == AssistantMessage("", (TextBlock("fine"),))
    assert state.pending == ()


def test_an_imported_history_replaces_what_was_there_and_its_ids_are_taken():
    history = (UserMessage((TextBlock("a"),)), AssistantMessage("m", (call("c1"), TextBlock("b"))))
    state = fold(STARTED, r.Imported(history))
    assert (state.messages, state.pending, state.call_ids) == (history, (), {"c1"})


def test_hooks_are_open_until_they_are_heard():
    state = fold(*ASKED, r.HooksAsked(HookPoint.BEFORE_CALL, "c1"), r.HooksAsked(HookPoint.STOP, ""))
    assert state.hooking == ((HookPoint.BEFORE_CALL, "c1"), (HookPoint.STOP, ""))
    assert state.stop_asked
    state = fold(r.HooksHeard(HookPoint.BEFORE_CALL, "c1", HookVerdict(context=("x",), halt="enough")), state=state)
    assert state.hooking == ((HookPoint.STOP, ""),)
    assert state.pending == (Told(TextBlock("x"), nudge=True),)
    assert state.halt == Halt("enough")
    assert fold(r.HooksHeard(HookPoint.STOP, "", HookVerdict(context=("x",))), state=state).pending == state.pending
    assert not fold(r.Asked(2), state=state).stop_asked


@pytest.mark.parametrize("said_no", [{"blocked": ("no",)}, {"halt": ""}])
def test_a_prompt_that_hooks_keep_back_was_never_said(said_no):
    state = fold(STARTED, r.HooksHeard(HookPoint.PROMPT, "", HookVerdict(**said_no)))
    assert state.pending == ()


def test_warnings_and_limits_are_kept():
    warning = RunWarning("odd", "x")
    state = fold(r.Warned(warning), r.LimitNoted(Limit.DEADLINE, hit=False), r.LimitNoted(Limit.BUDGET, hit=True))
    assert state.warnings == (warning,)
    assert (state.limits_near, state.limits_hit) == ({Limit.DEADLINE}, {Limit.BUDGET})


def test_a_shorter_history_takes_the_place_of_the_longer_one_which_was_seen_all_the_same():
    long = (UserMessage((TextBlock("a"),)), AssistantMessage("m", (TextBlock("b"),)), UserMessage((TextBlock("c"),)))
    state = fold(STARTED, r.Imported(long), r.Compacted(long[:1]))
    assert (state.messages, state.left_out, state.room) == (long[:1], long, None)
    state = fold(r.Compacted(long[:1], 90), r.Compacted(long[:1], 120), r.Compacted(long[:1]), state=state)
    assert state.room == 90
    assert fold(STARTED, state=state).room == 90
    assert fold(STARTED, state=state).left_out == state.left_out


def test_a_run_that_ended_from_outside_is_open_again_and_free_of_what_ended_it():
    state = fold(*ASKED, r.LimitNoted(Limit.DEADLINE, hit=True), r.Ended(GaveUp("x")), r.Resumed())
    assert (state.outcome, state.limits_hit, state.halt) == (None, frozenset(), None)
    state = fold(*ASKED, r.LimitNoted(Limit.DEADLINE, hit=True), r.Resumed())
    assert state.limits_hit == {Limit.DEADLINE}


def test_names_that_were_refused_are_plain_from_then_on_and_the_turn_costs_nothing():
    odd = {"type": "object", "properties": {"a b": {"type": "integer"}}, "required": ["a b"]}
    play = Play(contract=contract_of(odd))
    play.prompt()
    play.hear(e.ChannelChanged(1, "free_names", "Property keys should match pattern"))
    assert play.state.outstanding
    assert (play.state.asked, play.state.replies, play.state.toolless) == (2, 1, False)
    (tool, *_) = build_request(play.state).tools[2:]
    (name,) = tool.input_schema["properties"]
    assert name.startswith("a_b.")
    words = play.reply(finish("c1", f'{{"{name}":"x"}}'))
    assert f"/{name}: must be integer" in next(x.result.content for x in words if isinstance(x, r.CallAnswered))
    play.reply(finish("c2", f'{{"{name}":1}}'))
    assert play.state.attempts[0].draft == '{"a b":"x"}'
    assert play.outcome.attachment.text == '{"a b":1}'
    again = begin(play.setting)
    for record in play.records:
        again = evolve(again, record)
    assert again.contract.in_wire_names('{"a b":1}') == f'{{"{name}":1}}'


def test_refused_names_of_tools_are_plain_from_then_on_too():
    odd = define("Look", "d", {"type": "object", "properties": {"a b": True}})
    plain = define("Read", "d", {"type": "object", "properties": {"path": True}})
    play = Play(contract=None, tools=(odd, plain))
    play.prompt()
    play.hear(e.ChannelChanged(1, "free_names", "Property keys should match pattern"))
    look, read = build_request(play.state).tools
    (name,) = look.input_schema["properties"]
    assert name.startswith("a_b.")
    assert read is plain


def test_refused_names_mean_nothing_where_nothing_is_named():
    play = Play(contract=None, tools=())
    play.prompt()
    play.hear(e.ChannelChanged(1, "free_names", "no"))
    assert "deployment has no" in play.outcome.detail


def test_what_is_said_for_a_summary_is_kept_apart_and_the_reply_is_no_turn():
    summing = fold(STARTED, r.Asked(1, purpose=Purpose.SUMMARY), r.ReplyBegan(1, "msg", "m", Usage()))
    state = fold(r.SummarySaid(1, "The disk is full."), state=summing)
    assert (state.summing.text.strip(), state.pending) == ("The disk is full.", summing.pending)
    state = fold(closed("end_turn"), state=state)
    assert (state.outstanding, state.reply.closed, state.replies, state.usage) == (False, False, 0, Usage(10, 2))
