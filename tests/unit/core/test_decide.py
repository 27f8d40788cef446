"""The rules of a run, one by one. Native unless a name says compat."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from lastcall.contract import hook_words, wording
from lastcall.core import events as e
from lastcall.core import records as r
from lastcall.core.actions import AskModel, CancelCalls, CancelRequest, RunHooks, RunTool
from lastcall.core.decide import decide
from lastcall.core.policy import compat, native
from lastcall.core.request import build_request
from lastcall.nouns.attachment import Attachment, Problem
from lastcall.nouns.hooks import NOTHING_SAID, HookDecision, HookPoint, HookVerdict
from lastcall.nouns.messages import TextBlock, ThinkingBlock
from lastcall.nouns.profile import Profile
from lastcall.nouns.request import Channel, Choice
from lastcall.nouns.result import (
    Answered,
    Cancelled,
    CheckVerdict,
    Declined,
    Failed,
    FailureKind,
    GaveUp,
    Limit,
    OutOfAttempts,
    Retracted,
    RunWarning,
    Signal,
    Stopped,
    Usage,
)
from lastcall.nouns.tools import Halt, ResultKind, ToolResult
from machine_tools import (
    BAD,
    CHECKED,
    COMPAT_CONTRACT,
    GOOD,
    OTHER,
    OVERLOADED,
    READ,
    WORSE,
    Play,
    call,
    contract_of,
    decline,
    dollars,
    ended,
    finish,
    kinds,
)

REFUSED = Failed(FailureKind.REFUSAL, "no", provider_kind="cyber")


def attached(play: Play, call_id: str, text: str = GOOD) -> Attachment:
    return Attachment(call_id, play.message, text)


def run(**choices: Any) -> Play:
    """A prompted native run."""
    play = Play(native(**choices))
    play.prompt()
    return play


def compat_run(**choices: Any) -> Play:
    play = Play(compat(**choices), COMPAT_CONTRACT)
    play.prompt()
    return play


# -- prompts --------------------------------------------------------------------------------------------------------


def test_a_prompt_asks_the_model():
    play = Play()
    assert play.prompt("go", run="run_1") == [r.Started("run_1", (TextBlock("go"),), "uuid", 1.0), r.Asked(1)]
    assert play.actions == [AskModel(1)]
    assert play.history() == [("user", ["go"])]


def test_a_second_prompt_in_the_middle_is_ignored():
    play = run()
    assert play.prompt() == []
    play.starts()
    assert play.prompt() == []
    assert play.actions == [AskModel(1)]


def test_nothing_happens_before_the_first_prompt():
    play = Play()
    assert (
        play.hear(e.LimitHit(Limit.DEADLINE), e.ReplyStarted(0, "m", "m"), e.Interrupted(Signal.INTERRUPT, "u")) == []
    )


def test_nothing_happens_after_the_end():
    play = run()
    play.reply(finish("c1"))
    before = play.state
    late: list[e.Event] = [
        e.ReplyStarted(1, "m2", "m"),
        e.BlockEnded(1, play.message, TextBlock("more"), "u"),
        e.ReplyEnded(1, play.message, "end_turn", Usage()),
        e.RequestFailed(1, OVERLOADED, "u"),
        e.Retrying(1, 1, 10, 0, OVERLOADED, (play.message,)),
        e.FellBack(1, "m", "m2", "overloaded", "u", (play.message,)),
        e.ChannelChanged(1, "tools", "400"),
        e.ToolFinished(ToolResult("c1", ResultKind.OK, "x"), "u"),
        e.ChecksFinished("c1", (), ()),
        e.HooksFinished(HookPoint.STOP, "", NOTHING_SAID),
        e.LimitNear(Limit.DEADLINE),
        e.LimitHit(Limit.DEADLINE),
        e.Interrupted(Signal.INTERRUPT, "u"),
        e.Faulted(OVERLOADED),
    ]
    assert play.hear(*late) == []
    assert play.state == before


def test_several_runs_of_a_session_count_anew_and_share_the_history():
    play = run(max_attempts=2)
    play.reply(finish("c1", BAD), finish("c2", BAD))
    assert play.outcome == OutOfAttempts(2)
    play.prompt("again")
    play.reply("prose")
    play.reply(finish("c1", OTHER))
    assert play.outcome == Answered(attached(play, "c1_2", OTHER))
    assert play.verdicts == ["accepted"]
    assert play.history() == [
        ("user", ["go"]),
        ("model", ["call c1", "call c2"]),
        ("user", ["c1: rejected", "c2: rejected", "again"]),
        ("model", ["prose"]),
        ("user", [wording.enforce(Profile.NATIVE, Channel.TOOL, forced=True, declines=True)]),
    ]


def test_an_event_of_an_earlier_run_is_late_also_under_a_request_of_its_own():
    play = run()
    play.interrupt()
    play.prompt()
    assert play.hear(e.ReplyStarted(1, "msg_old", "m"), e.BlockEnded(1, "msg_old", finish("c1"), "u")) == []
    play.reply(finish("c1"))
    assert play.outcome == Answered(attached(play, "c1"))


# -- finishing calls ------------------------------------------------------------------------------------------------


def test_an_object_that_passes_ends_the_run():
    play = run()
    records = play.reply("here", finish("c1"))
    assert play.outcome == Answered(attached(play, "c1"))
    assert kinds(records)[-5:] == ["ReplyClosed", "Attempted", "Attached", "CallAnswered", "Ended"]
    assert play.answers() == {"c1": ResultKind.ACCEPTED}


def test_words_after_the_object_are_the_answers_text():
    play = run()
    play.reply(finish("c1"), "That is it.")
    assert play.outcome == Answered(attached(play, "c1"), "That is it.")


def test_a_rejected_object_goes_back_and_counts():
    play = run()
    records = play.reply(finish("c1", WORSE))
    assert kinds(records)[-3:] == ["Attempted", "CallAnswered", "Asked"]
    assert play.verdicts == ["rejected"]
    assert play.history()[1:] == [("model", ["call c1"]), ("user", ["c1: rejected"])]
    play.reply(finish("c2"))
    assert play.outcome == Answered(attached(play, "c2"))
    assert play.verdicts == ["rejected", "accepted"]


def test_the_last_surviving_object_of_a_reply_wins():
    play = run()
    play.reply(finish("c1", GOOD), finish("c2", OTHER), finish("c3", BAD))
    assert play.outcome == Answered(attached(play, "c2", OTHER))
    assert play.verdicts == ["accepted", "accepted", "rejected"]


def test_compat_takes_the_last_surviving_object_too():
    play = compat_run()
    play.reply(finish("c1", GOOD), finish("c2", '{"title":1}'))
    assert play.outcome == Answered(attached(play, "c1"))


def test_without_a_contract_prose_is_the_answer():
    play = Play(contract=None)
    play.prompt()
    play.reply("a", ThinkingBlock("hm"), "b")
    assert play.outcome == Answered(None, "b")


def test_without_a_contract_a_finishing_call_is_a_call_like_any_other():
    play = Play(contract=None)
    play.prompt()
    play.reply(finish("c1"))
    assert play.actions[1:] == [RunTool(replace(finish("c1"), message_id=play.message))]


# -- cut-off replies ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
def test_nothing_of_a_cut_off_reply_is_taken_or_run_and_every_call_is_answered(reason):
    play = run()
    records = play.reply(call("c1", "Bash"), finish("c2"), stop=reason)
    assert play.verdicts == ["cut_off"]
    assert play.answers() == {"c1": ResultKind.CUT_OFF, "c2": ResultKind.CUT_OFF}
    assert kinds(records)[-4:] == ["CallAnswered", "Attempted", "CallAnswered", "Asked"]
    assert play.actions == [AskModel(1), AskModel(2)]


def test_a_refusal_is_a_cut_off_reply_and_ends_the_run():
    play = run()
    play.reply("I cannot", finish("c1"), call("c2", "Bash"), stop="refusal", stop_details={"category": "cyber"})
    assert play.outcome == replace(REFUSED, detail="I cannot")
    assert play.answers() == {"c1": ResultKind.CUT_OFF, "c2": ResultKind.CUT_OFF}
    assert play.verdicts == ["cut_off"]
    assert not [a for a in play.actions if isinstance(a, RunTool)]


def test_a_silent_refusal_has_words_of_ours():
    play = run()
    play.reply(stop="refusal")
    assert play.outcome == Failed(FailureKind.REFUSAL, "the model refused")


def test_compat_keeps_the_object_of_a_refused_reply_and_fails():
    play = compat_run()
    play.reply(finish("c1"), stop="refusal")
    assert play.outcome == Failed(FailureKind.REFUSAL, "the model refused")
    assert play.state.surviving == attached(play, "c1")


def test_compat_takes_calls_of_a_cut_off_reply():
    play = compat_run()
    play.reply(finish("c1"), stop="max_tokens")
    assert play.outcome == Answered(attached(play, "c1"))


@pytest.mark.parametrize("policy", [native(), compat()])
def test_a_cut_off_text_is_asked_to_go_on_three_times_in_a_row(policy):
    play = Play(policy)
    play.prompt()
    for n in range(2, 5):
        records = play.reply("and so on", stop="max_tokens")
        words = wording.go_on("max_tokens", policy.profile, Channel.TOOL)
        assert records[-2:] == [r.Nudged(r.NudgeKind.CUT_OFF, words), r.Asked(n)]
    play.reply("and so on", stop="max_tokens")
    assert play.outcome == Failed(FailureKind.OUTPUT_LIMIT, wording.output_limit("max_tokens"))


def test_a_whole_reply_starts_the_count_of_cut_off_ones_anew():
    play = run()
    for _ in range(3):
        play.reply("and so on", stop="max_tokens")
    play.reply(call("c1"))
    play.tool("c1")
    play.reply("and so on", stop="max_tokens")
    assert play.outcome is None


def test_a_model_whose_calls_are_always_cut_off_does_not_go_on_for_ever():
    play = run()
    for n in range(4):
        assert play.outcome is None
        play.reply(call(f"c{n}", "Bash"), stop="max_tokens")
    assert play.outcome == Failed(FailureKind.OUTPUT_LIMIT, wording.output_limit("max_tokens"))
    assert play.answers() == {f"c{n}": ResultKind.CUT_OFF for n in range(4)}


def test_compat_counts_only_cut_off_replies_without_calls():
    play = compat_run()
    for n in range(6):
        play.reply(call(f"c{n}"), stop="max_tokens")
        play.tool(f"c{n}")
    assert play.outcome is None


# -- ordinary calls -------------------------------------------------------------------------------------------------


def test_ordinary_calls_run_when_the_reply_is_complete_and_their_results_go_back():
    play = run()
    assert kinds(play.starts() + play.says(call("c1"), call("c2", "Bash"))) == ["ReplyBegan", "BlockSaid", "BlockSaid"]
    assert play.stops()[1:] == [r.ToolStarted("c1", "Read", True), r.ToolStarted("c2", "Bash", False)]
    result = ToolResult("c2", ResultKind.FAILED, "no", is_error=True)
    assert play.hear(e.ToolFinished(result, "uuid", 7)) == [r.CallAnswered(result, "uuid", 7)]
    assert kinds(play.tool("c1")) == ["CallAnswered", "Asked"]
    assert play.history()[1:] == [("model", ["call c1", "call c2"]), ("user", ["c2: failed", "c1: ok"])]


def test_compat_starts_a_call_as_soon_as_its_block_is_whole_and_asks_after_the_reply():
    play = compat_run()
    play.starts()
    assert kinds(play.says(call("c1"))) == ["BlockSaid", "ToolStarted"]
    assert kinds(play.tool("c1")) == ["CallAnswered"]
    assert kinds(play.stops()) == ["ReplyClosed", "Asked"]


def test_a_result_counts_once_and_only_for_a_call_that_runs():
    play = run()
    play.reply(call("c1"), call("c2"))
    play.tool("c1")
    assert play.tool("c1") == []
    assert play.tool("nobody") == []
    assert kinds(play.tool("c2")) == ["CallAnswered", "Asked"]


def test_an_object_beside_calls_is_held_until_they_have_finished():
    play = run()
    records = play.reply(call("c1"), finish("c2"), call("c3", "Bash"))
    held = r.HeldBack(attached(play, "c2"))
    assert held in records
    assert play.outcome is None
    assert play.tool("c3") == [r.CallAnswered(ToolResult("c3", ResultKind.OK, "done"), "uuid", 5)]
    last = play.tool("c1")
    assert kinds(last) == ["CallAnswered", "AttemptRevised", "Attached", "CallAnswered", "Ended"]
    assert last[2] == r.Attached(attached(play, "c2"), ("c3", "c1"))
    assert play.outcome == Answered(attached(play, "c2"))
    assert play.state.answered_before == ("c3", "c1")


def test_an_object_is_not_taken_when_a_call_beside_it_fails():
    play = run()
    play.reply(call("c1"), finish("c2"))
    assert kinds(play.tool("c1", fails=True)) == ["CallAnswered", "AttemptRevised", "CallAnswered", "Asked"]
    assert play.verdicts == ["held"]
    assert play.answers() == {"c1": ResultKind.FAILED, "c2": ResultKind.HELD}
    play.reply(finish("c3"))
    assert play.outcome == Answered(attached(play, "c3"))


def test_compat_takes_an_object_at_once_whatever_the_calls_beside_it_do():
    play = compat_run()
    play.reply(call("c1"), finish("c2"))
    assert play.answers() == {"c2": ResultKind.ACCEPTED}
    play.tool("c1", fails=True)
    assert play.outcome == Answered(attached(play, "c2"))


# -- checks ---------------------------------------------------------------------------------------------------------


def test_an_object_waits_for_its_checks():
    play = Play(contract=CHECKED)
    play.prompt()
    play.reply(finish("c1"))
    assert play.outcome is None
    passed = CheckVerdict("check", True)
    assert play.hear(e.ChecksFinished("c1", (), (passed,)))[0] == r.Checked("c1", (passed,), True)
    assert play.outcome == Answered(attached(play, "c1"))
    assert play.state.checks == (passed,)


def test_a_check_that_fails_is_a_rejection():
    play = Play(contract=CHECKED)
    play.prompt()
    play.reply(finish("c1"))
    problem = Problem("/title", "check", "is unknown")
    records = play.hear(e.ChecksFinished("c1", (problem,), (CheckVerdict("check", False),)))
    assert kinds(records) == ["Checked", "AttemptRevised", "CallAnswered", "Asked"]
    assert play.verdicts == ["rejected"]
    assert play.state.attempts[0].problems == (problem,)
    assert "/title: is unknown" in records[2].result.content


def test_of_two_objects_the_one_whose_checks_pass_is_taken():
    play = Play(contract=CHECKED)
    play.prompt()
    play.reply(finish("c1"), finish("c2", OTHER))
    play.hear(e.ChecksFinished("c2", (Problem("", "check", "no"),), ()))
    assert play.outcome is None
    play.hear(e.ChecksFinished("c1", (), ()))
    assert play.outcome == Answered(attached(play, "c1"))
    assert play.verdicts == ["accepted", "rejected"]


def test_a_verdict_of_checks_counts_once_and_only_for_an_object_that_waits():
    play = Play(contract=CHECKED)
    play.prompt()
    play.reply(call("c1"), finish("c2"))
    assert play.hear(e.ChecksFinished("c1", (), ()), e.ChecksFinished("nobody", (), ())) == []
    play.hear(e.ChecksFinished("c2", (), ()))
    assert play.hear(e.ChecksFinished("c2", (Problem("", "check", "no"),), ())) == []
    play.tool("c1")
    assert play.outcome == Answered(attached(play, "c2"))


# -- taken back -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [Play.falls_back, Play.retries])
def test_compat_takes_call_answer_and_object_back_and_keeps_the_attempt(how):
    play = compat_run()
    play.starts()
    play.says("let me see", finish("c1"), call("c2", "Bash"))
    dead = play.message
    how(play, dead)
    assert play.actions[-1] == CancelCalls(("c2",))
    assert play.verdicts == ["retracted"]
    assert (play.state.surviving, play.state.pending, play.state.running) == (None, (), ())
    assert play.tool("c2") == []
    request = play.state.asked
    assert play.hear(
        e.BlockEnded(request, dead, finish("c9"), "u"),
        e.ReplyEnded(request, dead, "tool_use", Usage()),
    ) == []  # fmt: skip
    play.reply(finish("c3", OTHER))
    assert play.outcome == Answered(attached(play, "c3", OTHER))
    assert play.verdicts == ["retracted", "accepted"]


def test_a_reply_may_begin_anew_under_the_name_of_one_that_was_taken_back():
    play = run()
    play.starts("same")
    play.says("half")
    play.retries("same")
    assert play.says("late") == []
    play.starts("same")
    play.says(finish("c1"))
    play.stops()
    assert play.outcome == Answered(attached(play, "c1"))


def test_a_streaming_reply_is_taken_back():
    play = run()
    play.starts()
    play.says("half", finish("c1"))
    assert play.falls_back(play.message)[0].retracted == (play.message,)
    play.reply("prose")
    assert play.history()[1] == ("model", ["prose"])
    assert play.verdicts == []


def test_whoever_spoke_in_a_reply_is_taken_back_whether_named_or_not():
    play = run()
    play.starts("one")
    play.says("half")
    play.starts("two")
    play.says(finish("c1"))
    assert play.retries()[0].retracted == ("one", "two")
    assert play.hear(e.BlockEnded(1, "one", TextBlock("late"), "u")) == []
    play.reply(finish("c2", OTHER))
    assert play.outcome == Answered(attached(play, "c2", OTHER))


def test_a_held_object_its_check_and_a_decline_are_taken_back():
    play = Play(compat(declines=True), CHECKED)
    play.prompt()
    play.reply(call("c0"))
    play.tool("c0")
    play.starts()
    play.says(finish("c1"), decline("c2"))
    assert play.state.decline is not None
    play.falls_back(play.message)
    assert (play.state.held, play.state.decline) == ((), None)
    assert play.hear(e.ChecksFinished("c1", (), ())) == []
    assert play.verdicts == ["retracted", "retracted"]


def test_objects_that_only_fallbacks_took_back_are_told_as_such():
    play = compat_run()
    play.starts()
    play.says(finish("c1"))
    play.falls_back(play.message)
    play.reply("prose")
    play.reply("prose")
    assert play.outcome == Retracted(attempts=1, retracted=1, exhausted=False)


def test_attempts_that_were_taken_back_count_towards_the_cap():
    play = compat_run(max_attempts=2)
    play.starts()
    play.says(finish("c1"))
    play.falls_back(play.message)
    play.starts()
    assert ended(play.says(finish("c2", '{"title":1}'))) == [Retracted(attempts=2, retracted=1, exhausted=True)]


def test_a_closed_reply_is_not_taken_back():
    play = run()
    play.reply(finish("c1", BAD))
    first = play.message
    play.falls_back(first)
    assert play.history()[1] == ("model", ["call c1"])
    assert play.verdicts == ["rejected"]


def test_what_a_reply_taken_back_has_spent_is_counted_by_model():
    play = run()
    play.retries(usage=Usage(7, 1), cost_usd=dollars("0.5"))
    play.falls_back(usage=Usage(3, 1))
    assert play.state.usage_by_model == (("m", Usage(10, 2)),)
    assert play.state.cost_usd == dollars("0.5")
    assert play.state.usage == Usage()


# -- the cap and the nudge ------------------------------------------------------------------------------------------


def test_the_run_ends_when_the_attempts_are_used_up():
    play = run(cuts_repeats=False)
    for n in range(5):
        assert play.outcome is None
        play.reply(finish(f"c{n}", BAD))
    assert play.outcome == OutOfAttempts(5)
    assert play.verdicts == ["rejected"] * 5


def test_the_attempts_of_a_reply_are_all_judged_before_the_cap_is_asked():
    play = run(max_attempts=2)
    play.reply(finish("c1", BAD), finish("c2", WORSE), finish("c3", GOOD))
    assert play.outcome == Answered(attached(play, "c3"))


def test_compat_ends_in_the_middle_of_the_reply_with_the_attempt_that_was_one_too_many():
    play = compat_run(max_attempts=2)
    play.starts()
    play.says(finish("c1", '{"title":1}'))
    records = play.says(finish("c2", '{"title":1}'))
    assert ended(records) == [OutOfAttempts(2)]
    assert play.actions[-1] == CancelRequest(1)
    assert play.says(finish("c3")) == []


def test_compat_does_not_end_while_an_object_is_held_for_the_budget():
    play = compat_run(max_attempts=1, max_budget_usd=dollars("9"), budget_words="$9")
    play.starts()
    play.says(finish("c1"))
    assert play.outcome is None
    play.stops(cost_usd=dollars("1"))
    assert play.outcome == Answered(attached(play, "c1"))


def test_a_reply_that_stops_without_the_call_is_nudged_once_by_force_and_then_gives_up():
    play = run()
    words = wording.enforce(Profile.NATIVE, Channel.TOOL, forced=True, declines=True)
    assert play.reply("Done.")[-2:] == [r.Nudged(r.NudgeKind.ENFORCE, words), r.Asked(2, Choice.FINISH)]
    assert build_request(play.state).choice is Choice.FINISH
    play.reply(call("c1"))
    play.tool("c1")
    assert play.state.choice is Choice.AUTO
    play.reply("Really done.")
    assert play.outcome == GaveUp("Really done.")


def test_the_choice_is_forced_only_where_the_deployment_can():
    play = Play(forces=False)
    play.prompt()
    assert play.reply("Done.")[-1] == r.Asked(2, Choice.AUTO)


def test_compat_nudges_in_words_only():
    play = compat_run()
    assert play.reply("Done.")[-2:] == [
        r.Nudged(r.NudgeKind.ENFORCE, wording.enforce(Profile.COMPAT, Channel.TOOL, forced=False, declines=False)),
        r.Asked(2, Choice.AUTO),
    ]


def test_the_nudge_comes_whatever_calls_failed_before():
    play = run()
    play.reply(finish("c1", BAD))
    assert kinds(play.reply("I give up")) == ["ReplyBegan", "BlockSaid", "ReplyClosed", "Nudged", "Asked"]


def test_compat_asks_a_silent_reply_for_words_first():
    play = compat_run()
    assert play.reply()[-2] == r.Nudged(r.NudgeKind.NO_OUTPUT, wording.NO_VISIBLE_OUTPUT)
    assert play.reply()[-2].kind is r.NudgeKind.ENFORCE


def test_a_reply_that_means_a_call_and_holds_none_is_told_so_once():
    play = run()
    assert play.reply("hm", stop="tool_use")[-2] == r.Nudged(r.NudgeKind.MALFORMED, wording.MALFORMED_CALL)
    assert play.reply("hm", stop="tool_use")[-2].kind is r.NudgeKind.ENFORCE


def test_a_reply_that_pauses_is_asked_on_but_not_for_ever():
    play = run()
    for n in range(2, 5):
        assert play.reply(f"part {n}", stop="pause_turn")[-1] == r.Asked(n)
    assert play.history() == [("user", ["go"]), ("model", ["part 2", "part 3", "part 4"])]
    assert play.reply("part 5", stop="pause_turn")[-2].kind is r.NudgeKind.ENFORCE


def test_compat_takes_a_pause_for_an_end():
    play = compat_run()
    assert play.reply("part 1", stop="pause_turn")[-2].kind is r.NudgeKind.ENFORCE


def test_the_same_rejected_arguments_three_times_in_a_row_end_the_run():
    play = run()
    first = play.reply(finish("c1", BAD))[-2].result.content
    second = play.reply(finish("c2", BAD))[-2].result.content
    assert first.startswith("The output does not match")
    assert second.startswith("Nothing changed")
    play.reply(finish("c3", BAD))
    assert play.outcome == OutOfAttempts(5, repeated=True)


def test_the_same_thrice_in_one_reply_was_not_seen_in_between_and_does_not_end_it():
    play = run()
    play.reply(finish("c1", BAD), finish("c2", BAD), finish("c3", BAD))
    assert play.outcome is None


def test_compat_counts_repeats_like_any_other_attempt():
    play = compat_run()
    for n in range(4):
        play.reply(finish(f"c{n}", '{"title":1}'))
    assert play.outcome is None


# -- declining ------------------------------------------------------------------------------------------------------


def test_a_decline_in_the_first_reply_is_challenged_once_and_then_accepted():
    play = run()
    records = play.reply(decline("c1"), decline("c2"))
    assert [x.accepted for x in records if isinstance(x, r.DeclineHeard)] == [False, False]
    assert play.outcome is None
    play.reply(decline("c3", '{"reason":" no log ","missing":["the log"]}'))
    assert play.outcome == Declined("no log", ("the log",))
    assert play.verdicts == ["declined"] * 3


def test_a_later_decline_is_accepted_at_once():
    play = run()
    play.reply(call("c1"))
    play.tool("c1", fails=True)
    play.reply(decline("c2"))
    assert play.outcome == Declined("no log")


@pytest.mark.parametrize("choices", [{"max_turns": 1}, {"max_attempts": 1}])
def test_a_decline_is_not_challenged_when_the_model_could_not_be_asked_again(choices):
    play = run(**choices)
    play.reply(decline("c1"))
    assert play.outcome == Declined("no log")


def test_an_object_beside_a_decline_wins():
    play = run()
    play.reply(call("c0"))
    play.tool("c0")
    play.reply(decline("c1"), finish("c2"))
    assert play.outcome == Answered(attached(play, "c2"))


def test_a_rejected_object_beside_a_decline_leaves_the_decline():
    play = run()
    play.reply(call("c0"))
    play.tool("c0")
    play.reply(finish("c1", BAD), decline("c2"))
    assert play.outcome == Declined("no log")


def test_compat_knows_no_decline():
    play = compat_run()
    play.starts()
    assert kinds(play.says(decline("c1"))) == ["BlockSaid", "ToolStarted"]


# -- limits ---------------------------------------------------------------------------------------------------------


def test_the_last_turn_is_a_reserved_one_with_finishing_tools_alone_by_force():
    play = run(max_turns=2)
    assert play.state.reserved is False
    play.reply(call("c1"))
    assert play.tool("c1")[-1] == r.Asked(2, Choice.FINISH, reserved=True)
    request = build_request(play.state)
    assert [t.name for t in request.tools] == ["StructuredOutput", "DeclineOutput"]
    play.reply(finish("c2"))
    assert play.outcome == Answered(attached(play, "c2"))


def test_turns_end_the_run_and_no_nudge_is_noted_that_nobody_would_hear():
    play = run(max_turns=1)
    assert kinds(play.reply("Done."))[-2:] == ["ReplyClosed", "Ended"]
    assert play.outcome == Stopped(Limit.TURNS, "1")


def test_compat_has_no_reserved_turn_and_notes_the_nudge():
    play = compat_run(max_turns=1)
    assert play.state.reserved is False
    assert kinds(play.reply("Done."))[-2:] == ["Nudged", "Ended"]
    assert play.outcome == Stopped(Limit.TURNS, "1")


def test_no_turn_at_all_asks_nobody():
    play = Play(native(max_turns=0))
    assert ended(play.prompt()) == [Stopped(Limit.TURNS, "0")]
    assert play.actions == []


def test_the_request_after_which_no_other_fits_the_budget_is_reserved():
    play = run(max_budget_usd=dollars("3"), budget_words="$3")
    assert play.reply(finish("c1", BAD), cost_usd=dollars("1"))[-1] == r.Asked(2)
    assert play.reply(finish("c2", WORSE), cost_usd=dollars("1"))[-1] == r.Asked(3, Choice.FINISH, reserved=True)
    play.reply(finish("c3", "[]"), cost_usd=dollars("1"))
    assert play.outcome == Stopped(Limit.BUDGET, "$3")


def test_an_object_ends_the_run_also_over_the_budget():
    play = run(max_budget_usd=dollars("1"), budget_words="$1")
    play.reply(finish("c1"), cost_usd=dollars("5"))
    assert play.outcome == Answered(attached(play, "c1"))


def test_compat_ends_over_the_budget_also_with_an_object():
    play = compat_run(max_budget_usd=dollars("1"), budget_words="1")
    play.reply(finish("c1"), cost_usd=dollars("5"))
    assert play.outcome == Stopped(Limit.BUDGET, "1")
    assert play.state.usage == Usage()


def test_a_near_deadline_reserves_the_next_request_also_beside_other_limits():
    play = run(max_turns=9, max_budget_usd=dollars("99"), budget_words="$99")
    near = r.LimitNoted(Limit.DEADLINE, hit=False)
    assert play.hear(e.LimitNear(Limit.DEADLINE), e.LimitNear(Limit.DEADLINE)) == [near]
    assert play.reply(finish("c1", BAD), cost_usd=dollars("1"))[-1] == r.Asked(2, Choice.FINISH, reserved=True)


def test_a_reserved_request_is_not_forced_where_the_deployment_cannot():
    play = Play(native(max_turns=1), forces=False)
    assert play.prompt()[-1] == r.Asked(1, Choice.AUTO, reserved=True)


def test_without_a_contract_no_request_is_reserved():
    play = Play(native(max_turns=1), contract=None)
    assert play.prompt()[-1] == r.Asked(1)


def test_a_deadline_ends_the_run_and_answers_what_is_held_and_open():
    play = run(deadline_s=9.0, deadline_words="9s")
    play.reply(call("c1", "Bash"), finish("c2"))
    records = play.hear(e.LimitHit(Limit.DEADLINE))
    assert kinds(records) == ["LimitNoted", "AttemptRevised", "CallAnswered", "CallAnswered", "Ended"]
    assert play.outcome == Stopped(Limit.DEADLINE, "9s")
    assert play.verdicts == ["interrupted"]
    assert play.answers() == {"c1": ResultKind.INTERRUPTED, "c2": ResultKind.INTERRUPTED}
    assert play.actions[-1] == CancelCalls(("c1",))


def test_a_limit_that_was_hit_keeps_the_run_from_asking():
    play = Play(native(deadline_words="9s"))
    play.prompt()
    play.reply(call("c1"))
    both = frozenset({Limit.DEADLINE, Limit.BUDGET})
    play.state = replace(play.state, limits_hit=both)
    assert ended(play.tool("c1")) == [Stopped(Limit.BUDGET, "")]


def test_compat_with_a_cap_of_nothing_asks_once_and_ends_at_the_nudge():
    play = compat_run(max_attempts=0)
    assert kinds(play.reply("Done."))[-2:] == ["Nudged", "Ended"]
    assert play.outcome == OutOfAttempts(0)


# -- after a crash ----------------------------------------------------------------------------------------------------


def test_after_a_crash_a_complete_reply_is_concluded_from():
    play = run()
    play.reply(call("c1", "Bash"))
    assert play.resume()[-1] == r.Asked(2)


def test_after_a_crash_a_request_is_sent_again_as_it_was_and_pays_no_turn():
    play = run(max_turns=2)
    play.reply("Done.")
    assert play.state.choice is Choice.FINISH
    assert play.resume() == [r.Resumed(), r.Asked(3, Choice.FINISH, reserved=True)]


def test_after_a_crash_before_the_first_request_it_is_sent():
    play = Play()
    play.hear(e.Prompted("run_1", (TextBlock("go"),), "u", 1.0))
    play.state = replace(play.state, asked=0, outstanding=False)
    assert play.resume() == [r.Resumed(), r.Asked(1)]


def test_after_a_crash_no_request_is_sent_again_when_the_attempts_are_used_up():
    play = compat_run(max_attempts=1, max_budget_usd=dollars("9"))
    play.starts()
    play.says(finish("c1"))
    assert play.resume() == [r.Resumed(), r.Ended(OutOfAttempts(1))]


def test_after_a_crash_what_is_still_open_is_waited_for():
    play = Play(contract=CHECKED)
    play.prompt()
    play.reply(finish("c1"))
    assert play.resume() == [r.Resumed()]
    play.hear(e.ChecksFinished("c1", (), ()))
    assert play.outcome == Answered(attached(play, "c1"))


# -- failures and ends from outside -----------------------------------------------------------------------------------


def test_a_lost_request_ends_the_run_and_its_words_are_void():
    play = run()
    play.starts()
    play.says("half", call("c1", "Bash"))
    assert play.fails(usage=Usage(9, 1))[-1] == r.Ended(replace(OVERLOADED, mid_reply=True))
    assert play.state.pending == ()
    assert play.state.usage_by_model == (("m", Usage(9, 1)),)
    assert play.answers() == {}
    play.prompt("again")
    assert play.history() == [("user", ["go", "again"])]


def test_compat_goes_on_after_a_lost_request_where_a_call_was_answered_and_no_object_stands():
    play = compat_run()
    play.starts()
    play.says(finish("c1", '{"title":1}'))
    assert kinds(play.fails()) == ["RequestLost", "Asked"]
    assert play.history()[1:] == [("model", ["call c1"]), ("user", ["c1: rejected"])]


def test_compat_fails_with_the_object_it_has():
    play = compat_run()
    play.starts()
    play.says(finish("c1"))
    play.fails()
    assert play.outcome == replace(OVERLOADED, mid_reply=True)
    assert play.state.surviving == attached(play, "c1")


def test_an_interrupt_ends_at_any_point():
    waiting = run()
    assert waiting.interrupt() == [r.Ended(Cancelled(Signal.INTERRUPT))]
    assert waiting.actions[-1] == CancelRequest(1)
    speaking = run()
    speaking.starts()
    speaking.says("half", call("c1"))
    assert kinds(speaking.interrupt()) == ["Ended"]
    assert speaking.state.pending == ()
    working = run()
    working.reply(call("c1", "Bash"))
    assert kinds(working.interrupt()) == ["CallAnswered", "Ended"]
    assert working.answers() == {"c1": ResultKind.INTERRUPTED}
    assert working.actions[-1] == CancelCalls(("c1",))
    working.prompt("again")
    assert working.history() == [("user", ["go"]), ("model", ["call c1"]), ("user", ["c1: interrupted", "again"])]


def test_compat_tells_the_model_of_an_interrupt():
    play = compat_run()
    play.starts()
    play.says("hello", call("c1", "Bash"))
    play.interrupt()
    assert play.answers() == {"c1": ResultKind.CANCELLED}
    play.prompt("two")
    assert play.history()[1:] == [
        ("model", ["hello", "call c1"]),
        ("user", ["c1: cancelled", hook_words.interrupted(tools=True) + "\n", "two"]),
    ]


def test_a_fault_of_ours_ends_the_run():
    play = run()
    fault = Failed(FailureKind.INTERNAL, "bug")
    assert ended(play.hear(e.Faulted(fault))) == [fault]


@pytest.mark.parametrize("number", [0, 2])
def test_events_of_another_request_are_late(number):
    play = run()
    events: list[e.Event] = [
        e.ReplyStarted(number, "m2", "m"),
        e.Retrying(number, 1, 10, 0, OVERLOADED),
        e.ChannelChanged(number, "tools", "400"),
    ]
    assert play.hear(*events) == []


def test_events_of_a_request_that_is_complete_are_late():
    play = run()
    play.reply(call("c1"))
    assert play.hear(e.BlockEnded(1, play.message, TextBlock("more"), "u"), e.ChannelChanged(1, "tools", "")) == []


# -- the object as the reply's text -----------------------------------------------------------------------------------


def text_run(policy: Any = None, contract: Any = None) -> Play:
    play = Play(policy, contract or contract_of(), tools=(), channel=Channel.NATIVE)
    play.prompt()
    return play


def test_the_text_of_a_reply_is_judged_like_a_call():
    play = text_run()
    play.reply(ThinkingBlock("hm"), GOOD)
    assert play.outcome == Answered(Attachment(play.message, play.message, GOOD, "native_format"), GOOD)


def test_compat_judges_text_too_where_a_deployment_has_no_tool_calls():
    play = text_run(compat(), COMPAT_CONTRACT)
    play.reply(GOOD)
    assert play.outcome == Answered(Attachment(play.message, play.message, GOOD, "native_format"), GOOD)


def test_what_is_wrong_with_a_text_goes_back_as_a_message():
    play = text_run()
    records = play.reply(BAD)
    assert kinds(records)[-3:] == ["Attempted", "Nudged", "Asked"]
    assert records[-2].kind is r.NudgeKind.FEEDBACK
    assert "StructuredOutput" not in records[-2].text
    assert [who for who, _ in play.history()] == ["user", "model", "user"]


def test_a_reply_of_thoughts_alone_is_nudged_and_then_gives_up():
    play = text_run()
    play.reply(BAD)
    play.reply(ThinkingBlock("hm"))
    play.reply(ThinkingBlock("hm"))
    assert play.outcome == GaveUp("")


def test_the_text_of_a_cut_off_reply_is_an_attempt_that_was_cut_off():
    play = text_run()
    words = play.reply('{"title":"Di', stop="max_tokens")[-2].text
    assert "whole JSON object" in words
    assert play.verdicts == ["cut_off"]


def test_a_text_waits_for_its_checks_and_is_rejected_by_them():
    play = text_run(contract=CHECKED)
    play.reply(GOOD)
    assert play.outcome is None
    assert kinds(play.hear(e.ChecksFinished(play.message, (Problem("", "check", "no"),), ()))) == [
        "Checked", "AttemptRevised", "Nudged", "Asked",
    ]  # fmt: skip
    play.reply(OTHER)
    play.hear(e.ChecksFinished(play.message, (), ()))
    assert play.outcome == Answered(Attachment(play.message, play.message, OTHER, "native_format"), OTHER)
    assert play.verdicts == ["rejected", "accepted"]


def test_without_tool_calls_the_run_goes_on_in_the_json_format_and_pays_no_turn():
    play = Play(native(max_turns=1), tools=())
    play.prompt()
    records = play.hear(e.ChannelChanged(1, "tools", "no tools"))
    assert records == [r.FeatureDropped(1, "tools", "no tools"), r.Asked(2, Choice.FINISH, reserved=True)]
    request = build_request(play.state)
    assert (request.tools, request.choice) == ((), Choice.AUTO)
    assert request.native_format is not None
    play.reply(GOOD)
    assert play.outcome == Answered(Attachment(play.message, play.message, GOOD, "native_format"), GOOD)


@pytest.mark.parametrize("setting", [{"tools": (READ,)}, {"contract": None, "tools": ()}])
def test_without_tool_calls_a_run_that_needs_them_fails(setting):
    play = Play(**setting)
    play.prompt()
    play.hear(e.ChannelChanged(1, "tools", "no tools"))
    assert play.outcome == Failed(FailureKind.BAD_REQUEST, "the deployment has no tool calls: no tools")


def test_a_feature_that_the_deployment_refused_is_told_of():
    play = run()
    play.hear(e.ChannelChanged(1, "strict", "the grammar is too large"))
    warning = RunWarning("feature_dropped", "the deployment refused strict; it was asked without")
    assert play.state.warnings == (warning,)


def test_a_feature_less_voids_what_was_said_and_goes_on():
    play = run()
    play.starts("one")
    play.says(finish("c1", BAD))
    assert play.hear(e.ChannelChanged(1, "stream", "no")) == [r.FeatureDropped(1, "stream", "no", ("one",))]
    play.reply(finish("c2"))
    assert play.outcome == Answered(attached(play, "c2"))
    assert play.verdicts == ["accepted"]


# -- hooks ----------------------------------------------------------------------------------------------------------

ALL_HOOKS = frozenset(HookPoint)


def hooked(*points: HookPoint, policy: Any = None) -> Play:
    play = Play(policy, hooks=frozenset(points))
    play.prompt()
    return play


def heard(point: HookPoint, call_id: str = "", **said: Any) -> e.HooksFinished:
    return e.HooksFinished(point, call_id, HookVerdict(**said))


def test_hooks_are_asked_about_the_prompt_before_the_model_is():
    play = hooked(HookPoint.PROMPT)
    assert play.actions == [RunHooks(HookPoint.PROMPT, text="go")]
    assert kinds(play.hear(heard(HookPoint.PROMPT, context=("It is Monday.",)))) == ["HooksHeard", "Asked"]
    assert play.history() == [("user", ["go", "It is Monday."])]


@pytest.mark.parametrize(("said", "reason"), [({"blocked": ("a", "b")}, "a\nb"), ({"halt": "enough"}, "enough")])
def test_hooks_may_keep_a_prompt_back_and_then_it_was_never_said(said, reason):
    play = hooked(HookPoint.PROMPT)
    play.hear(heard(HookPoint.PROMPT, **said))
    assert play.outcome == Stopped(Limit.PROMPT_HOOK, reason)
    assert play.state.pending == ()


def test_an_answer_of_hooks_that_were_not_asked_means_nothing():
    play = hooked(HookPoint.PROMPT)
    assert play.hear(heard(HookPoint.STOP), heard(HookPoint.PROMPT, "c1")) == []


def test_a_finishing_call_is_judged_after_its_hooks_with_the_input_they_leave():
    play = hooked(HookPoint.BEFORE_CALL)
    play.reply(finish("c1", BAD))
    assert play.verdicts == []
    play.hear(heard(HookPoint.BEFORE_CALL, "c1", arguments=OTHER))
    assert play.outcome == Answered(attached(play, "c1", OTHER))


def test_hooks_may_deny_a_finishing_call_which_is_an_attempt():
    play = hooked(HookPoint.BEFORE_CALL)
    play.reply(finish("c1"))
    play.hear(heard(HookPoint.BEFORE_CALL, "c1", decision=HookDecision.DENY, reason="not yet"))
    assert play.verdicts == ["rejected"]
    assert play.answers() == {"c1": ResultKind.BLOCKED}
    assert play.state.outstanding


def test_compat_ends_at_the_cap_also_behind_hooks():
    play = hooked(HookPoint.BEFORE_CALL, policy=compat(max_attempts=1))
    play.starts()
    play.says(finish("c1", BAD))
    assert play.outcome is None
    play.hear(heard(HookPoint.BEFORE_CALL, "c1"))
    assert play.outcome == OutOfAttempts(1)


def test_an_object_waits_for_hooks_after_it_and_a_failed_sibling_counts_behind_hooks_too():
    play = hooked(HookPoint.BEFORE_CALL, HookPoint.AFTER_CALL, HookPoint.AFTER_FAILURE)
    play.reply(call("c1"), finish("c2"))
    play.tool("c1", fails=True)
    play.hear(heard(HookPoint.BEFORE_CALL, "c2"))
    assert play.verdicts == ["held"]
    assert not play.state.outstanding
    play.hear(heard(HookPoint.AFTER_FAILURE, "c2"))
    play.reply(finish("c3"))
    play.hear(heard(HookPoint.BEFORE_CALL, "c3"))
    assert play.outcome is None
    play.hear(heard(HookPoint.AFTER_CALL, "c3"))
    assert play.outcome == Answered(attached(play, "c3"))


def test_hooks_are_asked_once_a_reply_whether_the_run_may_end():
    play = hooked(HookPoint.STOP)
    play.reply(finish("c1"))
    assert play.outcome is None
    play.hear(heard(HookPoint.STOP, blocked=("no",)))
    assert play.outcome == Answered(attached(play, "c1")), "an object that stands ends it all the same"


def test_hooks_may_keep_a_run_without_an_object_from_ending():
    play = hooked(HookPoint.STOP)
    play.reply("Done.")
    assert play.actions[-1] == RunHooks(HookPoint.STOP, text="Done.")
    records = play.hear(heard(HookPoint.STOP, blocked=("look again",)))
    assert kinds(records) == ["HooksHeard", "Nudged", "Nudged", "Asked"]
    assert records[1].kind is r.NudgeKind.ENFORCE
    assert records[2] == r.Nudged(r.NudgeKind.STOP_HOOK, hook_words.stop_feedback("look again", Profile.NATIVE))
    assert records[3] == r.Asked(2, Choice.FINISH)
    play.reply("Done.")
    assert play.actions[-1] == RunHooks(HookPoint.STOP, text="Done.", active=True)
    assert play.hear(heard(HookPoint.STOP, blocked=("again",)))[-1] == r.Asked(3, Choice.AUTO)
    play.reply("Done.")
    play.hear(heard(HookPoint.STOP))
    assert play.outcome == GaveUp("Done.")


def test_hooks_may_end_a_run_without_an_object():
    play = hooked(HookPoint.STOP)
    play.reply("Done.")
    assert kinds(play.hear(heard(HookPoint.STOP, halt="enough"))) == ["HooksHeard", "Ended"]
    assert play.outcome == Stopped(Limit.STOP_HOOK, "enough")


def test_hooks_that_say_nothing_leave_the_rules():
    play = hooked(HookPoint.STOP)
    play.reply("Done.")
    assert play.hear(heard(HookPoint.STOP))[-2].kind is r.NudgeKind.ENFORCE


def test_a_tool_may_end_the_run():
    play = run()
    play.reply(call("c1"))
    halted = ToolResult("c1", ResultKind.FAILED, "no", is_error=True, halt=Halt("enough"))
    play.hear(e.ToolFinished(halted, "u"))
    assert play.outcome == Stopped(Limit.TOOL_HOOK, "enough")


def test_an_object_stands_also_when_a_call_beside_it_ends_the_run():
    play = hooked(HookPoint.STOP)
    play.reply(call("c1"), finish("c2"))
    play.hear(e.ToolFinished(ToolResult("c1", ResultKind.OK, "x", halt=Halt("enough")), "u"))
    assert play.outcome == Answered(attached(play, "c2"))


def test_a_client_that_denies_a_call_may_interrupt_the_run():
    play = compat_run()
    play.reply(call("c1", "Bash"))
    denied = ToolResult("c1", ResultKind.DENIED, "no", is_error=True, halt=Halt("", interrupts=True))
    assert kinds(play.hear(e.ToolFinished(denied, "u"))) == ["CallAnswered", "Nudged", "Ended"]
    assert play.outcome == Cancelled(Signal.INTERRUPT)


@pytest.mark.parametrize("limit", [Limit.PROMPT_HOOK, Limit.TOOL_HOOK, Limit.STOP_HOOK])
def test_a_limit_of_hooks_has_the_reason_that_was_given(limit):
    play = run()
    play.state = replace(play.state, halt=Halt("enough"))
    assert ended(play.hear(e.LimitHit(limit))) == [Stopped(limit, "enough")]
    silent = run()
    assert ended(silent.hear(e.LimitHit(limit))) == [Stopped(limit, "")]


# -- the whole ------------------------------------------------------------------------------------------------------


def test_deciding_changes_nothing_that_was_there():
    play = run()
    play.starts()
    before = play.state
    first = decide(before, e.BlockEnded(1, play.message, finish("c1"), "u"))
    again = decide(before, e.BlockEnded(1, play.message, finish("c1"), "u"))
    assert first == again
    assert before.pending == ()


def test_valid_values_that_look_wrong_are_told_of_the_object_that_is_taken():
    odd = '{"title":"[1]"}'
    play = run()
    play.reply(call("c1"), finish("c2", odd))
    play.tool("c1", fails=True)
    assert play.state.warnings == ()
    play.reply(finish("c3", odd))
    warning = RunWarning("json_in_string", "the string is itself JSON", "/title")
    assert play.state.warnings == (warning,)


def test_a_tool_that_acts_is_told_of_as_a_side_effect():
    play = run()
    play.reply(call("c1", "Bash"), call("c2", "Fly"))
    assert [(x.tool, x.status) for x in play.state.side_effects] == [("Bash", "started")]


def test_stop_hooks_cannot_keep_a_run_going_for_ever():
    play = hooked(HookPoint.STOP)
    for _ in range(5):
        play.reply("Done.")
        play.hear(heard(HookPoint.STOP, blocked=("never",)))
        assert play.outcome is None
    play.reply("Done.")
    play.hear(heard(HookPoint.STOP, blocked=("never",)))
    assert play.outcome == Stopped(Limit.STOP_HOOK, "a Stop hook kept the run from ending 5 times: never")


# -- a history that is too long -------------------------------------------------------------------------------------

TOO_LONG = Failed(FailureKind.TOO_LONG, "prompt is too long")


def read_much(policy=None, turns=8):
    play = Play(policy)
    play.prompt()
    for n in range(turns):
        play.reply(call(f"c{n}", text=f'{{"n":{n}}}'))
        play.tool(f"c{n}", "x" * 5_000)
    return play


def test_a_prompt_that_is_too_long_is_made_shorter_and_sent_again_at_no_turns_cost():
    play = read_much()
    assert kinds(play.fails(TOO_LONG)) == ["RequestLost", "Compacted", "Asked"]
    assert play.state.replies == 9
    assert 40_000 < play.state.room < 41_000


def test_a_window_that_was_learnt_is_not_filled_again():
    play = read_much()
    play.fails(TOO_LONG)
    for n in range(6):
        play.reply("thinking", call(f"d{n}", text=f'{{"m":{n}}}'))
        play.tool(f"d{n}", "x" * 5_000)
    assert kinds(play.records).count("Compacted") == 2
    assert kinds(play.records).count("RequestLost") == 1


def test_every_so_many_replies_the_history_is_made_shorter_where_that_was_asked_for():
    assert kinds(read_much(native(compact_after_turns=4)).records).count("Compacted") == 2


def test_a_conversation_that_no_longer_fits_is_stopped_where_nothing_is_made_shorter():
    play = read_much(native(compacts=False))
    play.fails(TOO_LONG)
    assert play.outcome == Stopped(Limit.WINDOW, TOO_LONG.detail)


def test_the_reference_calls_it_a_failure():
    play = read_much(compat())
    play.fails(TOO_LONG)
    assert play.outcome.kind is FailureKind.TOO_LONG


def test_a_second_refusal_of_the_same_turn_is_the_end():
    play = read_much()
    play.fails(TOO_LONG)
    records = play.fails(TOO_LONG)
    assert kinds(records) == ["RequestLost", "Ended"]
    assert play.outcome == Stopped(Limit.WINDOW, TOO_LONG.detail)


def test_the_next_turn_may_be_refused_and_made_shorter_anew():
    play = read_much()
    play.fails(TOO_LONG)
    for n in range(3):
        play.reply("thinking", call(f"d{n}", text=f'{{"m":{n}}}'))
        play.tool(f"d{n}", "x" * 5_000)
    assert kinds(play.fails(TOO_LONG)) == ["RequestLost", "Compacted", "Asked"]


def test_a_reply_for_which_the_window_had_no_room_makes_the_history_shorter():
    play = read_much()
    records = play.reply("I will", stop="model_context_window_exceeded")
    assert "Compacted" in kinds(records)


def test_without_compaction_replies_without_room_end_as_a_full_window():
    play = read_much(native(compacts=False))
    for _ in range(4):
        play.reply("I will", stop="model_context_window_exceeded")
    assert play.outcome.limit is Limit.WINDOW


def test_a_prompt_that_cannot_be_made_shorter_ends_the_run():
    play = Play()
    play.prompt()
    play.fails(TOO_LONG)
    assert play.outcome.kind is FailureKind.TOO_LONG


# -- long runs --------------------------------------------------------------------------------------------------------

OUTGROWN = Failed(FailureKind.TOO_LONG, "prompt is too long: 30000 tokens > 20000 maximum")


def talked(policy: Any) -> Play:
    """Twelve turns whose weight is in the model's own words, and a refusal of the thirteenth."""
    play = Play(policy)
    play.prompt("the task")
    for n in range(12):
        play.reply(f"{n}: {'word ' * 300}", call(f"c{n}", text=f'{{"n":{n}}}'))
        play.tool(f"c{n}", f"answer {n}")
    play.fails(OUTGROWN)
    return play


def test_a_history_that_was_refused_is_made_shorter_and_asked_for_again():
    play = talked(native(summarizes=False))
    assert kinds(play.records)[-3:] == ["RequestLost", "Compacted", "Asked"]
    assert isinstance(play.actions[-1], AskModel)


def test_a_summary_is_waited_for_and_the_turn_is_asked_for_when_it_came():
    play = talked(native())
    assert play.state.summing is not None
    records = play.reply("The disk is full.")
    assert kinds(records)[-2:] == ["Compacted", "Asked"]
    assert play.state.summing is None


def test_a_run_that_a_summary_ends_is_asked_nothing_more():
    play = talked(native(max_budget_tokens=10_000))
    play.reply("The disk is full.", usage=Usage(12_000, 1))
    assert play.outcome == Stopped(Limit.TOKENS, "10000")
    assert kinds(play.records)[-1] == "Ended"


def test_after_a_crash_a_summary_in_the_making_is_asked_for_anew():
    play = talked(native())
    play.resume()
    assert play.state.summing is not None
    assert play.state.outstanding


def test_a_budget_that_cannot_be_kept_is_told_of_once():
    play = Play(native(max_budget_usd=dollars("1")))
    play.prompt()
    for n in range(2):
        play.reply(call(f"c{n}"), cost_usd=None)
        play.tool(f"c{n}")
    assert [w.code for w in play.state.warnings] == ["budget_blind"]


def test_a_circle_is_told_of_half_way_and_then_ends_with_the_last_call():
    play = Play(native(max_repeats=4))
    play.prompt()
    told = []
    for n in range(6):
        play.reply(call(f"c{n}"))
        told += kinds(play.tool(f"c{n}", "the same"))
        if play.outcome is not None or play.state.reserved:
            break
    assert told.count("Nudged") == 2
    assert told.count("LimitNoted") == 1
    assert play.state.reserved


def test_refused_names_are_asked_without_and_without_tools_that_is_the_end():
    play = Play()
    play.prompt()
    records = play.hear(e.ChannelChanged(1, "free_names", "Property keys should match pattern"))
    assert kinds(records) == ["FeatureDropped", "Warned", "Asked"]
    bare = Play(contract=None, tools=())
    bare.prompt()
    bare.hear(e.ChannelChanged(1, "free_names", "no"))
    assert isinstance(bare.outcome, Failed)
