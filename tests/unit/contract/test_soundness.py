"""What a schema of a published dialect is warned of, and what cannot work."""

from __future__ import annotations

from typing import Any

import pytest

from lastcall.contract import budgets, soundness
from lastcall.contract.dialects import DRAFT_07, DRAFT_2020_12, SchemaDialect
from lastcall.contract.nodes import Space
from lastcall.errors import NotASchema, SchemaTooBig


def inspected(schema: Any, dialect: SchemaDialect = DRAFT_2020_12, *, assert_formats: bool = True) -> tuple[str, ...]:
    return soundness.inspect(Space(schema, dialect, assert_formats=assert_formats))


def refusal(schema: Any, dialect: SchemaDialect = DRAFT_2020_12) -> NotASchema:
    with pytest.raises(NotASchema) as caught:
        inspected(schema, dialect)
    return caught.value


def test_unknown_keywords_are_told_with_their_place() -> None:
    schema = {
        "properties": {"a/b": {"minLenght": 1}, "c": {"items": {"foo": 1, "type": "null"}}},
        "allOf": [{"bar": 1}],
    }
    assert inspected(schema) == (
        "/properties/a~1b/minLenght: 2020-12 has no keyword 'minLenght'; it is ignored",
        "/properties/c/items/foo: 2020-12 has no keyword 'foo'; it is ignored",
        "/allOf/0/bar: 2020-12 has no keyword 'bar'; it is ignored",
    )


def test_keywords_beside_a_reference_that_hides_them_are_told() -> None:
    schema = {"properties": {"a": {"$ref": "#/definitions/d", "minLength": 2, "title": "t"}}, "definitions": {"d": {}}}
    assert inspected(schema, DRAFT_07) == ("/properties/a/minLength: 'minLength' beside `$ref` is ignored in draft-07",)
    assert inspected(schema) == ()


def test_unknown_formats_are_told_where_formats_are_checked() -> None:
    schema = {"format": "no-such-format"}
    assert inspected(schema) == ("/format: the format 'no-such-format' is not known; it is not checked",)
    assert inspected(schema, assert_formats=False) == ()
    assert inspected({"format": "date"}) == ()


def test_unused_definitions_may_hold_anything() -> None:
    assert inspected({"$defs": {"a": {"foo": 1, "$ref": "nowhere", "pattern": "("}}}) == ()


def test_the_bundled_metaschemas_are_not_inspected() -> None:
    assert inspected({"$ref": "https://json-schema.org/draft/2020-12/schema"}) == ()


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
def test_a_reference_to_nowhere_is_refused_with_its_place(keyword: str) -> None:
    error = refusal({"properties": {"a": {keyword: "other.json#/x"}}})
    assert error.where == f"/properties/a/{keyword}"
    assert error.message == "the reference 'other.json#/x' leads nowhere in this schema."
    assert "$defs" in error.hint


@pytest.mark.parametrize(
    ("schema", "where"),
    [
        ({"properties": {"a": {"pattern": "("}}}, "/properties/a/pattern"),
        ({"patternProperties": {"a": {}, "[": {}}}, "/patternProperties"),
    ],
)
def test_a_pattern_that_is_none_is_refused_with_its_place(schema: Any, where: str) -> None:
    error = refusal(schema)
    assert error.where == where
    assert error.message.startswith("Invalid regular expression: /")
    assert "ECMAScript" in error.hint


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        {"allOf": [{"title": "x"}, {"allOf": [{"$ref": "#"}]}]},
        {"$dynamicAnchor": "me", "$dynamicRef": "#me"},
    ],
)
def test_a_schema_that_can_never_be_checked_to_the_end_is_refused(schema: Any) -> None:
    assert "leads back to itself" in refusal(schema).message


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"$ref": "#"}}},
        {"anyOf": [{"type": "null"}, {"$ref": "#"}]},
        {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/a"}}},
        {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}], "$defs": {"a": {"type": "null"}}},
    ],
)
def test_a_schema_that_may_be_checked_to_the_end_is_taken(schema: Any) -> None:
    assert inspected(schema) == ()


def test_warnings_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "WARNING_CHARS", 100)
    schema = {"allOf": [{"foo": index} for index in range(100)]}
    assert 1 <= len(inspected(schema)) < 5


def test_the_work_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "COMPILE_STEPS", 10)
    with pytest.raises(SchemaTooBig, match="multiply"):
        inspected({"allOf": [{"type": "null"}] * 20})
