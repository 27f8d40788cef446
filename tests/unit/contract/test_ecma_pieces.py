"""Pieces of patterns: classes by code points, and how the cost of a piece adds up."""

from __future__ import annotations

import pytest

from lastcall.contract.ecma_pieces import (
    MAX_CODE,
    CharClass,
    Example,
    choice,
    class_piece,
    complement,
    literal,
    merged,
    repeated,
    sequence,
)


def test_ranges_are_merged_and_complemented() -> None:
    assert merged(((5, 9), (1, 3), (4, 4), (20, 21), (8, 12))) == ((1, 12), (20, 21))
    assert complement(((1, 3), (5, MAX_CODE))) == ((0, 0), (4, 4))
    assert complement(()) == ((0, MAX_CODE),)
    assert complement(((0, MAX_CODE),)) == ()


def test_half_pairs_are_shown_to_the_engine_as_private_code_points() -> None:
    assert literal(0xD800).engine == "\\u{10F800}"
    assert literal(0x61).engine == "\\u{61}"
    assert class_piece(CharClass(((0xD7FF, 0xE000),))).engine == "[\\u{D7FF}\\u{E000}\\u{10F800}-\\u{10FFFF}]"
    assert class_piece(CharClass(((0xDC00, 0xDC01),))).engine == "[\\u{10FC00}-\\u{10FC01}]"


def test_the_empty_class_never_matches() -> None:
    assert class_piece(CharClass(())).engine == "[^\\u{0}-\\u{10FFFF}]"


def test_costs_add_up() -> None:
    one = literal(0x61)
    pair = sequence([one, one])
    assert pair.plain is not None
    assert (pair.plain.ways, pair.plain.length, pair.plain.unbounded) == (1, 2, 0)
    some = repeated(one, 1, 3, lazy=False)
    assert some.plain is not None
    assert (some.plain.ways, some.plain.length) == (3, 3)
    many = repeated(one, 0, None, lazy=True)
    assert many.plain is not None
    assert (many.plain.ways, many.plain.length, many.plain.unbounded) == (2, 0, 1)
    both = choice([pair, some])
    assert both.plain is not None
    assert (both.plain.ways, both.plain.length) == (4, 3)
    assert repeated(many, 0, 2, lazy=False).plain is None
    assert repeated(some, 2, 2, lazy=False).plain is None
    assert repeated(pair, 2, 2, lazy=False).plain is not None
    assert repeated(pair, 2, None, lazy=False).plain is None


@pytest.mark.parametrize(
    ("example", "length", "text"),
    [
        (Example("a"), 5, "a"),
        (Example("a", "xy", "b", 9), 0, "ab"),
        (Example("a", "xy", "b", 9), 5, "axyxyb"),
        (Example("a", "x", "", 2), 9, "axx"),
    ],
)
def test_examples_stretch(example: Example, length: int, text: str) -> None:
    assert example.text(length) == text
