"""One step of a run as one line of JSON, and back.

A line is `{"v": 2, "kind": "step", "at": seconds, "records": [...]}` and ends with a line feed. `v` is the version of
this format: it goes up when a line could mean something that an older lastcall would misread, a new kind of record too.
JSON values inside of records come back as JSON: tuples as lists, the decimals of untyped places as floats where a
double holds them.

Must not go in here: files, locks, whole journals (`journal.store`, `journal.load`), what the records mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import cache
from typing import Final

import msgspec
from msgspec import Struct

from lastcall.contract.json_text import JsonFault, read_json, write_json
from lastcall.core.records import Record
from lastcall.errors import JournalTooNew
from lastcall.nouns.json import JsonValue

VERSION: Final = 2
"""1: the records of 0.1 as first written. 2: records of long runs (`Compacted` and those after it), another signal."""
_MAX_DEPTH: Final = 600
"""Deeper than any value that the readers of the wire take."""
_MAX_LINE_BYTES: Final = 1 << 30


class JournalStep(Struct, frozen=True):
    """What became true in one step of the machine. `at` is seconds since the epoch."""

    at: float
    records: tuple[Record, ...]


class Damaged(Struct, frozen=True):
    """A line that holds no step, and why."""

    why: str


class _Line(Struct, frozen=True):
    v: int
    kind: str
    at: float
    records: tuple[Record, ...]


class _Header(Struct, frozen=True):
    v: int
    kind: str = ""


_ENCODER: Final = msgspec.json.Encoder(decimal_format="number")


@cache
def _decoder() -> msgspec.json.Decoder[_Line]:
    """Made when something is read: building it costs 2 ms, and most processes only write."""
    return msgspec.json.Decoder(_Line)


def encode_step(records: Sequence[Record], *, at: float) -> bytes:
    """The line, its line feed included. Holds no other line feed."""
    line = _Line(VERSION, "step", at, tuple(records))
    try:
        return _ENCODER.encode(line) + b"\n"
    except ValueError:
        # half a surrogate pair, or a number of more digits than the fast writer takes
        plain = msgspec.to_builtins(line, builtin_types=(Decimal,), str_keys=True)
        return write_json(plain, numbers="exact").encode() + b"\n"


def decode_line(line: bytes) -> JournalStep | Damaged:
    """The step of one line (with or without its line feed), or what is wrong with it.

    Raises `JournalTooNew` for a line of a later version.
    """
    body = line.rstrip(b"\n")
    try:
        header = msgspec.json.decode(body, type=_Header)
        _demand_known(header)
        if header.kind == "step":
            return _step(_decoder().decode(body))
    except (msgspec.DecodeError, ValueError):
        return _decode_slowly(body)
    return Damaged(f"it is of an unknown kind, {header.kind!r}")


def _demand_known(header: _Header) -> None:
    if header.v > VERSION:
        raise JournalTooNew(
            f"the journal is of format {header.v}; this lastcall reads up to format {VERSION}",
            hint="Install a newer lastcall.",
        )


def _decode_slowly(body: bytes) -> JournalStep | Damaged:
    """The same for what the fast reader does not take (half surrogate pairs, very long numbers), and what is wrong."""
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        return Damaged(f"it is not UTF-8 from byte {error.start} on")
    read = read_json(text, numbers="exact", max_depth=_MAX_DEPTH, max_bytes=_MAX_LINE_BYTES)
    if isinstance(read, JsonFault):
        return Damaged(f"it is no JSON: {read.message}")
    try:
        _demand_known(msgspec.convert(read.value, _Header))
        return _step(msgspec.convert(_with_floats(read.value), _Line))
    except msgspec.ValidationError as error:
        return Damaged(f"it holds no step: {error}")


def _with_floats(value: JsonValue) -> JsonValue:
    """The same value with floats for the decimals that a double holds, as the fast reader gives them."""
    if isinstance(value, dict):
        return {key: _with_floats(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_with_floats(member) for member in value]
    if isinstance(value, Decimal) and Decimal(repr(float(value))) == value:
        return float(value)
    return value


def _step(line: _Line) -> JournalStep:
    return JournalStep(line.at, line.records)
