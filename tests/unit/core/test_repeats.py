"""Going in circles is seen, also in circles of several steps; work is none."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lastcall.core.policy import native
from lastcall.core.repeats import LONGEST, exchange_of, remembered, repeats
from lastcall.core.state import Reply
from machine_tools import BAD, Play, call, finish


def play_of(*steps):
    """Each step is a file, read with the same content, or a pair of file and content."""
    play = Play(native(max_repeats=100))
    play.prompt()
    counts = []
    for n, step in enumerate(steps):
        file, content = step if isinstance(step, tuple) else (step, f"content of {step}")
        play.reply(call(f"c{n}", text=f'{{"file":"{file}"}}'))
        counts.append(_before_answer(play, f"c{n}", content))
    return counts


def _before_answer(play, call_id, content):
    """The count in the state in which the answer has come and the model was not asked yet."""
    from lastcall.core.evolve import evolve
    from lastcall.core.records import CallAnswered
    from lastcall.nouns.tools import ResultKind, ToolResult

    answered = evolve(play.state, CallAnswered(ToolResult(call_id, ResultKind.OK, content)))
    play.tool(call_id, content)
    return repeats(answered)


@pytest.mark.parametrize(
    ("steps", "counts"),
    [
        ("AAAA", [0, 1, 2, 3]),
        ("ABABAB", [0, 0, 1, 2, 3, 4]),
        ("ABCDABCD", [0, 0, 0, 0, 1, 2, 3, 4]),
        ("ABCDEABCDE", [0] * 10),  # longer circles are not looked for
        ("AABBAABB", [0, 1, 0, 1, 1, 2, 3, 4]),
        ("ABCAD", [0, 0, 0, 1, 0]),
    ],
)
def test_replies_in_a_row_that_only_repeat_are_counted(steps, counts):
    assert play_of(*steps) == counts
    assert LONGEST == 4


def test_the_answer_counts_too():
    assert play_of(("A", "1"), ("A", "2"), ("A", "2"), ("A", "3")) == [0, 0, 1, 0]


def test_a_reply_with_an_attempt_or_without_a_call_breaks_the_row():
    play = Play(native(max_repeats=100))
    play.prompt()
    for n in range(3):
        play.reply(call(f"c{n}"), finish(f"f{n}", BAD.replace("3", str(n))))
        play.tool(f"c{n}", "same")
        assert repeats(play.state) == 0
    assert exchange_of(play.state) == ()


def test_what_is_remembered_is_bounded():
    play = Play(native(max_repeats=3))
    play.prompt()
    for n in range(40):
        play.reply(call(f"c{n}", text=f'{{"n":{n}}}'))
        play.tool(f"c{n}", "same")
    assert len(play.state.exchanges) == 3 + LONGEST


def test_a_request_that_came_to_nothing_does_not_break_the_row():
    from lastcall.nouns.result import Failed, FailureKind

    play = Play(native(max_repeats=100))
    play.prompt()
    for n in range(8):
        play.reply(call(f"c{n}", text='{"f":1}'))
        play.tool(f"c{n}", "x" * 3_000)
    before = play.state.exchanges
    play.fails(Failed(FailureKind.TOO_LONG, "prompt is too long"))
    assert play.outcome is None
    assert play.state.exchanges == before


def test_a_reply_that_came_to_nothing_changes_nothing_and_one_of_prose_begins_anew():
    play = Play(native(max_repeats=3))
    play.prompt()
    play.reply(call("c1"))
    play.tool("c1", "same")
    before = play.state.exchanges
    assert before
    assert remembered(play.state) == before  # the next reply has not come yet
    play.reply("Let me think.", stop="end_turn")
    assert remembered(replace(play.state, reply=Reply(closed=True))) == ()
    assert remembered(replace(Play(native(max_repeats=None)).state, exchanges=before)) == ()
