"""The reference's strict mode: what it refuses and logs when it compiles a schema, in its order and words.

The walk follows the reference's own: keyword by keyword in the order of its groups, subschemas that hold no reference
copied in line where they are referred to, the others once for each spelling of the reference. Only so do the right refusal
and the right log lines come first. Must not go in here: anything about values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from lastcall.contract import budgets, uris
from lastcall.contract.budgets import Budget, BudgetExceeded
from lastcall.contract.checking import Run, Walk, drive
from lastcall.contract.documents import Resource, Target
from lastcall.contract.equality import js_order
from lastcall.contract.identifiers import check_identifiers, root_base
from lastcall.contract.nodes import ANY_TYPE, GROUPS, Space, types_of
from lastcall.contract.patterns import BadPattern
from lastcall.errors import NotASchema, SchemaTooBig
from lastcall.nouns.json import JsonObject

_RULES_BEYOND_CHECKS: Final = ("$comment", "id", "nullable")
"""Keywords that the reference counts among its rules, though they check nothing."""

_KEYWORD_TYPES: Final[dict[str, tuple[str, ...]]] = {
    "maximum": ("number",),
    "minimum": ("number",),
    "exclusiveMaximum": ("number",),
    "exclusiveMinimum": ("number",),
    "multipleOf": ("number",),
    "maxLength": ("string",),
    "minLength": ("string",),
    "pattern": ("string",),
    "maxProperties": ("object",),
    "minProperties": ("object",),
    "required": ("object",),
    "maxItems": ("array",),
    "minItems": ("array",),
    "uniqueItems": ("array",),
    "propertyNames": ("object",),
    "additionalProperties": ("object",),
    "dependencies": ("object",),
    "properties": ("object",),
    "patternProperties": ("object",),
    "additionalItems": ("array",),
    "items": ("array",),
    "contains": ("array",),
    "format": ("number", "string"),
}
"""The types that keywords are for, in the order in which they are reported."""

_ORDER: Final = (
    "id",
    *ANY_TYPE[:3],
    "nullable",
    *ANY_TYPE[3:],
    "then",
    "else",
    *(k for g in GROUPS.values() for k in g),
)
"""The order in which keywords are compiled."""

_RANK: Final = {keyword: rank for rank, keyword in enumerate(_ORDER)}
_ORDERED: Final = frozenset(_ORDER)
_TYPE_RANK: Final = {keyword: rank for rank, keyword in enumerate(_KEYWORD_TYPES)}
_TYPED: Final = frozenset(_KEYWORD_TYPES)


def inspect(space: Space) -> tuple[str, ...]:
    """The log lines about a schema. Raises `NotASchema` with the reference's refusal, `SchemaTooBig`."""
    run = Run(budgets.COMPILE_STEPS, str)
    strictness = _Strictness(space, run)
    try:
        check_identifiers(space.root.schema, space.library.main.dialect)
        drive(strictness.compile_root(), run, budgets.META_DEPTH)
    except BudgetExceeded as error:
        if error.budget is Budget.DEPTH:
            raise NotASchema(space.library.main.dialect.overflow) from None
        raise SchemaTooBig("schema too large") from None
    return tuple(strictness.warnings)


_Path = tuple[Any, str]
"""The path above (`None` for the first token) and a token. Written out only for a log line."""


class _Place(Struct, frozen=True):
    """Where the walk is: the reference's path, the resource, its base identifier, and the types known of the value."""

    path: _Path
    resource: Resource
    base: str
    prefix: str = ""
    types: tuple[str, ...] = ()

    def below(self, keyword: str, name: str | int | None = None, *, types: tuple[str, ...] = ()) -> _Place:
        path: _Path = (self.path, keyword)
        if name is not None:
            path = (path, _escaped(name))
        return _Place(path, self.resource, self.base, self.prefix, types)

    def written(self) -> str:
        """The path as the reference writes it."""
        tokens: list[str] = []
        path: _Path | None = self.path
        while path is not None:
            path, token = path
            tokens.append(token)
        return "/".join(reversed(tokens))


def _escaped(name: str | int) -> str:
    """A path's token as `encodeURIComponent` writes it."""
    text = str(name).replace("~", "~0").replace("/", "~1")
    return re.sub(
        r"[^A-Za-z0-9\-_.!~*'()]",
        lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace")),
        text,
    )


class _Strictness:
    def __init__(self, space: Space, run: Run) -> None:
        self._space = space
        self._run = run
        self._dialect = space.library.main.dialect
        self._compiled: set[str] = set()
        self._compiling: set[tuple[int, str]] = set()
        self.warnings: list[str] = []
        self._room = budgets.WARNING_CHARS
        self._root_base = root_base(space.root.schema)

    # -- the walk ---------------------------------------------------------------------------------------------------

    def compile_root(self) -> Walk:
        """The whole schema."""
        place = _Place((None, "#"), self._space.library.main, self._root_base or "#", self._root_base)
        return self.compile(place, self._space.root.schema)

    def compile(self, place: _Place, schema: JsonObject) -> Walk:
        """A schema with a function of its own."""
        key = (id(schema), place.base)
        if key in self._compiling:
            return
        self._compiling.add(key)
        yield self._subschema(place, schema, top=True)
        self._compiling.discard(key)

    def _subschema(self, place: _Place, schema: Any, *, top: bool = False) -> Walk:
        self._run.spend(1)
        if isinstance(schema, bool):
            return
        self._refuse_unknown(schema)
        if not self._has_rules(schema):
            return
        if schema.get("$async") is True and not self._space.root.schema.get("$async"):
            raise NotASchema("async schema in sync schema")
        named = schema.get("$id")
        resource = self._space.library.resource_of(schema, place.resource)
        base = uris.resolve(place.base, named).removesuffix("#") if isinstance(named, str) and not top else place.base
        types = self._types(schema)
        place = _Place(place.path, resource, base, place.prefix, place.types)
        if schema.get("$ref") and not self._has_rules(schema, but_reference=True):
            yield self._reference(place, schema)
            return
        place = _Place(place.path, resource, base, place.prefix, self._check_types(place, schema, types))
        for keyword in sorted(schema.keys() & _ORDERED, key=_RANK.__getitem__):
            if self._is_rule(keyword):
                walk = self._keyword(keyword, place, schema)
                if walk is not None:
                    yield walk

    def _is_rule(self, keyword: str) -> bool:
        return keyword in self._dialect.checks or keyword in _RULES_BEYOND_CHECKS

    def _has_rules(self, schema: JsonObject, *, but_reference: bool = False) -> bool:
        return any(self._is_rule(keyword) for keyword in schema if not (but_reference and keyword == "$ref"))

    def _refuse_unknown(self, schema: JsonObject) -> None:
        unknown = [keyword for keyword in schema if not self._dialect.knows(keyword)]
        if unknown:
            raise NotASchema(f'strict mode: unknown keyword: "{js_order(unknown)[0]}"')

    def _always_valid(self, schema: Any) -> bool:
        if isinstance(schema, bool):
            return schema
        self._refuse_unknown(schema)
        return not self._has_rules(schema)

    def _types(self, schema: JsonObject) -> list[str]:
        named = schema.get("type")
        declared = named if isinstance(named, list) else [named] if named else []
        if "null" in declared:
            if schema.get("nullable") is False:
                raise NotASchema("type: null contradicts nullable: false")
        elif not declared and "nullable" in schema:
            raise NotASchema('"nullable" cannot be used without "type"')
        return types_of(schema, self._dialect)

    # -- strict types -----------------------------------------------------------------------------------------------

    def _warn(self, place: _Place, sentence: str) -> None:
        self._log(place, f'strict mode: {sentence} at "{place.prefix}', '" (strictTypes)')

    def _log(self, place: _Place, before: str, after: str) -> None:
        if self._room > 0:
            line = f"{before}{place.written()}{after}"
            self._room -= len(line)
            self.warnings.append(line)

    def _check_types(self, place: _Place, schema: JsonObject, types: list[str]) -> tuple[str, ...]:
        known = self._context_types(place, types)
        if len(types) > 1 and not (len(types) == 2 and "null" in types):
            self._warn(place, "use allowUnionTypes to allow union type keyword")
        for keyword in sorted(schema.keys() & _TYPED, key=_TYPE_RANK.__getitem__):
            wanted = _KEYWORD_TYPES[keyword]
            if not any(kind in known or (kind == "number" and "integer" in known) for kind in wanted):
                self._warn(place, f'missing type "{",".join(wanted)}" for keyword "{keyword}"')
        return known

    def _context_types(self, place: _Place, types: list[str]) -> tuple[str, ...]:
        known = place.types
        if not types:
            return known
        if not known:
            return tuple(types)
        for kind in types:
            if not _includes(known, kind):
                self._warn(place, f'type "{kind}" not allowed by context "{",".join(known)}"')
        narrowed = []
        for kind in known:
            if _includes(types, kind):
                narrowed.append(kind)
            elif kind == "number" and "integer" in types:
                narrowed.append("integer")
        return tuple(narrowed)

    # -- keywords ---------------------------------------------------------------------------------------------------

    def _keyword(self, keyword: str, place: _Place, schema: JsonObject) -> Walk | None:
        value: Any = schema[keyword]
        match keyword:
            case "$ref":
                return self._reference(place, schema)
            case "not" | "anyOf" | "oneOf" | "allOf" | "if" | "then" | "else":
                return self._combinator(keyword, place, schema)
            case "items" | "additionalItems" | "contains":
                return self._of_items(keyword, place, schema)
            case "propertyNames":
                return self._one(place.below(keyword, types=("string",)), value)
            case "additionalProperties" | "properties" | "patternProperties" | "dependencies":
                return self._of_properties(keyword, place, schema)
            case _:
                self._leaf(keyword, schema)
        return None

    def _leaf(self, keyword: str, schema: JsonObject) -> None:
        value: Any = schema[keyword]
        if keyword == "pattern":
            self._pattern(value)
        elif keyword == "uniqueItems":
            items = schema.get("items")
            if value and isinstance(items, dict):
                self._types(items)
        elif keyword == "id":
            raise NotASchema('NOT SUPPORTED: keyword "id", use "$id" for schema ID')
        elif keyword == "nullable" and not isinstance(value, bool):
            raise NotASchema('nullable value must be ["boolean"]')

    def _one(self, place: _Place, schema: Any) -> Walk | None:
        return None if self._always_valid(schema) else self._subschema(place, schema)

    def _combinator(self, keyword: str, place: _Place, schema: JsonObject) -> Walk | None:
        value: Any = schema[keyword]
        if keyword == "not":
            return self._one(place.below(keyword, types=place.types), value)
        if keyword == "if":
            return self._if(place, schema)
        if keyword in ("then", "else"):
            if "if" not in schema:
                raise NotASchema(f'strict mode: "{keyword}" without "if" is ignored')
            return None
        if keyword == "anyOf" and any(self._always_valid(part) for part in value):
            return None
        return self._many(keyword, place, value, skip=keyword != "anyOf")

    def _many(self, keyword: str, place: _Place, parts: list[Any], *, skip: bool, inner: bool = False) -> Walk:
        for index, part in enumerate(parts):
            if not (skip and self._always_valid(part)):
                yield self._subschema(place.below(keyword, index, types=() if inner else place.types), part)

    def _if(self, place: _Place, schema: JsonObject) -> Walk | None:
        if "then" not in schema and "else" not in schema:
            raise NotASchema('strict mode: "if" without "then" and "else" is ignored')
        clauses = [key for key in ("then", "else") if key in schema and not self._always_valid(schema[key])]
        if not clauses:
            return None
        return self._each((place.below(key, types=place.types), schema[key]) for key in ("if", *clauses))

    def _each(self, parts: Iterator[tuple[_Place, Any]]) -> Walk:
        for place, part in parts:
            yield self._subschema(place, part)

    def _of_items(self, keyword: str, place: _Place, schema: JsonObject) -> Walk | None:
        value: Any = schema[keyword]
        if keyword == "additionalItems" and not isinstance(schema.get("items"), list):
            raise NotASchema('strict mode: "additionalItems" is ignored when "items" is not an array of schemas')
        if not isinstance(value, list):
            return (
                self._one(place.below(keyword), value) if value is not False or keyword != "additionalItems" else None
            )
        length = len(value)
        closed = length == schema.get("maxItems") or schema.get("additionalItems") is False
        if not (length == schema.get("minItems") and closed):
            self._log(
                place,
                f'strict mode: "items" is {length}-tuple, but minItems or maxItems/additionalItems are not specified or '
                'different at path "',
                '"',
            )
        return self._many(keyword, place, value, skip=True, inner=True)

    def _of_properties(self, keyword: str, place: _Place, schema: JsonObject) -> Walk | None:
        value: Any = schema[keyword]
        if keyword == "additionalProperties":
            return self._additional(place, schema)
        names = [name for name in js_order(value) if name != "__proto__"]
        if keyword == "dependencies":
            names = [name for name in names if not isinstance(value[name], list)]
            return self._each_valid(keyword, place, value, names)
        checked = [name for name in names if not self._always_valid(value[name])]
        if not checked:
            return None
        if keyword == "properties":
            return self._each((place.below(keyword, name), value[name]) for name in checked)
        return self._patterns(place, schema, names, checked)

    def _each_valid(self, keyword: str, place: _Place, value: JsonObject, names: list[str]) -> Walk:
        for name in names:
            if not self._always_valid(value[name]):
                yield self._subschema(place.below(keyword, name, types=place.types), value[name])

    def _additional(self, place: _Place, schema: JsonObject) -> Walk | None:
        value: Any = schema["additionalProperties"]
        if self._always_valid(value):
            return None
        patterns: Any = schema.get("patternProperties", {})
        for pattern in js_order(patterns):
            self._pattern(pattern)
        return None if value is False else self._subschema(place.below("additionalProperties"), value)

    def _patterns(self, place: _Place, schema: JsonObject, names: list[str], checked: list[str]) -> Walk:
        value: Any = schema["patternProperties"]
        properties: Any = schema.get("properties", {})
        for pattern in names:
            search = self._pattern(pattern)
            for name in js_order(properties):
                if search(name):
                    raise NotASchema(
                        f"strict mode: property {name} matches pattern {pattern} (use allowMatchingProperties)"
                    )
            if pattern in checked:
                yield self._subschema(place.below("patternProperties", pattern), value[pattern])

    def _pattern(self, text: str) -> Any:
        try:
            return self._space.pattern(text).search
        except BadPattern as error:
            raise NotASchema(str(error)) from None

    # -- references -------------------------------------------------------------------------------------------------

    def _reference(self, place: _Place, schema: JsonObject) -> Walk:
        reference = str(schema["$ref"])
        target = self._space.library.find(reference, place.resource)
        if target is None:
            raise NotASchema(f"can't resolve reference {reference} from id {place.base}")
        if target.resource.bundled:
            return
        target = self._chased(target, reference, place.resource)
        if isinstance(target.schema, bool):
            return
        if not self._space.library.holds_reference(target.schema):
            yield self._subschema(_Place((None, reference), target.resource, place.base, place.prefix), target.schema)
            return
        spelling = uris.resolve(place.resource.uri, reference)
        if spelling not in self._compiled and target.schema is not self._space.root.schema:
            self._compiled.add(spelling)
            base = self._base_of(target, place, reference)
            yield self.compile(_Place((None, "#"), target.resource, base or "#", base), target.schema)

    @staticmethod
    def _base_of(target: Target, place: _Place, reference: str) -> str:
        """The base that the reference gives a function of its own; by an anchor it is the one of the place of use."""
        named = target.schema.get("$id") if isinstance(target.schema, dict) else None
        if not isinstance(named, str) or not named.startswith("#"):
            return target.resource.uri
        return target.resource.uri + named if "#/" in reference else place.base

    def _chased(self, target: Target, reference: str, resource: Resource) -> Target:
        """The end of a chain of pointers to subschemas that are nothing but references."""
        passed: set[int] = set()
        while "#/" in reference and isinstance(target.schema, dict) and target.schema.get("$ref"):
            if self._has_rules(target.schema, but_reference=True):
                break
            if id(target.schema) in passed:
                raise NotASchema(self._dialect.overflow)
            passed.add(id(target.schema))
            reference, resource = str(target.schema["$ref"]), target.resource
            following = self._space.library.find(reference, resource)
            if following is None or "#/" not in reference or following.schema is self._space.root.schema:
                break
            target = following
        return target


def _includes(types: list[str] | tuple[str, ...], kind: str) -> bool:
    return kind in types or (kind == "integer" and "number" in types)
