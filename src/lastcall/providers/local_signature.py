"""A schema as the short signature that a small model reads best: `{ticket: string, area: "a" | "b"}`.

It takes two thirds of the tokens of the schema's JSON, and a model of this size follows it better. A schema that says
more than a signature can is shown as JSON, whole: nothing that it says is left out silently.

Must not go in here: what the grammar enforces (`.local_grammar`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lastcall.contract.json_text import write_json
from lastcall.nouns.json import JsonObject

_TYPES: Final = frozenset({"string", "integer", "number", "boolean", "null"})
_LIMITS: Final[Mapping[str, str]] = {
    "pattern": "matching {}",
    "format": "as {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "above {}",
    "exclusiveMaximum": "below {}",
    "multipleOf": "a multiple of {}",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
}
_MEMBERS: Final = frozenset({"properties", "required", "additionalProperties"})
_SILENT: Final = frozenset({"$schema", "$id", "title", "description"})
_MOST_LEVELS: Final = 20


class _TooRich(Exception):  # noqa: N818 -- never leaves this module
    """The schema says something that a signature cannot."""


def signature(schema: JsonObject) -> str:
    """The signature, or the schema's JSON text where there is none."""
    try:
        return _shape(schema, 0)
    except _TooRich:
        return write_json(schema, numbers="exact")


def _shape(schema: Any, level: int) -> str:
    if not isinstance(schema, dict) or level > _MOST_LEVELS:
        raise _TooRich
    said = schema.keys() - _SILENT
    if said == {"anyOf"}:
        return " | ".join(_shape(option, level + 1) for option in _list(schema["anyOf"]))
    if said in ({"enum"}, {"enum", "type"}):
        return " | ".join(write_json(value, numbers="exact") for value in _list(schema["enum"]))
    if said in ({"const"}, {"const", "type"}):
        return write_json(schema["const"], numbers="exact")
    named = schema.get("type")
    if isinstance(named, list):
        return " | ".join(_typed({**schema, "type": one}, one, said, level) for one in _list(named))
    return _typed(schema, named, said, level)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise _TooRich
    return value


def _typed(schema: JsonObject, named: Any, said: set[str], level: int) -> str:
    limits = said & _LIMITS.keys()
    rest = said - limits - {"type"}
    if named == "object" and rest <= _MEMBERS and "properties" in rest and not limits:
        return _object(schema, level)
    if named == "array" and rest == {"items"}:
        return _limited(f"list of ({_shape(schema['items'], level + 1)})", schema)
    if isinstance(named, str) and named in _TYPES and not rest:
        return _limited(named, schema)
    raise _TooRich


def _object(schema: JsonObject, level: int) -> str:
    properties, required = schema["properties"], schema.get("required", [])
    if not isinstance(schema.get("additionalProperties", True), bool) or not isinstance(properties, dict):
        raise _TooRich
    if not isinstance(required, list) or not all(isinstance(name, str) and name in properties for name in required):
        raise _TooRich
    members = []
    for name, member in properties.items():
        shape = _shape(member, level + 1)
        words = member.get("description") if isinstance(member, dict) else None
        mark = "" if name in required else "?"
        members.append(f"{write_key(name)}{mark}: {shape}{f' /* {words} */' if words else ''}")
    return f"{{{', '.join(members)}}}"


def write_key(name: str) -> str:
    """A property's name, quoted where it is no plain word."""
    return name if name.isidentifier() else write_json(name, numbers="exact")


def _limited(shape: str, schema: JsonObject) -> str:
    """The shape with its limits, in the order of the schema."""
    limits = [_LIMITS[word].format(value) for word, value in schema.items() if word in _LIMITS]
    return f"{shape} {', '.join(limits)}" if limits else shape
