"""Strict forms for services that want closed objects and refuse most bounds (Anthropic, OpenAI), by published rules.

Keywords that the service does not take are left out, which only lets more through. Where leaving out would not be enough
(open maps, recursion, optional properties where all must be required) the schema is `Unfit`. References stay references;
only the definitions that are reached go along.

Must not go in here: numbers of one service (they are `ClosedRules`, written in `strict`).
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

from msgspec import Struct

from lastcall.contract.json_text import write_json
from lastcall.contract.references import MISSING, References
from lastcall.contract.strict_terms import (
    OBJECT_WORDS,
    Unfit,
    below,
    checked_enum,
    checked_properties,
    checked_required,
    declares_elsewhere,
    is_primitive,
)

_NO_LIMIT: Final = 1 << 60
_ANNOTATIONS: Final = ("title", "description", "default")
_DEFINITIONS: Final = ("$defs", "definitions")
_LONGEST_COUNT: Final = 100
"""Repetitions and characters up to which a pattern is thought harmless for a service's compiler."""


class ClosedRules(Struct, frozen=True):
    """What one service takes: keywords, formats, and its limits a schema."""

    keeps: frozenset[str]
    formats: frozenset[str]
    every_property_required: bool = False
    recursion: bool = False
    most_min_items: int = _NO_LIMIT
    most_optional: int = _NO_LIMIT
    most_unions: int = _NO_LIMIT
    most_levels: int = _NO_LIMIT
    most_properties: int = _NO_LIMIT
    most_characters: int = _NO_LIMIT
    most_enum_values: int = _NO_LIMIT
    most_string_enum_characters: int = _NO_LIMIT


def closed_schema(root: dict[str, Any], rules: ClosedRules) -> dict[str, Any]:
    """The schema by a service's rules. Raises `Unfit`."""
    if root.get("type") != "object":
        raise Unfit("the root is not an object", "")
    return _Converter(root, rules).document()


class _Converter:
    def __init__(self, root: dict[str, Any], rules: ClosedRules) -> None:
        self.root = root
        self.references = References(root)
        self.rules = rules
        self.used: dict[str, set[str]] = {"": set()}
        self.owner = ""
        self.optional = self.unions = self.properties = self.characters = self.enum_values = 0

    def document(self) -> dict[str, Any]:
        out = self.node(self.root, "", 0)
        definitions = self._definitions()
        self._check_recursion()
        self._check_totals()
        return {**out, **definitions}

    def _definitions(self) -> dict[str, Any]:
        """Every definition that is reached, converted in turn."""
        out: dict[str, Any] = {}
        done = {"", "#"}
        while waiting := [ref for refs in self.used.values() for ref in refs if ref not in done]:
            for ref in dict.fromkeys(waiting):
                done.add(ref)
                self.owner = ref
                self.used.setdefault(ref, set())
                _, keyword, name = ref.split("/")
                out.setdefault(keyword, {})[_unescaped(name)] = self.node(self.references.resolve(ref), ref[1:], 1)
        return out

    # -- nodes ------------------------------------------------------------------------------------------------------

    def node(self, schema: Any, path: str, level: int) -> dict[str, Any]:
        if not isinstance(schema, dict):
            raise Unfit("a boolean schema", path)
        if level > self.rules.most_levels:
            raise Unfit(f"the schema nests deeper than {self.rules.most_levels} levels", path)
        if "$ref" in schema and path:
            return self._reference(schema, path)
        if "$ref" in schema or "$dynamicRef" in schema or "$recursiveRef" in schema:
            raise Unfit("a reference that is not to a definition", path)
        if "allOf" in schema:
            return self.node(self._merged(schema, path), path, level + 1)
        union = next((word for word in ("anyOf", "oneOf") if word in schema), None)
        if "type" in schema:
            return self._typed(schema, path, level)
        if "enum" in schema or "const" in schema:
            return self._constant(schema, path)
        if union is not None:
            return self._union(schema, union, path, level)
        raise Unfit("a schema without type", path)

    def _reference(self, schema: dict[str, Any], path: str) -> dict[str, Any]:
        reference = schema["$ref"]
        if schema.keys() & OBJECT_WORDS:
            raise Unfit("a reference with more properties beside it", path)
        to_root = reference == "#"
        parts = str(reference).split("/")
        if not to_root and (len(parts) != 3 or parts[0] != "#" or parts[1] not in _DEFINITIONS or "%" in parts[2]):
            raise Unfit(f"the reference {reference} is not to a definition", path)
        if self.references.resolve(reference) is MISSING:
            raise Unfit(f"the reference {reference} means nothing", path)
        self.used.setdefault(self.owner, set()).add(reference)
        return {"$ref": reference}

    def _constant(self, schema: dict[str, Any], path: str) -> dict[str, Any]:
        out = self._kept(schema, path)
        self._count_constants(out, path)
        return out

    def _union(self, schema: dict[str, Any], word: str, path: str, level: int) -> dict[str, Any]:
        branches = schema[word]
        if not isinstance(branches, list) or not branches:
            raise Unfit(f"{word} is not a list of schemas", below(path, word))
        if schema.keys() & OBJECT_WORDS:
            raise Unfit(f"{word} with properties beside it", path)
        self.unions += 1
        converted = [self.node(branch, below(path, word, i), level + 1) for i, branch in enumerate(branches)]
        return {
            **{key: schema[key] for key in _ANNOTATIONS if key in schema and key in self.rules.keeps},
            "anyOf": converted,
        }

    def _typed(self, schema: dict[str, Any], path: str, level: int) -> dict[str, Any]:
        named = schema["type"]
        types = named if isinstance(named, list) else [named]
        self.unions += int(len(types) > 1)
        out = self._kept(schema, path)
        self._count_constants(out, path)
        if "object" in types and not _names_values(out):
            self._object(schema, out, path, level)
        if "array" in types and not _names_values(out):
            if not isinstance(schema.get("items"), dict) or "prefixItems" in schema:
                raise Unfit("an array whose items are not one schema", path)
            out["items"] = self.node(schema["items"], below(path, "items"), level + 1)
        return out

    def _kept(self, schema: dict[str, Any], path: str) -> dict[str, Any]:
        """The node's own keywords that the service takes, subschemas not included."""
        own = self.rules.keeps - {"properties", "required", "additionalProperties", "items", "anyOf", *_DEFINITIONS}
        out = {word: value for word, value in schema.items() if word in own}
        if "enum" in out:
            checked_enum(out["enum"], below(path, "enum"))
        if not is_primitive(out.get("const")):
            raise Unfit("const is an array or an object", below(path, "const"))
        if out.get("format", "") not in self.rules.formats:
            out.pop("format", None)
        if "pattern" in out and not _is_harmless(out["pattern"]):
            del out["pattern"]
        if "minItems" in out:
            out["minItems"] = min(out["minItems"], self.rules.most_min_items)
        return out

    def _object(self, schema: dict[str, Any], out: dict[str, Any], path: str, level: int) -> None:
        properties = checked_properties(schema, path)
        required = checked_required(schema, properties, path)
        self._check_closed(schema, properties, path)
        possible = {name: child for name, child in properties.items() if child is not False}
        needed = set(required)
        optional = [name for name in possible if name not in needed]
        if optional and self.rules.every_property_required:
            raise Unfit(f"the property {optional[0]} is optional", below(path, "properties", optional[0]))
        self.optional += len(optional)
        self.properties += len(possible)
        self.characters += sum(map(len, possible))
        out["properties"] = {
            name: self.node(child, below(path, "properties", name), level + 1) for name, child in possible.items()
        }
        out["required"] = required
        out["additionalProperties"] = False

    def _check_closed(self, schema: dict[str, Any], properties: dict[str, Any], path: str) -> None:
        """Whether the object is closed, or open only by omission."""
        if schema.get("patternProperties"):
            raise Unfit("patternProperties", below(path, "patternProperties"))
        open_by = schema.get("additionalProperties", schema.get("unevaluatedProperties", False))
        if open_by is not False:
            raise Unfit("additionalProperties is not false", below(path, "additionalProperties"))
        closed = "additionalProperties" in schema or "unevaluatedProperties" in schema
        if "additionalProperties" not in schema and declares_elsewhere(schema):
            raise Unfit("an object whose branches declare more properties", path)
        if not properties and not closed:
            raise Unfit("an object whose properties are not known", path)

    # -- allOf ------------------------------------------------------------------------------------------------------

    def _merged(self, schema: dict[str, Any], path: str) -> dict[str, Any]:
        """One schema for a node and the branches of its `allOf`, where they only declare different properties."""
        branches = schema["allOf"]
        own = {word: value for word, value in schema.items() if word not in ("allOf", *_DEFINITIONS)}
        if not isinstance(branches, list) or not branches:
            raise Unfit("allOf is not a list of schemas", below(path, "allOf"))
        parts = [self.references.follow(branch) for branch in branches]
        if not all(isinstance(part, dict) for part in parts):
            raise Unfit("a branch of allOf is not an object schema", below(path, "allOf"))
        if len(parts) == 1 and own.keys() <= set(_ANNOTATIONS):
            return {**parts[0], **own}
        merged: dict[str, Any] = {"type": "object", "properties": {}, "required": {}}
        for part in [own, *parts]:
            self._merge(merged, part, below(path, "allOf"))
        merged["required"] = list(merged["required"])
        return {**{word: own[word] for word in _ANNOTATIONS if word in own}, **merged}

    def _merge(self, merged: dict[str, Any], part: dict[str, Any], path: str) -> None:
        properties = part.get("properties", {})
        if part.get("type", "object") != "object" or not isinstance(properties, dict):
            raise Unfit("allOf of other things than objects", path)
        if part.keys() & {"allOf", "anyOf", "oneOf", "$ref", "enum", "const", "patternProperties"}:
            raise Unfit("allOf of combined schemas", path)
        twice = next((name for name in properties if name in merged["properties"]), None)
        if twice is not None or part.get("additionalProperties", False) is not False:
            raise Unfit("allOf whose branches cannot be put together", path)
        merged["properties"].update(properties)
        required = checked_required({"required": part.get("required", [])}, _Anything(), path)
        merged["required"].update(dict.fromkeys(required))

    # -- totals -----------------------------------------------------------------------------------------------------

    def _count_constants(self, out: dict[str, Any], path: str) -> None:
        values = [*out.get("enum", []), *([out["const"]] if "const" in out else [])]
        size = sum(
            len(value) if isinstance(value, str) else len(write_json(value, numbers="exact")) for value in values
        )
        self.enum_values += len(values)
        self.characters += size
        if len(values) > 250 and size > self.rules.most_string_enum_characters:
            raise Unfit(f"an enum of {len(values)} values with {size} characters", path)

    def _check_totals(self) -> None:
        rules = self.rules
        for count, most, what in (
            (self.optional, rules.most_optional, "optional properties"),
            (self.unions, rules.most_unions, "unions"),
            (self.properties, rules.most_properties, "properties"),
            (self.characters, rules.most_characters, "characters in names and values"),
            (self.enum_values, rules.most_enum_values, "enum values"),
        ):
            if count > most:
                raise Unfit(f"the schema has {count} {what}; the service takes {most}", "")

    def _check_recursion(self) -> None:
        if self.rules.recursion:
            return
        if any("#" in refs for refs in self.used.values()):
            raise Unfit("the schema is recursive", "")
        try:
            TopologicalSorter(self.used).prepare()
        except CycleError as error:
            raise Unfit("the schema is recursive", str(error.args[1][0])[1:]) from None


class _Anything(dict[str, Any]):
    """A set of properties that has every name: which ones there are is checked once the branches are together."""

    def __contains__(self, name: object) -> bool:
        return True


def _names_values(node: dict[str, Any]) -> bool:
    """Whether a node lists its values, primitives all, so that nothing is to be said of members or items."""
    return "enum" in node or "const" in node


def _is_harmless(pattern: Any) -> bool:
    """Whether any service's compiler takes a pattern: no look-around, no word boundary, no properties, small counts."""
    from lastcall.contract.ecma import BadSyntax, read_pattern  # noqa: PLC0415 -- most schemas have no pattern

    try:
        plain = read_pattern(pattern).plain if isinstance(pattern, str) else None
    except BadSyntax:
        return False
    return plain is not None and plain.length <= _LONGEST_COUNT


def _unescaped(token: str) -> str:
    return token.replace("~1", "/").replace("~0", "~")
