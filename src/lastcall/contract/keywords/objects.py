"""Keywords for objects. Names come in JavaScript's order: integers first, ascending, then as written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from lastcall.contract.checking import ERROR_COST, At, Check, Fault, Run, Walk
from lastcall.contract.equality import js_order
from lastcall.contract.keywords.strings import searched
from lastcall.contract.patterns import Pattern

if TYPE_CHECKING:
    from lastcall.contract.nodes import Builder, Node

Present = Callable[[Any], bool]
"""Whether an object has a property."""

Needs = tuple[Present, list[tuple[str, Fault]]]
"""If present, these names are needed too; each with what its absence is."""

_UNSEEN: Final = "__proto__"
"""The name that the reference passes over where it lists a schema's names."""


def _names(node: Node, schemas: Mapping[str, Any]) -> list[str]:
    return [name for name in js_order(schemas) if name != _UNSEEN or not node.dialect.inherited]


def _presence(node: Node, name: str) -> Present:
    """Whether an object has a property."""
    if name in node.dialect.inherited:
        return lambda _value: True
    return lambda value: name in value


# -- counts and required --------------------------------------------------------------------------------------------


def _max_properties(node: Node, _cls: type) -> Check:
    limit: Any = node.schema["maxProperties"]
    text = node.dialect.arithmetic.text(limit)
    fault: Fault = ("maxProperties", f"must NOT have more than {text} properties", {"limit": limit})

    def check(value: Any, at: At, run: Run) -> None:
        if len(value) > limit:
            run.errors.append((at, fault))

    return check


def _min_properties(node: Node, _cls: type) -> Check:
    limit: Any = node.schema["minProperties"]
    text = node.dialect.arithmetic.text(limit)
    fault: Fault = ("minProperties", f"must NOT have fewer than {text} properties", {"limit": limit})

    def check(value: Any, at: At, run: Run) -> None:
        if len(value) < limit:
            run.errors.append((at, fault))

    return check


def _required(node: Node, _cls: type) -> Check | None:
    names: Any = node.schema["required"]
    needed = [(name, _missing(name)) for name in names if name not in node.dialect.inherited]
    if not needed:
        return None
    charge = len(needed) // 16

    def check(value: Any, at: At, run: Run) -> None:
        if charge:
            run.spend(charge)
        for name, fault in needed:
            if name not in value:
                run.errors.append((at, fault))

    return check


def _missing(name: str) -> Fault:
    return "required", f"must have required property '{name}'", {"missingProperty": name}


# -- names ----------------------------------------------------------------------------------------------------------


def _property_names(node: Node, _cls: type) -> Check | None:
    schema = node.schema["propertyNames"]
    if node.trivial(schema):
        return None
    inner = node.child(schema)  # type: ignore[arg-type]

    def check(value: Any, at: At, run: Run) -> Walk:
        errors = run.errors
        run.spend(len(value))
        for name in js_order(value):
            mark = len(errors)
            walk = inner.enter(name, at, run)
            if walk is not None:
                yield walk
            if len(errors) != mark:
                errors.append((at, ("propertyNames", "property name must be valid", {"propertyName": name})))

    return check


# -- properties -----------------------------------------------------------------------------------------------------


def _properties(node: Node, _cls: type) -> Check | None:
    schemas: Any = node.schema["properties"]
    inherited = node.dialect.inherited
    names = [name for name in _names(node, schemas) if not node.trivial(schemas[name])]
    if not names:
        return None
    inner = [(name, node.child(schemas[name])) for name in names]
    given = {name: inherited[name] for name in names if name in inherited}

    def check(value: Any, at: At, run: Run) -> Walk:
        run.spend(len(inner))
        for name, place in inner:
            if name in value:
                walk = place.enter(value[name], (at, name), run)
            elif name in given:
                walk = place.enter(given[name], (at, name), run)
            else:
                continue
            if walk is not None:
                yield walk

    return check


def _pattern_properties(node: Node, _cls: type) -> Check | None:
    schemas: Any = node.schema["patternProperties"]
    names = [name for name in _names(node, schemas) if not node.trivial(schemas[name])]
    if not names:
        return None
    inner = [(node.space.pattern(name), node.child(schemas[name])) for name in names]

    def check(value: Any, at: At, run: Run) -> Walk:
        run.spend(len(inner) * len(value))
        ordered = js_order(value)
        for pattern, place in inner:
            for name in ordered:
                if searched(pattern, name, run):
                    walk = place.enter(value[name], (at, name), run)
                    if walk is not None:
                        yield walk

    return check


def _declared(node: Node) -> tuple[frozenset[str], list[Pattern]]:
    """The names and patterns that `additionalProperties` leaves alone."""
    properties: Any = node.schema.get("properties", {}) if node.has("properties") else {}
    patterns: Any = node.schema.get("patternProperties", {}) if node.has("patternProperties") else {}
    names = frozenset(_names(node, properties))
    return names, [node.space.pattern(name) for name in _names(node, patterns)]


def _additional_properties(node: Node, _cls: type) -> Check | None:
    schema = node.schema["additionalProperties"]
    if node.trivial(schema):
        return None
    names, patterns = _declared(node)

    def additional(value: Any, run: Run) -> list[str]:
        run.spend(len(value) // 4)
        others = [name for name in value if name not in names]
        if patterns and others:
            run.spend(len(patterns) * len(others))
            others = [name for name in others if not any(searched(pattern, name, run) for pattern in patterns)]
        return js_order(others) if len(others) > 1 else others

    if schema is False:

        def refuse(value: Any, at: At, run: Run) -> None:
            others = additional(value, run)
            run.spend(ERROR_COST * len(others))
            for name in others:
                params = {"additionalProperty": name}
                run.errors.append((at, ("additionalProperties", "must NOT have additional properties", params)))

        return refuse
    inner = node.child(schema)  # type: ignore[arg-type]

    def check(value: Any, at: At, run: Run) -> Walk:
        for name in additional(value, run):
            walk = inner.enter(value[name], (at, name), run)
            if walk is not None:
                yield walk

    return check


# -- dependencies ---------------------------------------------------------------------------------------------------


def _dependent(keyword: str) -> Builder:
    """`dependencies`, `dependentRequired` and `dependentSchemas`: lists of names first, then subschemas."""

    def build(node: Node, _cls: type) -> Check | None:
        entries: Any = node.schema[keyword]
        names = _names(node, entries)
        lists = [_needs(node, keyword, name, entries[name]) for name in names if isinstance(entries[name], list)]
        schemas = [
            (_presence(node, name), node.child(entries[name]))
            for name in names
            if not isinstance(entries[name], list) and not node.trivial(entries[name])
        ]
        if not schemas:
            return _dependent_names(lists) if lists else None
        return _dependent_schemas(_dependent_names(lists), schemas)

    return build


def _dependent_names(lists: list[Needs]) -> Check:
    def check(value: Any, at: At, run: Run) -> None:
        run.spend(len(lists))
        for present, needed in lists:
            if present(value):
                run.errors += [(at, fault) for name, fault in needed if name not in value]

    return check


def _dependent_schemas(names_first: Check, schemas: list[tuple[Present, Node]]) -> Check:
    def check(value: Any, at: At, run: Run) -> Walk:
        names_first(value, at, run)
        run.spend(len(schemas))
        for present, place in schemas:
            if present(value):
                walk = place.enter(value, at, run)
                if walk is not None:
                    yield walk

    return check


def _needs(node: Node, keyword: str, name: str, needed: list[str]) -> Needs:
    listed = ", ".join(needed)
    noun = "property" if len(needed) == 1 else "properties"
    message = f"must have {noun} {listed} when property {name} is present"
    faults: list[tuple[str, Fault]] = []
    for missing in needed:
        params = {"property": name, "missingProperty": missing, "depsCount": len(needed), "deps": listed}
        if missing not in node.dialect.inherited:
            faults.append((missing, (keyword, message, params)))
    return _presence(node, name), faults


BUILDERS: Final[dict[str, Builder]] = {
    "maxProperties": _max_properties,
    "minProperties": _min_properties,
    "required": _required,
    "propertyNames": _property_names,
    "additionalProperties": _additional_properties,
    "dependencies": _dependent("dependencies"),
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "dependentRequired": _dependent("dependentRequired"),
    "dependentSchemas": _dependent("dependentSchemas"),
}
