"""Local references of a schema, followed without recursion or I/O: JSON Pointers, `$anchor`, `$id` used as an anchor.

For the parts of this layer that rewrite or describe schemas. The validator has its own resolver, which knows base URIs
and dialects; here a reference that is not plainly local is simply not found.

Must not go in here: anything that fetches.
"""

from __future__ import annotations

import re
from typing import Any, Final

from lastcall.nouns.json import JsonObject

ANCHOR_KEYWORDS: Final = ("$anchor", "$dynamicAnchor")
_HOPS: Final = 100
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2})+")


class _Missing:
    pass


MISSING: Final = _Missing()
"""What a pointer to nothing finds (`None` is a JSON value)."""


def _unquote(fragment: str) -> str:
    return _PERCENT.sub(
        lambda match: bytes.fromhex(match.group().replace("%", "")).decode("utf-8", "replace"), fragment
    )


def at_pointer(root: Any, pointer: str) -> Any:
    """The value at a JSON Pointer (already percent-decoded), or `MISSING`."""
    node = root
    if pointer and not pointer.startswith("/"):
        return MISSING
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and name in node:
            node = node[name]
        elif isinstance(node, list) and name.isascii() and name.isdigit() and int(name[:9]) < len(node):
            node = node[int(name[:9])]
        else:
            return MISSING
    return node


class References:
    """The local references of one schema. The anchors are looked for once, when the first one is asked for."""

    def __init__(self, root: JsonObject) -> None:
        self.root = root
        self._anchors: dict[str, Any] | None = None

    def resolve(self, reference: Any) -> Any:
        """The schema that a local reference means, or `MISSING` (remote, dangling, no string)."""
        if not isinstance(reference, str):
            return MISSING
        base, _, fragment = reference.partition("#")
        if base and base.rstrip("#") != self.root.get("$id"):
            return MISSING
        fragment = _unquote(fragment)
        if not fragment or fragment.startswith("/"):
            return at_pointer(self.root, fragment)
        if self._anchors is None:
            self._anchors = _anchors(self.root)
        return self._anchors.get(fragment, MISSING)

    def follow(self, schema: Any) -> Any:
        """`schema`, or what its chain of `$ref` ends at; `MISSING` for a cycle, a remote or a dangling reference."""
        node = schema
        for _ in range(_HOPS):
            if not isinstance(node, dict) or "$ref" not in node:
                return node
            node = self.resolve(node["$ref"])
        return MISSING


def _anchors(root: JsonObject) -> dict[str, Any]:
    found: dict[str, Any] = {}
    todo: list[Any] = [root]
    while todo:
        node = todo.pop()
        if isinstance(node, dict):
            for name in (*(node.get(keyword) for keyword in ANCHOR_KEYWORDS), _local_id(node)):
                if isinstance(name, str):
                    found[name] = node
            todo.extend(node.values())
        elif isinstance(node, list):
            todo.extend(node)
    return found


def _local_id(node: JsonObject) -> str | None:
    own = node.get("$id")
    return own[1:] if isinstance(own, str) and own.startswith("#") else None
