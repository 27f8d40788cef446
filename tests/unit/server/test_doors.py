"""How often each may ask, by a clock in the test's hands."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from lastcall.server.doors import Allowance


def test_so_many_at_once_and_then_as_they_come_back():
    now = [0.0]
    allowance = Allowance(lambda: now[0])
    assert [allowance.wait_s("a", 3) for _ in range(4)] == [0, 0, 0, 20]
    assert allowance.wait_s("b", 3) == 0
    now[0] = 19.0
    assert allowance.wait_s("a", 3) > 0
    now[0] = 20.5
    assert allowance.wait_s("a", 3) == 0
    assert allowance.wait_s("a", 3) > 0


@settings(max_examples=40)
@given(st.lists(st.floats(0, 30), max_size=100), st.integers(1, 50))
def test_in_no_minute_more_than_twice_as_many(pauses, per_minute):
    """A full bucket and what comes back: over any minute at most the bucket and the rate."""
    now = [0.0]
    allowance = Allowance(lambda: now[0])
    allowed = []
    for pause in pauses:
        now[0] += pause
        if allowance.wait_s("a", per_minute) == 0:
            allowed.append(now[0])
    for at in allowed:
        assert sum(at <= other < at + 60 for other in allowed) <= 2 * per_minute


def test_who_was_told_to_wait_may_ask_then():
    now = [5.0]
    allowance = Allowance(lambda: now[0])
    allowance.wait_s("a", 1)
    now[0] += allowance.wait_s("a", 1)
    assert allowance.wait_s("a", 1) == 0


def test_as_many_strangers_as_like_may_ask():
    allowance = Allowance(lambda: 0.0)
    assert all(allowance.wait_s(str(n), 1) == 0 for n in range(12_000))
