"""What a state says of itself."""

from __future__ import annotations

import pytest

from lastcall.core.policy import compat, native
from lastcall.core.records import HeldBack, NudgeKind
from lastcall.core.state import Reply, RunState, Said, Setting, Told, begin
from lastcall.nouns.attachment import Attachment, Problem
from lastcall.nouns.messages import AssistantMessage, TextBlock, UserMessage
from lastcall.nouns.request import Channel
from lastcall.nouns.result import Attempt, Usage, VerdictKind
from lastcall.nouns.tools import ResultKind, ToolResult, define
from machine_tools import CONTRACT, call, contract_of

SETTING = Setting(native(max_attempts=2), CONTRACT)
COUNT = Problem("/count", "type", "must be integer", {"type": "integer"})
OBJECT = Attachment("c1", "m", "{}")
V = VerdictKind


def attempt(n: int, verdict: VerdictKind, draft: str = "{}", problem: Problem = COUNT, request: int = 0) -> Attempt:
    return Attempt(n, f"c{n}", "m", verdict, (problem,), draft, request=request or n)


def state(*attempts: Attempt, **more: object) -> RunState:
    return RunState(setting=SETTING, attempts=attempts, **more)


def test_a_session_begins_with_its_setting():
    assert begin(SETTING) == RunState(setting=SETTING)
    assert (begin(SETTING).policy, begin(SETTING).contract) == (SETTING.policy, CONTRACT)


def test_a_deployment_without_tools_leaves_the_native_channel():
    assert begin(SETTING).channel is Channel.TOOL
    assert state(toolless=True).channel is Channel.NATIVE
    assert begin(Setting(native(), None, channel=Channel.NATIVE)).channel is Channel.NATIVE


def test_turns_are_the_runs_requests_that_did_not_come_to_nothing():
    assert state(asked=9, asked_before=4, voided=2).replies == 3
    assert state(told=4).turns == 5


def test_the_last_object_survives():
    assert state().surviving is None
    assert state(attachments=(Attachment("c0", "m", "{}"), OBJECT)).surviving == OBJECT


def test_attempts_are_used_up_only_without_an_object_to_come():
    two = (attempt(1, V.REJECTED), attempt(2, V.RETRACTED))
    assert state(*two).exhausted
    assert not state(*two[:1]).exhausted
    assert not state(*two, attachments=(OBJECT,)).exhausted
    assert not state(*two, held=(HeldBack(OBJECT),)).exhausted
    assert not RunState(setting=Setting(native(max_attempts=0), None)).exhausted


def test_retracted_attempts_and_objects_are_counted():
    lost = Attempt(1, "c1", "m", V.RETRACTED, before=V.ACCEPTED)
    vain = Attempt(2, "c2", "m", V.RETRACTED, before=V.REJECTED)
    assert (state(vain).retracted_attempts, state(vain).lost_object) == (1, False)
    assert (state(lost, vain).retracted_attempts, state(lost, vain).lost_object) == (2, True)


SAME_AFTER_A_JOURNAL = Problem("/count", "type", "must be integer", {"type": ["integer"]})
OTHER = Problem("", "required", "must have required property 'title'")


@pytest.mark.parametrize(
    ("attempts", "repeats"),
    [
        ((), 0),
        ((attempt(1, V.ACCEPTED),), 0),
        ((attempt(1, V.REJECTED),), 1),
        ((attempt(1, V.UNREADABLE),), 1),
        ((attempt(1, V.REJECTED), attempt(2, V.REJECTED), attempt(3, V.REJECTED)), 3),
        ((attempt(1, V.REJECTED, "[]"), attempt(2, V.REJECTED), attempt(3, V.REJECTED)), 2),
        ((attempt(1, V.REJECTED), attempt(2, V.REJECTED, "[]"), attempt(3, V.REJECTED)), 1),
        ((attempt(1, V.REJECTED), attempt(2, V.REJECTED, problem=OTHER)), 1),
        ((attempt(1, V.REJECTED, problem=SAME_AFTER_A_JOURNAL), attempt(2, V.REJECTED)), 2),
        ((attempt(1, V.REJECTED, request=1), attempt(2, V.REJECTED, request=1)), 1),
        ((attempt(1, V.REJECTED), attempt(2, V.RETRACTED), attempt(3, V.REJECTED)), 2),
        ((attempt(1, V.REJECTED), attempt(2, V.RETRACTED, "[]")), 1),
        ((attempt(1, V.REJECTED), attempt(2, V.CUT_OFF)), 0),
    ],
)
def test_repeats_are_the_replies_in_a_row_that_sent_the_same(attempts, repeats):
    assert state(*attempts).repeats == repeats


def test_only_a_stub_that_the_model_was_told_of_counts_as_sent_back():
    stub = Problem("", "degenerate", "lost most")
    assert not state(attempt(1, V.REJECTED)).sent_back_for("degenerate")
    assert state(attempt(1, V.REJECTED, problem=stub)).sent_back_for("degenerate")
    assert not state(attempt(1, V.RETRACTED, problem=stub)).sent_back_for("degenerate")


def test_unanswered_are_the_latest_replys_calls_without_a_result():
    reply = Reply(calls=(call("c1"), call("c2"), call("c3")))
    assert state(reply=reply, results=(ToolResult("c2", ResultKind.OK, "x"),)).unanswered == (call("c1"), call("c3"))


def test_news_is_what_the_model_was_told():
    assert not state(pending=(Said("m", TextBlock("a")),)).has_news
    assert state(pending=(Said("m", TextBlock("a")), Told(TextBlock("b")))).has_news


def test_a_history_may_end_on_the_users_side():
    user, model = UserMessage((TextBlock("a"),)), AssistantMessage("m", (TextBlock("b"),))
    assert not state().ends_with_user
    assert state(messages=(user,)).ends_with_user
    assert not state(messages=(user, model)).ends_with_user
    assert state(messages=(user, model), pending=(Told(TextBlock("c")),)).ends_with_user
    assert not state(messages=(user,), pending=(Said("m", TextBlock("c")),)).ends_with_user


def test_a_held_object_may_wait_for_checks():
    assert not state(held=(HeldBack(OBJECT),)).checking
    assert state(held=(HeldBack(OBJECT), HeldBack(OBJECT, checking=True))).checking


def test_all_tokens_that_were_paid_for_are_counted_whatever_model_took_them():
    usage = (("a", Usage(10, 2, 3, 4)), ("b", Usage(1, 1)))
    assert (state().tokens, state(usage_by_model=usage).tokens) == (0, 21)


def test_stop_hooks_are_counted_apart_from_other_nudges():
    nudges = (NudgeKind.STOP_HOOK, NudgeKind.ENFORCE, NudgeKind.STOP_HOOK)
    assert state(nudges=nudges).stop_blocks == 2


ODD = {"type": "object", "properties": {"a b": {"type": "integer"}}}


def test_a_setting_for_plain_names_has_them_in_the_contract_and_in_every_tool():
    odd, plain = define("Look", "d", ODD), define("Read", "d", {"type": "object"})
    found = Setting(native(), contract_of(ODD), (odd, plain)).with_plain_names()
    assert found.contract.wire_schema["properties"].keys() == found.tools[0].input_schema["properties"].keys()
    assert "a b" not in found.tools[0].input_schema["properties"]
    assert found.tools[1] is plain
    assert Setting(native(), None, (plain,)).with_plain_names() == Setting(native(), None, (plain,))


def test_the_reference_sends_names_as_they_are():
    setting = Setting(compat(), None, (define("Look", "d", ODD),))
    assert setting.with_plain_names() is setting
