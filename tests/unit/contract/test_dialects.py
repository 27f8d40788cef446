"""The dialects as values."""

from __future__ import annotations

import pytest

from lastcall.contract.dialects import (
    DRAFT_04,
    DRAFT_06,
    DRAFT_07,
    DRAFT_2019_09,
    DRAFT_2020_12,
    REFERENCE,
    SchemaDialect,
    choose_dialect,
    published_at,
)
from lastcall.errors import NotASchema
from lastcall.nouns.profile import Profile

PUBLISHED = (DRAFT_04, DRAFT_06, DRAFT_07, DRAFT_2019_09, DRAFT_2020_12)


@pytest.mark.parametrize("dialect", PUBLISHED)
@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("fragment", ["", "#"])
def test_a_schema_names_its_dialect(dialect: SchemaDialect, scheme: str, fragment: str) -> None:
    named = f"{scheme}{dialect.uri[dialect.uri.index(':') :]}{fragment}"
    assert choose_dialect({"$schema": named}, Profile.NATIVE) is dialect


def test_without_a_name_it_is_2020_12_natively_and_the_references_in_compat() -> None:
    assert choose_dialect({}, "native") is DRAFT_2020_12
    assert choose_dialect({}, Profile.COMPAT) is REFERENCE
    assert choose_dialect({"$schema": "x"}, "compat") is REFERENCE


@pytest.mark.parametrize(
    ("named", "says"), [("https://example.com/mine", "not known"), (7, "must be a string"), (None, "string")]
)
def test_an_unknown_dialect_is_refused_with_the_known_ones(named: object, says: str) -> None:
    with pytest.raises(NotASchema, match=says) as caught:
        choose_dialect({"$schema": named}, Profile.NATIVE)  # type: ignore[dict-item]
    assert caught.value.where == "/$schema"
    assert all(dialect.uri in caught.value.hint for dialect in PUBLISHED)


@pytest.mark.parametrize("dialect", [*PUBLISHED, REFERENCE])
def test_every_keyword_of_a_metaschema_is_known(dialect: SchemaDialect) -> None:
    for document in dialect.documents():
        properties = document["properties"]
        assert isinstance(properties, dict)
        unknown = {keyword for keyword in properties if not dialect.knows(keyword)}
        assert unknown <= {"$recursiveAnchor", "$recursiveRef"}, dialect.name


@pytest.mark.parametrize("dialect", PUBLISHED)
def test_a_metaschema_is_found_at_its_address_alone(dialect: SchemaDialect) -> None:
    assert published_at(dialect.uri, DRAFT_2020_12) is dialect
    assert published_at(dialect.uri + "x", DRAFT_2020_12) is None


def test_vocabularies_are_found_and_the_reference_knows_but_its_own() -> None:
    assert published_at("https://json-schema.org/draft/2020-12/meta/core", DRAFT_07) is DRAFT_2020_12
    assert published_at(DRAFT_07.uri, REFERENCE) is REFERENCE
    assert published_at(DRAFT_2020_12.uri, REFERENCE) is None


def test_subschemas_are_found_by_the_shape_of_their_keyword() -> None:
    schema = {
        "not": {"a": 1},
        "allOf": [{}, True],
        "properties": {"p": {}},
        "dependencies": {"n": ["x"], "s": {}},
        "items": [{}, {}],
        "$defs": {"d": {}},
        "definitions": [],
        "anyOf": 5,
        "enum": [{}],
        "unknown": {},
    }
    assert [(keyword, key) for keyword, key, _ in DRAFT_2019_09.children(schema)] == [  # type: ignore[arg-type]
        ("not", None),
        ("allOf", 0),
        ("allOf", 1),
        ("properties", "p"),
        ("dependencies", "s"),
        ("items", 0),
        ("items", 1),
        ("$defs", "d"),
    ]
    assert list(DRAFT_2020_12.children({"items": [{}], "not": [], "properties": 5})) == []
