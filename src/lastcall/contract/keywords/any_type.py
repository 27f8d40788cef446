"""Keywords for values of any type: `type`, `const`, `enum`, the combinators, `if`, and references."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Final

from lastcall.contract.checking import ERROR_COST, At, Check, Fault, Run, Walk
from lastcall.contract.equality import Interned, scalar_key

if TYPE_CHECKING:
    from lastcall.contract.nodes import Builder, Node

_SCALARS: Final = (str, int, float, bool, type(None))


def _fail(fault: Fault) -> Check:
    def check(_value: Any, at: At, run: Run) -> None:
        run.errors.append((at, fault))

    return check


# -- type -----------------------------------------------------------------------------------------------------------


def type_check(node: Node, kind: str, cls: type) -> Check | None:
    """The check of `type` for values of one class: none, a sure failure, or whether a number is an integer."""
    if not node.has("type"):
        return None
    named: Any = node.schema["type"]
    types = list(named) if isinstance(named, list) else [named]
    if node.dialect.nullable and node.schema.get("nullable") is True and "null" not in types:
        types.append("null")
        # the reference lists it in its message where there is a list
        named = types if isinstance(named, list) else named
    if kind in types:
        return None
    text = ",".join(map(str, named)) if isinstance(named, list) else str(named)
    fault: Fault = ("type", f"must be {text}", {"type": named})
    if kind != "number" or "integer" not in types:
        return _fail(fault)
    return None if issubclass(cls, int) else _integer(node.dialect.arithmetic.is_integer, fault)


def _integer(is_integer: Callable[[Any], bool], fault: Fault) -> Check:
    def check(value: Any, at: At, run: Run) -> None:
        if not is_integer(value):
            run.errors.append((at, fault))

    return check


# -- const and enum -------------------------------------------------------------------------------------------------


def _const(node: Node, cls: type) -> Check | None:
    allowed = node.schema["const"]
    fault: Fault = ("const", "must be equal to constant", {"allowedValue": allowed})
    return _one_of([allowed], fault, node, cls)


def _enum(node: Node, cls: type) -> Check | None:
    allowed = node.schema["enum"]
    assert isinstance(allowed, list)
    fault: Fault = ("enum", "must be equal to one of the allowed values", {"allowedValues": allowed})
    return _one_of(allowed, fault, node, cls)


def _one_of(allowed: list[Any], fault: Fault, node: Node, cls: type) -> Check:
    arithmetic = node.dialect.arithmetic
    if issubclass(cls, (list, dict)):
        return _one_of_structures([value for value in allowed if isinstance(value, cls)], fault, node)
    keys = {scalar_key(value, arithmetic) for value in allowed if not isinstance(value, (list, dict))}
    if issubclass(cls, str):
        return _one_of_keys(keys, fault)
    reading = arithmetic.readings.get(cls)
    if cls in _SCALARS or cls in arithmetic.may_be_infinite:
        if issubclass(cls, (bool, type(None))):
            return _one_of_marked(keys, fault)
        return _one_of_keys(keys, fault) if reading is None else _one_of_read(keys, reading, fault)
    return _one_of_odd(keys, fault, node)


def _one_of_keys(keys: set[Hashable], fault: Fault) -> Check:
    def check(value: Any, at: At, run: Run) -> None:
        if value not in keys:
            run.errors.append((at, fault))

    return check


def _one_of_read(keys: set[Hashable], reading: Callable[[Any], Any], fault: Fault) -> Check:
    def check(value: Any, at: At, run: Run) -> None:
        if reading(value) not in keys:
            run.errors.append((at, fault))

    return check


def _one_of_marked(keys: set[Hashable], fault: Fault) -> Check:
    def check(value: Any, at: At, run: Run) -> None:
        if ("literal", value) not in keys:
            run.errors.append((at, fault))

    return check


def _one_of_odd(keys: set[Hashable], fault: Fault, node: Node) -> Check:
    """Values of subclasses, and what is no JSON value at all."""
    arithmetic = node.dialect.arithmetic

    def check(value: Any, at: At, run: Run) -> None:
        if scalar_key(value, arithmetic) not in keys:
            run.errors.append((at, fault))

    return check


def _one_of_structures(allowed: list[Any], fault: Fault, node: Node) -> Check:
    known = Interned(node.dialect.arithmetic)
    numbers = {known.add(value) for value in allowed}

    def check(value: Any, at: At, run: Run) -> None:
        # a part that none of the allowed values has ends the comparison, so its cost is bounded by the schema's size
        if known.number_of(value) not in numbers:
            run.errors.append((at, fault))

    return check


# -- combinators ----------------------------------------------------------------------------------------------------


def _not(node: Node, _cls: type) -> Check:
    inner = node.condition(node.schema["not"])  # type: ignore[arg-type]
    fault: Fault = ("not", "must NOT be valid", {})

    def check(value: Any, at: At, run: Run) -> Walk:
        errors = run.errors
        mark = len(errors)
        walk = inner.enter(value, at, run)
        if walk is not None:
            yield walk
        if len(errors) == mark:
            errors.append((at, fault))
        else:
            del errors[mark:]

    return check


def _branches(node: Node, keyword: str) -> list[Node]:
    schemas = node.schema[keyword]
    assert isinstance(schemas, list)
    return [node.child(schema) for schema in schemas]  # type: ignore[arg-type]


def _any_of(node: Node, _cls: type) -> Check | None:
    if any(node.trivial(schema) for schema in node.schema["anyOf"]):  # type: ignore[union-attr]
        return None
    branches = _branches(node, "anyOf")
    fault: Fault = ("anyOf", "must match a schema in anyOf", {})

    def check(value: Any, at: At, run: Run) -> Walk:
        errors = run.errors
        start = len(errors)
        for branch in branches:
            mark = len(errors)
            walk = branch.enter(value, at, run)
            if walk is not None:
                yield walk
            failed = len(errors) - mark
            if not failed:
                del errors[start:]
                return
            run.spend(1 + ERROR_COST * failed)
        errors.append((at, fault))

    return check


def _one_of_branches(node: Node, _cls: type) -> Check:
    branches = _branches(node, "oneOf")
    message = "must match exactly one schema in oneOf"
    none: Fault = ("oneOf", message, {"passingSchemas": None})

    def check(value: Any, at: At, run: Run) -> Walk:
        errors = run.errors
        start = len(errors)
        passing: int | None = None
        for index, branch in enumerate(branches):
            mark = len(errors)
            walk = branch.enter(value, at, run)
            if walk is not None:
                yield walk
            failed = len(errors) - mark
            run.spend(1 + ERROR_COST * failed)
            if failed:
                continue
            if passing is not None:
                errors.append((at, ("oneOf", message, {"passingSchemas": [passing, index]})))
                return
            passing = index
        if passing is None:
            errors.append((at, none))
        else:
            del errors[start:]

    return check


def _all_of(node: Node, _cls: type) -> Check | None:
    schemas = node.schema["allOf"]
    assert isinstance(schemas, list)
    branches = [node.child(schema) for schema in schemas if not node.trivial(schema)]  # type: ignore[arg-type]
    if not branches:
        return None

    def check(value: Any, at: At, run: Run) -> Walk:
        run.spend(len(branches))
        for branch in branches:
            walk = branch.enter(value, at, run)
            if walk is not None:
                yield walk

    return check


def _if(node: Node, _cls: type) -> Check | None:
    clauses: list[tuple[Node, Fault] | None] = []
    for keyword in ("then", "else"):
        schema = node.schema.get(keyword, True) if node.has(keyword) else True
        fault: Fault = ("if", f'must match "{keyword}" schema', {"failingKeyword": keyword})
        clauses.append(None if node.trivial(schema) else (node.child(schema), fault))  # type: ignore[arg-type]
    then, otherwise = clauses
    if then is None and otherwise is None:
        return None
    condition = node.condition(node.schema["if"])  # type: ignore[arg-type]

    def check(value: Any, at: At, run: Run) -> Walk:
        errors = run.errors
        mark = len(errors)
        run.spend(1)
        walk = condition.enter(value, at, run)
        if walk is not None:
            yield walk
        clause = then if len(errors) == mark else otherwise
        del errors[mark:]
        if clause is None:
            return
        walk = clause[0].enter(value, at, run)
        if walk is not None:
            yield walk
        if len(errors) != mark:
            errors.append((at, clause[1]))

    return check


# -- references -----------------------------------------------------------------------------------------------------


def _reference(keyword: str) -> Builder:
    def build(node: Node, _cls: type) -> Check:
        target = node.referenced(keyword)
        assert target is not None, "inspected when the schema was compiled"

        def check(value: Any, at: At, run: Run) -> Walk | None:
            return target.enter(value, at, run)

        return check

    return build


BUILDERS: Final[dict[str, Builder]] = {
    "$dynamicRef": _reference("$dynamicRef"),
    "$recursiveRef": _reference("$recursiveRef"),
    "$ref": _reference("$ref"),
    "const": _const,
    "enum": _enum,
    "not": _not,
    "anyOf": _any_of,
    "oneOf": _one_of_branches,
    "allOf": _all_of,
    "if": _if,
}
