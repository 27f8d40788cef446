"""Keywords for strings."""

from __future__ import annotations

from typing import Any

import pytest

from keyword_tools import params, problems
from lastcall.contract.budgets import Budget, BudgetExceeded
from lastcall.contract.checking import Run
from lastcall.contract.dialects import DRAFT_07, DRAFT_2020_12, REFERENCE, SchemaDialect
from lastcall.contract.keywords.strings import searched
from lastcall.contract.patterns import compile_pattern


def test_lengths_count_code_points() -> None:
    assert problems({"maxLength": 2}, "😀😀") == []
    assert problems({"maxLength": 2}, "abc") == [" must NOT have more than 2 characters"]
    assert problems({"minLength": 2.0}, "😀") == [" must NOT have fewer than 2 characters"]
    assert problems({"minLength": 1, "maxLength": 1}, "\ud800") == []
    assert params({"minLength": 3}, "a") == [("minLength", {"limit": 3})]
    assert params({"maxLength": 0}, "a") == [("maxLength", {"limit": 0})]


def test_patterns_are_searched_for() -> None:
    assert problems({"pattern": "^a"}, "ba") == [' must match pattern "^a"']
    assert problems({"pattern": "a"}, "bab") == []
    assert params({"pattern": "^a$"}, "a\n") == [("pattern", {"pattern": "^a$"})]


def test_a_search_costs_by_length_and_by_the_need_to_backtrack() -> None:
    run = Run(10_000, str)
    assert searched(compile_pattern("a$"), "b" * 10_240 + "a", run)
    plain = 10_000 - run.steps
    assert not searched(compile_pattern("(?=x)y"), "z", run)
    assert plain == 10
    assert 10_000 - run.steps - plain > 100


def test_a_search_that_takes_too_long_is_given_up() -> None:
    with pytest.raises(BudgetExceeded, match="pattern") as caught:
        searched(compile_pattern(r"^(a|aa)+\1?(?=c)"), "a" * 60, Run(10_000, str))
    assert caught.value.budget is Budget.PATTERN


def test_formats_are_checked_if_asked_and_known() -> None:
    assert problems({"format": "date"}, "2024-13-01") == [' must match format "date"']
    assert params({"format": "date"}, "x") == [("format", {"format": "date"})]
    assert problems({"format": "date"}, "2024-12-01") == []
    assert problems({"format": "no-such"}, "x") == []
    assert problems({"format": "date"}, "x", assert_formats=False) == []
    assert problems({"format": "date"}, 5) == []


JSON_IN_BASE64 = {"contentEncoding": "base64", "contentMediaType": "application/json"}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"contentEncoding": "base64"}, "eyJmb28iOiAiYmFyIn0K", []),
        ({"contentEncoding": "base64"}, "eyJmb28iOi%iYmFyIn0K", [' must be encoded as "base64"']),
        ({"contentEncoding": "base64"}, "é", [' must be encoded as "base64"']),
        ({"contentEncoding": "gzip"}, "%", []),
        ({"contentMediaType": "application/json"}, '{"a": [1, 2.5e3, null]}', []),
        ({"contentMediaType": "application/json"}, "{:}", [' must hold "application/json"']),
        ({"contentMediaType": "application/json"}, "[" * 100_000, [' must hold "application/json"']),
        ({"contentMediaType": "application/json"}, '"\ud800"', [' must hold "application/json"']),
        ({"contentMediaType": "text/plain"}, "{:}", []),
        (JSON_IN_BASE64, "eyJmb28iOiAiYmFyIn0K", []),
        (JSON_IN_BASE64, "ezp9Cg==", [' must hold "application/json"']),
        (JSON_IN_BASE64, "{}", [' must be encoded as "base64"']),
        ({"contentEncoding": "gzip", "contentMediaType": "application/json"}, "{:}", []),
    ],
)
def test_contents_are_checked_in_draft_07(schema: Any, value: str, expected: list[str]) -> None:
    assert problems(schema, value, DRAFT_07) == expected
    assert problems(schema, value, DRAFT_07, assert_formats=False) == []


@pytest.mark.parametrize("dialect", [DRAFT_2020_12, REFERENCE])
def test_contents_are_notes_elsewhere(dialect: SchemaDialect) -> None:
    assert problems(JSON_IN_BASE64, "%", dialect) == []
