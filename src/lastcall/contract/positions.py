"""Where the subschemas of a schema are: the keywords of all dialects that hold schemas, and a walk over them.

For the parts of this layer that describe, rewrite or narrow schemas. The validator compiles keyword by keyword and does
not come here.

Must not go in here: following references (`references`), knowing what a keyword means.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from lastcall.contract.json_text import pointer_token
from lastcall.nouns.json import JsonObject

ONE: Final = frozenset({
    "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
    "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
})  # fmt: skip
"""Keywords whose value is a schema (`items` may be a list too)."""
MANY: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
"""Keywords whose value is a list of schemas."""
NAMED: Final = frozenset({
    "$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties",
})  # fmt: skip
"""Keywords whose value is an object of schemas (`dependencies` may hold lists of names instead)."""


def children(schema: dict[str, Any]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The direct subschemas (objects and booleans), each with its path from here, in the order of the text."""
    for keyword, value in schema.items():
        if isinstance(value, list) and keyword in MANY:
            yield from (((keyword, index), item) for index, item in enumerate(value) if _is_schema(item))
        elif isinstance(value, dict) and keyword in NAMED:
            yield from (((keyword, name), item) for name, item in value.items() if _is_schema(item))
        elif keyword in ONE and _is_schema(value):
            yield (keyword,), value


def _is_schema(value: Any) -> bool:
    return isinstance(value, (dict, bool))


def each_subschema(root: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object subschema with its JSON Pointer, the root first, in the order of the text. No recursion.

    A subschema may be changed while it is at hand, not its ancestors.
    """
    todo: list[tuple[str, dict[str, Any]]] = [("", root)]
    while todo:
        path, node = todo.pop()
        yield path, node
        below = [(path + joined(step), child) for step, child in children(node) if isinstance(child, dict)]
        todo.extend(reversed(below))


def fresh(schema: JsonObject) -> JsonObject:
    """A copy of a schema of any depth, which may be changed."""
    copy: JsonObject = {}
    todo: list[tuple[Any, Any]] = [(schema, copy)]
    while todo:
        source, target = todo.pop()
        for key, value in source.items() if isinstance(source, dict) else enumerate(source):
            inner = {} if isinstance(value, dict) else [None] * len(value) if isinstance(value, list) else value
            target[key] = inner
            if isinstance(value, (dict, list)):
                todo.append((value, inner))
    return copy


def joined(step: tuple[str | int, ...]) -> str:
    """A path as a JSON Pointer."""
    return "".join(f"/{pointer_token(token)}" for token in step)
