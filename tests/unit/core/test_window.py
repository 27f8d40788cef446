"""What a window holds: from the table, from a refusal."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lastcall.core.policy import native
from lastcall.core.window import outgrown, refused_size
from lastcall.nouns.result import Failed, FailureKind, Usage
from machine_tools import Play, call, kinds


@pytest.mark.parametrize(
    ("words", "share"),
    [
        ("prompt is too long: 30000 tokens > 20000 maximum", 2 / 3),
        ("prompt is too long: 30,000 tokens > 15,000 maximum", 1 / 2),
        (
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 16384 tokens.",
            1 / 2,
        ),
        ("request (4000 tokens) exceeds the available context size (1000 tokens), try increasing it", 1 / 4),
        ("the conversation has 9000 tokens, and the embedded model takes 4,500 with its answer.", 1 / 2),
        ("prompt is too long", 1),
        ("5 tokens > 10 maximum", 1),  # figures that make no sense
        ("0 tokens > 0 maximum", 1),
    ],
)
def test_the_figures_of_a_refusal_tell_what_would_have_fit(words, share):
    play = Play()
    play.prompt("x" * 9_000)
    assert refused_size(play.state, Failed(FailureKind.TOO_LONG, words)) == int(9_000 * share)


def talk(play, n, **more):
    play.reply("word " * 100, call(f"c{n}", text=f'{{"n":{n}}}'), usage=Usage(1_000 * n, 100), **more)


def test_a_window_that_is_known_is_not_filled_to_the_brim():
    play = Play(native(summarizes=False))
    play.prompt()
    for n in range(1, 9):
        talk(play, n, window=10_000)
        play.tool(f"c{n}", "short")
    assert "Compacted" not in kinds(play.records)  # 8,100 of 10,000 are filled
    talk(play, 9, window=10_000)
    assert "Compacted" in kinds(play.tool("c9", "short"))


def test_an_answer_that_will_not_fit_is_seen_before_it_is_sent():
    play = Play(native(summarizes=False))
    play.prompt()
    for n in range(1, 5):
        talk(play, n, window=10_000)
        play.tool(f"c{n}", "y" * 600)
    talk(play, 5, window=10_000)
    assert not outgrown(play.state)
    assert "Compacted" in kinds(play.tool("c5", "x" * 15_000))  # 5,100 and some 5,000 tokens


def test_without_figures_nothing_is_known():
    play = Play()
    play.prompt()
    play.reply(call("c1"), usage=Usage(), window=100)
    play.tool("c1", "x" * 9_000)
    assert play.state.window == 100
    assert "Compacted" not in kinds(play.records)


def test_the_window_is_remembered_from_run_to_run():
    play = Play()
    play.prompt()
    talk(play, 1, window=10_000)
    play.tool("c1")
    play.reply("Done.")
    play.reply("Done.")
    play.prompt()
    assert (play.state.window, play.state.filled) == (10_000, 120)


def test_a_full_window_and_the_callers_number_of_turns_are_seen():
    play = Play(native(compact_after_turns=2))
    play.prompt()
    assert not outgrown(play.state)
    full = replace(play.state, reply=replace(play.state.reply, stop_reason="model_context_window_exceeded"))
    assert outgrown(full)
    assert outgrown(replace(play.state, asked=play.state.asked + 1))


def test_a_room_that_was_learnt_is_not_filled_to_the_brim():
    play = Play()
    play.prompt("x" * 1_000)
    assert not outgrown(replace(play.state, room=10_000))
    assert outgrown(replace(play.state, room=1_050))
