"""What the caller asked for: schema text or value -> `OutputSchema`, within the budgets.

Must not go in here: whether the object is a valid schema (`validator`, with the dialects), reading files.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

from lastcall.contract.json_text import JsonFault, Numbers, excerpt, read_json, write_json
from lastcall.errors import LastcallBug, NotASchema, SchemaNotAnObject, SchemaNotJson, SchemaTooBig
from lastcall.nouns.json import JsonValue
from lastcall.nouns.profile import Profile
from lastcall.nouns.schema import OutputSchema
from lastcall.nouns.tools import UnreadableCause

MAX_SCHEMA_BYTES: Final = 1024 * 1024
MAX_SCHEMA_NODES: Final = 100_000
"""JSON values of every kind, the root included (the reference's bound)."""
MAX_SCHEMA_DEPTH: Final = 10_000
"""Steps from the root to the deepest value (the reference's bound)."""

_COMPAT_BYTES: Final = 16 * 1024 * 1024
"""The reference names no bound on the text; this one only keeps a mistake from filling the memory."""
_TOO_LARGE: Final = "--json-schema is not a valid JSON Schema: schema too large"
_KINDS: Final = {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
_HINTS: Final = {
    UnreadableCause.EMPTY: 'Give a JSON Schema, such as {"type": "object"}.',
    UnreadableCause.FENCED: "Give the JSON alone, without the fence.",
    UnreadableCause.TRUNCATED: "Is it complete?",
    UnreadableCause.UNESCAPED_QUOTE: "In a shell, put single quotes around the whole schema.",
}


def parse_schema(text: str, *, profile: Profile, where: str = "") -> OutputSchema:
    """The schema in a JSON text.

    Raises `SchemaNotJson`, `SchemaNotAnObject`, `SchemaTooBig`, and natively `NotASchema` for keys that occur twice; in
    compat with the reference's sentences, in which the last of equal keys counts. `where` names the text's place.
    """
    compat = profile is Profile.COMPAT
    numbers: Numbers = "doubles" if compat else "exact"
    limit = _COMPAT_BYTES if compat else MAX_SCHEMA_BYTES
    read = read_json(text, numbers=numbers, max_depth=MAX_SCHEMA_DEPTH + 1, max_bytes=limit)
    if isinstance(read, JsonFault):
        raise _unreadable(text, read, compat=compat, where=where)
    value = read.value
    if not isinstance(value, dict):
        if compat:
            raise SchemaNotAnObject("--json-schema must be a JSON object")
        kind = _KINDS.get(type(value), "a number")
        raise SchemaNotAnObject(f"The schema has to be a JSON object; it is {kind}.", where=where)
    if read.duplicates and not compat:
        raise NotASchema(
            f"The schema holds a key twice, so that one of the two would be lost: {read.duplicates[0]}.",
            where=where,
        )
    _check_size(value, compat=compat, where=where)
    minified = write_json(value, numbers=numbers)
    return OutputSchema(minified, hashlib.sha256(minified.encode()).hexdigest(), value)


def schema_from_value(value: Any, *, profile: Profile = Profile.NATIVE, where: str = "") -> OutputSchema:
    """The schema that a Python value (of dicts, lists, strings, numbers, booleans and `None`) is.

    Raises as `parse_schema` does, and `NotASchema` for a value that no JSON can hold. The value is copied.
    """
    if isinstance(value, str):
        raise SchemaNotAnObject("The schema has to be a JSON object; it is a string.", where=where)
    try:
        text = write_json(value, numbers="exact")
    except LastcallBug as error:
        raise NotASchema(f"The schema is no JSON value: {error.message}.", where=where) from None
    return parse_schema(text, profile=profile, where=where)


def _unreadable(text: str, fault: JsonFault, *, compat: bool, where: str) -> SchemaNotJson | SchemaTooBig:
    big = fault.cause in (UnreadableCause.TOO_LONG, UnreadableCause.TOO_DEEP)
    if compat:
        if big:
            return SchemaTooBig(_TOO_LARGE)
        from lastcall.contract.jsc_words import parse_error  # noqa: PLC0415 -- only for what is no JSON

        return SchemaNotJson(f"--json-schema is not valid JSON: JSON Parse error: {parse_error(text)}")
    if fault.cause is UnreadableCause.TOO_LONG:
        return SchemaTooBig(f"The schema is longer than {MAX_SCHEMA_BYTES} bytes.", where=where)
    if big:
        return SchemaTooBig(f"The schema nests deeper than {MAX_SCHEMA_DEPTH} levels.", where=where)
    if fault.cause is UnreadableCause.EMPTY:
        return SchemaNotJson("The schema is empty.", hint=_HINTS[fault.cause], where=where)
    place = f"line {fault.line}, column {fault.column}, near {excerpt(text, fault.offset)}"
    return SchemaNotJson(
        f"The schema is not JSON: {fault.message} ({place}).", hint=_HINTS.get(fault.cause, ""), where=where
    )


def _check_size(value: JsonValue, *, compat: bool, where: str) -> None:
    nodes, depth, level = 0, 0, [value]
    while level:
        nodes += len(level)
        if nodes > MAX_SCHEMA_NODES or depth > MAX_SCHEMA_DEPTH:
            if compat:
                raise SchemaTooBig(_TOO_LARGE)
            over = f"{MAX_SCHEMA_NODES} values" if nodes > MAX_SCHEMA_NODES else f"{MAX_SCHEMA_DEPTH} levels"
            raise SchemaTooBig(f"The schema has more than {over}.", where=where)
        level = _below(level)
        depth += 1


def _below(level: list[Any]) -> list[Any]:
    below: list[Any] = []
    for node in level:
        if isinstance(node, dict):
            below.extend(node.values())
        elif isinstance(node, list):
            below.extend(node)
    return below
