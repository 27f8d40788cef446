"""Another validator, written by others, gives the same verdicts on random schemas and values.

The partner is `jsonschema_rs`, offline. Left out is what it is known to do differently or badly: patterns (both share its
engine), numbers past 2^53, deep nesting, and 1.0 in draft-04, whose text leaves open whether it is an integer (here it
is, as in all other dialects).
"""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lastcall.contract.dialects import DRAFT_04, DRAFT_06, DRAFT_07, DRAFT_2019_09, DRAFT_2020_12, SchemaDialect
from lastcall.contract.validator import compile_validator
from lastcall.errors import NotASchema

NAMES = st.sampled_from(["a", "b", "c", "10", "2", "constructor", "__proto__", "é", "x/y", "~"])
NUMBERS = st.integers(-3, 5) | st.sampled_from([0.5, 1.0, -1.5, 2.0, 2.5, 1e3, 1e-3])
SCALARS = st.none() | st.booleans() | NUMBERS | st.sampled_from(["", "a", "ab", "abc", "😀", "1"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=8,
)
TYPES = st.sampled_from(["string", "number", "integer", "boolean", "null", "array", "object"])
COUNTS = st.integers(0, 3)
NAME_LISTS = st.lists(NAMES, max_size=3, unique=True)

LEAVES: dict[str, st.SearchStrategy[Any]] = {
    "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
    "enum": st.lists(VALUES, min_size=1, max_size=4, unique_by=lambda value: json.dumps(value, sort_keys=True)),
    "maximum": NUMBERS,
    "minimum": NUMBERS,
    "multipleOf": st.sampled_from([1, 2, 3, 0.5]),
    "maxLength": COUNTS,
    "minLength": COUNTS,
    "maxItems": COUNTS,
    "minItems": COUNTS,
    "uniqueItems": st.booleans(),
    "maxProperties": COUNTS,
    "minProperties": COUNTS,
    "required": st.lists(NAMES, min_size=1, max_size=3, unique=True),
}


def keywords(dialect: SchemaDialect, inner: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    """A strategy for the value of each keyword of a dialect."""
    lists = st.lists(inner, min_size=1, max_size=3)
    maps = st.dictionaries(NAMES, inner, max_size=3)
    below = {
        "not": inner,
        "anyOf": lists,
        "oneOf": lists,
        "allOf": lists,
        "properties": maps,
        "additionalProperties": inner,
        "items": inner if dialect is DRAFT_2020_12 else inner | lists,
        "$ref": st.sampled_from(["#/definitions/d", "#/definitions/e"]),
    }
    later = {
        "const": VALUES,
        "contains": inner,
        "propertyNames": inner,
        "exclusiveMaximum": NUMBERS,
        "exclusiveMinimum": NUMBERS,
        "if": inner,
        "then": inner,
        "else": inner,
        "prefixItems": lists,
        "minContains": COUNTS,
        "maxContains": COUNTS,
        "dependentRequired": st.dictionaries(NAMES, NAME_LISTS, max_size=2),
        "dependentSchemas": maps,
        "unevaluatedItems": inner,
        "unevaluatedProperties": inner,
    }
    if dialect in (DRAFT_04, DRAFT_06, DRAFT_07):
        below["dependencies"] = st.dictionaries(
            NAMES, inner | st.lists(NAMES, min_size=1, max_size=2, unique=True), max_size=2
        )
    if dialect is not DRAFT_2020_12:
        below["additionalItems"] = inner
    if dialect is not DRAFT_04:
        below |= {keyword: strategy for keyword, strategy in later.items() if keyword in dialect.checks}
    return LEAVES | below


def schemas(dialect: SchemaDialect) -> st.SearchStrategy[dict[str, Any]]:
    leaf = st.fixed_dictionaries({}, optional=LEAVES).map(lambda schema: dict(list(schema.items())[:3]))
    boolean = st.nothing() if dialect is DRAFT_04 else st.booleans()

    def node(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
        offered = keywords(dialect, inner)
        return st.lists(st.sampled_from(sorted(offered)), max_size=4, unique=True).flatmap(
            lambda chosen: st.fixed_dictionaries({keyword: offered[keyword] for keyword in chosen})
        )

    inner = st.recursive(leaf | boolean, node, max_leaves=10)
    return st.tuples(node(inner), leaf, node(inner)).map(
        lambda parts: {**parts[0], "definitions": {"d": parts[1], "e": parts[2]}}
    )


PARTNERS: dict[str, Any] = {
    "draft-04": (DRAFT_04, jsonschema_rs.Draft4Validator),
    "draft-06": (DRAFT_06, jsonschema_rs.Draft6Validator),
    "draft-07": (DRAFT_07, jsonschema_rs.Draft7Validator),
    "2019-09": (DRAFT_2019_09, jsonschema_rs.Draft201909Validator),
    "2020-12": (DRAFT_2020_12, jsonschema_rs.Draft202012Validator),
}


def agree(name: str, data: st.DataObject) -> None:
    dialect, partner = PARTNERS[name]
    schema = data.draw(schemas(dialect))
    try:
        validator = compile_validator(schema, dialect, assert_formats=False)
    except NotASchema as error:
        # the partner takes endless references for valid
        assume("leads back" not in error.message)
        raise
    other = partner(schema, validate_formats=False, offline=True)
    for value in data.draw(st.lists(VALUES, min_size=3, max_size=8)):
        assume(not _endless(schema))
        if dialect is DRAFT_04:
            value = json.loads(json.dumps(value), parse_float=_whole_as_integer)  # noqa: PLW2901 -- the same value
        assert (validator.problems(value).total == 0) == other.is_valid(value), (schema, value)


@pytest.mark.parametrize("name", PARTNERS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_verdicts_agree(name: str, data: st.DataObject) -> None:
    agree(name, data)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", PARTNERS)
@settings(max_examples=1000, deadline=None)
@given(data=st.data())
def test_verdicts_agree_on_many(name: str, data: st.DataObject) -> None:
    agree(name, data)


def _whole_as_integer(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() else number


def _endless(schema: dict[str, Any]) -> bool:
    """Whether a definition refers to itself; then there are values that cannot be checked to the end."""
    return "#/definitions/e" in json.dumps(schema["definitions"])
