"""What the reference coerces, as recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lastcall.contract.coercion import coerce_top_level, input_issue
from lastcall.contract.json_grammar import Read
from lastcall.contract.json_text import read_json, write_json
from lastcall.contract.parse import parse_schema
from lastcall.nouns.json import JsonObject
from lastcall.nouns.profile import Profile

DATA = Path(__file__).parents[2] / "data" / "coercion" / "cases.jsonl"
CASES = [json.loads(line) for line in DATA.read_text().splitlines()]


def coerced(value: JsonObject, schema: str) -> JsonObject:
    return coerce_top_level(value, parse_schema(schema, profile=Profile.COMPAT))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_recorded_inputs_become_what_they_became(case: dict[str, str]) -> None:
    read = read_json(case["input"], numbers="doubles")
    assert isinstance(read, Read)
    issue = input_issue(read.value)
    if "issue" in case:
        assert f"<tool_use_error>InputValidationError: {issue}</tool_use_error>" == case["issue"]
        return
    assert issue is None
    assert isinstance(read.value, dict)
    expected = read_json(json.dumps(case["output"]), numbers="doubles")
    assert isinstance(expected, Read)
    assert write_json(coerced(read.value, case["schema"]), numbers="doubles") == write_json(
        expected.value, numbers="doubles"
    )


@pytest.mark.parametrize(
    ("value", "kind"),
    [([], "array"), ("x", "string"), (1, "number"), (1.5, "number"), (True, "boolean"), (None, "null")],
)
def test_the_issue_names_what_came(value: object, kind: str) -> None:
    issue = input_issue(value)  # type: ignore[arg-type]
    assert issue is not None
    assert issue.endswith(f"expected as `object` but provided as `{kind}`")


def test_numbers_have_to_be_spelled_as_javascript_prints_them() -> None:
    schema = '{"properties":{"n":{"type":"number"},"i":{"type":["integer","null"]}}}'
    for text, value in (
        ("1.5", 1.5),
        ("-7", -7),
        ("1e+21", 1e21),
        ("1.50", "1.50"),
        ("1e21", "1e21"),
        ("9" * 31, "9" * 31),
    ):
        assert coerced({"n": text}, schema) == {"n": value}
    assert coerced({"i": "2"}, schema) == {"i": 2}
    assert coerced({"i": "2.5"}, schema) == {"i": "2.5"}


def test_a_type_list_is_a_union() -> None:
    schema = '{"properties":{"v":{"type":["number","string"]},"a":{"type":["array","string"]},"b":{"type":["boolean","null"]}}}'
    assert coerced({"v": "1", "a": "[1]", "b": "\ufefftrue\n"}, schema) == {"v": "1", "a": [1], "b": True}


def test_containers_are_read_only_where_their_type_is_named() -> None:
    schema = '{"properties":{"o":{"type":"object"},"a":{"type":"array"}}}'
    assert coerced({"o": "[1]", "a": '{"x":1}'}, schema) == {"o": "[1]", "a": '{"x":1}'}
    assert coerced({"o": ' {"x":1}', "a": "[1,"}, schema) == {"o": {"x": 1}, "a": "[1,"}


def test_a_schema_that_goes_in_circles_coerces_nothing() -> None:
    schema = (
        '{"properties":{"v":{"$ref":"#/$defs/x"},"w":{"anyOf":[{"$ref":"#/properties/w"},7,{"type":3}]},"u":true},'
        '"$defs":{"x":{"$ref":"#/$defs/x"}}}'
    )
    value: JsonObject = {"v": "1", "w": "1", "u": "1", "x": "1"}
    assert coerced(value, schema) == value
    assert coerced(value, '{"properties":[]}') == value
