"""CSV and TSV with a header: every value is text.

A row with too many or too few fields spoils no other. Quoting that does not add up spoils everything after it, since
nobody can say where the next row begins: it is refused, by line.

Must not go in here: reading bytes (`batches.lines`).
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

from lastcall.batches.lines import LineFile, Piped
from lastcall.batches.rows import MAX_ROW_BYTES, AnyRow, BadInput, BadRow, Row
from lastcall.contract.json_text import has_lone_surrogates


class Table:
    """The rows of a table (`batches.rows.Source`). Its header is read when it is made. Raises `BadInput`."""

    key_column = None
    not_text: frozenset[str] = frozenset()

    def __init__(self, lines: LineFile | Piped, *, delimiter: str) -> None:
        self._lines = lines
        self._delimiter = delimiter
        self.name = lines.name
        self.rereadable = lines.rereadable
        if csv.field_size_limit() < MAX_ROW_BYTES:
            csv.field_size_limit(MAX_ROW_BYTES)
        self._opened: _Reading | None = _Reading(lines, delimiter)
        self.columns: tuple[str, ...] | None = self._header(self._opened)

    def close(self) -> None:
        """End a reading that waits for more lines."""
        self._lines.close()

    def rows(self) -> Iterator[AnyRow]:
        """The rows below the header."""
        reading, self._opened = self._opened, None
        if reading is None:
            reading = _Reading(self._lines, self._delimiter)
            self._header(reading)
        columns = self.columns or ()
        number = 0
        while (fields := reading.next(self.name)) is not None:
            if fields:
                number += 1
                yield self._row(number, reading.line, columns, fields)

    def _header(self, reading: _Reading) -> tuple[str, ...]:
        fields: Sequence[str] | None = []
        while fields == []:
            fields = reading.next(self.name)
        if fields is None:
            raise BadInput("the input has no header", hint="The first line names the columns.", where=self.name)
        names = tuple(field.strip() for field in fields)
        twice = sorted({name for name in names if name and names.count(name) > 1})
        if twice:
            raise BadInput(f"the header names {twice[0]!r} twice", hint="Give each column a name.", where=self.name)
        if any(has_lone_surrogates(name) for name in names):
            raise BadInput("the header is not UTF-8", hint="Save the file as UTF-8.", where=self.name)
        other = next((mark for mark in (";", "\t", "|") if len(names) == 1 and mark in names[0]), None)
        if other is not None:
            hint = "Save it with commas, or give a file with tabs as --input-format tsv."
            raise BadInput(f"the columns seem to be separated by {other!r}", hint=hint, where=self.name)
        return names

    def _row(self, number: int, line: int, columns: tuple[str, ...], fields: Sequence[str]) -> AnyRow:
        if len(fields) != len(columns):
            said = f"the row that ends in line {line} has {len(fields)} fields, the header {len(columns)}"
            return BadRow(number, said)
        for column, field in zip(columns, fields, strict=True):
            if has_lone_surrogates(field):
                return BadRow(number, f"the row that ends in line {line} is not UTF-8 (column {column!r})")
            if "\x00" in field:
                return BadRow(number, f"the row that ends in line {line} holds a NUL character (column {column!r})")
        return Row(number, dict(zip(columns, fields, strict=True)))


class _Reading:
    """One pass over the lines."""

    def __init__(self, lines: LineFile | Piped, delimiter: str) -> None:
        self.line = 0
        self._reader = csv.reader(self._texts(lines), delimiter=delimiter, strict=True)

    def _texts(self, lines: LineFile | Piped) -> Iterator[str]:
        for line in lines:
            self.line = line.number
            if line.cut:
                said = f"line {line.number} is longer than {MAX_ROW_BYTES >> 20} MiB"
                raise BadInput(said, hint="Shorten it.", where=lines.name)
            yield line.content.decode("utf-8", "surrogateescape") + "\n"

    def next(self, name: str) -> Sequence[str] | None:
        """The fields of the next row (none for a blank line), `None` at the end. Raises `BadInput`."""
        began = self.line + 1
        try:
            return next(self._reader, None)
        except csv.Error as error:
            place = f"line {self.line}" if began >= self.line else f"lines {began} to {self.line}"
            hint = 'Look for a quote that is not closed or not doubled: "" is a quote inside of quotes.'
            raise BadInput(f"the quoting does not add up in {place}: {error}", hint=hint, where=name) from None
