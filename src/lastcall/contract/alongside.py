"""Walking a compiled schema beside a value: which nodes speak about which part of it.

For the parts of this layer that explain verdicts or read annotations. Must not go in here: verdicts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lastcall.contract.engine import SearchBudget
from lastcall.contract.json_text import pointer_token
from lastcall.contract.nodes import Node
from lastcall.contract.patterns import Pattern
from lastcall.nouns.json import JsonObject, JsonValue

Step = tuple[Node, str, JsonValue]
"""A node, the pointer of the part that it speaks about, and the part."""


def always(node: Node) -> Iterator[Node]:
    """The nodes that hold for whatever this one holds for: references and `allOf`."""
    for key in ("$ref", "$dynamicRef", "$recursiveRef"):
        target = node.referenced(key) if key in node.schema else None
        if target is not None:
            yield target
    yield from map(node.child, branches(node.schema, "allOf"))


def branches(schema: JsonObject, key: str) -> list[Any]:
    """The object subschemas that stand in a list under this keyword."""
    value = schema.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def single(schema: JsonObject, key: str) -> list[JsonObject]:
    """The object subschema under this keyword, if there is one."""
    value = schema.get(key)
    return [value] if isinstance(value, dict) else []


def members(node: Node, path: str, value: dict[str, JsonValue]) -> Iterator[Step]:
    """The nodes that speak about the members of an object."""
    properties, rest = node.schema.get("properties"), node.schema.get("additionalProperties")
    declared: dict[str, Any] = properties if isinstance(properties, dict) else {}
    named = node.schema.get("patternProperties")
    patterns = [node.space.pattern(text) for text in (named if isinstance(named, dict) else ())]
    for name, member in value.items():
        schema = declared.get(name)
        if name not in declared and not any(_found(pattern, name) for pattern in patterns):
            schema = rest
        if isinstance(schema, dict):
            yield node.child(schema), f"{path}/{pointer_token(name)}", member


def _found(pattern: Pattern, name: str) -> bool:
    try:
        return pattern.search(name)
    except SearchBudget:
        return True  # as the check, which refuses the object for it


def items(node: Node, path: str, value: list[JsonValue]) -> Iterator[Step]:
    """The nodes that speak about the items of an array."""
    first = node.schema.get("prefixItems", node.schema.get("items"))
    positions: list[Any] = first if isinstance(first, list) else []
    rest = node.schema.get("additionalItems" if isinstance(node.schema.get("items"), list) else "items")
    for index, item in enumerate(value):
        schema = positions[index] if index < len(positions) else rest
        if isinstance(schema, dict):
            yield node.child(schema), f"{path}/{index}", item
