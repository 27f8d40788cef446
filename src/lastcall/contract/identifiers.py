"""The reference's look at a schema's identifiers: two subschemas must not claim the same one, anchors must be names.

Must not go in here: finding what a reference leads to (`contract.documents`).
"""

from __future__ import annotations

import re
from typing import Final

from lastcall.contract import uris
from lastcall.contract.dialects import SchemaDialect
from lastcall.contract.documents import everything_below
from lastcall.errors import NotASchema
from lastcall.nouns.json import JsonObject

_ANCHOR: Final = re.compile(r"[a-z_][-a-z0-9._]*", re.IGNORECASE)


def check_identifiers(root: JsonObject, dialect: SchemaDialect) -> None:
    """Raises `NotASchema` with the reference's words."""
    taken = (dialect.uri, "http://json-schema.org/schema")
    base = root_base(root)
    if base in taken:
        raise NotASchema(f'schema with key or id "{base}" already exists')
    seen = {*taken, base} - {""}
    stack: list[tuple[JsonObject, str]] = [(root, base)]
    while stack:
        schema, outer = stack.pop()
        inner = outer if schema is root else _identified(schema, outer, seen)
        parts = [part for _, _, part in everything_below(schema)]
        stack += [(part, inner) for part in reversed(parts) if isinstance(part, dict)]


def root_base(root: JsonObject) -> str:
    """The identifier of the whole schema, `""` if it has none."""
    named = root.get("$id")
    return named.removesuffix("#") if isinstance(named, str) else ""


def _identified(schema: JsonObject, outer: str, seen: set[str]) -> str:
    """Notes the identifier and the anchors of a subschema; its base, for what stands below it."""
    inner = outer
    named = schema.get("$id")
    if isinstance(named, str):
        inner = _note(named, outer, seen)
    for keyword in ("$anchor", "$dynamicAnchor"):
        anchor = schema.get(keyword)
        if isinstance(anchor, str):
            if not _ANCHOR.fullmatch(anchor):
                raise NotASchema(f'invalid anchor "{anchor}"')
            _note(f"#{anchor}", inner, seen)
    return inner


def _note(name: str, base: str, seen: set[str]) -> str:
    uri = (uris.resolve(base, name) if base else name).removesuffix("#")
    if uri in seen:
        raise NotASchema(f'reference "{uri}" resolves to more than one schema')
    seen.add(uri)
    return uri
