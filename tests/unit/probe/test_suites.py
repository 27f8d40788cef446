"""The built-in suites, and suites in files."""

from __future__ import annotations

import json

import pytest

from lastcall.errors import BadConfig
from lastcall.probe.suites import contract_of, find_suite, keywords, only, read_suite, seven_constraints

FILE = {
    "name": "mine",
    "trials": 5,
    "cases": [{"name": "a", "prompt": "Say a.", "schema": {"type": "object"}, "conflicts": True}],
}


def test_the_seven_constraints_are_tried_in_eleven_cases_three_times_each():
    suite = seven_constraints()
    assert (len(suite.families), len(suite.cases), suite.trials) == (7, 11, 3)
    assert all(case.conflicts for case in suite.cases)
    assert [sum(case.may_correct is lax for case in suite.cases) for lax in (False, True)] == [7, 4]


def test_every_family_is_tried_with_and_without_conflict_and_permission():
    suite = keywords()
    kinds = {(case.family, case.conflicts, case.may_correct) for case in suite.cases}
    assert len(suite.cases) == len(kinds) == 4 * len(suite.families) == 4 * 14
    assert len({case.name for case in suite.cases}) == len(suite.cases)


@pytest.mark.parametrize("case", keywords().cases, ids=lambda case: case.name)
def test_the_contract_of_every_case_compiles_without_a_warning(case):
    assert contract_of(case).warnings == ()


def test_some_families_can_be_chosen_and_one_that_is_not_there_is_named():
    assert only(keywords(), ["format", "enum"]).families == ("enum", "format")
    with pytest.raises(BadConfig, match="no family 'enums'"):
        only(keywords(), ["enums"])


def test_a_suite_is_found_by_name_or_file_and_else_the_names_are_told(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(FILE))
    assert find_suite("keywords") == keywords()
    found = find_suite(str(path))
    assert (found.name, found.trials) == ("mine", 5)
    assert [(c.name, c.family, c.prompt, c.schema_text, c.conflicts, c.may_correct) for c in found.cases] == [
        ("a", "a", "Say a.", '{"type":"object"}', True, False)
    ]
    with pytest.raises(BadConfig, match="keywords, seven-constraints"):
        find_suite("eight")
    with pytest.raises(BadConfig, match="cannot be read"):
        find_suite(str(tmp_path))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"cases": []}, "needs a case"),
        ({"cases": FILE["cases"] * 2}, "two cases are called 'a'"),
        ({"trials": 0}, "from 1 to 1000"),
        ({"trails": 3}, "no suite: .*trails"),
        ({"cases": [{"name": "a", "prompt": "p", "schema": {"type": "objekt"}}]}, "^a: its schema cannot be used"),
        ({"cases": [{"name": "a", "prompt": "p", "schema": True}]}, "no suite"),
    ],
)
def test_a_file_that_is_no_suite_is_refused_in_a_sentence(change, why):
    with pytest.raises(BadConfig, match=why):
        read_suite(json.dumps(FILE | change).encode(), where="mine.json")


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b"\xff\xfe", b"[" * 100_000])
def test_any_other_text_is_refused_in_a_sentence(text):
    with pytest.raises(BadConfig, match="this is no suite"):
        read_suite(text, where="mine.json")
