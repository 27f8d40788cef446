"""A summary of what is left out, where it can be had; where it cannot, a note, and the run goes on."""

from __future__ import annotations

import pytest

from lastcall.contract import long_run_words
from lastcall.core import events as e
from lastcall.core.actions import AskModel, CancelRequest
from lastcall.core.compaction import history_size, paired
from lastcall.core.policy import native
from lastcall.core.request import build_request
from lastcall.core.step import Draft
from lastcall.core.summing import Shortening, make_shorter
from lastcall.nouns.messages import TextBlock, ThinkingBlock
from lastcall.nouns.request import Choice, Purpose
from lastcall.nouns.result import Answered, Cancelled, Failed, FailureKind, Limit, Signal, Stopped, Usage
from machine_tools import BAD, OVERLOADED, Play, call, finish, kinds

TOO_LONG = Failed(FailureKind.TOO_LONG, "prompt is too long: 30000 tokens > 20000 maximum")
SUMMARY = "The log says: disk full at 03:12. Nothing was changed. What remains: the title."
WORDS = "word " * 300


def talk(play, turns, first=0):
    """Turns whose weight is in the model's own words, which only a summary or a note can replace."""
    for n in range(first, first + turns):
        play.reply(f"{n}: {WORDS}", call(f"c{n}", text=f'{{"n":{n}}}'))
        play.tool(f"c{n}", f"answer {n}")


def asked_for_summary(turns=12, policy=None, **setting):
    play = Play(policy or native(), **setting)
    play.prompt("the task")
    talk(play, turns)
    play.fails(TOO_LONG)
    return play


def until_summary(play, first):
    """The window is known by now, so nobody has to refuse."""
    for n in range(first, first + 20):
        if play.state.summing is not None:
            return
        talk(play, 1, first=n)
    raise AssertionError("no summary was asked for")


def texts(play):
    return [b.text for m in play.state.messages for b in m.blocks if isinstance(b, TextBlock)]


def test_the_record_of_what_goes_is_sent_as_text_without_any_tool():
    play = asked_for_summary()
    request = build_request(play.state)
    assert request.purpose is Purpose.SUMMARY
    assert request.tools == ()
    assert request.native_format is None
    assert request.choice is Choice.AUTO
    assert request.system == long_run_words.SYSTEM
    (message,) = request.messages
    assert "0: word" in message.blocks[0].text
    assert 'Call of Read: {"n":0}' in message.blocks[0].text
    assert "Answer: answer 0" in message.blocks[0].text
    assert len(message.blocks[0].text) < play.state.summing.refused
    assert isinstance(play.actions[-1], AskModel)


def test_the_summary_takes_the_place_of_what_is_left_out_and_the_turn_is_asked_for_again():
    play = asked_for_summary()
    before = play.state.messages
    records = play.reply(ThinkingBlock("hm"), SUMMARY, usage=Usage(500, 60))
    assert kinds(records) == ["ReplyBegan", "SummarySaid", "SummarySaid", "ReplyClosed", "Compacted", "Asked"]
    assert long_run_words.shown(SUMMARY) in texts(play)
    assert "the task" in texts(play)
    assert any("Read ×" in t for t in texts(play))
    assert paired(play.state.messages)
    assert history_size(play.state.messages) < history_size(before)
    assert play.state.left_out == before
    assert play.state.replies == 13  # twelve turns and the one that is asked for now; the summary cost none
    assert build_request(play.state).purpose is Purpose.TURN
    assert [t.name for t in build_request(play.state).tools][:2] == ["Read", "Bash"]
    play.reply(finish("f"))
    assert isinstance(play.outcome, Answered)


def test_what_it_spent_is_in_the_usage_and_counts_against_the_budgets():
    play = asked_for_summary(policy=native(max_budget_tokens=10_000))
    before = play.state.usage
    play.reply(SUMMARY, usage=Usage(5_000, 3_000))
    assert play.state.usage == before + Usage(5_000, 3_000)
    assert play.state.reserved  # the run's next request is the last that fits
    play.reply(call("x"), usage=Usage(600, 1))
    play.tool("x")
    assert play.outcome == Stopped(Limit.TOKENS, "10000")


def test_a_summary_that_uses_up_the_budget_ends_the_run_at_once():
    play = asked_for_summary(policy=native(max_budget_tokens=10_000))
    play.reply(SUMMARY, usage=Usage(9_000, 3_000))
    assert play.outcome == Stopped(Limit.TOKENS, "10000")


NOT_TAKEN = {
    "nothing": lambda play: play.reply(""),
    "cut off": lambda play: play.reply("The log sa", stop="max_tokens"),
    "refused": lambda play: play.reply("I will not", stop="refusal"),
    "too long": lambda play: play.reply("word " * 1_300),
    "a call": lambda play: play.reply("Let me look", call("x"), stop="tool_use"),
    "an attempt": lambda play: play.reply(finish("x"), stop="tool_use"),
    "failed": lambda play: play.fails(OVERLOADED),
    "too long itself": lambda play: play.fails(TOO_LONG),
    "no tools": lambda play: play.hear(e.ChannelChanged(play.state.asked, "tools", "no tools here")),
}


@pytest.mark.parametrize("what", NOT_TAKEN)
def test_whatever_else_comes_of_it_a_note_stands_there_and_the_run_goes_on(what):
    play = asked_for_summary()
    records = NOT_TAKEN[what](play)
    assert kinds(records)[-2:] == ["Compacted", "Asked"]
    assert not records[-2].summarized
    assert not any(t.startswith(long_run_words.shown("")) for t in texts(play))
    assert any(t.startswith("[Earlier turns were left out") for t in texts(play))
    assert play.state.attempts == ()  # what was said in it is no attempt
    assert play.state.replies == 13
    assert play.outcome is None
    play.reply(finish("f"))
    assert isinstance(play.outcome, Answered)


def test_a_summary_that_saves_nothing_is_not_taken():
    play = asked_for_summary(turns=4)
    before = history_size(play.state.messages)
    play.reply("word " * 1_190)
    assert not any(t.startswith(long_run_words.shown("")) for t in texts(play))
    assert history_size(play.state.messages) < before


def test_after_two_that_failed_no_third_is_asked_for():
    play = Play(native(compact_after_turns=6))
    play.prompt()
    asked = []
    for n in range(30):
        if play.state.summing is not None:
            asked.append(n)
            play.fails(OVERLOADED)
        talk(play, 1, first=n)
    assert len(asked) == 2
    assert play.state.lost_summaries == 2
    assert kinds(play.records).count("Compacted") > 2


def test_an_earlier_summary_is_summed_up_again_and_stays_where_the_new_one_fails():
    play = asked_for_summary()
    play.reply(SUMMARY)
    until_summary(play, 50)
    play.fails(OVERLOADED)
    assert texts(play).count(long_run_words.shown(SUMMARY)) == 1
    until_summary(play, 80)
    assert SUMMARY in build_request(play.state).messages[0].blocks[0].text
    play.reply("All in one: disk full.")
    shown = [t for t in texts(play) if t.startswith(long_run_words.shown(""))]
    assert shown == [long_run_words.shown("All in one: disk full.")]


def test_a_retry_and_a_fallback_begin_the_summary_anew():
    play = asked_for_summary()
    play.starts("msg_a")
    play.says("half a sum")
    play.hear(e.Retrying(play.state.asked, 1, 10, 5, OVERLOADED, ("msg_a",), "m", Usage(7, 1)))
    play.starts("msg_b")
    play.says("another")
    play.hear(e.FellBack(play.state.asked, "m", "n", "overloaded", "uuid", ("msg_b",), Usage(5, 1)))
    play.reply(SUMMARY)
    assert long_run_words.shown(SUMMARY) in texts(play)


def test_a_message_that_was_taken_back_speaks_no_more_in_it():
    play = asked_for_summary()
    play.starts("msg_a")
    play.says("half a sum")
    play.hear(e.Retrying(play.state.asked, 1, 10, 5, OVERLOADED, (), "m"))
    assert play.hear(e.ReplyEnded(play.state.asked, "msg_a", "end_turn", Usage(1, 1))) == []
    play.reply(SUMMARY)
    assert long_run_words.shown(SUMMARY) in texts(play)


def test_a_feature_that_was_refused_on_the_way_changes_nothing():
    play = asked_for_summary()
    play.hear(e.ChannelChanged(play.state.asked, "stream", "no streaming"))
    assert play.state.summing is not None
    play.reply(SUMMARY)
    assert long_run_words.shown(SUMMARY) in texts(play)


@pytest.mark.parametrize("half", [False, True], ids=["before a word", "in the middle"])
def test_a_crash_in_the_middle_of_it_asks_for_the_same_again(half):
    play = asked_for_summary()
    replies, wanted = play.state.replies, build_request(play.state).messages
    if half:
        play.starts()
        play.says("half a sum")
    records = play.resume()
    assert kinds(records) == ["Resumed", "Asked"]
    assert build_request(play.state).messages == wanted
    assert play.state.replies == replies
    play.reply(SUMMARY)
    assert long_run_words.shown(SUMMARY) in texts(play)
    play.reply(finish("f"))
    assert isinstance(play.outcome, Answered)


def test_an_interrupt_in_the_middle_of_it_ends_the_run_which_can_be_taken_up_there():
    play = asked_for_summary()
    play.hear(e.Interrupted(Signal.INTERRUPT, "uuid"))
    assert play.outcome == Cancelled(Signal.INTERRUPT)
    assert isinstance(play.actions[-1], CancelRequest)
    play.resume(reopens=True)
    assert play.state.summing is not None
    play.reply(SUMMARY)
    assert long_run_words.shown(SUMMARY) in texts(play)


def test_a_new_prompt_does_not_wait_for_it():
    play = asked_for_summary()
    play.hear(e.Interrupted(Signal.INTERRUPT, "uuid"))
    play.prompt("something else")
    assert play.state.summing is None
    assert build_request(play.state).purpose is Purpose.TURN


def test_a_deadline_that_is_near_leaves_no_time_for_a_summary():
    play = Play()
    play.prompt()
    talk(play, 12)
    play.hear(e.LimitNear(Limit.DEADLINE))
    assert kinds(play.fails(TOO_LONG)) == ["RequestLost", "Compacted", "Asked"]


def test_a_deadline_that_passes_meanwhile_ends_the_run():
    play = asked_for_summary(policy=native(deadline_s=9.0, deadline_words="9s"))
    play.hear(e.LimitHit(Limit.DEADLINE))
    assert play.outcome == Stopped(Limit.DEADLINE, "9s")


def test_where_the_deployment_is_not_asked_for_summaries_a_note_stands_at_once():
    play = Play(native(summarizes=False))
    play.prompt()
    talk(play, 12)
    assert kinds(play.fails(TOO_LONG)) == ["RequestLost", "Compacted", "Asked"]


def test_it_is_not_asked_for_where_old_answers_are_enough():
    play = Play()
    play.prompt()
    for n in range(8):
        play.reply(call(f"c{n}", text=f'{{"n":{n}}}'))
        play.tool(f"c{n}", "x" * 5_000)
    assert kinds(play.fails(TOO_LONG)) == ["RequestLost", "Compacted", "Asked"]


def test_rejected_drafts_shrink_to_their_problems():
    play = Play(native(cuts_repeats=False, max_attempts=50, revises=False))
    play.prompt()
    play.reply(finish("f0", BAD))
    talk(play, 12)
    play.fails(TOO_LONG)
    asked = build_request(play.state).messages[0].blocks[0].text
    assert "/count" in asked  # the summary is told what was wrong
    play.fails(OVERLOADED)
    note = next(t for t in texts(play) if t.startswith("[Earlier turns"))
    assert "What was wrong with the latest object" in note
    assert "/count" in note
    assert [a.n for a in play.state.attempts] == [1]


def test_a_history_that_may_not_or_cannot_be_made_shorter_stays():
    play = Play(native(compacts=False))
    play.prompt()
    draft = Draft(play.state)
    assert make_shorter(draft, Choice.AUTO, 5) is Shortening.IMPOSSIBLE
    short = Play(native())
    short.prompt()
    draft = Draft(short.state)
    assert make_shorter(draft, Choice.AUTO, 5) is Shortening.IMPOSSIBLE
    assert draft.records == []
