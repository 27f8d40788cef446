"""Older dialects, rewritten for the wire."""

from __future__ import annotations

import pytest

from lastcall.contract.modern import modernise

D4 = "http://json-schema.org/draft-04/schema#"
D7 = "http://json-schema.org/draft-07/schema#"
LATEST = "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize(
    ("schema", "modern"),
    [
        ({"$schema": D4, "minimum": 0, "exclusiveMinimum": True}, {"exclusiveMinimum": 0}),
        ({"$schema": D4, "maximum": 9, "exclusiveMaximum": False}, {"maximum": 9}),
        ({"$schema": D4, "exclusiveMaximum": True}, {}),
        ({"$schema": D7, "exclusiveMinimum": 3}, {"exclusiveMinimum": 3}),
        ({"$schema": D4, "id": "http://x/y"}, {"$id": "http://x/y"}),
        ({"$schema": D7, "$defs": {"a": {"$id": "#a"}}}, {"$defs": {"a": {"$anchor": "a"}}}),
        (
            {"$schema": D7, "properties": {"id": {"items": [{"type": "string"}], "additionalItems": False}}},
            {"properties": {"id": {"prefixItems": [{"type": "string"}], "items": False}}},
        ),
        ({"$schema": D7, "items": [True]}, {"prefixItems": [True]}),
        ({"$schema": D7, "items": {}, "additionalItems": False}, {"items": {}}),
        (
            {"$schema": D7, "dependencies": {"a": ["b"], "c": {"required": ["d"]}}},
            {"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"required": ["d"]}}},
        ),
        ({"$schema": D7, "dependencies": {}}, {}),
        (
            {"$schema": D7, "items": [{}], "not": {"$ref": "#/items/0"}, "exclusiveMinimum": False},
            {"items": [{}], "not": {"$ref": "#/items/0"}},
        ),
        (
            {"$schema": LATEST, "dependencies": {"a": ["b"]}, "items": [{}]},
            {"dependencies": {"a": ["b"]}, "items": [{}]},
        ),
        ({"items": [{}]}, {"items": [{}]}),
        ({"$schema": 7, "items": [{}]}, {"items": [{}]}),
    ],
)
def test_the_meaning_is_kept_in_todays_words(schema: dict[str, object], modern: dict[str, object]) -> None:
    modernise(schema)  # type: ignore[arg-type]
    assert schema == modern
