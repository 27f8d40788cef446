"""Keywords for arrays."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Final

from lastcall.contract.arithmetic import Arithmetic
from lastcall.contract.checking import ERROR_COST, At, Check, Fault, Run, Walk
from lastcall.contract.equality import Interned, scalar_key

if TYPE_CHECKING:
    from lastcall.contract.nodes import Builder, Node

VALUES_A_STEP: Final = 8
"""Values that are compared for `uniqueItems` cost a step for so many."""


def _max_items(node: Node, _cls: type) -> Check:
    limit: Any = node.schema["maxItems"]
    fault = _too_many("maxItems", limit, node.dialect.arithmetic)

    def check(value: Any, at: At, run: Run) -> None:
        if len(value) > limit:
            run.errors.append((at, fault))

    return check


def _min_items(node: Node, _cls: type) -> Check:
    limit: Any = node.schema["minItems"]
    text = node.dialect.arithmetic.text(limit)
    fault: Fault = ("minItems", f"must NOT have fewer than {text} items", {"limit": limit})

    def check(value: Any, at: At, run: Run) -> None:
        if len(value) < limit:
            run.errors.append((at, fault))

    return check


def _too_many(keyword: str, limit: Any, arithmetic: Arithmetic) -> Fault:
    return keyword, f"must NOT have more than {arithmetic.text(limit)} items", {"limit": limit}


# -- items ----------------------------------------------------------------------------------------------------------


def _each_from(node: Node, keyword: str, start: int) -> Check | None:
    """Every item from `start` on against one subschema."""
    schema = node.schema[keyword]
    if node.trivial(schema):
        return None
    inner = node.child(schema)  # type: ignore[arg-type]

    def check(value: Any, at: At, run: Run) -> Walk:
        errors = run.errors
        mark = len(errors)
        run.spend(len(value))
        for index, item in enumerate(value if start == 0 else value[start:], start):
            walk = inner.enter(item, (at, index), run)
            if walk is not None:
                yield walk
        run.spend(ERROR_COST * (len(errors) - mark))

    return check


def _none_from(node: Node, keyword: str, start: int) -> Check:
    """No item from `start` on: one error, whatever their number."""
    fault = _too_many(keyword, start, node.dialect.arithmetic)

    def check(value: Any, at: At, run: Run) -> None:
        if len(value) > start:
            run.errors.append((at, fault))

    return check


def _tuple(node: Node, keyword: str) -> Check | None:
    """The first items, each against its own subschema."""
    schemas: Any = node.schema[keyword]
    inner = [(index, node.child(schema)) for index, schema in enumerate(schemas) if not node.trivial(schema)]
    if not inner:
        return None

    def check(value: Any, at: At, run: Run) -> Walk:
        length = len(value)
        run.spend(min(length, len(inner)))
        for index, place in inner:
            if index >= length:
                break
            walk = place.enter(value[index], (at, index), run)
            if walk is not None:
                yield walk

    return check


def _items(node: Node, _cls: type) -> Check | None:
    if isinstance(node.schema["items"], list):
        return _tuple(node, "items")
    prefix = node.schema.get("prefixItems") if node.has("prefixItems") else None
    if isinstance(prefix, list):
        return _rest(node, "items", len(prefix))
    return _each_from(node, "items", 0)


def _additional_items(node: Node, _cls: type) -> Check | None:
    items = node.schema.get("items")
    return _rest(node, "additionalItems", len(items)) if isinstance(items, list) else None


def _rest(node: Node, keyword: str, start: int) -> Check | None:
    if node.schema[keyword] is False:
        return _none_from(node, keyword, start)
    return _each_from(node, keyword, start)


def _prefix_items(node: Node, _cls: type) -> Check | None:
    return _tuple(node, "prefixItems")


# -- contains -------------------------------------------------------------------------------------------------------


def _reached(node: Node) -> int:
    """The length that an array needs for the keywords after a tuple to be asked (`hasty_tuples`)."""
    items = node.schema.get("items")
    if not node.hasty or not isinstance(items, list):
        return 0
    return next((index + 1 for index, schema in enumerate(items) if not node.trivial(schema)), 0)


def _contains(node: Node, _cls: type) -> Check | None:
    least: Any = node.schema["minContains"] if node.has("minContains") else 1
    most: Any = node.schema["maxContains"] if node.has("maxContains") else None
    if most is None and least == 0:
        return None
    fault = _contains_fault(least, most, node.dialect.arithmetic)
    inner = node.child(node.schema["contains"])  # type: ignore[arg-type]
    reached = _reached(node)
    enough = least if most is None else most + 1

    def check(value: Any, at: At, run: Run) -> Walk:
        if len(value) < reached:
            return
        errors = run.errors
        start = len(errors)
        found = 0
        run.spend(len(value))
        for index, item in enumerate(value):
            mark = len(errors)
            walk = inner.enter(item, (at, index), run)
            if walk is not None:
                yield walk
            found += len(errors) == mark
            if found >= enough:
                break
        run.spend(ERROR_COST * (len(errors) - start))
        if found >= least and (most is None or found <= most):
            del errors[start:]
        else:
            errors.append((at, fault))

    if most is not None and least > most:

        def refuse(_value: Any, at: At, run: Run) -> None:
            run.errors.append((at, fault))

        return refuse
    return check


def _contains_fault(least: Any, most: Any, arithmetic: Arithmetic) -> Fault:
    message, params = f"must contain at least {arithmetic.text(least)}", {"minContains": least}
    if most is not None:
        message, params = f"{message} and no more than {arithmetic.text(most)}", params | {"maxContains": most}
    return "contains", f"{message} valid item(s)", params


# -- uniqueItems ----------------------------------------------------------------------------------------------------


def _unique_items(node: Node, _cls: type) -> Check | None:
    if node.schema["uniqueItems"] is not True:
        return None
    types = _declared_types(node)
    arithmetic = node.dialect.arithmetic
    find = _first_by_value if not types or {"array", "object"} & set(types) else _first_by_key

    least = max(2, _reached(node))

    def check(value: Any, at: At, run: Run) -> None:
        if len(value) < least:
            return
        run.spend(len(value) // VALUES_A_STEP)
        pair = find(value, types, arithmetic)
        if pair is not None:
            i, j = pair
            message = f"must NOT have duplicate items (items ## {j} and {i} are identical)"
            run.errors.append((at, ("uniqueItems", message, {"i": i, "j": j})))

    return check


def _declared_types(node: Node) -> list[str]:
    """The types that `items` declares; the reference names another pair of equal items if they are all scalar."""
    items = node.schema.get("items")
    if not isinstance(items, dict) or not node.has("items"):
        return []
    named = items.get("type")
    types = [str(name) for name in named] if isinstance(named, list) else [str(named)] if named else []
    if node.dialect.nullable and items.get("nullable") is True and "null" not in types:
        types.append("null")
    return types


def _first_by_value(value: list[Any], _types: list[str], arithmetic: Arithmetic) -> tuple[int, int] | None:
    """The last item that an earlier one equals, and the nearest such one."""
    interned = Interned(arithmetic)
    last_seen: dict[int, int] = {}
    found = None
    for index, item in enumerate(value):
        number = interned.add(item)
        if number in last_seen:
            found = (index, last_seen[number])
        last_seen[number] = index
    return found


def _first_by_key(value: list[Any], types: list[str], arithmetic: Arithmetic) -> tuple[int, int] | None:
    """The last item that a later one equals; items of other types are passed over."""
    seen: dict[Hashable, int] = {}
    for index in range(len(value) - 1, -1, -1):
        item = value[index]
        if not _is_of(item, types, arithmetic):
            continue
        key = scalar_key(item, arithmetic)
        if key in seen:
            return index, seen[key]
        seen[key] = index
    return None


def _is_of(item: Any, types: list[str], arithmetic: Arithmetic) -> bool:
    if isinstance(item, str):
        return "string" in types
    if item is None:
        return "null" in types
    if isinstance(item, bool):
        return "boolean" in types
    if isinstance(item, (int, float)) or type(item) in arithmetic.may_be_infinite:
        return arithmetic.is_number(item) and (
            "number" in types or ("integer" in types and arithmetic.is_integer(item))
        )
    return False


BUILDERS: Final[dict[str, Builder]] = {
    "maxItems": _max_items,
    "minItems": _min_items,
    "additionalItems": _additional_items,
    "prefixItems": _prefix_items,
    "items": _items,
    "contains": _contains,
    "uniqueItems": _unique_items,
}
