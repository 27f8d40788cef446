"""A folder of text files: one file a row, with the columns `name` and `text`.

Files whose names begin with a dot are no rows, nor is what lies in folders below. A file's name is its key.

Must not go in here: formats of single files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from lastcall.batches.rows import MAX_ROW_BYTES, AnyRow, BadInput, BadRow, Row


class Folder:
    """The rows of a folder (`batches.rows.Source`), in the order of their names. Raises `BadInput`."""

    columns: tuple[str, ...] | None = ("name", "text")
    key_column: str | None = "name"
    rereadable = True
    not_text: frozenset[str] = frozenset()

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path
        try:
            with os.scandir(path) as found:
                names = [entry.name for entry in found if entry.is_file() and not entry.name.startswith(".")]
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            raise BadInput(f"the folder cannot be read: {why}", hint="Check its rights.", where=self.name) from error
        if not names:
            raise BadInput("the folder holds no files", hint="There is nothing to do.", where=self.name)
        self._names = sorted(names)

    def close(self) -> None:
        """Files keep nobody waiting."""

    def rows(self) -> Iterator[AnyRow]:
        """The files."""
        for number, name in enumerate(self._names, 1):
            yield self._row(number, name)

    def _row(self, number: int, name: str) -> AnyRow:
        shown = name.encode("utf-8", "backslashreplace").decode()
        try:
            with (self._path / name).open("rb") as file:
                content = file.read(MAX_ROW_BYTES + 1)
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            return BadRow(number, f"the file {shown} cannot be read: {why}")
        if len(content) > MAX_ROW_BYTES:
            return BadRow(number, f"the file {shown} is longer than {MAX_ROW_BYTES >> 20} MiB")
        if b"\x00" in content:
            return BadRow(number, f"the file {shown} holds NUL bytes: it is no UTF-8 text")
        try:
            return Row(number, {"name": shown, "text": content.decode("utf-8-sig")})
        except UnicodeDecodeError as error:
            return BadRow(number, f"the file {shown} is not UTF-8 (byte {error.start + 1})")
