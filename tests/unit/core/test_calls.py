"""Each call has one answer; an attempt is judged once."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from lastcall.contract import hook_words, wording
from lastcall.contract.cel import cel_rule
from lastcall.core import events as e
from lastcall.core import records as r
from lastcall.core.actions import CancelCalls, RunChecks, RunTool
from lastcall.core.policy import compat, native
from lastcall.nouns.attachment import Attachment, Problem
from lastcall.nouns.hooks import HookDecision, HookPoint, HookVerdict
from lastcall.nouns.profile import Profile
from lastcall.nouns.request import Channel
from lastcall.nouns.result import Answered, Attempt, RunWarning, VerdictKind
from lastcall.nouns.tools import ResultKind, ToolResult, Unreadable, UnreadableCause
from machine_tools import (
    BAD,
    CHECKED,
    COMPAT_CONTRACT,
    GOOD,
    OTHER,
    WORSE,
    Play,
    call,
    contract_of,
    decline,
    dollars,
    finish,
    kinds,
)

BROKEN = Unreadable('{"title": "x', UnreadableCause.TRUNCATED, "the text ends inside a string", 1, 13, 12, 12)
COUNT = Problem("/count", "type", "must be integer", {"type": "integer"})


def run(policy: Any = None, contract: Any = None, **setting: Any) -> Play:
    play = Play(policy, contract, **setting) if contract is not None else Play(policy, **setting)
    play.prompt()
    return play


def contents(records: list[r.Record]) -> list[str]:
    return [x.result.content for x in records if isinstance(x, r.CallAnswered)]


# -- judging --------------------------------------------------------------------------------------------------------


def test_an_accepted_object_is_an_attempt_an_attachment_and_an_answer():
    play = run()
    records = play.reply(finish("c1", '{"title": "Disk full"}'))
    message = play.message
    assert records[3:] == [
        r.Attempted(Attempt(1, "c1", "m", VerdictKind.ACCEPTED, draft='{"title": "Disk full"}', request=1)),
        r.Attached(Attachment("c1", message, GOOD)),
        r.CallAnswered(ToolResult("c1", ResultKind.ACCEPTED, wording.ACCEPTED, display=wording.ACCEPTED)),
        r.Ended(Answered(Attachment("c1", message, GOOD))),
    ]


def test_a_rejected_object_is_answered_with_its_problems():
    play = run()
    records = play.reply(finish("c1", BAD))
    words = "The output does not match the schema. Correct these and call StructuredOutput again:\n- /count: must be integer"
    attempted, answered = records[3:5]
    assert isinstance(attempted, r.Attempted)
    assert isinstance(answered, r.CallAnswered)
    attempt = attempted.attempt
    assert (attempt.verdict, attempt.draft) == (VerdictKind.REJECTED, BAD)
    assert [(p.path, p.keyword, p.message) for p in attempt.problems] == [(COUNT.path, COUNT.keyword, COUNT.message)]
    assert answered.result.content.startswith(words)
    assert answered.result.is_error is True
    assert answered.result.display == f"Error: {answered.result.content}"


def test_unreadable_arguments_are_told_as_unreadable_and_never_as_a_missing_field():
    play = run()
    records = play.reply(finish("c1", BROKEN))
    assert play.verdicts == ["unreadable"]
    assert play.state.attempts[0].draft == '{"title": "x'
    assert [p.keyword for p in play.state.attempts[0].problems] == ["unreadable"]
    (words,) = contents(records)
    assert "line 1, column 13" in words
    assert "required" not in words


def test_compat_refuses_an_input_that_is_no_object_in_the_references_words():
    play = run(compat(), COMPAT_CONTRACT)
    play.starts()
    records = play.says(finish("c1", "[]"))
    assert [p.keyword for p in play.state.attempts[0].problems] == ["input"]
    assert contents(records)[0].startswith("<tool_use_error>InputValidationError: StructuredOutput failed due to")


def test_compat_denies_the_finishing_tool_where_a_rule_does():
    play = run(compat(), COMPAT_CONTRACT, finishing_denied=True)
    play.starts()
    records = play.says(finish("c1"))
    assert contents(records) == ["Permission to use StructuredOutput has been denied."]
    assert play.answers() == {"c1": ResultKind.DENIED}
    assert play.state.attempts == ()
    assert [c.call_id for c in play.state.denied] == ["c1"]


def test_a_call_of_an_unknown_tool_is_given_to_the_tools_and_is_no_side_effect():
    play = run()
    records = play.reply(call("c1", "Fly"))
    assert records[-1] == r.ToolStarted("c1", "Fly", read_only=True)
    assert play.actions[-1] == RunTool(replace(call("c1", "Fly"), message_id=play.message))


# -- degenerate answers -----------------------------------------------------------------------------------------------

LONG = (
    '{"title":"'
    "The disk of db-1 filled up because log rotation was off; writes failed from 02:10 until the volume grew."
    '","count":"3"}'
)


def test_an_object_that_lost_what_a_rejected_draft_held_is_sent_back_once_and_then_taken_with_a_warning():
    play = run()
    play.reply(finish("c1", LONG))
    records = play.reply(finish("c2", '{"title":"Disk"}'))
    assert play.verdicts == ["rejected", "rejected"]
    assert "lost most of what the rejected draft held" in contents(records)[0]
    play.reply(finish("c3", '{"title":"Disk"}'))
    assert isinstance(play.outcome, Answered)
    assert [w.code for w in play.state.warnings] == ["degenerate"]


def test_an_object_that_keeps_its_text_is_taken():
    play = run()
    play.reply(finish("c1", LONG))
    play.reply(finish("c2", LONG.replace('"3"', "3")))
    assert play.verdicts == ["rejected", "accepted"]


def test_compat_takes_a_degenerate_object():
    play = run(compat(), COMPAT_CONTRACT)
    play.reply(finish("c1", LONG.replace('"3"', '"three"')))
    play.reply(finish("c2", '{"title":"Disk"}'))
    assert play.verdicts == ["rejected", "accepted"]


# -- held -----------------------------------------------------------------------------------------------------------


def test_a_held_object_with_checks_is_checked_at_once():
    play = run(contract=CHECKED)
    records = play.reply(call("c1"), finish("c2"))
    assert records[-2:] == [
        r.Attempted(Attempt(1, "c2", "m", VerdictKind.HELD, draft=GOOD, request=1)),
        r.HeldBack(Attachment("c2", play.message, GOOD), checking=True),
    ]
    assert play.actions[-1] == RunChecks("c2", GOOD)


def test_several_held_objects_share_their_fate():
    play = run()
    play.reply(finish("c1"), call("c2"), finish("c3", OTHER))
    play.tool("c2", fails=True)
    assert play.verdicts == ["held", "held"]
    assert play.answers() == {"c2": ResultKind.FAILED, "c1": ResultKind.HELD, "c3": ResultKind.HELD}


def test_a_rejected_object_beside_a_held_one_is_no_failed_call():
    play = run()
    play.reply(finish("c1", BAD), call("c2"), finish("c3"), decline("c4", "{}"))
    play.tool("c2")
    assert play.verdicts == ["rejected", "accepted", "rejected"]
    assert play.state.answered_before == ("c2",)


def test_compat_holds_an_object_until_the_budget_is_known():
    play = run(compat(max_budget_usd=dollars("9")), COMPAT_CONTRACT)
    play.starts()
    assert kinds(play.says(finish("c1"))) == ["BlockSaid", "Attempted", "HeldBack"]
    assert kinds(play.stops()) == ["ReplyClosed", "AttemptRevised", "Attached", "CallAnswered", "Ended"]


def test_warnings_are_told_when_the_object_is_taken():
    play = run()
    warning = RunWarning("json_in_string", "the string is itself JSON", "/title")
    play.reply(call("c1"), finish("c2", '{"title":"[1]"}'))
    assert play.state.held[0].warnings == (warning,)
    assert r.Warned(warning) in play.tool("c1")


# -- declines -------------------------------------------------------------------------------------------------------


def test_a_decline_that_says_nothing_is_a_rejected_attempt_without_a_draft():
    play = run()
    records = play.reply(decline("c1", "{}"))
    problem = Problem("/reason", "required", "must be a string that says why")
    assert play.state.attempts == (Attempt(1, "c1", "m", VerdictKind.REJECTED, (problem,), request=1),)
    assert contents(records) == [wording.bad_decline(problem)]


def test_a_challenged_decline_is_answered_with_the_challenge_and_an_accepted_one_is_recorded():
    play = run()
    assert contents(play.reply(decline("c1"))) == [wording.DECLINE_CHALLENGED]
    assert contents(play.reply(decline("c2"))) == [wording.DECLINE_ACCEPTED]


# -- hooks and interrupts ---------------------------------------------------------------------------------------------


def test_a_call_that_hooks_deny_is_a_blocked_attempt():
    play = run(hooks=frozenset({HookPoint.BEFORE_CALL}))
    play.reply(finish("c1", BROKEN), finish("c2"))
    assert play.verdicts == ["unreadable"], "what cannot be read is not shown to hooks"
    said = HookVerdict(decision=HookDecision.DENY, reason="not yet")
    records = play.hear(e.HooksFinished(HookPoint.BEFORE_CALL, "c2", said))
    words = hook_words.denied_by_hook("not yet", Profile.NATIVE)
    meta = {"non_execution_kind": "permission-rule"}
    assert records[1:3] == [
        r.Attempted(Attempt(2, "c2", "m", VerdictKind.REJECTED, (Problem("", "hook", "not yet"),), GOOD, request=1)),
        r.CallAnswered(ToolResult("c2", ResultKind.BLOCKED, words, True, display=f"Error: {words}", meta=meta)),
    ]


def test_hooks_of_a_call_that_is_no_more_mean_nothing():
    play = run(hooks=frozenset({HookPoint.BEFORE_CALL}))
    play.reply(finish("c1"))
    play.state = replace(play.state, reply=replace(play.state.reply, calls=()))
    assert kinds(play.hear(e.HooksFinished(HookPoint.BEFORE_CALL, "c1", HookVerdict()))) == [
        "HooksHeard",
        "Nudged",
        "Asked",
    ]


def test_compat_answers_what_an_interrupt_stopped_and_tells_the_model():
    play = run(compat(), COMPAT_CONTRACT)
    play.reply(call("c1"), call("c2"))
    play.tool("c1")
    words, shown = hook_words.cancelled_call(Profile.COMPAT)
    meta = {"non_execution_kind": "user-rejected"}
    records = play.interrupt()
    assert records[:2] == [
        r.CallAnswered(ToolResult("c2", ResultKind.CANCELLED, words, True, display=shown, meta=meta)),
        r.Nudged(r.NudgeKind.INTERRUPT, "[Request interrupted by user for tool use]"),
    ]
    assert play.actions[-1] == CancelCalls(("c2",))


def test_compat_tells_of_an_interrupt_with_nothing_running():
    play = run(compat(), COMPAT_CONTRACT)
    assert play.interrupt()[0] == r.Nudged(r.NudgeKind.INTERRUPT, "[Request interrupted by user]")


def test_a_call_goes_on_with_the_input_that_hooks_give_it_or_with_its_own():
    play = run(hooks=frozenset({HookPoint.BEFORE_CALL}))
    play.reply(finish("c1", BAD), finish("c2", BAD))
    play.hear(e.HooksFinished(HookPoint.BEFORE_CALL, "c1", HookVerdict(arguments=OTHER)))
    play.hear(e.HooksFinished(HookPoint.BEFORE_CALL, "c2", HookVerdict()))
    assert [(a.verdict, a.draft) for a in play.state.attempts] == [
        (VerdictKind.ACCEPTED, OTHER),
        (VerdictKind.REJECTED, BAD),
    ]


# -- ends and crashes -------------------------------------------------------------------------------------------------


def test_an_end_answers_every_open_call_of_a_complete_reply_and_gives_up_what_is_held():
    play = run()
    play.reply(call("c1"), finish("c2"), call("c3"))
    play.tool("c3")
    words = wording.interrupted_call(restarts=False)
    assert contents(play.interrupt()) == [words, words]
    assert play.answers() == {"c3": ResultKind.OK, "c1": ResultKind.INTERRUPTED, "c2": ResultKind.INTERRUPTED}
    assert play.verdicts == ["interrupted"]


def test_an_end_answers_no_call_of_a_reply_that_never_ended():
    play = run()
    play.starts()
    play.says(call("c1"))
    assert kinds(play.interrupt()) == ["Ended"]


def test_a_crash_leaves_held_objects_hooks_and_restarted_reads_open():
    play = run(contract=CHECKED, hooks=frozenset({HookPoint.BEFORE_CALL}))
    play.reply(call("c1"), call("c2", "Bash"), finish("c3", BROKEN), finish("c4"), finish("c5", OTHER))
    play.hear(e.HooksFinished(HookPoint.BEFORE_CALL, "c4", HookVerdict()))
    assert contents(play.resume()) == [wording.interrupted_call(restarts=True)]
    assert play.answers() == {"c3": ResultKind.REJECTED, "c2": ResultKind.INTERRUPTED}


def test_checks_that_fail_are_told_as_problems():
    play = run(contract=CHECKED)
    play.reply(finish("c1"))
    records = play.hear(e.ChecksFinished("c1", (Problem("/title", "check", "is unknown"),), ()))
    assert records[1] == r.AttemptRevised("c1", VerdictKind.REJECTED, (Problem("/title", "check", "is unknown"),))
    assert contents(records)[0].endswith("- /title: is unknown")


# -- the object as text -----------------------------------------------------------------------------------------------


def test_attempts_of_text_have_ids_of_their_own_also_when_a_server_repeats_its_messages():
    play = run(native(), contract_of(), tools=(), channel=Channel.NATIVE)
    for text in (BAD, WORSE):
        play.starts("msg_same")
        play.says(text)
        play.stops()
    assert [a.call_id for a in play.state.attempts] == ["msg_same", "msg_same_2"]


def test_a_text_that_passes_needs_no_answer():
    play = run(native(), contract_of(), tools=(), channel=Channel.NATIVE)
    assert kinds(play.reply(GOOD))[-3:] == ["Attempted", "Attached", "Ended"]
    assert play.outcome == Answered(Attachment(play.message, play.message, GOOD, "native_format"), GOOD)


def test_a_call_may_come_where_text_was_expected():
    play = run(native(), contract_of(), tools=(), channel=Channel.NATIVE)
    play.reply("Here it is:", finish("c1"))
    assert play.outcome == Answered(Attachment("c1", play.message, GOOD))


def test_a_call_may_not_take_the_id_of_an_attempt_of_text():
    play = run(native(), contract_of(), tools=(), channel=Channel.NATIVE)
    play.starts("msg_a")
    play.says(BAD)
    play.stops()
    play.reply(finish("msg_a"))
    assert play.outcome == Answered(Attachment("msg_a_2", play.message, GOOD))


def test_a_text_that_was_cut_off_is_an_attempt_too():
    play = run(native(), contract_of(), tools=(), channel=Channel.NATIVE)
    play.reply('{"title":"Di', stop="max_tokens")
    assert [(a.call_id, a.verdict, a.draft) for a in play.state.attempts] == [
        (play.message, VerdictKind.CUT_OFF, '{"title":"Di')
    ]


@pytest.mark.parametrize("reason", ["max_tokens", "refusal"])
def test_a_cut_off_call_is_an_attempt_with_its_text(reason):
    play = run()
    play.reply(finish("c1", BROKEN), finish("c2"), call("c3"), stop=reason)
    assert [(a.verdict, a.draft) for a in play.state.attempts] == [
        (VerdictKind.CUT_OFF, BROKEN.text),
        (VerdictKind.CUT_OFF, GOOD),
    ]


# -- what is taken only at the second time ----------------------------------------------------------------------------

WRAPPED = '{"$PARAMETER_NAME":{"title":"Disk","count":3}}'


def test_an_object_in_one_undeclared_key_is_sent_back_once_and_then_taken_with_a_warning():
    contract = contract_of({"type": "object", "properties": {"title": {"type": "string"}}})
    play = run(native(), contract)
    records = play.reply(finish("c1", WRAPPED))
    assert play.verdicts == ["rejected"]
    assert "send what is in it as the whole input" in contents(records)[0]
    play.reply(finish("c2", WRAPPED))
    assert isinstance(play.outcome, Answered)
    assert [w.code for w in play.state.warnings] == ["wrapped_object"]


def test_of_two_objects_that_disagree_the_discarded_one_is_told():
    play = run()
    play.reply(finish("c1", '{"title":"Disk","count":1}'), finish("c2", '{"title":"Disk","count":2}'))
    assert isinstance(play.outcome, Answered)
    assert play.outcome.attachment.text == '{"title":"Disk","count":2}'
    assert [w.code for w in play.state.warnings] == ["other_object"]


def test_the_same_object_twice_is_one():
    play = run()
    play.reply(finish("c1", '{"title":"Disk","count":1}'), finish("c2", '{"title":"Disk","count":1}'))
    assert play.state.warnings == ()


# -- objects in prose -------------------------------------------------------------------------------------------------


def test_prose_is_searched_only_where_that_was_asked_for():
    play = run()
    play.reply(f"Here it is: {GOOD}")
    assert play.outcome is None
    play = run(native(salvages=True))
    play.reply(f"Here it is: {GOOD}")
    assert play.outcome == Answered(
        Attachment(play.message, play.message, GOOD, "salvaged_text"), f"Here it is: {GOOD}"
    )
    assert play.state.attempts == ()
    assert [w.code for w in play.state.warnings] == ["salvaged"]


def test_what_stands_in_prose_passes_the_whole_contract_or_is_nothing():
    play = run(native(salvages=True))
    play.reply(f"Here it is: {BAD}")
    assert play.outcome is None
    assert (play.state.attempts, play.state.warnings) == ((), ())


def test_a_list_in_prose_and_a_rule_on_it():
    rule = cel_rule("this.size() == 2")
    play = run(native(salvages=True), contract_of({"type": "array", "items": {"type": "integer"}}, rules=[rule]))
    play.reply("They are [1, 2].")
    assert play.outcome.attachment.text == "[1,2]"
    assert [(c.name, c.passed, c.call_id) for c in play.state.checks] == [("this.size() == 2", True, play.message)]


def test_a_stub_in_prose_is_no_answer():
    play = run(native(salvages=True))
    play.reply(finish("c1", LONG))
    play.reply('{"title":"test"}')
    assert play.outcome is None


def test_prose_beside_a_call_cut_off_or_under_a_check_is_not_searched():
    play = run(native(salvages=True))
    play.reply(GOOD, finish("c1", BAD))
    assert play.verdicts == ["rejected"]
    play.reply(GOOD, stop="max_tokens")
    assert play.outcome is None
    play = run(native(salvages=True), CHECKED)
    play.reply(GOOD)
    assert play.outcome is None


# -- what the schema asks for beside a shape ----------------------------------------------------------------------------

MARKED = {
    "type": "object",
    "properties": {
        "pin": {"type": "string", "maxLength": 3, "x-lastcall": {"secret": True}},
        "asked": {"type": "string", "x-lastcall": {"quote": "input"}},
    },
}


def test_the_verdicts_of_rules_are_noted_with_their_attempt():
    play = run(native(), contract_of(MARKED))
    play.reply(finish("c1", '{"asked":"stop"}'))
    play.reply(finish("c2", '{"asked":"go"}'))
    assert play.verdicts == ["rejected", "accepted"]
    assert [(c.passed, c.call_id) for c in play.state.checks] == [(False, "c1"), (True, "c2")]


@pytest.mark.parametrize(
    "text",
    [
        '{"pin":"hunter2"}',
        '{"pin":"hunter2',
        Unreadable('{"pin":"hunter2', UnreadableCause.TRUNCATED, "it ends", 1, 16, 15, 15),
    ],
)
def test_a_secret_is_in_no_answer(text):
    play = run(native(), contract_of(MARKED))
    records = play.reply(finish("c1", text))
    assert contents(records)
    assert "hunter2" not in repr(contents(records))


def test_the_references_own_refusal_of_an_input_keeps_its_words():
    from lastcall.contract.verdicts import WrongInput
    from lastcall.core.calls import _without_secrets

    wrong = WrongInput("must be object")
    assert _without_secrets(contract_of(MARKED), "[]", wrong) == wrong


def test_a_revision_that_makes_no_whole_is_rejected_where_it_stands():
    play = run()
    play.reply(finish("c1", '{"title":"' + "long words " * 500 + '","count":"3"}'))
    (words,) = contents(play.reply(call("c2", "RevisedOutput", '{"base":9,"patch":[]}')))
    assert "/base: there is no kept draft" in words
    assert (play.verdicts, play.state.attempts[1].sent) == (["rejected", "rejected"], '{"base":9,"patch":[]}')
