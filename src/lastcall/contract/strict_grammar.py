"""The copy of a schema that the embedded model's grammar is made from.

The engine drops a whole grammar without a word when it meets what it cannot do, so everything of that kind is taken out
first; and a small model fills what is unbounded until its output ends, so strings, arrays, maps and numbers get bounds
here, in this copy only. The contract judges by the schema as it was written.

Must not go in here: the engine, the grammar over several tools.
"""

from __future__ import annotations

from typing import Any, Final

from lastcall.contract.ecma import BadSyntax, read_pattern
from lastcall.contract.positions import each_subschema, fresh
from lastcall.contract.references import MISSING, References
from lastcall.contract.strict_terms import OBJECT_WORDS, Unfit, declares_elsewhere

GUIDANCE: Final = {"lenient": True, "whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
"""The engine's options; they count only at the top of the schema that it is given."""

MAX_LEVELS: Final = 200
STRING_BOUND: Final = 2_000
ITEMS_BOUND: Final = 100
MEMBERS_BOUND: Final = 50
NUMBER_BOUND: Final = 10**15

FORMATS: Final = frozenset({"date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})

_NOT_UNDERSTOOD: Final = (
    "uniqueItems", "contains", "minContains", "maxContains", "propertyNames", "if", "then", "else", "not",
    "dependentRequired", "dependentSchemas", "dependencies", "unevaluatedItems", "unevaluatedProperties",
    "contentEncoding", "contentMediaType", "contentSchema", "$dynamicRef", "$recursiveRef", "$dynamicAnchor",
    "$recursiveAnchor", "$vocabulary",
)  # fmt: skip
_VALUES: Final = frozenset({"enum", "const", "$ref", "anyOf", "oneOf", "allOf"})


def grammar_schema(root: dict[str, Any]) -> dict[str, Any]:
    """The copy, its root with the engine's options. Raises `Unfit` for a schema that is too deep."""
    copy = fresh(root)
    closes = not _adds_up(copy)
    references = References(copy)
    for path, node in each_subschema(copy):
        if path.count("/") > 2 * MAX_LEVELS:
            raise Unfit(f"the schema nests deeper than {MAX_LEVELS} levels", path[:200])
        _bound(node, closes=closes and not declares_elsewhere(node))
        _strip(node, references)
    return {"x-guidance": dict(GUIDANCE), **copy}


def _adds_up(root: dict[str, Any]) -> bool:
    """Whether some object is described in several places at once, so that closing one of them would forbid the rest."""
    return any(
        "allOf" in node or (node.keys() & OBJECT_WORDS and node.keys() & _VALUES) for _, node in each_subschema(root)
    )


def _strip(node: dict[str, Any], references: References) -> None:
    for word in _NOT_UNDERSTOOD:
        node.pop(word, None)
    if "$ref" in node and references.resolve(node["$ref"]) is MISSING:
        del node["$ref"]
    if "format" in node and node["format"] not in FORMATS:
        del node["format"]
    if "pattern" in node and not is_understood(node["pattern"]):
        del node["pattern"]
    patterns = node.get("patternProperties")
    if isinstance(patterns, dict) and not all(map(is_understood, patterns)):
        del node["patternProperties"]
        node["additionalProperties"] = True


def is_understood(pattern: Any) -> bool:
    """Whether the engine takes a pattern: no look-around, no back-reference, no word boundary."""
    try:
        piece = read_pattern(pattern) if isinstance(pattern, str) else None
    except BadSyntax:
        return False
    return piece is not None and not piece.backtracks and "\x01" not in piece.engine


def _bound(node: dict[str, Any], *, closes: bool) -> None:
    named = node.get("type")
    types = named if isinstance(named, list) else [named]
    if node.keys() & _VALUES:
        return
    if "string" in types and "format" not in node:
        node.setdefault("maxLength", max(STRING_BOUND, node.get("minLength", 0)))
    if "array" in types:
        node.setdefault("maxItems", max(ITEMS_BOUND, node.get("minItems", 0)))
    if "object" in types:
        _bound_members(node, closes=closes)
    if "number" in types or "integer" in types:
        _bound_number(node)


def _bound_members(node: dict[str, Any], *, closes: bool) -> None:
    """An object that declares properties is closed unless it says that it is open; an open one gets few members."""
    if closes and node.get("properties") and not node.get("patternProperties"):
        node.setdefault("additionalProperties", False)
    if node.get("additionalProperties", True) is not False:
        least = max(node.get("minProperties", 0), len(node.get("properties", ())))
        node.setdefault("maxProperties", least + MEMBERS_BOUND)


def _bound_number(node: dict[str, Any]) -> None:
    low = node.get("minimum", node.get("exclusiveMinimum"))
    high = node.get("maximum", node.get("exclusiveMaximum"))
    if high is None:
        node["maximum"] = NUMBER_BOUND if low is None or low < NUMBER_BOUND else low + NUMBER_BOUND
    if low is None:
        node["minimum"] = -NUMBER_BOUND if high is None or high > -NUMBER_BOUND else high - NUMBER_BOUND
