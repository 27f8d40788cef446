"""Strings and numbers for samples."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from lastcall.contract.formats import check_format
from lastcall.contract.sample_scalars import _FORMATS, matches, number_between, text_like
from lastcall.contract.sample_terms import NoSample


@pytest.mark.parametrize("name", sorted(_FORMATS))
def test_every_format_has_28_different_examples(name: str) -> None:
    texts = {text_like({"format": name}, variant) for variant in range(28)}
    assert len(texts) == 28
    assert all(check_format(name, text) for text in texts)
    with pytest.raises(NoSample):
        text_like({"format": name}, 28)


@pytest.mark.parametrize(
    ("node", "variant", "text"),
    [
        ({}, 0, "text"),
        ({}, 2, "text 2"),
        ({"minLength": 8}, 0, "text...."),
        ({"maxLength": 2}, 0, ""),
        ({"maxLength": 2}, 1, "a"),
        ({"maxLength": 2}, 28, "bb"),
        ({"pattern": "^INC-[0-9]{4}$"}, 0, "INC-0000"),
        ({"pattern": "^INC-[0-9]{4}$"}, 2, "INC-0002"),
        ({"pattern": "^[a-z]+$", "minLength": 5}, 0, "aaaaa"),
        ({"pattern": "^[a-z]+$"}, 2, "aaa"),
        ({"pattern": "b", "minLength": 4}, 0, "baaa"),
        ({"pattern": "b$", "minLength": 4}, 0, "aaab"),
        ({"pattern": "^a", "format": "date"}, 0, "a"),
    ],
)
def test_texts(node: dict[str, Any], variant: int, text: str) -> None:
    assert text_like(node, variant) == text


@pytest.mark.parametrize(
    ("node", "variant"),
    [
        ({"minLength": 200_000}, 0),
        ({"pattern": "("}, 0),
        ({"pattern": "(a)\\1"}, 0),
        ({"pattern": "^a$", "minLength": 2}, 0),
        ({"pattern": "^abc$", "maxLength": 2}, 0),
        ({"pattern": "^a$"}, 1),
        ({"pattern": "^(?!a)\\w$"}, 0),
    ],
)
def test_texts_that_cannot_be_told(node: dict[str, Any], variant: int) -> None:
    with pytest.raises(NoSample):
        text_like(node, variant)


def test_a_pattern_that_cannot_be_searched_ends_the_try() -> None:
    assert matches("^a", "ab")
    with pytest.raises(NoSample):
        matches("(", "a")


@pytest.mark.parametrize(
    ("node", "variant", "whole", "number"),
    [
        ({}, 0, True, 0),
        ({}, 3, True, 3),
        ({"minimum": 5}, 0, True, 5),
        ({"exclusiveMinimum": 5}, 0, True, 6),
        ({"exclusiveMinimum": Decimal("5.5")}, 0, True, 6),
        ({"maximum": -3}, 0, True, -3),
        ({"exclusiveMaximum": -3}, 0, True, -4),
        ({"maximum": 2}, 3, True, -3),
        ({"minimum": 7, "multipleOf": 5}, 0, True, 10),
        ({"minimum": Decimal("0.2"), "maximum": Decimal("0.9")}, 0, False, Decimal("0.5")),
        ({"minimum": 1, "maximum": 3, "multipleOf": Decimal("0.25")}, 1, False, Decimal("1.25")),
        ({"minimum": -5, "maximum": -3}, 0, True, -5),
    ],
)
def test_numbers(node: dict[str, Any], variant: int, whole: bool, number: object) -> None:
    assert number_between(node, variant, whole=whole) == number


def test_a_whole_number_that_there_is_not() -> None:
    with pytest.raises(NoSample):
        number_between({"minimum": Decimal("0.5"), "multipleOf": Decimal("0.5")}, 0, whole=True)
