"""The root that goes on the wire: a tool's input has to be an object, a contract's root need not be one.

`wrap_root` gives the schema as a tool's input schema. A root that is shown to be an object stays as it is, except that a
root `$ref` is replaced by what it means and that combinators over declared properties leave the root (services refuse
them there; the contract itself still checks them). Any other root becomes the one property `value` of an object, with
every local reference still meaning the same schema. Native only: compat sends the schema unchanged.

Must not go in here: what a provider's strict mode wants (`strict`), unwrapping the result.
"""

from __future__ import annotations

from typing import Any, Final

from lastcall.contract.modern import modernise
from lastcall.contract.positions import children, each_subschema, fresh
from lastcall.contract.references import References
from lastcall.nouns.attachment import Problem
from lastcall.nouns.json import JsonObject

WRAP: Final = "value"

COMBINATORS: Final = ("anyOf", "oneOf", "allOf")
_STAYS_AT_ROOT: Final = ("$schema", "$id", "id", "$vocabulary", "$defs", "definitions")
_OBJECT_WORDS: Final = frozenset({
    "properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties",
    "maxProperties", "dependencies", "dependentRequired", "dependentSchemas", "unevaluatedProperties",
})  # fmt: skip
_OTHER_WORDS: Final = frozenset({
    "items", "prefixItems", "additionalItems", "contains", "minItems", "maxItems", "uniqueItems", "unevaluatedItems",
    "minLength", "maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "multipleOf", "const", "enum", "$ref", "$dynamicRef", "$recursiveRef", *COMBINATORS,
})  # fmt: skip
_BRANCH_WORDS: Final = frozenset({"required", "properties", "type", "title", "description", "not", "$comment"})
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")


def wrap_root(schema: JsonObject) -> tuple[JsonObject, bool]:
    """The schema for the wire, its root an object, and whether the contract's root is now its property `value`.

    The result shares nothing with `schema`.
    """
    root = fresh(schema)
    modernise(root)
    kept = _object_root(root)
    if kept is not None and not (_typed(kept) and _refers_to_itself(root)):
        return {"type": "object", **kept, **_typed(kept)}, False
    return _wrapped(root), True


def not_wrapped(value: JsonObject) -> Problem:
    """What is wrong with arguments that are not the one property of a wrapped root."""
    hint = {"hint": f'send {{"{WRAP}": ...}} with the whole result as its value, and no other key'}
    if WRAP not in value:
        return Problem("", "required", f"must have required property '{WRAP}'", {"missingProperty": WRAP, **hint})
    figures = {"additionalProperty": next(key for key in value if key != WRAP), **hint}
    return Problem("", "additionalProperties", "must NOT have additional properties", figures)


# -- roots that are objects -----------------------------------------------------------------------------------------


def _typed(root: JsonObject) -> JsonObject:
    return {"type": "object"} if root.get("type") != "object" else {}


def _refers_to_itself(root: JsonObject) -> bool:
    """Whether something below the root is the root again: a type given to it would then narrow that too."""
    references = References(root)
    below = [ref for ref in _references(root) if ref is not root.get("$ref")]
    return any(isinstance(ref, str) and (ref == "#" or references.resolve(ref) is root) for ref in below)


def _object_root(root: JsonObject) -> JsonObject | None:
    """The root as it can stand on the wire, or `None` if it has to be wrapped."""
    if "$ref" in root:
        inlined = _inlined(root)
        return None if inlined is None else _object_root(inlined)
    if not _shows_object(root):
        return None
    if not any(word in root for word in COMBINATORS):
        return root
    if not all(_about_declared(branch, root) for word in COMBINATORS for branch in _branches(root, word)):
        return None
    return {word: value for word, value in root.items() if word not in COMBINATORS}


def _inlined(root: JsonObject) -> JsonObject | None:
    """The root with what its `$ref` means in its place; `None` where that would change what a reference means."""
    target = References(root).follow(root)
    if not isinstance(target, dict) or target is root or "$id" in target or "id" in target:
        return None
    if any(not _outlives_inlining(ref) for ref in _references(root)):
        return None
    meaning = {word: value for word, value in target.items() if word not in _STAYS_AT_ROOT}
    own = {word: value for word, value in root.items() if word in (*_STAYS_AT_ROOT, "title", "description")}
    return {**meaning, **own}


def _outlives_inlining(reference: Any) -> bool:
    return not isinstance(reference, str) or (
        reference == "#" or not reference.startswith("#/") or reference.startswith(("#/$defs/", "#/definitions/"))
    )


def _references(root: JsonObject) -> list[Any]:
    return [node[word] for _, node in each_subschema(root) for word in _REFERENCES if word in node]


def _shows_object(root: JsonObject) -> bool:
    named = root.get("type")
    if named is not None:
        return named in ("object", ["object"])
    values = root.get("enum", [root["const"]] if "const" in root else None)
    if isinstance(values, list) and values:
        return all(isinstance(value, dict) for value in values)
    return any(word in root for word in _OBJECT_WORDS) or not any(word in root for word in _OTHER_WORDS)


def _branches(root: JsonObject, word: str) -> list[Any]:
    branches = root.get(word, [])
    return branches if isinstance(branches, list) else [branches]


def _about_declared(branch: Any, root: JsonObject) -> bool:
    """Whether a branch only chooses among properties that the root itself shows."""
    declared = root.get("properties")
    if not isinstance(branch, dict) or not isinstance(declared, dict):
        return isinstance(branch, bool)
    negated = branch.get("not", {})
    shown = branch.get("properties", {})
    return (
        branch.keys() <= _BRANCH_WORDS
        and branch.get("type", "object") == "object"
        and isinstance(shown, dict)
        and shown.keys() <= declared.keys()
        and isinstance(negated, dict)
        and negated.keys() <= {"required"}
    )


# -- roots that are not ---------------------------------------------------------------------------------------------


def _wrapped(root: JsonObject) -> JsonObject:
    _move_references(root)
    inner = {word: value for word, value in root.items() if word not in _STAYS_AT_ROOT}
    return {
        "type": "object",
        "properties": {WRAP: inner},
        "required": [WRAP],
        "additionalProperties": False,
        **{word: root[word] for word in _STAYS_AT_ROOT if word in root},
    }


def _move_references(root: JsonObject) -> None:
    """Makes every reference to the root, or into the part of it that moves, point to its new place."""
    todo = [root]
    while todo:
        node = todo.pop()
        if node.get("$recursiveRef") == "#":
            node["$ref"] = node.pop("$recursiveRef")
        for word in ("$ref", "$dynamicRef"):
            reference = node.get(word)
            if isinstance(reference, str):
                node[word] = _moved(reference, root.get("$id"))
        # the references of a part with its own `$id` start from there
        todo.extend(child for _, child in children(node) if isinstance(child, dict) and not _is_resource(child))


def _is_resource(node: JsonObject) -> bool:
    own = node.get("$id")
    return isinstance(own, str) and not own.startswith("#")


def _moved(reference: str, root_id: Any) -> str:
    base, mark, fragment = reference.partition("#")
    if base and base != str(root_id or "").rstrip("#"):
        return reference
    if fragment and not fragment.startswith("/"):
        return reference  # an anchor moves along
    if fragment.split("/")[1:2] in (["$defs"], ["definitions"]):
        return reference
    return f"{base}{mark or '#'}/properties/{WRAP}{fragment}"
