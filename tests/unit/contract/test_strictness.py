"""The reference's strict mode: refusals and log lines, recorded from AJV 8.20."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastcall.contract import budgets, strictness
from lastcall.contract.dialects import REFERENCE
from lastcall.contract.nodes import Space
from lastcall.errors import NotASchema, SchemaTooBig
from validation_tools import DATA, lines

RECORDED = [json.loads(line) for line in (DATA / "strict.jsonl").read_text("utf-8").splitlines()]


def inspected(schema: Any) -> tuple[str, ...]:
    return strictness.inspect(Space(schema, REFERENCE, assert_formats=False))


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: json.dumps(case["schema"])[:60])
def test_a_schema_is_refused_or_logged_as_recorded(case: dict[str, Any]) -> None:
    schema, error, warnings = case["schema"], case["error"], case["warnings"]
    if error is None:
        assert list(inspected(schema)) == warnings
    else:
        with pytest.raises(NotASchema) as caught:
            inspected(schema)
        assert caught.value.message == error


@pytest.mark.parametrize(
    "case", [case for case in RECORDED if case.get("problems") is not None], ids=lambda case: str(case["value"])
)
def test_values_are_judged_as_recorded(case: dict[str, Any]) -> None:
    from lastcall.contract.validator import compile_validator

    problems = compile_validator(case["schema"], REFERENCE, assert_formats=False).problems(case["value"])
    assert [f"{problem.path} {problem.message}" for problem in problems.listed] == case["problems"]


def test_the_corpus_is_refused_and_logged_as_recorded() -> None:
    wrong = []
    for entry in lines("compile", exact=False):
        if entry["stage"] == "metaschema" or "$schema" in entry["schema"]:
            continue
        try:
            found = (None, list(inspected(entry["schema"])))
        except NotASchema as error:
            found = (error.message, None)
        if found != (entry["error"], entry["warnings"] if entry["ok"] else None):
            wrong.append(entry["id"])
    assert wrong == []


def test_pure_references_in_a_circle_overflow_the_references_stack() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/$defs/x"}},
        "$defs": {"x": {"$ref": "#/$defs/y"}, "y": {"$ref": "#/$defs/x"}},
    }
    with pytest.raises(NotASchema, match=r"^Maximum call stack size exceeded\.$"):
        inspected(schema)


def test_a_thousand_levels_are_taken_and_unbounded_depth_is_the_references_overflow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    schema: dict[str, Any] = {}
    for _ in range(1000):
        schema = {"not": schema}
    assert inspected(schema) == ()
    monkeypatch.setattr(budgets, "META_DEPTH", 100)
    with pytest.raises(NotASchema, match="Maximum call stack"):
        inspected(schema)


def test_copies_in_line_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "COMPILE_STEPS", 50)
    schema = {
        "properties": {f"p{index}": {"$ref": "#/definitions/d"} for index in range(10)},
        "definitions": {"d": {"properties": {f"q{index}": {"type": "null"} for index in range(10)}}},
    }
    with pytest.raises(SchemaTooBig, match=r"^schema too large$"):
        inspected(schema)


def test_log_lines_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "WARNING_CHARS", 100)
    assert len(inspected({"allOf": [{"minimum": 1}] * 20})) == 2


def test_the_bundled_metaschema_may_be_referred_to() -> None:
    assert inspected({"type": "object", "properties": {"a": {"$ref": "http://json-schema.org/draft-07/schema#"}}}) == ()


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "contentEncoding": "base64", "contentMediaType": "text/plain"},  # annotations in draft-07
        {"type": "object", "patternProperties": {"^a": True, "^b": {"type": "string"}}},
        {"type": "object", "definitions": {"a": {"$ref": "#"}}, "properties": {"x": {"$ref": "#/definitions/a"}}},
    ],
)
def test_nothing_is_said_of_what_asserts_nothing_or_comes_back_to_the_root(schema: Any) -> None:
    assert inspected(schema) == ()
