"""What a run has seen when an object is judged: the prompt, and what tools answered.

Rules about quotes and evidence look here. Nothing of it is the model's own word: neither its texts nor the answers to
finishing calls count.

Must not go in here: how it is found in a run's history (`core.sight`).
"""

from __future__ import annotations

from msgspec import Struct


class ToolSeen(Struct, frozen=True):
    """One answered call of an ordinary tool: `arguments` is the JSON text of its input, `ok` whether it succeeded."""

    tool: str
    arguments: str
    text: str
    ok: bool


class Sight(Struct, frozen=True):
    """The prompt of the run, and every answered call in the order of the answers."""

    prompt: str = ""
    tools: tuple[ToolSeen, ...] = ()


NOTHING_SEEN = Sight()
