"""Schemas from text and from values: budgets, and sentences that say what is wrong and where."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from decimal import Decimal

import pytest

from lastcall.contract.parse import parse_schema, schema_from_value
from lastcall.errors import BadSchema, NotASchema, SchemaNotAnObject, SchemaNotJson, SchemaTooBig
from lastcall.nouns.profile import Profile

NATIVE, COMPAT = Profile.NATIVE, Profile.COMPAT
TOO_LARGE = "--json-schema is not a valid JSON Schema: schema too large"


def nested(open_: str, count: int, inner: str, close: str) -> str:
    return open_ * count + inner + close * count


def test_a_schema_is_its_minified_text_with_a_digest() -> None:
    schema = parse_schema(' {"type": "object",\n "b": 1.50, "10": 7305118826640930017} ', profile=NATIVE)
    assert schema.text == '{"type":"object","b":1.50,"10":7305118826640930017}'
    assert schema.digest == hashlib.sha256(schema.text.encode()).hexdigest()
    assert schema.value == {"type": "object", "b": Decimal("1.50"), "10": 7305118826640930017}


def test_compat_reads_and_prints_as_javascript_does() -> None:
    schema = parse_schema('{"b":1.50,"10":9007199254740993,"type":"array","type":"object"}', profile=COMPAT)
    assert schema.text == '{"10":9007199254740992,"b":1.5,"type":"object"}'


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("", SchemaNotJson, "--json-schema is not valid JSON: JSON Parse error: Unexpected EOF"),
        ("nope", SchemaNotJson, '--json-schema is not valid JSON: JSON Parse error: Unexpected identifier "nope"'),
        ("{not json", SchemaNotJson, "--json-schema is not valid JSON: JSON Parse error: Expected '}'"),
        ("null", SchemaNotAnObject, "--json-schema must be a JSON object"),
        ("true", SchemaNotAnObject, "--json-schema must be a JSON object"),
        ("5", SchemaNotAnObject, "--json-schema must be a JSON object"),
        (nested('{"not":', 12_000, "{}", "}"), SchemaTooBig, TOO_LARGE),
        ('{"type":"object","default":' + nested("[", 10_000, "0", "]") + "}", SchemaTooBig, TOO_LARGE),
        ('{"default":[' + "0," * 99_998 + "0]}", SchemaTooBig, TOO_LARGE),
    ],
    ids=lambda value: str(value)[:20],
)
def test_compat_refuses_in_the_recorded_words(text: str, error: type[BadSchema], words: str) -> None:
    with pytest.raises(error) as caught:
        parse_schema(text, profile=COMPAT)
    assert str(caught.value) == words


@pytest.mark.parametrize("profile", [NATIVE, COMPAT])
@pytest.mark.parametrize(
    "text",
    [
        nested('{"not":', 1_000, "{}", "}"),
        '{"type":"object","default":' + nested("[", 9_999, "0", "]") + "}",
        '{"type":"object","default":[' + "0," * 99_996 + "0]}",
    ],
    ids=["deep", "the deepest", "exactly 100,000 values"],
)
def test_what_the_budgets_let_through(text: str, profile: Profile) -> None:
    assert parse_schema(text, profile=profile).text == text


@pytest.mark.parametrize(
    ("text", "error", "parts"),
    [
        ("", SchemaNotJson, ["The schema is empty."]),
        ("[]", SchemaNotAnObject, ["it is an array"]),
        ('"object"', SchemaNotAnObject, ["it is a string"]),
        ("true", SchemaNotAnObject, ["it is a boolean"]),
        ("null", SchemaNotAnObject, ["it is null"]),
        ("1.5", SchemaNotAnObject, ["it is a number"]),
        ('{"a":1,\n "b":2,}', SchemaNotJson, ["trailing comma", "line 2, column 8", 'near {"a":1,\\n "b":2,}']),
        ("{'type':'object'}", SchemaNotJson, ["single quotes", "line 1, column 2"]),
        ('{"type":"object" // x\n}', SchemaNotJson, ["comments", "column 18"]),
        ('\ufeff{"type":"object"}', SchemaNotJson, ["byte order mark"]),
        ('{"additionalProperties":False}', SchemaNotJson, ["False is Python; JSON writes false"]),
        ('{"type":"object"', SchemaNotJson, ["Is it complete?"]),
        ("```json\n{}\n```", SchemaNotJson, ["without the fence"]),
        ('{"maximum":1e400}', SchemaNotJson, ["out of range"]),
        ('{"a":{"type":"x","type":"y"}}', NotASchema, ["a key twice", "/a/type"]),
        ('{"a":"' + "x" * 1024 * 1024 + '"}', SchemaTooBig, ["1048576 bytes"]),
        (nested('{"not":', 10_001, "{}", "}"), SchemaTooBig, ["10000 levels"]),
        (nested('{"not":', 20_000, "{}", "}"), SchemaTooBig, ["10000 levels"]),
        ('{"default":[' + "0," * 99_998 + "0]}", SchemaTooBig, ["100000 values"]),
    ],
    ids=lambda value: str(value)[:20],
)
def test_natively_one_sentence_says_what_and_where(text: str, error: type[BadSchema], parts: list[str]) -> None:
    with pytest.raises(error) as caught:
        parse_schema(text, profile=NATIVE, where="--json-schema")
    message = str(caught.value)
    assert message.startswith("--json-schema: ")
    assert "\n" not in message
    for part in parts:
        assert part in message


def test_hostile_text_is_refused_quickly() -> None:
    start = time.process_time()
    for text in ("[" * 1_000_000, '{"a":' * 200_000, '{"a":' + "9" * 1_000_000 + "}", '"' + "\\" * 1_000_000):
        with pytest.raises(BadSchema):
            parse_schema(text, profile=NATIVE)
    assert time.process_time() - start < 12


def test_a_value_becomes_the_same_schema_as_its_text() -> None:
    value = OrderedDict(type="object", properties={"a": {"enum": (1, 0.5, None, True)}})
    schema = schema_from_value(value)
    assert schema.text == '{"type":"object","properties":{"a":{"enum":[1,0.5,null,true]}}}'
    value["type"] = "array"
    assert schema.value["type"] == "object"


@pytest.mark.parametrize("value", [[], None, True, 5])
def test_a_value_that_is_no_object_is_refused(value: object) -> None:
    with pytest.raises(SchemaNotAnObject):
        schema_from_value(value)


def test_a_string_is_not_taken_for_schema_text() -> None:
    with pytest.raises(SchemaNotAnObject, match="it is a string"):
        schema_from_value("{}")


@pytest.mark.parametrize("value", [{"a": object()}, {1: 2}, {"a": float("nan")}, {"a": b"x"}])
def test_a_value_that_no_json_holds_is_refused(value: object) -> None:
    with pytest.raises(NotASchema, match="no JSON value"):
        schema_from_value(value, where="output")
