"""`unevaluatedProperties` and `unevaluatedItems`: what no other keyword of the same object has looked at.

What was looked at is found by walking the subschemas that apply to the same value once more, only for nodes that ask. Of
`anyOf`, `oneOf`, `if` and dependent schemas only what accepts the value counts; of `allOf` and references all does (if one
of them fails, the value is invalid anyway).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from lastcall.contract.checking import At, Check, Run, Walk
from lastcall.contract.equality import js_order
from lastcall.contract.keywords.strings import searched

if TYPE_CHECKING:
    from lastcall.contract.nodes import Builder, Node

_LOOK_COST: Final = 6
"""Steps that a look at one subschema costs."""

Seen = set[Any]
"""Names of an object, or indices of an array."""


def _unevaluated_properties(node: Node, _cls: type) -> Check | None:
    schema = node.schema["unevaluatedProperties"]
    if node.trivial(schema):
        return None
    inner = node.child(schema)  # type: ignore[arg-type]

    def check(value: Any, at: At, run: Run) -> Walk:
        seen: Seen = set()
        yield _look(node, value, at, run, seen, asking=True)
        run.spend(len(value))
        for name in js_order(value):
            if name in seen:
                continue
            if schema is False:
                params = {"unevaluatedProperty": name}
                run.errors.append((at, ("unevaluatedProperties", "must NOT have unevaluated properties", params)))
                continue
            walk = inner.enter(value[name], (at, name), run)
            if walk is not None:
                yield walk

    return check


def _unevaluated_items(node: Node, _cls: type) -> Check | None:
    schema = node.schema["unevaluatedItems"]
    if node.trivial(schema):
        return None
    inner = node.child(schema)  # type: ignore[arg-type]

    def check(value: Any, at: At, run: Run) -> Walk:
        seen: Seen = set()
        yield _look(node, value, at, run, seen, asking=True)
        run.spend(len(value))
        unseen = [index for index in range(len(value)) if index not in seen]
        if schema is False:
            if unseen:
                message = f"must NOT have more than {unseen[0]} items"
                run.errors.append((at, ("unevaluatedItems", message, {"limit": unseen[0]})))
            return
        for index in unseen:
            walk = inner.enter(value[index], (at, index), run)
            if walk is not None:
                yield walk

    return check


def _look(node: Node, value: Any, at: At, run: Run, seen: Seen, *, asking: bool = False) -> Walk:
    """Note what the node's keywords evaluate of the value, those below it that apply to the same value included."""
    run.spend(_LOOK_COST + len(value))
    if isinstance(value, dict):
        _look_at_names(node, value, run, seen)
    else:
        yield _look_at_items(node, value, at, run, seen)
    own = "unevaluatedProperties" if isinstance(value, dict) else "unevaluatedItems"
    if not asking and node.has(own):
        seen.update(value if isinstance(value, dict) else range(len(value)))
    for keyword in node.references():
        target = node.referenced(keyword)
        assert target is not None, "inspected when the schema was compiled"
        yield _look(target, value, at, run, seen)
    for part in _list_of(node, "allOf"):
        yield _look(part, value, at, run, seen)
    for part in _optional(node, value):
        yield _look_if_valid(part, value, at, run, seen)
    if node.has("if"):
        yield _look_at_if(node, value, at, run, seen)


def _list_of(node: Node, keyword: str) -> list[Node]:
    schemas: Any = node.schema[keyword] if node.has(keyword) else []
    return [node.child(schema) for schema in schemas]


def _optional(node: Node, value: Any) -> Iterator[Node]:
    """Subschemas that apply to the same value, and count only if they accept it."""
    yield from _list_of(node, "anyOf")
    yield from _list_of(node, "oneOf")
    if isinstance(value, dict):
        for keyword in ("dependentSchemas", "dependencies"):
            entries: Any = node.schema[keyword] if node.has(keyword) else {}
            for name, schema in entries.items():
                if name in value and not isinstance(schema, list):
                    yield node.child(schema)


def _look_if_valid(node: Node, value: Any, at: At, run: Run, seen: Seen) -> Walk:
    errors = run.errors
    mark = len(errors)
    walk = node.enter(value, at, run)
    if walk is not None:
        yield walk
    valid = len(errors) == mark
    del errors[mark:]
    if valid:
        yield _look(node, value, at, run, seen)


def _look_at_if(node: Node, value: Any, at: At, run: Run, seen: Seen) -> Walk:
    condition = node.condition(node.schema["if"])  # type: ignore[arg-type]
    errors = run.errors
    mark = len(errors)
    walk = condition.enter(value, at, run)
    if walk is not None:
        yield walk
    valid = len(errors) == mark
    del errors[mark:]
    if valid:
        yield _look(condition, value, at, run, seen)
    keyword = "then" if valid else "else"
    if node.has(keyword):
        yield _look_if_valid(node.child(node.schema[keyword]), value, at, run, seen)  # type: ignore[arg-type]


def _look_at_names(node: Node, value: dict[str, Any], run: Run, seen: Seen) -> None:
    if node.has("additionalProperties"):
        seen.update(value)
        return
    if node.has("properties"):
        properties: Any = node.schema["properties"]
        seen.update(name for name in properties if name in value)
    if node.has("patternProperties"):
        patterns: Any = node.schema["patternProperties"]
        run.spend(len(patterns) * len(value))
        for text in patterns:
            pattern = node.space.pattern(text)
            seen.update(name for name in value if searched(pattern, name, run))


def _look_at_items(node: Node, value: list[Any], at: At, run: Run, seen: Seen) -> Walk:
    items = node.schema.get("items") if node.has("items") else None
    if isinstance(items, list):
        seen.update(range(min(len(items), len(value))))
    elif items is not None:
        seen.update(range(len(value)))
    if node.has("additionalItems") and isinstance(items, list):
        seen.update(range(len(value)))
    if node.has("prefixItems"):
        prefix: Any = node.schema["prefixItems"]
        seen.update(range(min(len(prefix), len(value))))
    if node.has("contains") and node.dialect.contains_evaluates:
        yield _look_at_contained(node.child(node.schema["contains"]), value, at, run, seen)  # type: ignore[arg-type]


def _look_at_contained(inner: Node, value: list[Any], at: At, run: Run, seen: Seen) -> Walk:
    errors = run.errors
    for index, item in enumerate(value):
        mark = len(errors)
        walk = inner.enter(item, (at, index), run)
        if walk is not None:
            yield walk
        if len(errors) == mark:
            seen.add(index)
        del errors[mark:]


BUILDERS: Final[dict[str, Builder]] = {
    "unevaluatedItems": _unevaluated_items,
    "unevaluatedProperties": _unevaluated_properties,
}
