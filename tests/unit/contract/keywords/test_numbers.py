"""Keywords for numbers."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from keyword_tools import params, problems
from lastcall.contract.dialects import DRAFT_04, REFERENCE

BOUNDS = [
    ("maximum", 5, [5, 4.9, Decimal("5.0")], [5.1, 6, Decimal("5.0000000000000000001")], "<="),
    ("minimum", -1.5, [-1.5, 0], [-1.6, -2], ">="),
    ("exclusiveMaximum", 5, [4], [5, 5.0, 6], "<"),
    ("exclusiveMinimum", 5, [6], [5, Decimal(5), 4], ">"),
]


@pytest.mark.parametrize(("keyword", "limit", "good", "bad", "sign"), BOUNDS)
def test_bounds(keyword: str, limit: Any, good: list[Any], bad: list[Any], sign: str) -> None:
    for value in [*good, "not a number", True]:
        assert problems({keyword: limit}, value) == []
    for value in bad:
        assert problems({keyword: limit}, value) == [f" must be {sign} {limit}"]
        assert params({keyword: limit}, value) == [(keyword, {"comparison": sign, "limit": limit})]


@pytest.mark.parametrize(("keyword", "limit", "good", "bad", "sign"), BOUNDS)
def test_bounds_as_doubles(keyword: str, limit: Any, good: list[Any], bad: list[Any], sign: str) -> None:
    for value in good:
        assert problems({keyword: float(limit)}, float(value), REFERENCE) == []
    whole = [value for value in bad if isinstance(value, int)]
    for value in whole:
        assert problems({keyword: limit}, value, REFERENCE) == [f" must be {sign} {limit}"]


def test_the_keywords_come_in_the_references_order() -> None:
    schema = {"multipleOf": 7, "exclusiveMinimum": 9, "exclusiveMaximum": 1, "minimum": 8, "maximum": 2}
    assert problems(schema, 5) == [
        " must be <= 2",
        " must be >= 8",
        " must be < 1",
        " must be > 9",
        " must be multiple of 7",
    ]


def test_in_draft_04_exclusiveness_is_a_flag() -> None:
    schema = {"maximum": 5, "exclusiveMaximum": True, "minimum": 1, "exclusiveMinimum": False}
    assert problems(schema, 5, DRAFT_04) == [" must be < 5"]
    assert problems(schema, 1, DRAFT_04) == []
    assert problems({"minimum": 1, "exclusiveMinimum": True}, 1, DRAFT_04) == [" must be > 1"]


def test_multiples() -> None:
    assert problems({"multipleOf": Decimal("0.01")}, Decimal("19.99")) == []
    assert params({"multipleOf": 3}, 4) == [("multipleOf", {"multipleOf": 3})]
    assert problems({"multipleOf": 0.01}, 19.99, REFERENCE) == [" must be multiple of 0.01"]
    assert problems({"multipleOf": 3}, "a") == []
