"""Opening an input: which reader reads it, and everything that can be refused before its first row.

Must not go in here: how a format is read (`json_lines`, `tables`, `parquet_rows`, `folders`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from lastcall.batches.folders import Folder
from lastcall.batches.json_lines import JsonLines
from lastcall.batches.lines import LineFile, Piped
from lastcall.batches.rows import AnyRow, BadInput, Source
from lastcall.batches.tables import Table

FORMATS: Final = ("jsonl", "csv", "tsv", "parquet", "folder")
_ENDINGS: Final = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
STDIN: Final = "-"


def open_source(given: str, *, format_: str | None = None, stdin: BinaryIO | None = None) -> Source:
    """The rows of a file, a folder of text files, or standard input (`-`).

    `format_` is one of `FORMATS`; without it the name decides, and standard input is JSON Lines. Raises `BadInput` for
    what cannot be read as a whole, `MissingExtra`.
    """
    if given == STDIN:
        return _open_stdin(format_ or "jsonl", stdin)
    path = Path(given)
    try:
        found = os.stat(path)  # noqa: PTH116 -- one call for all questions
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise BadInput(f"the input cannot be read: {why}", hint="Check the path.", where=given) from None
    is_folder = path.is_dir()
    chosen = format_ or ("folder" if is_folder else _by_name(path))
    if is_folder != (chosen == "folder"):
        what = "a folder, not a file" if is_folder else "a file, not a folder"
        raise BadInput(f"this is {what}", hint="Leave --input-format away.", where=given)
    if chosen == "folder":
        return Folder(path)
    if not path.is_file():
        raise BadInput("this is no regular file", hint="Give it on standard input: INPUT is then -.", where=given)
    if found.st_size == 0:
        raise BadInput("the input is empty", hint="There is nothing to do.", where=given)
    if chosen == "parquet":
        from lastcall.batches.parquet_rows import ParquetRows  # noqa: PLC0415 -- optional: pyarrow

        return ParquetRows(path)
    return _by_lines(LineFile(path), chosen)


def open_lines(
    name: str, format_: str | None, lines: Callable[[], LineFile | Piped], whole: Callable[[], BinaryIO]
) -> Source:
    """The rows of a file that is no path: `lines` opens it for reading once, `whole` for reading anywhere in it.

    Raises `BadInput`, `MissingExtra`.
    """
    chosen = format_ or _by_name(Path(name))
    if chosen == "parquet":
        from lastcall.batches.parquet_rows import ParquetRows  # noqa: PLC0415 -- optional: pyarrow

        return ParquetRows(Path(name), whole)
    if chosen == "folder":
        raise BadInput("a folder of texts has to be on this machine", hint="Give files of rows.", where=name)
    return Reopened(name, lambda: _by_lines(lines(), chosen))


class Reopened:
    """A source that can be read again because it is opened again (`batches.rows.Source`)."""

    rereadable = True

    def __init__(self, name: str, open_: Callable[[], Source]) -> None:
        self.name = name
        self._open = open_
        self._first: Source | None = open_()
        self.columns = self._first.columns
        self.key_column = self._first.key_column
        self.not_text = self._first.not_text

    def close(self) -> None:
        """Files keep nobody waiting."""

    def rows(self) -> Iterator[AnyRow]:
        """The rows, from the beginning."""
        source, self._first = self._first or self._open(), None
        return source.rows()


def _by_name(path: Path) -> str:
    chosen = _ENDINGS.get(path.suffix.lower())
    if chosen is None:
        endings = ", ".join(_ENDINGS)
        raise BadInput(
            f"the name does not say what the file holds (known: {endings})",
            hint=f"Add --input-format, one of {', '.join(FORMATS)}.",
            where=str(path),
        )
    return chosen


def _open_stdin(chosen: str, stdin: BinaryIO | None) -> Source:
    if chosen not in ("jsonl", "csv", "tsv"):
        raise BadInput(f"standard input cannot hold {chosen}", hint="Name a file or a folder.", where="stdin")
    if stdin is None:
        raise BadInput("there is no standard input", hint="Name a file, or pipe rows in.", where="stdin")
    return _by_lines(Piped(stdin), chosen)


def _by_lines(lines: LineFile | Piped, chosen: str) -> Source:
    return JsonLines(lines) if chosen == "jsonl" else Table(lines, delimiter="\t" if chosen == "tsv" else ",")
