"""A history that grew too long becomes a shorter one that means the same."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastcall.contract import long_run_words
from lastcall.core.compaction import CLEARED, DRAFT_CLEARED, history_size, paired, record_of, shorten
from lastcall.core.policy import compat, native
from lastcall.core.sight import sight_of
from lastcall.nouns.messages import AssistantMessage, OpaqueBlock, TextBlock, ThinkingBlock, UserMessage
from lastcall.nouns.result import Answered, Failed, FailureKind
from lastcall.nouns.tools import Arguments, ResultKind, ToolCall, ToolResult
from machine_tools import BASH, READ, Play, call, finish, kinds

LONG = "x" * 5_000


def compact(messages):
    """The history without a summary."""
    shorter = shorten(messages)
    return None if shorter is None else shorter.messages()


TOO_LONG = Failed(FailureKind.TOO_LONG, "prompt is too long: 30000 tokens > 20000 maximum")


def exchange(n, content=LONG, name="Read", text=""):
    said = AssistantMessage(
        f"m{n}", (*((TextBlock(text),) if text else ()), ToolCall(f"c{n}", f"m{n}", name, Arguments("{}")))
    )
    return said, UserMessage((ToolResult(f"c{n}", ResultKind.OK, content),))


def history(count, **more):
    return (UserMessage((TextBlock("the task"),)), *(m for n in range(count) for m in exchange(n, **more)))


def test_answers_of_old_calls_go_first_and_the_latest_stay():
    old = history(8)
    new = compact(old)
    assert history_size(new) <= history_size(old) // 2
    assert paired(new)
    contents = [b.content for m in new for b in m.blocks if isinstance(b, ToolResult)]
    assert contents == [CLEARED] * 5 + [LONG] * 3


def test_then_whole_exchanges_go_and_a_note_keeps_the_names_of_their_calls():
    old = history(100, content="short", text="y" * 200)
    new = compact(old)
    assert history_size(new) <= history_size(old) // 2 + 300
    assert paired(new)
    assert new[0].blocks[0] == TextBlock("the task")
    gone = (len(old) - len(new)) // 2
    assert new[0].blocks[1].text.startswith("[Earlier turns were left out")
    assert f"Read ×{gone}." in new[0].blocks[1].text
    again = compact(new)
    assert len([b for b in again[0].blocks if "left out" in b.text]) == 1
    assert f"Read ×{(len(old) - len(again)) // 2}." in again[0].blocks[-1].text


def test_what_the_user_wrote_is_never_left_out_but_lastcalls_own_words_are():
    old = (
        *history(20, content="short", text="y" * 300),
        UserMessage((TextBlock("a nudge"),), nudge=True),
        AssistantMessage("m", (ThinkingBlock("z" * 300), OpaqueBlock("k", {"a": 1}))),
        UserMessage((TextBlock("the second task"),)),
        *history(20, content="short", text="y" * 300)[1:],
    )
    new = old
    while (shorter := compact(new)) is not None:
        assert history_size(shorter) < history_size(new)
        new = shorter
    words = [b.text for m in new for b in m.blocks if isinstance(b, TextBlock)]
    assert words[:2] == ["the task", "the second task"]
    assert "a nudge" not in words


def test_one_answer_that_is_too_long_by_itself_goes_too():
    new = compact(history(1))
    assert new[2].blocks[0].content == CLEARED


@pytest.mark.parametrize("old", [(), (UserMessage((TextBlock("z" * 9_000),)),), history(1, content="short")[:1]])
def test_where_nothing_can_be_left_out_there_is_no_shorter_history(old):
    assert compact(old) is None


def test_a_call_without_its_answer_is_not_a_pair():
    assert not paired(history(2)[:-1])
    assert not paired((*history(1)[:1], *exchange(1)[:1], UserMessage(())))


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 400), st.booleans()), max_size=30),
    st.integers(1, 6),
)
def test_any_history_stays_paired_and_comes_to_an_end(turns, times):
    messages = [UserMessage((TextBlock("task"),))]
    for n, (calls, size, prompt) in enumerate(turns):
        asked = tuple(ToolCall(f"c{n}_{i}", f"m{n}", "Read", Arguments("{}")) for i in range(calls))
        messages.append(AssistantMessage(f"m{n}", (TextBlock("s" * size), *asked)))
        told = tuple(ToolResult(c.call_id, ResultKind.OK, "r" * size) for c in asked)
        messages.append(UserMessage((*told, TextBlock(f"user {n}")) if prompt or not told else told))
    users = [b.text for m in messages if isinstance(m, UserMessage) for b in m.blocks if isinstance(b, TextBlock)]
    now = tuple(messages)
    for _ in range(times):
        shorter = compact(now)
        if shorter is None:
            break
        assert paired(shorter)
        assert isinstance(shorter[0], UserMessage)
        assert all(isinstance(a, UserMessage) != isinstance(b, UserMessage) for a, b in itertools.pairwise(shorter))
        kept = [b.text for m in shorter if isinstance(m, UserMessage) for b in m.blocks if isinstance(b, TextBlock)]
        assert [t for t in kept if not t.startswith("[Earlier")] == users
        now = shorter


def rejected(n, draft="d" * 900, words="must have required property 'title'"):
    said = AssistantMessage(
        f"m{n}", (ToolCall(f"f{n}", f"m{n}", "StructuredOutput", Arguments(f'{{"draft":"{draft}"}}')),)
    )
    return said, UserMessage((ToolResult(f"f{n}", ResultKind.REJECTED, words * 5, is_error=True),))


def test_a_rejected_draft_goes_and_its_problems_stay():
    old = (*history(1), *rejected(1), *exchange(2), *exchange(3), *exchange(4), *exchange(5))
    new = compact(old)
    call_of = next(b for m in new for b in m.blocks if isinstance(b, ToolCall) and b.name == "StructuredOutput")
    answer = next(b for m in new for b in m.blocks if isinstance(b, ToolResult) and b.kind is ResultKind.REJECTED)
    assert call_of.arguments == DRAFT_CLEARED
    assert answer.content == "must have required property 'title'" * 5
    assert paired(new)


def test_an_accepted_or_small_draft_is_left_alone():
    old = (*history(1), *rejected(1, draft="d"), *exchange(2), *exchange(3), *exchange(4), *exchange(5))
    call_of = next(b for m in compact(old) for b in m.blocks if isinstance(b, ToolCall) and b.name != "Read")
    assert call_of.arguments.text == '{"draft":"d"}'


def test_the_note_keeps_the_problems_of_the_last_draft_that_went_over_and_over():
    old = (*history(1), *rejected(1, words="first"), *rejected(2, words="second"))
    old += tuple(m for n in range(9, 40) for m in exchange(n, content="ok", text="y" * 300))
    new = compact(old)
    assert "was rejected in them: secondsecond" in new[0].blocks[-1].text
    assert "first" not in new[0].blocks[-1].text
    again = compact(new)
    assert "was rejected in them: secondsecond" in again[0].blocks[-1].text
    assert "StructuredOutput ×2" in again[0].blocks[-1].text


def test_a_target_may_be_smaller_than_half():
    old = history(60, content="short", text="y" * 300)
    new = shorten(old, 2_000).messages()
    assert history_size(new) <= 2_000 + 300
    assert paired(new)


def test_pictures_of_the_user_stay():
    picture = OpaqueBlock("image", {"type": "image", "source": "..."})
    old = (UserMessage((TextBlock("look"), picture)), *history(40, content="short", text="y" * 300)[1:])
    assert compact(old)[0].blocks[:2] == (TextBlock("look"), picture)


RECORD = (
    UserMessage((TextBlock("the task"),)),
    AssistantMessage(
        "m", (ThinkingBlock("hm"), TextBlock("I look."), ToolCall("c", "m", "Read", Arguments('{"file_path":"a"}')))
    ),
    UserMessage((ToolResult("c", ResultKind.OK, "A" * 900 + "the end"), OpaqueBlock("image", {}))),
)


def test_the_record_of_a_history_names_who_said_what():
    assert record_of(RECORD, 5_000) == (
        'Told: the task\nYou: I look.\nCall of Read: {"file_path":"a"}\nAnswer: ' + "A" * 900 + "the end"
    )


def test_where_the_room_is_short_the_longest_parts_give_way():
    short = record_of(RECORD, 300)
    assert len(short) <= 300
    assert short.startswith('Told: the task\nYou: I look.\nCall of Read: {"file_path":"a"}\nAnswer: AAAA')
    assert " [...] " in short
    assert short.endswith("the end")


@given(st.lists(st.integers(0, 300), max_size=20), st.integers(0, 2_000))
def test_a_record_is_never_longer_than_its_room(sizes, cap):
    messages = [UserMessage((TextBlock("x" * size),)) for size in sizes]
    assert len(record_of(messages, cap)) <= cap


# -- in a run -------------------------------------------------------------------------------------------------------


def worked(play, turns):
    play.prompt()
    for n in range(turns):
        play.reply(call(f"c{n}", "Read", f'{{"n":{n}}}'))
        play.tool(f"c{n}", LONG)


def test_a_prompt_that_is_too_long_is_made_shorter_and_sent_again():
    play = Play()
    worked(play, 8)
    records = play.fails(TOO_LONG)
    assert kinds(records) == ["RequestLost", "Compacted", "Asked"]
    assert history_size(play.state.messages) <= play.state.room // 2
    assert play.state.replies == 9  # the refused one cost no turn
    play.reply(finish("f"))
    assert isinstance(play.outcome, Answered)
    assert sum(LONG in x.text for x in sight_of(play.state).tools) >= 8


def test_the_window_is_learnt_so_that_it_is_not_refused_again():
    play = Play()
    worked(play, 8)
    play.fails(TOO_LONG)
    for n in range(20):
        play.reply(call(f"d{n}", "Read", f'{{"m":{n}}}'))
        play.tool(f"d{n}", LONG)
        assert history_size(play.state.messages) < play.state.room
    assert kinds(play.records).count("Compacted") >= 3
    assert kinds(play.records).count("RequestLost") == 1
    play.reply(finish("f"))
    play.prompt()
    assert play.state.room is not None


def test_what_cannot_be_made_shorter_ends_honestly():
    play = Play()
    play.prompt()
    play.fails(TOO_LONG)
    assert play.outcome.kind is FailureKind.TOO_LONG


@pytest.mark.parametrize("policy", [native(compacts=False), compat()], ids=["off", "compat"])
def test_where_it_is_off_nothing_is_left_out(policy):
    play = Play(policy)
    worked(play, 8)
    play.fails(TOO_LONG)
    assert play.outcome is not None
    assert "Compacted" not in kinds(play.records)


def test_it_may_be_asked_for_every_so_many_turns():
    play = Play(native(compact_after_turns=5), tools=(READ, BASH))
    worked(play, 12)
    assert kinds(play.records).count("Compacted") == 2
    assert play.state.room is None


def test_attempts_are_not_forgotten():
    play = Play()
    worked(play, 8)
    play.reply(finish("bad", '{"a":"no"}'))
    play.fails(TOO_LONG)
    play.reply(finish("bad2", '{"a":"still no"}'))
    assert [a.n for a in play.state.attempts] == [1, 2]


def test_what_a_summary_said_is_kept_when_it_is_left_out_itself():
    play = Play(native(summarizes=False))
    play.prompt("the task")
    summary = UserMessage((TextBlock(long_run_words.shown("The disk is full.")),))
    work = []
    for n in range(12):
        call_of = ToolCall(f"c{n}", "m", "Read", Arguments("{}"))
        work += [
            AssistantMessage("m", (TextBlock("word " * 300), call_of)),
            UserMessage((ToolResult(f"c{n}", ResultKind.OK, "short"),)),
        ]
    shorter = compact((play.state.messages[0], AssistantMessage("m", (TextBlock("ok"),)), summary, *work))
    assert "The disk is full." in str(shorter)
