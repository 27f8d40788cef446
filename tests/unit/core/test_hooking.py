"""Who is asked, about what, and when again."""

from __future__ import annotations

from msgspec.structs import replace

from lastcall.core import events as e
from lastcall.core import records as r
from lastcall.core.actions import RunHooks
from lastcall.core.hooking import is_readable
from lastcall.nouns.hooks import HookPoint, HookVerdict
from lastcall.nouns.request import Channel
from lastcall.nouns.tools import Unreadable, UnreadableCause
from machine_tools import BAD, OTHER, Play, call, finish

BROKEN = Unreadable("{", UnreadableCause.TRUNCATED, "ends", 1, 2, 1, 1)
P = HookPoint


def hooked(*points: HookPoint) -> Play:
    play = Play(hooks=frozenset(points))
    play.prompt("go")
    return play


def questions(play: Play) -> list[RunHooks]:
    return [x for x in play.actions if isinstance(x, RunHooks)]


def test_nobody_is_asked_where_nobody_wants_to_be():
    play = hooked()
    play.reply(finish("c1", BAD))
    play.reply(finish("c2"))
    assert questions(play) == []
    assert play.outcome is not None


def test_each_point_is_asked_with_what_it_is_about():
    play = hooked(*P)
    play.hear(e.HooksFinished(P.PROMPT, "", HookVerdict()))
    play.reply(finish("c1", BAD))
    made = play.state.reply.calls[0]
    play.hear(e.HooksFinished(P.BEFORE_CALL, "c1", HookVerdict()))
    rejected = play.state.results[0]
    play.hear(e.HooksFinished(P.AFTER_FAILURE, "c1", HookVerdict()))
    play.hear(e.HooksFinished(P.REJECTED, "c1", HookVerdict()))
    play.reply(finish("c2", OTHER))
    other = play.state.reply.calls[0]
    play.hear(e.HooksFinished(P.BEFORE_CALL, "c2", HookVerdict()))
    accepted = play.state.results[0]
    play.hear(e.HooksFinished(P.AFTER_CALL, "c2", HookVerdict()))
    assert questions(play) == [
        RunHooks(P.PROMPT, text="go"),
        RunHooks(P.BEFORE_CALL, made),
        RunHooks(P.AFTER_FAILURE, made, rejected),
        RunHooks(P.REJECTED, attempt=play.state.attempts[0]),
        RunHooks(P.BEFORE_CALL, other),
        RunHooks(P.AFTER_CALL, other, accepted),
        RunHooks(P.STOP),
    ]


def test_what_cannot_be_read_or_is_no_object_is_not_shown_to_hooks():
    assert is_readable(finish("c1", ' {"a":1}'))
    assert not is_readable(finish("c1", "[]"))
    assert not is_readable(finish("c1", BROKEN))
    play = hooked(P.BEFORE_CALL, P.AFTER_FAILURE)
    play.reply(finish("c1", BROKEN), finish("c2", "[]"))
    assert questions(play) == []


def test_the_end_is_asked_about_once_a_reply():
    play = hooked(P.STOP)
    play.reply("Done.")
    assert questions(play) == [RunHooks(P.STOP, text="Done.")]
    play.hear(e.HooksFinished(P.STOP, "", HookVerdict()))
    play.reply("Done!")
    assert questions(play)[1:] == [RunHooks(P.STOP, text="Done!", active=True)]


def test_after_a_crash_nobody_is_asked_about_a_call_that_is_no_more():
    play = hooked(P.BEFORE_CALL)
    play.reply(finish("c1"))
    play.state = replace(play.state, hooking=((P.BEFORE_CALL, "gone"),))
    before = len(play.actions)
    play.resume()
    assert play.actions[before:] == []


def test_after_a_crash_every_open_question_is_asked_again():
    prompt = hooked(P.PROMPT)
    assert prompt.resume() == [r.Resumed()]
    assert questions(prompt)[1:] == [RunHooks(P.PROMPT, text="go")]
    stop = hooked(P.STOP)
    stop.reply("Done.")
    stop.resume()
    assert questions(stop)[1:] == [RunHooks(P.STOP, text="Done.")]
    calls = hooked(P.BEFORE_CALL, P.AFTER_FAILURE)
    calls.reply(call("c0"), finish("c1", BAD), finish("c2"))
    calls.tool("c0")
    calls.hear(e.HooksFinished(P.BEFORE_CALL, "c1", HookVerdict()))
    first, second = calls.state.reply.calls[1:]
    rejected = calls.state.results[-1]
    calls.resume()
    assert questions(calls)[3:] == [RunHooks(P.BEFORE_CALL, second), RunHooks(P.AFTER_FAILURE, first, rejected)]


def test_a_rejected_attempt_is_told_also_where_nothing_could_be_read_and_advice_comes_after_the_problems():
    play = hooked(P.REJECTED)
    play.reply(finish("c1", BROKEN))
    [question] = questions(play)
    assert question == RunHooks(P.REJECTED, attempt=play.state.attempts[0])
    assert question.attempt.verdict == "unreadable"
    assert not play.state.outstanding
    play.hear(e.HooksFinished(P.REJECTED, "c1", HookVerdict(context=("Use digits.",))))
    assert play.state.outstanding
    assert play.history()[-1][1][-1] == "Use digits."


def test_a_rejected_text_of_the_native_channel_is_told_too():
    play = Play(hooks=frozenset({P.REJECTED}), channel=Channel.NATIVE, tools=())
    play.prompt("go")
    play.reply(BAD)
    [question] = questions(play)
    assert (question.call_id, question.attempt.draft) == (play.state.attempts[0].call_id, BAD)
    play.hear(e.HooksFinished(P.REJECTED, question.call_id, HookVerdict()))
    assert play.state.outstanding


def test_an_object_that_passes_is_no_rejection():
    play = hooked(P.REJECTED)
    play.reply(finish("c1"))
    assert questions(play) == []


def test_after_a_crash_a_rejection_is_told_again():
    play = hooked(P.REJECTED)
    play.reply(finish("c1", BAD))
    play.actions.clear()
    play.resume()
    assert questions(play) == [RunHooks(P.REJECTED, attempt=play.state.attempts[0])]
