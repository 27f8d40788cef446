"""What `stream` tells of a run while it goes on, as typed values.

Only `ObjectAttached` and the result hold verified objects, and the former may still be taken back (`ObjectRetracted`).
A `PartialObject` is a guess at what is being written: never verified, never complete.

Must not go in here: how records become these events (`api.watching`).
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar, cast

from msgspec import Struct

from lastcall.api.result import TerminalResult
from lastcall.nouns.attachment import Problem
from lastcall.nouns.result import VerdictKind

T = TypeVar("T")


class TextPiece(Struct, frozen=True):
    """A piece of the model's prose."""

    text: str


class PartialObject(Struct, Generic[T], frozen=True):
    """The object as far as it is written: plain JSON values, not checked against anything.

    A string may be cut short; a number or a literal appears only when it is complete.
    """

    value: Any
    type: Any = None
    """The output type; `None` where it is a schema."""

    def sketch(self) -> T:
        """The value in the shape of the output type, so that it can be shown: never validated, never the answer.

        What is not written yet has its default, or is `None` whatever the type says; what does not fit stays plain JSON.
        """
        from lastcall.api.sketching import sketch  # noqa: PLC0415 -- Pydantic, where the type is one of its

        return cast("T", self.value if self.type is None else sketch(self.value, self.type))


class AttemptRejected(Struct, frozen=True):
    """A finishing call did not pass; the problems went back to the model. `verdict` says whether it could be read."""

    n: int
    verdict: VerdictKind
    problems: tuple[Problem, ...]
    draft: str


class ToolStarted(Struct, frozen=True):
    """A tool is running. `arguments` is their JSON text as the model wrote it."""

    call_id: str
    name: str
    arguments: str


class ToolFinished(Struct, frozen=True):
    """A tool answered, or its call was refused. `content` is what the model is told."""

    call_id: str
    name: str
    content: str
    failed: bool
    took_ms: int


class ObjectAttached(Struct, Generic[T], frozen=True):
    """An object passed the whole contract. It is the run's answer unless it is taken back."""

    output: T


class ObjectRetracted(Struct, frozen=True):
    """The object that was attached does not count: the reply it came from was taken back."""

    reason: str


class RunEnded(Struct, Generic[T], frozen=True):
    """The last event."""

    result: TerminalResult[T]


StreamEvent = (
    TextPiece
    | PartialObject[T]
    | AttemptRejected
    | ToolStarted
    | ToolFinished
    | ObjectAttached[T]
    | ObjectRetracted
    | RunEnded[T]
)
