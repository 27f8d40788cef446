"""Ids are distinct through a session; the history shows calls as they were written, in compat as they were coerced."""

from __future__ import annotations

from msgspec.structs import replace

from lastcall.core import events as e
from lastcall.core.policy import compat, native
from lastcall.nouns.request import Channel
from lastcall.nouns.tools import Arguments, Unreadable, UnreadableCause
from machine_tools import COMPAT_CONTRACT, Play, call, contract_of, finish

BROKEN = Unreadable('{"title": "x', UnreadableCause.TRUNCATED, "the text ends inside a string", 1, 13, 12, 12)


def run(*given: object, **setting: object) -> Play:
    play = Play(*given, **setting)  # type: ignore[arg-type]
    play.prompt()
    return play


def test_a_repeated_id_is_made_distinct_and_marked():
    play = run()
    play.reply(call("c1"), call("c1"), call("c1"))
    assert [(c.call_id, c.made_id) for c in play.state.reply.calls] == [("c1", False), ("c1_2", True), ("c1_3", True)]


def test_a_call_without_an_id_gets_one():
    play = run()
    play.reply(call(""), call(""))
    assert [(c.call_id, c.made_id) for c in play.state.reply.calls] == [("call", True), ("call_2", True)]


def test_ids_are_distinct_through_the_session_also_from_those_taken_back():
    play = run()
    play.starts()
    play.says(call("c1"))
    play.retries()
    play.reply(call("c1"))
    assert [c.call_id for c in play.state.reply.calls] == ["c1_2"]


def test_a_call_belongs_to_the_message_that_it_came_in():
    play = run()
    play.starts("msg_a")
    play.hear(e.BlockEnded(1, "msg_a", call("c1", message_id="msg_b"), "u"))
    assert play.state.reply.calls == (call("c1", message_id="msg_a"),)


def test_an_id_that_the_model_sent_is_kept():
    play = run()
    play.starts()
    play.says(replace(call("c1"), made_id=True))
    assert play.state.reply.calls[0].made_id


def test_compat_shows_the_coerced_input_in_the_history_and_native_what_was_written():
    for policy, contract, shown in (
        (compat(), COMPAT_CONTRACT, '{"title":"Disk","count":3}'),
        (native(), contract_of(), '{"title":"Disk","count":"3"}'),
    ):
        play = run(policy, contract)
        play.starts()
        play.says(finish("c1", '{"title":"Disk","count":"3"}'))
        assert play.state.reply.calls[0].arguments == Arguments(shown)


def test_compat_leaves_what_cannot_be_coerced():
    play = run(compat(), COMPAT_CONTRACT)
    play.starts()
    play.says(finish("c1", BROKEN), finish("c2", "[]"), call("c3", "Read", '{"count":"3"}'))
    assert [c.arguments for c in play.state.reply.calls] == [BROKEN, Arguments("[]"), Arguments('{"count":"3"}')]


def test_an_object_that_came_as_text_goes_by_its_message_and_by_a_number_where_that_repeats():
    play = run(channel=Channel.NATIVE, tools=())
    for _ in range(2):
        play.starts("msg_a")
        play.says('{"title":"x"}')
        play.stops()
    assert [a.call_id for a in play.state.attempts] == ["msg_a", "msg_a_2"]
