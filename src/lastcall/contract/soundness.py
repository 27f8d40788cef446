"""The last look at a schema in the published dialects: references, patterns, endless references, unknown keywords.

Only what can be reached from the root is looked at; an unused definition may hold anything. Must not go in here: the
reference's own refusals (`contract.strictness`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lastcall.contract import budgets
from lastcall.contract.checking import At, pointer
from lastcall.contract.nodes import Node, Space
from lastcall.contract.patterns import BadPattern
from lastcall.errors import NotASchema, SchemaTooBig

_UNCONDITIONAL: Final = ("$dynamicRef", "$recursiveRef", "$ref", "allOf")


def inspect(space: Space) -> tuple[str, ...]:
    """The warnings about a schema. Raises `NotASchema` for what cannot work, `SchemaTooBig`."""
    warnings: dict[str, None] = {}
    applied: dict[Node, list[Node]] = {}
    stack: list[tuple[Node, At]] = [(space.root, None)]
    steps = 0
    room = budgets.WARNING_CHARS
    while stack:
        node, at = stack.pop()
        if node in applied or node.resource.bundled:
            continue
        if room > 0:
            for warning in _warnings(node, at):
                warnings[warning] = None
                room -= len(warning)
        _check_patterns(node, at)
        below = list(_below(node, at))
        steps += 1 + len(below)
        if steps > budgets.COMPILE_STEPS:
            raise SchemaTooBig("the schema's references multiply it beyond what can be checked.")
        applied[node] = [inner for keyword, inner, _ in below if keyword in _UNCONDITIONAL]
        stack += [(inner, place) for _, inner, place in reversed(below)]
    _refuse_circle(space.root, applied)
    return tuple(warnings)


def _below(node: Node, at: At) -> Iterator[tuple[str, Node, At]]:
    for keyword in node.references():
        reference = str(node.schema[keyword])
        target = node.referenced(keyword)
        if target is None:
            raise NotASchema(
                f"the reference {reference[:200]!r} leads nowhere in this schema.",
                where=pointer((at, keyword)),
                hint="References are only followed inside the schema, nothing is fetched: put the target under `$defs`.",
            )
        yield keyword, target, (at, keyword)
    for keyword, key, part in node.dialect.children(node.schema):
        if node.has(keyword) and isinstance(part, (dict, bool)) and not node.trivial(part):
            place: At = (at, keyword)
            yield keyword, node.child(part), place if key is None else (place, key)
        elif isinstance(part, dict) and node.has(keyword):
            # nothing to check in it, but perhaps a misspelt keyword
            place = (at, keyword)
            yield keyword, node.child(part), place if key is None else (place, key)


def _warnings(node: Node, at: At) -> Iterator[str]:
    dialect = node.dialect
    for keyword in node.schema:
        if not dialect.knows(keyword):
            yield f"{pointer((at, keyword))}: {dialect.name} has no keyword {keyword!r}; it is ignored"
        elif keyword in dialect.checks and not node.has(keyword):
            yield f"{pointer((at, keyword))}: {keyword!r} beside `$ref` is ignored in {dialect.name}"
    name = node.schema.get("format")
    if isinstance(name, str) and node.space.assert_formats and not _is_known_format(name):
        yield f"{pointer((at, 'format'))}: the format {name!r} is not known; it is not checked"


def _is_known_format(name: str) -> bool:
    from lastcall.contract.formats import check_format  # noqa: PLC0415 -- most schemas have no format

    return check_format(name, "") is not None


def _check_patterns(node: Node, at: At) -> None:
    patterns = [node.schema["pattern"]] if node.has("pattern") else []
    if node.has("patternProperties"):
        named = node.schema["patternProperties"]
        patterns += list(named) if isinstance(named, dict) else []
    for text in patterns:
        try:
            node.space.pattern(str(text))
        except BadPattern as error:
            keyword = "pattern" if text == node.schema.get("pattern") else "patternProperties"
            raise NotASchema(
                f"{error}.",
                where=pointer((at, keyword)),
                hint="Patterns are ECMAScript regular expressions, as if written /.../u.",
            ) from None


def _refuse_circle(root: Node, applied: dict[Node, list[Node]]) -> None:
    """A root that always applies a subschema which always applies itself could never be checked to the end.

    Elsewhere such a circle may never be met; if it is, the check ends with a breached budget.
    """
    done: set[Node] = set()
    open_nodes: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, left = stack.pop()
        if left:
            open_nodes.discard(node)
            done.add(node)
        elif node in open_nodes:
            raise NotASchema(
                f"the reference {str(_circling(node))[:200]!r} leads back to itself without looking at a part of the "
                "value, so that no value could ever be checked.",
                hint="Refer to the schema from a property or from items.",
            )
        elif node not in done:
            open_nodes.add(node)
            stack.append((node, True))
            stack += [(inner, False) for inner in applied.get(node, ())]


def _circling(node: Node) -> object:
    return next((node.schema[keyword] for keyword in node.references()), "#")
