"""Older dialects rewritten as 2020-12 for the wire: services refuse, or misread, what they do not know.

`modernise` changes a copy in place and keeps its meaning. A schema that is already 2020-12 stays as it is.

Must not go in here: anything that judges. The contract checks the schema as it was written, in its own dialect.
"""

from __future__ import annotations

from typing import Any, Final

from lastcall.contract.positions import each_subschema
from lastcall.nouns.json import JsonObject

_LATEST: Final = ("draft/2020-12/", "draft/next/")
_BOUNDS: Final = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))


def modernise(root: JsonObject) -> None:
    """Rewrites `root` (a copy) as 2020-12, and takes its `$schema` away."""
    declared = root.pop("$schema", "")
    if not isinstance(declared, str) or not declared or any(mark in declared for mark in _LATEST):
        return
    nodes = [node for _, node in each_subschema(root)]
    if any("/items/" in str(node.get("$ref", "")) or "/dependencies/" in str(node.get("$ref", "")) for node in nodes):
        nodes_to_move: list[dict[str, Any]] = []
    else:
        nodes_to_move = nodes
    for node in nodes:
        _bounds(node)
        _names(node)
    for node in nodes_to_move:
        _tuple(node)
        _dependencies(node)


def _bounds(node: dict[str, Any]) -> None:
    """Draft-04: a boolean `exclusiveMinimum` says how `minimum` is meant."""
    for exclusive, inclusive in _BOUNDS:
        flag = node.get(exclusive)
        if isinstance(flag, bool):
            del node[exclusive]
            if flag and inclusive in node:
                node[exclusive] = node.pop(inclusive)


def _names(node: dict[str, Any]) -> None:
    """Draft-04 says `id`; up to draft-07 an `$id` of the form `#name` is an anchor."""
    if isinstance(node.get("id"), str) and "$id" not in node:
        node["$id"] = node.pop("id")
    own = node.get("$id")
    if isinstance(own, str) and own.startswith("#") and len(own) > 1:
        node["$anchor"] = node.pop("$id")[1:]


def _tuple(node: dict[str, Any]) -> None:
    """A list in `items` is `prefixItems`, and `additionalItems` beside it is `items`."""
    rest = node.pop("additionalItems", None)
    if isinstance(node.get("items"), list):
        node["prefixItems"] = node.pop("items")
        if rest is not None:
            node["items"] = rest


def _dependencies(node: dict[str, Any]) -> None:
    """`dependencies` is two keywords now."""
    both = node.get("dependencies")
    if not isinstance(both, dict):
        return
    del node["dependencies"]
    names = {key: value for key, value in both.items() if isinstance(value, list)}
    schemas = {key: value for key, value in both.items() if not isinstance(value, list)}
    if names:
        node["dependentRequired"] = names
    if schemas:
        node["dependentSchemas"] = schemas
