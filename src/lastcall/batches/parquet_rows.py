"""Parquet, batch by batch.

Must not go in here: writing (`batches.parquet`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from lastcall.batches.rows import MAX_ROW_BYTES, AnyRow, BadInput, BadRow, Row
from lastcall.errors import MissingExtra

_AT_ONCE: Final = 500


def load_pyarrow() -> Any:
    """The module `pyarrow.parquet`. Raises `MissingExtra`."""
    try:
        import pyarrow.parquet  # noqa: PLC0415 -- an extra
    except ImportError:
        raise MissingExtra(
            "Parquet needs the package pyarrow, which is not installed.",
            hint="Install it with: pip install 'lastcall[parquet]'",
        ) from None
    return pyarrow.parquet


class ParquetRows:
    """The rows of a Parquet file (`batches.rows.Source`). Its schema is read when it is made. Raises `BadInput`."""

    key_column: str | None = None
    rereadable = True

    def __init__(self, path: Path, open_: Callable[[], Any] | None = None) -> None:
        """`open_` opens what is no path."""
        self.name = str(path)
        self._reopen = open_ or (lambda: path)
        self._parquet = load_pyarrow()
        schema = self._open().schema_arrow
        self.columns: tuple[str, ...] | None = tuple(schema.names)
        import pyarrow.types as kinds  # noqa: PLC0415 -- an extra

        self.not_text = frozenset(
            field.name for field in schema if kinds.is_binary(field.type) or kinds.is_large_binary(field.type)
        )

    def close(self) -> None:
        """Files keep nobody waiting."""

    def rows(self) -> Iterator[AnyRow]:
        """The rows, a few hundred in memory at a time."""
        number = 0
        arrow_error = self._arrow_error()
        try:
            for some in self._open().iter_batches(batch_size=_AT_ONCE):
                for values in some.to_pylist():
                    number += 1
                    yield self._row(number, values)
        except (OSError, arrow_error) as error:
            said = f"the file is damaged after row {number}: {_first_line(error)}"
            raise BadInput(said, hint="Write it again.", where=self.name) from None

    def _row(self, number: int, values: dict[str, Any]) -> AnyRow:
        size = sum(len(value) for value in values.values() if isinstance(value, str | bytes))
        if size > MAX_ROW_BYTES:
            return BadRow(number, f"row {number} is longer than {MAX_ROW_BYTES >> 20} MiB")
        return Row(number, values)

    def _open(self) -> Any:
        try:
            return self._parquet.ParquetFile(self._reopen())
        except (OSError, self._arrow_error()) as error:
            said = f"this is no Parquet file that can be read: {_first_line(error)}"
            raise BadInput(said, hint="Check the file, or say --input-format.", where=self.name) from None

    @staticmethod
    def _arrow_error() -> type[Exception]:
        from pyarrow import ArrowException  # noqa: PLC0415 -- an extra

        kind: type[Exception] = ArrowException
        return kind


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
