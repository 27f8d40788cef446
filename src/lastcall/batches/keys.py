"""Names of rows: from a column or from the content; and sets of names that stay small.

A row's key is what the output knows it by. Rows of one key each get a record of their own all the same: the second is
`KEY#2`, the third `KEY#3`, in the order of the input.

Must not go in here: which rows are done (`batches.output`).
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator, Mapping
from typing import Any, Final

from lastcall.batches.rows import AnyRow, BadRow, Row
from lastcall.wire.json import encode_value

_FIRST_SLOTS: Final = 1024
_LONGEST_KEY: Final = 1000


class KeySet:
    """A set of keys as digests of 128 bits: 32 bytes a key on average, whatever the keys' length.

    Two keys among ten million have the same digest with a chance of one in 10^25.
    """

    def __init__(self) -> None:
        self._slots = array("Q", bytes(16 * _FIRST_SLOTS))
        self._mask = _FIRST_SLOTS - 1
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: str) -> bool:
        return self._find(*_digest(key))[1]

    def add(self, key: str) -> bool:
        """Whether the key is new."""
        high, low = _digest(key)
        slot, known = self._find(high, low)
        if known:
            return False
        self._slots[2 * slot], self._slots[2 * slot + 1] = high, low
        self._count += 1
        if 3 * self._count > 2 * (self._mask + 1):
            self._grow()
        return True

    def _find(self, high: int, low: int) -> tuple[int, bool]:
        """The slot that holds the digest, or the free one where it belongs."""
        slots, slot = self._slots, low & self._mask
        while (there := slots[2 * slot + 1]) or slots[2 * slot]:
            if there == low and slots[2 * slot] == high:
                return slot, True
            slot = (slot + 1) & self._mask
        return slot, False

    def _grow(self) -> None:
        old = self._slots
        self._mask = 2 * self._mask + 1
        self._slots = array("Q", bytes(16 * (self._mask + 1)))
        for at in range(0, len(old), 2):
            high, low = old[at], old[at + 1]
            if high or low:
                slot, _ = self._find(high, low)
                self._slots[2 * slot], self._slots[2 * slot + 1] = high, low


def _digest(key: str) -> tuple[int, int]:
    raw = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return int.from_bytes(raw[:8], "little"), int.from_bytes(raw[8:], "little")


def content_key(values: Mapping[str, Any]) -> str:
    """A name from the row's content, whatever the order of its columns: 32 hexadecimal digits."""
    written = encode_value({str(name): _plain(values[name]) for name in sorted(values, key=str)})
    return hashlib.blake2b(written, digest_size=16).hexdigest()


def _plain(value: Any) -> Any:
    """The value as JSON has it; what JSON has no form for (dates, bytes of Parquet) as its text."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {str(name): _plain(value[name]) for name in sorted(value, key=str)}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return str(value)


class Naming:
    """Gives rows their keys. `repeated` is the number of rows whose key an earlier row had, `examples` the first few."""

    def __init__(self, column: str | None) -> None:
        self._column = column
        self._seen = KeySet()
        self._times: dict[str, int] = {}
        self.repeated = 0
        self.examples: list[str] = []

    def named(self, rows: Iterator[AnyRow]) -> Iterator[AnyRow]:
        """The rows with their keys."""
        for row in rows:
            yield self.name(row)

    def name(self, row: AnyRow) -> AnyRow:
        """The row with its key; a row whose key column holds no name cannot be used."""
        if isinstance(row, BadRow):
            return row
        key = content_key(row.values) if self._column is None else self._of_column(row, self._column)
        if isinstance(key, BadRow):
            return key
        return Row(row.number, row.values, key if self._seen.add(key) else self._again(key, row.number))

    def _again(self, key: str, number: int) -> str:
        self.repeated += 1
        if len(self.examples) < 3:
            self.examples.append(f"row {number} ({key[:60]})")
        times = self._times.get(key, 1)
        while True:
            times += 1
            if self._seen.add(f"{key}#{times}"):
                self._times[key] = times
                return f"{key}#{times}"

    @staticmethod
    def _of_column(row: Row, column: str) -> str | BadRow:
        value = row.values.get(column)
        if value is None or isinstance(value, Mapping | list | bool | float) or not str(value).strip():
            return BadRow(row.number, f"the key column {column!r} holds no name, but {_shown(value)}")
        key = str(value)
        if len(key) > _LONGEST_KEY:
            return BadRow(row.number, f"the key in column {column!r} is longer than {_LONGEST_KEY} characters")
        return key


def _shown(value: Any) -> str:
    return "nothing" if value is None else repr(value)[:60]
