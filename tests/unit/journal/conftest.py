"""What the tests of journals share."""

from __future__ import annotations

import pytest

from lastcall.core import records as r
from lastcall.nouns.messages import TextBlock


@pytest.fixture
def opened():
    def make(cwd="/w", session_id="s1", prompt="do it"):
        return [
            r.Opened(session_id, "0.1.0", "native", "haiku", cwd, 5.0),
            r.Started("run_1", (TextBlock(prompt),), "u1", 5.0),
        ]

    return make
