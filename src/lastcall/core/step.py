"""One step in the making: records noted, the state they lead to, actions to do.

The only mutable thing in the core; it lives for one call of `decide` and never leaves it but as a `Step`.
"""

from __future__ import annotations

from msgspec import Struct

from lastcall.core.actions import Action
from lastcall.core.evolve import evolve
from lastcall.core.records import Record
from lastcall.core.state import RunState


class Step(Struct, frozen=True):
    """What one event led to. `records` go to disk as one line before any of `actions` starts."""

    state: RunState
    records: tuple[Record, ...]
    actions: tuple[Action, ...]


class Draft:
    """A step being written. `state` is always the fold of what was noted so far."""

    __slots__ = ("actions", "records", "state")

    def __init__(self, state: RunState) -> None:
        self.state = state
        self.records: list[Record] = []
        self.actions: list[Action] = []

    def note(self, record: Record) -> None:
        """Make `record` true."""
        self.records.append(record)
        self.state = evolve(self.state, record)

    def do(self, action: Action) -> None:
        """Have the driver do `action` once the records are on disk."""
        self.actions.append(action)

    def step(self) -> Step:
        """The finished step."""
        return Step(self.state, tuple(self.records), tuple(self.actions))
