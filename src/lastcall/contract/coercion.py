"""What the reference changes in a finishing call's input before it asks the schema. Compat only: natively nothing is.

The rules were read off recorded runs (conformance groups `coercion` and `input`): only the values of properties that
the root itself declares, only from strings, and only by the type that the property's schema names, directly, behind
`$ref`, or in a branch of `anyOf` or `oneOf` (never `allOf`).

Must not go in here: reading text (`json_text`), checking, anything for the native profile.
"""

from __future__ import annotations

import re
from typing import Any, Final

from lastcall.contract.json_text import Read, read_json, write_json
from lastcall.contract.references import References
from lastcall.nouns.json import JsonObject, JsonValue
from lastcall.nouns.schema import OutputSchema

_JS_SPACE: Final = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_DECIMAL: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:e[+-][0-9]+)?")
_BOOLEANS: Final = {"true": True, "false": False}
_NUMBER_CHARS: Final = 30
"""No number that JavaScript prints is longer."""
_BRANCHES: Final = 1_000
_EMBEDDED_DEPTH: Final = 10_000


def input_issue(value: JsonValue) -> str | None:
    """The reference's words for an input that is no object (the schema is not even asked), or `None`."""
    if isinstance(value, dict):
        return None
    return (
        "StructuredOutput failed due to the following issue:\n"
        f"The parameter `` type is expected as `object` but provided as `{_kind(value)}`"
    )


def _kind(value: JsonValue) -> str:
    if isinstance(value, list):
        return "array"
    if isinstance(value, str):
        return "string"
    if value is None:
        return "null"
    return "boolean" if isinstance(value, bool) else "number"


def coerce_top_level(value: JsonObject, schema: OutputSchema) -> JsonObject:
    """The input as the reference goes on with it: a new object, its members coerced by their declared types.

    A key `__proto__` is lost, as it is when JavaScript copies an object member by member.
    """
    declared = schema.value.get("properties")
    properties = declared if isinstance(declared, dict) else {}
    references = References(schema.value)
    return {
        key: _coerced(member, properties.get(key), references) if isinstance(member, str) else member
        for key, member in value.items()
        if key != "__proto__"
    }


def _coerced(text: str, schema: JsonValue, references: References) -> JsonValue:
    types = _types(schema, references)
    if types & {"array", "object"}:
        container = _container(text)
        if (isinstance(container, list) and "array" in types) or (isinstance(container, dict) and "object" in types):
            return container
    if "string" in types:
        return text
    if "boolean" in types and text.strip(_JS_SPACE) in _BOOLEANS:
        return _BOOLEANS[text.strip(_JS_SPACE)]
    number = _number(text) if types & {"number", "integer"} else None
    if number is None or ("number" not in types and number != int(number)):
        return text
    return number


def _container(text: str) -> JsonValue:
    if text.lstrip(" \t\n\r")[:1] not in ("[", "{"):
        return None
    read = read_json(text, numbers="doubles", max_depth=_EMBEDDED_DEPTH)
    return read.value if isinstance(read, Read) else None


def _number(text: str) -> int | float | None:
    """The number that a string spells exactly as JavaScript would print it."""
    if len(text) > _NUMBER_CHARS or not _DECIMAL.fullmatch(text):
        return None
    read = read_json(text, numbers="doubles")
    assert isinstance(read, Read)
    value = read.value
    assert isinstance(value, (int, float))
    return value if write_json(value, numbers="doubles") == text else None


def _types(schema: Any, references: References) -> frozenset[str]:
    """The type names of a schema and of its union branches."""
    found: set[str] = set()
    todo, seen = [schema], 0
    while todo and seen < _BRANCHES:
        seen += 1
        node = references.follow(todo.pop())
        if not isinstance(node, dict):
            continue
        named = node.get("type")
        found.update(name for name in (named if isinstance(named, list) else [named]) if isinstance(name, str))
        for union in ("anyOf", "oneOf"):
            branches = node.get(union)
            todo.extend(branches if isinstance(branches, list) else [])
    return frozenset(found)
