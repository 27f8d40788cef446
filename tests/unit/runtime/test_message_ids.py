"""A living reply never bears the id of a dead one."""

from lastcall.core.events import BlockEnded, FellBack, LimitHit, ReplyEnded, ReplyStarted, Retrying
from lastcall.nouns.messages import TextBlock
from lastcall.nouns.result import Failed, FailureKind, Limit, Usage
from lastcall.runtime.message_ids import LivingIds

LOST = Failed(FailureKind.BROKEN_STREAM, "cut")


def started(name, request=1):
    return ReplyStarted(request, name, "m")


def block(name, request=1):
    return BlockEnded(request, name, TextBlock("hi"), "u")


def ended(name, request=1):
    return ReplyEnded(request, name, "end_turn", Usage())


def test_what_no_reply_repeats_stays_as_it_is():
    ids = LivingIds()
    for event in (started("a"), block("a"), ended("a"), LimitHit(Limit.DEADLINE)):
        assert ids.heard(event, {"b"}) == event


def test_a_reply_under_a_dead_id_gets_a_free_one_for_all_it_says():
    ids = LivingIds()
    dead = {"a", "a_2"}
    assert ids.heard(started("a"), dead) == started("a_3")
    assert ids.heard(block("a"), dead) == block("a_3")
    assert ids.heard(ended("a"), dead) == ended("a_3")


def test_a_second_retry_takes_back_the_message_as_it_is_known_here():
    ids = LivingIds()
    ids.heard(started("a"), {"a"})
    retrying = Retrying(1, 2, 10, 0, LOST, ("a",))
    assert ids.heard(retrying, {"a"}).retracted == ("a_2",)
    fell = FellBack(1, "m", "n", "overloaded", "u", ("a",))
    assert ids.heard(fell, {"a"}).retracted == ("a_2",)
    assert ids.heard(started("a"), {"a", "a_2"}) == started("a_3")


def test_each_request_begins_with_the_given_names():
    ids = LivingIds()
    ids.heard(started("a"), {"a"})
    assert ids.heard(ended("a", 2), {"a"}) == ended("a", 2)
    assert ids.heard(started("b", 2), {"a"}) == started("b", 2)
    assert ids.heard(block("a", 2), {"a"}) == block("a", 2)
