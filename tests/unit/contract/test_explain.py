"""What enforces a keyword, place by place."""

from __future__ import annotations

from typing import Any

import pytest

from lastcall.contract.explain import By, Enforcement, explain, not_enforced
from lastcall.contract.parse import schema_from_value
from lastcall.contract.strict import to_strict
from lastcall.contract.wrapping import wrap_root
from lastcall.nouns.profile import Profile
from lastcall.nouns.schema import NotStrict

D7 = "http://json-schema.org/draft-07/schema#"
CHECK, STRICT = (By.CHECK,), (By.CHECK, By.STRICT)


def facts(schema: dict[str, Any], **options: Any) -> dict[str, tuple[tuple[By, ...], str]]:
    return {f"{f.path} {f.keyword}": (f.by, f.note) for f in explain(schema_from_value(schema), **options)}


def test_the_check_and_the_decoder_are_told_apart() -> None:
    schema = {
        "type": "array",
        "minItems": 3,
        "items": {
            "oneOf": [
                {"type": "string", "minLength": 2, "format": "email"},
                {"type": "object", "properties": {"a": {"type": "integer", "minimum": 3}}, "title": "x"},
                {"$ref": "#/$defs/d"},
            ]
        },
        "$defs": {"d": {"const": "k"}},
    }
    wire, wrapped = wrap_root(schema)
    found = facts(schema, strict=to_strict(schema_from_value(wire), "anthropic"), wrapped=wrapped)
    assert found == {
        " type": (STRICT, ""),
        " minItems": (CHECK, ""),
        " items": (STRICT, ""),
        "/items oneOf": (CHECK, ""),
        "/items/oneOf/0 type": (STRICT, ""),
        "/items/oneOf/0 minLength": (CHECK, ""),
        "/items/oneOf/0 format": (STRICT, ""),
        "/items/oneOf/1 type": (STRICT, ""),
        "/items/oneOf/1 properties": (STRICT, ""),
        "/items/oneOf/1 title": ((), "annotation"),
        "/items/oneOf/1/properties/a type": (STRICT, ""),
        "/items/oneOf/1/properties/a minimum": (CHECK, ""),
        "/items/oneOf/2 $ref": (STRICT, ""),
        "/$defs/d const": (STRICT, ""),
    }


def test_the_grammar_is_a_decoder_too() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(?=x)", "maxLength": 3}}}
    found = facts(schema, strict=to_strict(schema_from_value(schema), "grammar"), decoder=By.GRAMMAR)
    assert found["/properties/a maxLength"] == ((By.CHECK, By.GRAMMAR), "")
    assert found["/properties/a pattern"] == (CHECK, "")


@pytest.mark.parametrize("strict", [None, NotStrict("why")])
def test_without_a_strict_form_only_the_check_enforces(strict: NotStrict | None) -> None:
    assert facts({"type": "string"}, strict=strict) == {" type": (CHECK, "")}


def test_what_nothing_enforces_has_a_reason() -> None:
    schema = {
        "$comment": "c", "examples": [1], "then": {}, "minContains": 1, "prefixItem": [], "format": "zip",
        "x-lastcall": {"quote": "input"}, "contentEncoding": "base64", "$id": "http://x/y",
    }  # fmt: skip
    found = facts(schema)
    assert found == {
        " $comment": ((), "annotation"),
        " examples": ((), "annotation"),
        " then": ((), "without if, then says nothing"),
        " minContains": ((), "without contains, minContains says nothing"),
        " prefixItem": ((), "unknown keyword"),
        " format": ((), "unknown format"),
        " x-lastcall": (CHECK, "a rule of lastcall"),
        " contentEncoding": ((), "annotation"),
    }
    assert not_enforced(explain(schema_from_value(schema))) == ("/then", "/minContains", "/prefixItem", "/format")


def test_dialects_differ() -> None:
    schema = {
        "$schema": D7,
        "contentEncoding": "base64",
        "contentMediaType": "text/plain",
        "not": {"$ref": "#", "minimum": 1},
    }
    assert facts(schema) == {
        " contentEncoding": (CHECK, ""),
        " contentMediaType": ((), "unknown contentMediaType"),
        " not": (CHECK, ""),
        "/not $ref": (CHECK, ""),
        "/not minimum": ((), "this dialect ignores what stands beside $ref"),
    }


def test_an_older_dialect_is_found_again_on_the_wire() -> None:
    schema = {
        "$schema": D7,
        "type": "object",
        "properties": {"a": {"type": "array", "items": [{"type": "null"}]}},
        "additionalProperties": False,
    }
    wire, _ = wrap_root(schema)
    found = facts(schema, strict=to_strict(schema_from_value(wire), "grammar"), decoder=By.GRAMMAR)
    assert found[" additionalProperties"] == ((By.CHECK, By.GRAMMAR), "")
    assert found["/properties/a items"] == (CHECK, "")


@pytest.mark.parametrize("options", [{"assert_formats": False}, {"profile": Profile.COMPAT}])
def test_formats_that_are_not_asserted(options: dict[str, Any]) -> None:
    assert facts({"format": "date"}, **options) == {" format": ((), "formats are not asserted")}


def test_a_fact_is_a_value() -> None:
    assert Enforcement("", "type", CHECK) == Enforcement("", "type", (By.CHECK,), "")
