"""The one limit that only a clock can see: the deadline.

`LimitNear` is told when a reply that takes as long as the slowest one so far would no longer leave time for another;
`LimitHit` when the time is over. Turns and budget are known to the core itself.

Must not go in here: what a limit does to a run (`core.decide`).
"""

from __future__ import annotations

from lastcall.core.events import Event, LimitNear, ReplyEnded
from lastcall.nouns.result import Limit

_SHARE = 0.15
"""Share of the whole time that is kept for the last call, when no reply has told better."""


class Deadline:
    """The deadline of one run. Times are of the driver's monotonic clock, in seconds."""

    def __init__(self, started: float, deadline_s: float) -> None:
        self.at = started + deadline_s
        self._reserve = deadline_s * _SHARE
        self._near = False

    def before(self, event: Event, now: float) -> LimitNear | None:
        """What must be told to the core before this event; each thing once."""
        if isinstance(event, ReplyEnded):
            self._reserve = max(self._reserve, 1.5 * event.took_ms / 1000)
        if self._near or now + self._reserve < self.at:
            return None
        self._near = True
        return LimitNear(Limit.DEADLINE)
