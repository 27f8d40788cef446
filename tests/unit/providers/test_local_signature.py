"""Schemas as short signatures; expected texts written by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastcall.providers.local_signature import signature
from local_tools import SCHEMA


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"enum": ["a", 1, None]}, '"a" | 1 | null'),
        ({"const": "x"}, '"x"'),
        ({"type": "string", "enum": ["é"]}, '"é"'),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer | null"),
        ({"type": "array", "items": {"type": "number"}, "maxItems": 3}, "list of (number) at most 3 items"),
        ({"type": "integer", "minimum": 0, "maximum": 9}, "integer at least 0, at most 9"),
        ({"type": "string", "format": "date"}, "string as date"),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "string", "description": "why"}, "b c": {"type": "null"}},
                "required": ["a"],
            },
            '{a: string /* why */, "b c"?: null}',
        ),
        ({"type": "object", "properties": {}, "additionalProperties": False}, "{}"),
    ],
)
def test_what_a_signature_can_say_it_says_shortly(schema: dict[str, Any], expected: str) -> None:
    assert signature(schema) == expected


def test_the_incident_schema_takes_two_thirds_of_its_json() -> None:
    assert signature(SCHEMA) == (
        "{ticket: string matching ^INC-[0-9]{4}$ /* number of the incident */, "
        'area: "payments" | "login" | "search" | "email" /* ' + SCHEMA["properties"]["area"]["description"] + " */, "
        "customers: integer at least 0 /* how many customers were affected */, "
        "start: string matching ^([01][0-9]|2[0-3]):[0-5][0-9]$ /* when it began: the time of the first failure, HH:MM */}"
    )


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": True}},
        {"type": "object", "properties": {"a": {}}, "minProperties": 1},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {}}},
        {"type": "object", "additionalProperties": {"type": "string"}, "properties": {}},
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b"]},
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": "a"},
        {"type": "object"},
        {"not": {}},
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        {"type": "string", "minimum": 1, "x-unknown": 2},
    ],
)
def test_what_a_signature_cannot_say_is_shown_whole_as_json(schema: dict[str, Any]) -> None:
    assert json.loads(signature(schema)) == schema


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "properties",
                    "required",
                    "items",
                    "enum",
                    "const",
                    "anyOf",
                    "description",
                    "pattern",
                    "minimum",
                    "$ref",
                    "a",
                ]
            ),
            inner | st.sampled_from(["object", "string", "array", ["a"]]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    st.dictionaries(
        st.sampled_from(["type", "properties", "items", "enum", "anyOf", "required", "const"]), JSON, max_size=4
    )
)
def test_any_object_at_all_gets_a_text(schema: dict[str, Any]) -> None:
    assert isinstance(signature(schema), str)
