"""The dialects of JSON Schema as values: draft-04, 06, 07, 2019-09, 2020-12, and the reference's own profile.

A `SchemaDialect` says which keywords there are, what holds subschemas, how numbers are compared, and where the dialects
depart from each other; the validator reads it and never asks for a name. Must not go in here: checking anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from importlib import import_module
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from lastcall.contract.arithmetic import DOUBLES, EXACT, Arithmetic
from lastcall.contract.budgets import PROBLEMS_LISTED, PROBLEMS_LISTED_REFERENCE
from lastcall.errors import NotASchema
from lastcall.nouns.json import JsonObject, JsonValue
from lastcall.nouns.profile import Profile


class Shape(Enum):
    """How the value of a keyword holds subschemas."""

    ONE = "one"
    MANY = "many"
    MAP = "map"
    ONE_OR_MANY = "one or many"
    MAP_OR_NAMES = "map, or lists of names"


class SchemaDialect(Struct, frozen=True, kw_only=True):
    """One dialect.

    `uri` is the `$schema` that names it, without fragment. `checks` are keywords that can make a value invalid, by the
    shape of their value (`None`: no subschemas); `holders` hold subschemas that are only reached by reference;
    `annotations` are all other known keywords.

    `ref_alone`: keywords beside `$ref` are ignored. `flag_exclusives`: `exclusiveMaximum` is a boolean. `id_anchors`: an
    identifier `#name` is an anchor. `ids_everywhere`: identifiers count below unknown keywords too. `nullable`: the
    keyword of that name adds a type. `contains_evaluates`: items that match `contains` are evaluated. `inherited`: names
    that every object is taken to have, with their values. `hasty_tuples`: below `not` and `if`, an array that has none of
    a tuple's checked items is not asked for `contains` and `uniqueItems` (a slip of the reference that changes verdicts).
    `strict`: refused and warned of as the reference's validator does in its strict mode. `overflow` and `overwork` are
    the sentences of a check that is given up.
    """

    name: str
    uri: str
    metaschema: str
    checks: Mapping[str, Shape | None]
    holders: Mapping[str, Shape]
    annotations: frozenset[str]
    id_keyword: str = "$id"
    arithmetic: Arithmetic = EXACT
    ref_alone: bool = False
    flag_exclusives: bool = False
    id_anchors: bool = False
    ids_everywhere: bool = False
    nullable: bool = False
    contains_evaluates: bool = False
    inherited: Mapping[str, Any] = {}
    hasty_tuples: bool = False
    strict: bool = False
    listed: int = PROBLEMS_LISTED
    overflow: str = (
        "the value or the schema is nested too deeply to be checked, or the schema refers to itself without end"
    )
    overwork: str = "checking would take too long: too many combinations of the schema's branches, or too large a value"

    def documents(self) -> tuple[JsonObject, ...]:
        """The published meta-schema, main document first; imported at the first call."""
        documents: tuple[JsonObject, ...] = import_module(f"lastcall.contract.metaschemas.{self.metaschema}").DOCUMENTS
        return documents

    def knows(self, keyword: str) -> bool:
        """Whether the keyword means anything in this dialect."""
        return keyword in self.checks or keyword in self.holders or keyword in self.annotations

    def children(self, schema: JsonObject) -> Iterator[tuple[str, str | int | None, JsonValue]]:
        """The subschemas that stand in this one: keyword, name or index below it, subschema."""
        for keyword, value in schema.items():
            shape = self.checks.get(keyword) or self.holders.get(keyword)
            if shape is not None:
                yield from _parts(keyword, shape, value)


def _parts(keyword: str, shape: Shape, value: JsonValue) -> Iterator[tuple[str, str | int | None, JsonValue]]:
    if isinstance(value, list):
        if shape in (Shape.MANY, Shape.ONE_OR_MANY):
            for index, part in enumerate(value):
                yield keyword, index, part
    elif shape in (Shape.MAP, Shape.MAP_OR_NAMES):
        if isinstance(value, dict):
            for name, part in value.items():
                if not isinstance(part, list):
                    yield keyword, name, part
    elif shape is not Shape.MANY:
        yield keyword, None, value


# -- the published dialects -----------------------------------------------------------------------------------------

_CHECKS_04: Final[dict[str, Shape | None]] = {
    "$ref": None,
    "type": None,
    "enum": None,
    "not": Shape.ONE,
    "anyOf": Shape.MANY,
    "oneOf": Shape.MANY,
    "allOf": Shape.MANY,
    "maximum": None,
    "minimum": None,
    "exclusiveMaximum": None,
    "exclusiveMinimum": None,
    "multipleOf": None,
    "maxLength": None,
    "minLength": None,
    "pattern": None,
    "format": None,
    "maxItems": None,
    "minItems": None,
    "additionalItems": Shape.ONE,
    "items": Shape.ONE_OR_MANY,
    "uniqueItems": None,
    "maxProperties": None,
    "minProperties": None,
    "required": None,
    "additionalProperties": Shape.ONE,
    "dependencies": Shape.MAP_OR_NAMES,
    "properties": Shape.MAP,
    "patternProperties": Shape.MAP,
}
_CHECKS_06: Final = _CHECKS_04 | {"const": None, "contains": Shape.ONE, "propertyNames": Shape.ONE}
_CHECKS_07: Final = _CHECKS_06 | {"if": Shape.ONE, "then": Shape.ONE, "else": Shape.ONE}
_CHECKS_2019: Final = _CHECKS_07 | {
    "$recursiveRef": None,
    "maxContains": None,
    "minContains": None,
    "dependentRequired": None,
    "dependentSchemas": Shape.MAP,
    "unevaluatedItems": Shape.ONE,
    "unevaluatedProperties": Shape.ONE,
}
_CHECKS_2020: Final = {
    keyword: shape for keyword, shape in _CHECKS_2019.items() if keyword not in ("$recursiveRef", "additionalItems")
} | {"$dynamicRef": None, "prefixItems": Shape.MANY, "items": Shape.ONE}

_CONTENT: Final = frozenset({"contentEncoding", "contentMediaType"})
_NOTES_04: Final = frozenset({"$schema", "title", "description", "default"})
_NOTES_06: Final = _NOTES_04 | {"$id", "examples"}
_NOTES_07: Final = _NOTES_06 | _CONTENT | {"$comment", "readOnly", "writeOnly"}
_NOTES_2019: Final = _NOTES_07 | {"$anchor", "$vocabulary", "$recursiveAnchor", "deprecated"}
_NOTES_2020: Final = (_NOTES_2019 | {"$dynamicAnchor"}) - {"$recursiveAnchor"}
_OLD_HOLDERS: Final = {"definitions": Shape.MAP}
_NEW_HOLDERS: Final = {"definitions": Shape.MAP, "$defs": Shape.MAP, "contentSchema": Shape.ONE}

DRAFT_04: Final = SchemaDialect(
    name="draft-04",
    uri="http://json-schema.org/draft-04/schema",
    metaschema="draft_04",
    checks=_CHECKS_04,
    holders=_OLD_HOLDERS,
    annotations=_NOTES_04 | {"id"},
    id_keyword="id",
    ref_alone=True,
    flag_exclusives=True,
    id_anchors=True,
)
DRAFT_06: Final = SchemaDialect(
    name="draft-06",
    uri="http://json-schema.org/draft-06/schema",
    metaschema="draft_06",
    checks=_CHECKS_06,
    holders=_OLD_HOLDERS,
    annotations=_NOTES_06,
    ref_alone=True,
    id_anchors=True,
)
DRAFT_07: Final = SchemaDialect(
    name="draft-07",
    uri="http://json-schema.org/draft-07/schema",
    metaschema="draft_07",
    checks=_CHECKS_07 | dict.fromkeys(_CONTENT),
    holders=_OLD_HOLDERS,
    annotations=_NOTES_07,
    ref_alone=True,
    id_anchors=True,
)
DRAFT_2019_09: Final = SchemaDialect(
    name="2019-09",
    uri="https://json-schema.org/draft/2019-09/schema",
    metaschema="draft_2019_09",
    checks=_CHECKS_2019,
    holders=_NEW_HOLDERS,
    annotations=_NOTES_2019,
)
DRAFT_2020_12: Final = SchemaDialect(
    name="2020-12",
    uri="https://json-schema.org/draft/2020-12/schema",
    metaschema="draft_2020_12",
    checks=_CHECKS_2020,
    holders=_NEW_HOLDERS,
    annotations=_NOTES_2020,
    contains_evaluates=True,
)

# -- the reference --------------------------------------------------------------------------------------------------


class Foreign:
    """The class of what JavaScript objects inherit and JSON cannot hold: of no JSON type, equal to nothing."""

    __slots__ = ()


_OBJECT_METHODS: Final = (
    "constructor",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "toLocaleString",
    "toString",
    "valueOf",
    "__defineGetter__",
    "__defineSetter__",
    "__lookupGetter__",
    "__lookupSetter__",
)

REFERENCE: Final = replace(
    DRAFT_07,
    name="reference",
    metaschema="reference",
    checks=_CHECKS_07,
    holders=_NEW_HOLDERS,
    annotations=_NOTES_07 | {"$async", "$vocabulary", "deprecated", "id", "nullable"},
    arithmetic=DOUBLES,
    ref_alone=False,
    ids_everywhere=True,
    nullable=True,
    inherited=dict.fromkeys(_OBJECT_METHODS, Foreign()) | {"__proto__": {}},
    hasty_tuples=True,
    strict=True,
    listed=PROBLEMS_LISTED_REFERENCE,
    overflow="Maximum call stack size exceeded.",
)
"""The validator of the reference: AJV's draft-07 class in its default strict mode."""

_PUBLISHED: Final = (DRAFT_04, DRAFT_06, DRAFT_07, DRAFT_2019_09, DRAFT_2020_12)


def choose_dialect(schema: JsonObject, profile: str) -> SchemaDialect:
    """The dialect of a schema: by `$schema`, 2020-12 without one; in compat always the reference's.

    `$schema` is taken with http or https, with or without `#`. Raises `NotASchema` for any other (the reference's own
    refusal comes when the schema is compiled).
    """
    if profile == Profile.COMPAT:
        return REFERENCE
    named = schema.get("$schema")
    if named is None and "$schema" not in schema:
        return DRAFT_2020_12
    if not isinstance(named, str):
        raise NotASchema("`$schema` must be a string.", where="/$schema", hint=_KNOWN_HINT)
    dialect = _BY_ADDRESS.get(_address(named))
    if dialect is None:
        raise NotASchema(f"the dialect {named[:200]!r} is not known.", where="/$schema", hint=_KNOWN_HINT)
    return dialect


def _address(uri: str) -> str:
    """What is left of a `$schema` without scheme and empty fragment."""
    return uri.removesuffix("#").removeprefix("https:").removeprefix("http:")


_BY_ADDRESS: Final = {_address(dialect.uri): dialect for dialect in _PUBLISHED}
_KNOWN_HINT: Final = "Leave it out (2020-12 is then meant) or use one of: " + ", ".join(d.uri for d in _PUBLISHED)


def published_at(uri: str, asking: SchemaDialect) -> SchemaDialect | None:
    """The dialect whose meta-schema has a document at this URI (no fragment), as far as the asking dialect knows it."""
    if asking.strict:
        return asking if uri in (asking.uri, "http://json-schema.org/schema") else None
    for dialect in _PUBLISHED:
        if uri == dialect.uri or uri.startswith(dialect.uri.removesuffix("schema") + "meta/"):
            return dialect
    return None
