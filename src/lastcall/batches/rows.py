"""What comes in: rows, and rows that cannot be used.

Must not go in here: files and formats (`batches.reading`), what a row becomes (`batches.records`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol

from msgspec import Struct

from lastcall.errors import UsageError

MAX_ROW_BYTES: Final = 8 * 1024 * 1024
"""A longer row is no prompt: no model reads it."""


class BadInput(UsageError):  # noqa: N818 -- as the tree's other leaves: named for what happened
    """The input as a whole cannot be used, or not from here on: what follows cannot be told apart."""

    code = "bad_input"


class Row(Struct, frozen=True):
    """One row. `number` counts from 1 in the order of the input, `key` is the row's name in the output."""

    number: int
    values: Mapping[str, Any]
    key: str = ""


class BadRow(Struct, frozen=True):
    """A row that cannot be used, and why, in one sentence; the rows after it can."""

    number: int
    problem: str

    @property
    def key(self) -> str:
        """Its name in the output; the row has no other."""
        return f"#{self.number}"


AnyRow = Row | BadRow


class Source(Protocol):
    """Where rows come from."""

    @property
    def name(self) -> str:
        """What people are told of it: a path, `standard input`."""
        ...

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The columns that every row has; `None` where rows may differ."""
        ...

    @property
    def rereadable(self) -> bool:
        """Whether the rows can be read more than once."""
        ...

    @property
    def key_column(self) -> str | None:
        """The column that names a row where nothing else is said; `None`: its content does."""
        ...

    @property
    def not_text(self) -> frozenset[str]:
        """The columns whose values are no text and no numbers, so that no prompt can hold them."""
        ...

    def rows(self) -> Iterator[AnyRow]:
        """The rows in their order, read as they are asked for; their `key` is still empty. Raises `BadInput`."""
        ...

    def close(self) -> None:
        """End a reading that waits for more rows. Safe to call twice, and from another thread."""
        ...
