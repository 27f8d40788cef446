"""JSON Lines: one object a line. A bad line spoils no other.

Numbers stay as they are written (`1.50` is not `1.5`); blank lines are no rows.

Must not go in here: reading bytes (`batches.lines`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lastcall.batches.lines import LineFile, Piped
from lastcall.batches.rows import MAX_ROW_BYTES, AnyRow, BadInput, BadRow, Row
from lastcall.contract.json_text import JsonFault, has_lone_surrogates, read_json

_DEPTH: Final = 200


class JsonLines:
    """The rows of JSON Lines (`batches.rows.Source`)."""

    columns = None
    key_column = None
    not_text: frozenset[str] = frozenset()

    def __init__(self, lines: LineFile | Piped) -> None:
        self._lines = lines
        self.name = lines.name
        self.rereadable = lines.rereadable

    def close(self) -> None:
        """End a reading that waits for more lines."""
        self._lines.close()

    def rows(self) -> Iterator[AnyRow]:
        """The rows, one a line."""
        number = 0
        for line in self._lines:
            content = line.content
            if not content.strip():
                continue
            number += 1
            if number == 1 and content.lstrip()[:1] == b"[":
                raise BadInput(
                    "the input is one JSON array, not one object a line",
                    hint="Convert it: jq -c '.[]' FILE > FILE.jsonl",
                    where=self.name,
                )
            if line.cut:
                yield BadRow(number, f"line {line.number} is longer than {MAX_ROW_BYTES >> 20} MiB")
            else:
                yield _row(number, line.number, content)


def _row(number: int, line: int, content: bytes) -> AnyRow:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        return BadRow(number, f"line {line} is not UTF-8 (byte {error.start + 1})")
    if "\x00" in text:
        return BadRow(number, f"line {line} holds a NUL character")
    read = read_json(text, numbers="exact", max_depth=_DEPTH, max_bytes=MAX_ROW_BYTES)
    if isinstance(read, JsonFault):
        return BadRow(number, f"line {line} is no JSON: {read.message} (column {read.column})")
    if not isinstance(read.value, dict):
        kind = {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
        return BadRow(number, f"line {line} is {kind.get(type(read.value), 'a number')}, not an object")
    if read.duplicates:
        return BadRow(number, f"line {line} gives the key {read.duplicates[0].removeprefix('/')!r} twice")
    if has_lone_surrogates(text) or _is_broken(read.value):
        return BadRow(number, f"line {line} holds half a character (a lone surrogate)")
    return Row(number, read.value)


def _is_broken(value: object) -> bool:
    """Whether a string of the value has half of a surrogate pair, which no service can be sent."""
    match value:
        case str():
            return has_lone_surrogates(value)
        case dict():
            return any(_is_broken(key) or _is_broken(item) for key, item in value.items())
        case list():
            return any(_is_broken(item) for item in value)
        case _:
            return False
