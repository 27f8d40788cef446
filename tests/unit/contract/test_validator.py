"""The validator as a whole: the corpus, what `compile_validator` refuses, budgets of what is told."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from lastcall.contract import budgets
from lastcall.contract.budgets import Budget, BudgetExceeded
from lastcall.contract.dialects import (
    DRAFT_04,
    DRAFT_07,
    DRAFT_2019_09,
    DRAFT_2020_12,
    REFERENCE,
    SchemaDialect,
)
from lastcall.contract.validator import compile_validator
from lastcall.errors import NotASchema, SchemaTooBig
from validation_tools import DATA, compiled, errors_of, findings, lines, shared_folder, text_of

MISSES = json.loads((DATA / "misses.json").read_text("utf-8"))
SHARED = shared_folder()


def refusal(schema: Any, dialect: SchemaDialect) -> NotASchema:
    with pytest.raises(NotASchema) as caught:
        compile_validator(schema, dialect, assert_formats=True)
    return caught.value


def messages(schema: Any, value: Any, dialect: SchemaDialect = DRAFT_2020_12) -> list[str]:
    problems = compile_validator(schema, dialect, assert_formats=True).problems(value)
    assert problems.total == len(problems.listed)
    return [f"{problem.path} {problem.message}" for problem in problems.listed]


# -- the corpora ----------------------------------------------------------------------------------------------------


def scored(schemas: str, cases: str, folder: Any) -> tuple[set[str], set[str], Counter[str], Counter[str]]:
    """Ids with another verdict than expected, ids with another text, cases and same texts by dialect.

    In the later dialects the specification's verdict is expected where AJV's differs.
    """
    verdicts: set[str] = set()
    texts: set[str] = set()
    asked: Counter[str] = Counter()
    same: Counter[str] = Counter()
    for entry, case, problems in findings(schemas, cases, folder):
        right = case["valid"] != (entry["dialect"] != "draft-07" and case.get("differs", False))
        if (problems.total == 0) != right:
            verdicts.add(case["id"])
        if text_of(problems) != case["text"] or errors_of(problems) != case["errors"]:
            texts.add(case["id"])
        else:
            same[entry["dialect"]] += 1
        asked[entry["dialect"]] += 1
    return verdicts, texts, asked, same


def test_the_corpus_gets_the_references_verdicts_and_texts() -> None:
    verdicts, texts, asked, same = scored("schemas", "cases", DATA)
    listed = {case for case in MISSES["texts"] if case >= "v0600"}
    assert verdicts == set()
    assert texts == listed
    assert same["draft-07"] == asked["draft-07"] == 2920


@pytest.mark.skipif(SHARED is None, reason="the suite's cases are not copied into the repository")
def test_the_suites_cases_get_the_references_verdicts_and_texts() -> None:
    verdicts, texts, asked, same = scored("suite-schemas", "suite-cases", SHARED)
    assert verdicts == set(MISSES["verdicts"])
    assert texts == {case for case in MISSES["texts"] if case < "v0600"}
    assert same["draft-07"] >= 0.99 * asked["draft-07"] > 0


def compile_findings(name: str, folder: Any) -> list[tuple[str, Any, Any]]:
    wrong = []
    for entry in lines(name, exact=False, folder=folder):
        if isinstance(entry["schema"], bool):
            continue
        expected = (entry["ok"], entry["error"], entry["warnings"] if entry["ok"] else None)
        try:
            validator = compile_validator(entry["schema"], REFERENCE, assert_formats=False)
            found = (True, None, list(validator.warnings))
        except NotASchema as error:
            found = (False, error.message, None)
        if found != expected:
            wrong.append((entry["id"], expected, found))
    return wrong


def test_the_reference_refuses_and_warns_as_recorded() -> None:
    assert compile_findings("compile", DATA) == []


@pytest.mark.skipif(SHARED is None, reason="the suite's cases are not copied into the repository")
def test_the_reference_refuses_and_warns_on_the_suite_as_recorded() -> None:
    assert compile_findings("suite-compile", SHARED) == []


def test_where_the_reference_departs_from_the_specification_the_native_dialect_is_right() -> None:
    entries = {entry["sid"]: entry for entry in lines("schemas", exact=True)}
    asked = 0
    for case in lines("cases", exact=True):
        if case.get("differs"):
            schema = entries[case["sid"]]["schema"]
            validator = compile_validator(schema, DRAFT_07, assert_formats=True)
            asked += 1
            problems = validator.problems(case["instance"])
            if case["sid"] == "s1478":
                # marked for validators whose engine is not ECMA's; ours is, so it agrees with the reference
                assert text_of(problems) == case["text"]
            else:
                assert (problems.total == 0) != case["valid"], case["id"]
    assert asked == 14


def test_the_native_dialect_gives_the_same_texts_on_real_schemas() -> None:
    entries = {entry["sid"]: entry for entry in lines("schemas", exact=True) if entry["source"] == "realistic"}
    wrong = []
    for case in lines("cases", exact=True):
        entry = entries.get(case["sid"])
        if entry is not None and entry["dialect"] == "draft-07":
            problems = compiled(entry["schema"], DRAFT_07).problems(case["instance"])
            if text_of(problems) != case["text"]:
                wrong.append(case["id"])
    # numbers of 10^21 and more, which AJV never takes for a multiple
    assert wrong == ["v0617-58", "v0617-73", "v0629-77"]


# -- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", [DRAFT_2020_12, REFERENCE])
def test_schemas_over_the_budgets_are_refused(dialect: SchemaDialect) -> None:
    for schema in ({"enum": list(range(100_001))}, nested_lists(10_001)):
        with pytest.raises(SchemaTooBig):
            compile_validator(schema, dialect, assert_formats=True)
    compile_validator(nested_lists(9_999), dialect, assert_formats=True)


def nested_lists(levels: int) -> dict[str, Any]:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return {"default": value}


def test_the_references_sentence_for_a_schema_over_the_budgets() -> None:
    with pytest.raises(SchemaTooBig, match=r"^schema too large$"):
        compile_validator(nested_lists(10_001), REFERENCE, assert_formats=True)


@pytest.mark.parametrize(
    ("named", "sentence"),
    [
        (7, "$schema must be a string"),
        (
            "https://json-schema.org/draft/2020-12/schema",
            'no schema with key or ref "https://json-schema.org/draft/2020-12/schema"',
        ),
    ],
)
def test_the_reference_refuses_other_dialects(named: Any, sentence: str) -> None:
    assert refusal({"$schema": named}, REFERENCE).message == sentence


@pytest.mark.parametrize("named", ["http://json-schema.org/draft-07/schema#", "http://json-schema.org/schema", ""])
def test_the_reference_takes_its_own_dialect(named: str) -> None:
    assert compile_validator({"$schema": named}, REFERENCE, assert_formats=True).warnings == ()


def test_a_schema_that_its_metaschema_does_not_allow_is_refused_with_place_and_reason() -> None:
    error = refusal({"properties": {"n": {"type": "strin"}}}, DRAFT_2020_12)
    assert error.where == "/properties/n/type"
    assert error.message == (
        "the schema is not valid 2020-12: the value must be one of array, boolean, integer, null, number, object, string "
        "(2 more problems)."
    )
    assert "2020-12" in error.hint
    assert refusal({"minLength": -1}, DRAFT_04).message == ("the schema is not valid draft-04: the value must be >= 0.")


def test_a_root_that_is_wrong_itself_is_named_as_a_slash() -> None:
    lenient = replace(DRAFT_04, name="draft-04, strangely")
    error = refusal({"exclusiveMaximum": True}, lenient)
    assert error.where == "/"


@pytest.mark.parametrize("dialect", [DRAFT_2019_09, DRAFT_2020_12])
def test_the_metaschemas_vocabularies_are_all_asked(dialect: SchemaDialect) -> None:
    wrong = {
        "$id": 1,
        "$anchor": "a b",
        "$defs": {"a": 1},
        "allOf": [],
        "properties": {"a": []},
        "unevaluatedItems": 1,
        "multipleOf": 0,
        "title": 1,
        "format": 1,
        "contentEncoding": 1,
        "dependencies": {"a": 1},
    }
    for keyword, value in wrong.items():
        assert refusal({keyword: value}, dialect).where.startswith(f"/{keyword}"), keyword


# -- what is told ---------------------------------------------------------------------------------------------------


def test_every_problem_is_counted_and_the_first_thousand_are_listed() -> None:
    validator = compile_validator({"items": {"type": "string"}}, DRAFT_2020_12, assert_formats=True)
    problems = validator.problems([1] * 5000)
    assert problems.total == 5000
    assert len(problems.listed) == 1000
    assert problems.listed[999].path == "/999"


def test_the_listed_text_is_bounded_but_never_empty() -> None:
    validator = compile_validator(
        {"additionalProperties": {"items": {"type": "string"}}}, DRAFT_2020_12, assert_formats=True
    )
    problems = validator.problems({"k" * 2_000_000: [1, 2, 3]})
    assert problems.total == 3
    assert [len(problem.path) for problem in problems.listed] == [2_000_003]


def test_a_valid_value_has_no_problems() -> None:
    problems = compile_validator({}, DRAFT_2020_12, assert_formats=True).problems({"a": 1})
    assert (problems.listed, problems.total) == ((), 0)


@pytest.mark.parametrize(
    ("schema", "value", "budget", "sentence"),
    [
        ({"items": {"$ref": "#"}}, "deep", Budget.DEPTH, "Maximum call stack size exceeded."),
        ({"items": {"pattern": r"^(a|aa)+\1?(?=c)"}}, ["a" * 60], Budget.PATTERN, "a pattern takes too long"),
        ({"items": {"anyOf": [{"const": i} for i in range(1000)]}}, ["x"] * 1000, Budget.STEPS, "would take too long"),
    ],
)
def test_a_check_that_is_given_up_says_which_budget(schema: Any, value: Any, budget: Budget, sentence: str) -> None:
    if value == "deep":
        for _ in range(100_000):
            value = [value]
    validator = compile_validator(schema, REFERENCE, assert_formats=True)
    with pytest.raises(BudgetExceeded, match=sentence) as caught:
        validator.problems(value)
    assert caught.value.budget is budget


def test_dialects_of_one_name_share_their_prepared_metaschema() -> None:
    again = replace(DRAFT_07, overwork="another sentence")
    assert compile_validator({"type": "object"}, again, assert_formats=True).problems({}).total == 0


def test_formats_are_checked_when_asked() -> None:
    schema = {"format": "date"}
    assert messages(schema, "2026-02-30") == [' must match format "date"']
    assert compile_validator(schema, DRAFT_2020_12, assert_formats=False).problems("2026-02-30").total == 0


def test_numbers_are_exact() -> None:
    schema = {"multipleOf": Decimal("0.01"), "maximum": 2**53}
    assert messages(schema, Decimal("19.99")) == []
    assert messages(schema, 2**53 + 1) == [" must be <= 9007199254740992"]


def test_the_budgets_leave_room_for_what_is_honest() -> None:
    schema = {"properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}}
    value: Any = None
    for _ in range(1000):
        value = {"next": value}
    assert messages(schema, value) == []
    assert budgets.CHECK_DEPTH > 1000


def test_a_node_of_a_schema_can_be_asked_by_itself():
    schema = {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    validator = compile_validator(schema, DRAFT_2020_12, assert_formats=True)
    assert validator.root.schema is schema
    first = validator.root.child(schema["anyOf"][0])
    assert [p.keyword for p in validator.problems_at(first, {"b": 1}).listed] == ["required"]
    assert validator.fits(first, {"a": 1})
    assert not validator.fits(first, {"b": 1})


def test_a_check_of_a_node_that_is_given_up_does_not_fit(monkeypatch):
    schema = {"type": "array", "items": {"type": "integer"}}
    validator = compile_validator(schema, DRAFT_2020_12, assert_formats=True)
    monkeypatch.setattr(budgets, "CHECK_STEPS", 5)
    assert not validator.fits(validator.root, list(range(100)))
