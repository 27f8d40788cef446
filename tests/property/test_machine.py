"""The machine against a world that does not keep to the protocol: whatever it does, the run's rules hold.

What the rules are stands in `hostile_world`; `test_planted_bugs` shows that this test would see them broken.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings

from hostile_world import Tape, World
from property_tapes import EXAMPLES, LONG_TAPES, TAPES


@settings(max_examples=EXAMPLES, deadline=None)
@given(TAPES)
@example(b"")
def test_the_rules_hold_whatever_the_world_does(data):
    World(Tape(data)).play()


@pytest.mark.slow
@pytest.mark.timeout(900)
@settings(max_examples=8_000, deadline=None)
@given(LONG_TAPES)
def test_the_rules_hold_in_long_sessions(data):
    World(Tape(data)).play()
