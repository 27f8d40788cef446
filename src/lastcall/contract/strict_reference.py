"""The reference's converter, by its written rules: eleven keywords, closed objects, or no strict form at all.

Must not go in here: leniency. What the rules do not settle is refused unless it is harmless.
"""

from __future__ import annotations

from typing import Any, Final

from lastcall.contract.strict_terms import Unfit, below, checked_enum, checked_properties, checked_required

MAX_LEVELS: Final = 32
MAX_NODES: Final = 100_000
_BESIDE_ANY_OF: Final = frozenset({"anyOf", "$schema", "description", "title"})
_OBJECT_WORDS: Final = frozenset({"properties", "required", "additionalProperties"})


def reference_schema(root: dict[str, Any], keywords: frozenset[str]) -> dict[str, Any]:
    """The schema with every object closed. Raises `Unfit`."""
    if root.get("type") != "object":
        raise Unfit("the root is not an object", "")
    return _Converter(keywords).node(root, "", 0)


class _Converter:
    def __init__(self, keywords: frozenset[str]) -> None:
        self.keywords = keywords
        self.nodes = 0

    def node(self, schema: Any, path: str, level: int) -> dict[str, Any]:
        self._check_budgets(path, level)
        if not isinstance(schema, dict):
            raise Unfit("a boolean schema", path)
        unknown = next((word for word in schema if word not in self.keywords), None)
        if unknown is not None:
            raise Unfit(f"keyword {unknown}", below(path, unknown))
        return self._union(schema, path, level) if "anyOf" in schema else self._plain(schema, path, level)

    def _check_budgets(self, path: str, level: int) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise Unfit(f"the schema has more than {MAX_NODES} nodes", "")
        if level > MAX_LEVELS:
            raise Unfit(f"the schema nests deeper than {MAX_LEVELS} levels", path)

    def _plain(self, schema: dict[str, Any], path: str, level: int) -> dict[str, Any]:
        if not schema.keys() & {"type", "enum", "const"}:
            raise Unfit("neither type, enum, const nor anyOf", path)
        if "enum" in schema:
            checked_enum(schema["enum"], below(path, "enum"))
        out = dict(schema)
        if "items" in schema:
            if not isinstance(schema["items"], dict):
                raise Unfit("items is not a single schema", below(path, "items"))
            out["items"] = self.node(schema["items"], below(path, "items"), level + 1)
        named = schema.get("type")
        if named == "object" or (isinstance(named, list) and "object" in named) or schema.keys() & _OBJECT_WORDS:
            self._object(schema, out, path, level)
        return out

    def _union(self, schema: dict[str, Any], path: str, level: int) -> dict[str, Any]:
        beside = next((word for word in schema if word not in _BESIDE_ANY_OF), None)
        if beside is not None:
            raise Unfit(f"anyOf next to {beside}", below(path, beside))
        branches = schema["anyOf"]
        if not isinstance(branches, list) or not branches:
            raise Unfit("anyOf is not a list of schemas", below(path, "anyOf"))
        converted = [self.node(branch, below(path, "anyOf", i), level + 1) for i, branch in enumerate(branches)]
        return {**schema, "anyOf": converted}

    def _object(self, schema: dict[str, Any], out: dict[str, Any], path: str, level: int) -> None:
        properties = checked_properties(schema, path)
        checked_required(schema, properties, path)
        if schema.get("additionalProperties", False) is not False:
            raise Unfit("additionalProperties is not false", below(path, "additionalProperties"))
        out["properties"] = {
            name: self.node(child, below(path, "properties", name), level + 1) for name, child in properties.items()
        }
        out["additionalProperties"] = False
