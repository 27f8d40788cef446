"""Reading a journal back: every whole line, or which line is damaged and how.

A journal ends with its last line feed. What stands after it is half a line, left by a crash in the middle of an append:
it was never acknowledged, so it is left out and told about. Damage anywhere else is an error that names the line.

Must not go in here: writing, what the records mean (`core.evolve`).
"""

from __future__ import annotations

import os

from msgspec import Struct

from lastcall.core.records import Record
from lastcall.errors import JournalCorrupt, JournalError, JournalTooNew
from lastcall.wire.journal import Damaged, JournalStep, decode_line


class Loaded(Struct, frozen=True):
    """A journal's steps. `whole_bytes` is the length of its whole lines, `torn_bytes` that of half a line after them."""

    steps: tuple[JournalStep, ...]
    whole_bytes: int
    torn_bytes: int

    @property
    def records(self) -> tuple[Record, ...]:
        """All records in order."""
        return tuple(record for step in self.steps for record in step.records)


def load(path: str) -> Loaded:
    """The journal in this file; nothing is changed and no lock is needed.

    Raises `JournalCorrupt` naming the damaged line, `JournalTooNew`, or `JournalError` when the file cannot be read.
    """
    try:
        with open(path, "rb") as file:  # noqa: PTH123 -- no pathlib on the way to the first request
            return load_bytes(file.read(), where=path)
    except OSError as error:
        words = os.strerror(error.errno) if error.errno else str(error)
        raise JournalError(f"the journal cannot be read: {words}", where=path) from error


def load_bytes(content: bytes, *, where: str) -> Loaded:
    """The steps in these bytes. `where` names the journal in errors.

    Raises `JournalCorrupt`, `JournalTooNew`.
    """
    whole = content.rfind(b"\n") + 1
    steps = []
    for number, line in enumerate(content[:whole].split(b"\n")[:-1], 1):
        try:
            step = decode_line(line)
        except JournalTooNew as error:
            raise JournalTooNew(error.message, hint=error.hint, where=f"{where}, line {number}") from None
        if isinstance(step, Damaged):
            raise JournalCorrupt(
                f"the line cannot be read: {step.why}",
                hint=f"The {number - 1} lines before it are whole; a copy cut there can be resumed.",
                where=f"{where}, line {number}",
            )
        steps.append(step)
    return Loaded(tuple(steps), whole, len(content) - whole)
