"""What an event says is what its record says."""

from __future__ import annotations

from lastcall.core import events as e
from lastcall.core import notes
from lastcall.core import records as r
from lastcall.nouns.result import Usage
from machine_tools import OVERLOADED, dollars

USAGE = Usage(1, 2, 3, 4)


def test_a_complete_reply():
    event = e.ReplyEnded(3, "m", "refusal", USAGE, "###", {"category": "x"}, dollars("0.5"), 9)
    assert notes.reply_closed(event, cut=True, counted=False) == r.ReplyClosed(
        3, "m", "refusal", USAGE, "###", {"category": "x"}, dollars("0.5"), 9, cut=True, counted=False
    )


def test_a_retry():
    event = e.Retrying(3, 2, 10, 500, OVERLOADED, ("a",), "m", USAGE, dollars("0.5"))
    assert notes.retry_noted(event, ("a", "b")) == r.RetryNoted(
        3, 2, 10, 500, OVERLOADED, ("a", "b"), "m", USAGE, dollars("0.5")
    )


def test_a_fallback():
    event = e.FellBack(3, "m", "m2", "overloaded", "u", ("a",), USAGE, dollars("0.5"), {"category": "x"})
    assert notes.fallback_noted(event, ("a", "b")) == r.FallbackNoted(
        3, "m", "m2", "overloaded", "u", ("a", "b"), USAGE, dollars("0.5"), {"category": "x"}
    )


def test_a_lost_request():
    event = e.RequestFailed(3, OVERLOADED, "u", 9, USAGE)
    assert notes.request_lost(event, goes_on=True) == r.RequestLost(3, OVERLOADED, "u", 9, USAGE, goes_on=True)


def test_a_refused_feature():
    event = e.ChannelChanged(3, "strict", "400")
    assert notes.feature_dropped(event, ("a",)) == r.FeatureDropped(3, "strict", "400", ("a",))
