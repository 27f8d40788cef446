"""What is left of a reply that somebody withdrew, or that never ended."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from lastcall.core import records as r
from lastcall.core.policy import native
from lastcall.core.state import Reply, RunState, Said, Setting, Summing, Told, begin
from lastcall.core.taking_back import left_open, retracted, void_open_reply
from lastcall.nouns.attachment import Attachment
from lastcall.nouns.hooks import HookPoint
from lastcall.nouns.messages import TextBlock
from lastcall.nouns.result import Attempt, SideEffect, VerdictKind
from lastcall.nouns.tools import ResultKind, ToolCall, ToolResult
from machine_tools import CONTRACT, finish

NUDGE = Told(TextBlock("call it now"), nudge=True)


def of(call_id: str, message: str) -> ToolCall:
    return replace(finish(call_id), message_id=message)


def result(call_id: str) -> ToolResult:
    return ToolResult(call_id, ResultKind.OK, "x")


def held(call_id: str, message: str) -> r.HeldBack:
    return r.HeldBack(Attachment(call_id, message, "{}"))


def state_of(**fields: Any) -> RunState:
    return replace(begin(Setting(native(), CONTRACT)), outstanding=True, **fields)


ONE, TWO = of("c1", "a"), of("c2", "b")
BOTH: dict[str, Any] = {
    "pending": (NUDGE, Said("a", TextBlock("hm")), Said("a", ONE), Said("b", TWO), Told(result("c1")), Told(result("c2"))),
    "reply": Reply(message_ids=("a", "b"), calls=(ONE, TWO)),
    "results": (result("c1"), result("c2")),
    "running": ("c1", "c2"),
    "side_effects": (SideEffect("Bash", "c1", "started"), SideEffect("Bash", "c2", "started")),
    "held": (held("c1", "a"), held("c2", "b")),
    "hooking": ((HookPoint.STOP, ""), (HookPoint.BEFORE_CALL, "c1"), (HookPoint.BEFORE_CALL, "c2")),
    "attachments": (Attachment("c1", "a", "{}"), Attachment("c2", "b", "{}")),
    "attempts": (Attempt(1, "c1", "m", VerdictKind.ACCEPTED), Attempt(2, "c2", "m", VerdictKind.HELD)),
}  # fmt: skip


def test_what_a_message_said_is_taken_back_and_what_others_said_is_not():
    state = state_of(**BOTH, decline=r.DeclineHeard("c1", "no", (), accepted=True), retracted_messages=frozenset({"z"}))
    assert retracted(state, ("a",)) == replace(
        state,
        pending=(NUDGE, Said("b", TWO), Told(result("c2"))),
        reply=Reply(),
        results=(result("c2"),),
        running=("c2",),
        side_effects=(SideEffect("Bash", "c1", "unknown"), SideEffect("Bash", "c2", "started")),
        held=(held("c2", "b"),),
        hooking=((HookPoint.STOP, ""), (HookPoint.BEFORE_CALL, "c2")),
        attachments=(Attachment("c2", "b", "{}"),),
        attempts=(
            Attempt(1, "c1", "m", VerdictKind.RETRACTED, before=VerdictKind.ACCEPTED),
            Attempt(2, "c2", "m", VerdictKind.HELD),
        ),
        decline=None,
        retracted_messages=frozenset({"a", "z"}),
    )


def test_a_decline_of_another_message_stands():
    decline = r.DeclineHeard("c2", "no", (), accepted=True)
    assert retracted(state_of(**BOTH, decline=decline), ("a",)).decline == decline


def test_a_summary_begins_anew():
    assert retracted(state_of(summing=Summing(9, "so far")), ("a",)).summing == Summing(9)


def test_of_a_reply_that_never_ended_only_what_was_begun_is_left():
    pending = (NUDGE, Said("a", TextBlock("hm")), Said("a", ONE), Said("a", TWO))
    fields = {**BOTH, "pending": pending, "results": (), "running": ("c1",)}
    state = state_of(**fields)
    assert void_open_reply(state) == replace(
        state,
        pending=(NUDGE, Said("a", TextBlock("hm")), Said("a", ONE)),
        reply=replace(state.reply, calls=(ONE,)),
        held=(held("c1", "a"),),
        hooking=((HookPoint.BEFORE_CALL, "c1"),),
        voided=1,
    )


def test_of_a_reply_in_which_nothing_was_begun_nothing_is_left_but_words_that_are_to_be_kept():
    state = state_of(pending=(NUDGE, Said("a", TextBlock("hm")), Said("a", ONE)), reply=Reply(calls=(ONE,)))
    assert void_open_reply(state).pending == (NUDGE,)
    assert void_open_reply(state, keeps_text=True).pending == (NUDGE, Said("a", TextBlock("hm")))


def test_a_summary_that_never_ended_costs_no_turn():
    assert void_open_reply(state_of(summing=Summing())).voided == 0


def test_a_reply_that_has_ended_and_one_that_nobody_waits_for_stay_as_they_are():
    ended = state_of(**{**BOTH, "reply": Reply(calls=(ONE,), closed=True)})
    assert void_open_reply(ended) is ended
    unasked = replace(state_of(**BOTH), outstanding=False)
    assert void_open_reply(unasked) is unasked


def test_only_what_was_started_and_has_no_answer_is_unknown():
    effects = (
        SideEffect("Bash", "c1", "started"),
        SideEffect("Bash", "c2", "failed"),
        SideEffect("Bash", "c3", "started"),
    )
    assert left_open(state_of(side_effects=effects), frozenset({"c1", "c2"})) == (
        SideEffect("Bash", "c1", "unknown"), SideEffect("Bash", "c2", "failed"), SideEffect("Bash", "c3", "started"),
    )  # fmt: skip
