"""The small parts that both decoders share."""

from lastcall.core.events import Progress
from lastcall.nouns.profile import Profile
from lastcall.nouns.result import Failed, FailureKind
from lastcall.wire.reply import NO_REPLY, RULES, broken, excerpt, no_reply, said
from wire_tools import hearing


def test_foreign_bytes_are_shown_as_one_short_line() -> None:
    assert excerpt(b"<html>\r\n\t<b>no\xff</b>") == "<html> <b>no\ufffd</b>"
    assert excerpt(b"x" * 1000, 10) == "x" * 10 + "…"
    assert excerpt("é".encode() * 100, 5) == "ééééé…"


def test_a_broken_reply_and_no_reply_are_told_apart() -> None:
    assert broken("d") == Failed(FailureKind.BROKEN_STREAM, "d")
    assert no_reply("d") == Failed(FailureKind.BROKEN_STREAM, "d", None, NO_REPLY)


def test_progress_is_told_only_to_those_who_want_it() -> None:
    assert said({"type": "ping"}, hearing()) == [Progress(1, {"type": "ping"})]
    assert said({"type": "ping"}, hearing(progress=False)) == []


def test_only_the_references_profile_takes_a_close_for_an_end() -> None:
    assert not RULES[Profile.NATIVE].takes_orderly_close
    assert RULES[Profile.COMPAT].takes_orderly_close
