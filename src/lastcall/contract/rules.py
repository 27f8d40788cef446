"""What a schema cannot say.

A `Rule` looks at the parsed object and answers at once; a `Check` needs I/O (a command, an async validator) and is run by
the runtime while the object is held. Rules run cheap to dear, after the schema, and only on objects that fit it.

Must not go in here: running anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from lastcall.nouns.attachment import Problem
from lastcall.nouns.json import JsonValue
from lastcall.nouns.result import CheckVerdict


class Rule(Protocol):
    """A pure rule on the object."""

    @property
    def name(self) -> str:
        """What the envelope calls it under `checks`."""
        ...

    def problems(self, value: JsonValue) -> tuple[Problem, ...]:
        """What is wrong with a fresh copy of the object; nothing when it passes. Raises nothing."""
        ...


class TypeRule(Struct, frozen=True):
    """The validators of a Python type. `loader` turns the object into the type, or into problems in the type's words."""

    name: str
    loader: Callable[[JsonValue], tuple[object, tuple[Problem, ...]]]

    def problems(self, value: JsonValue) -> tuple[Problem, ...]:
        """What the type refuses."""
        return self.loader(value)[1]

    def load(self, value: JsonValue) -> object:
        """The object as the type."""
        return self.loader(value)[0]


class Check(Protocol):
    """A check that needs I/O. The runtime awaits it while the object is held."""

    @property
    def name(self) -> str:
        """What the envelope calls it under `checks`."""
        ...

    async def run(self, object_text: str) -> tuple[CheckVerdict, tuple[Problem, ...]]:
        """The verdict on the object (JSON text), and the problems that go to the model."""
        ...
