"""Pieces of patterns: classes by code points, and how the cost of a piece adds up."""

from __future__ import annotations

import pytest

from lastcall.contract.ecma_pieces import (
    MAX_CODE,
    CharClass,
    Example,
    Piece,
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


@pytest.mark.parametrize(
    ("properties", "negated", "engine", "shown"),
    [
        (("\\p{Lu}",), False, "[\\p{Lu}]", "A"),
        (("\\p{Script=Greek}",), False, "[\\p{Script=Greek}]", "\u03b1"),
        (("\\p{Script=Khmer}",), False, "[\\p{Script=Khmer}]", None),
        (("\\P{Lu}",), False, "[\\P{Lu}]", None),
        (("\\p{Lu}",), True, "[^\\p{Lu}]", None),
    ],
)
def test_a_class_of_a_property_shows_a_character_where_one_is_known(
    properties: tuple[str, ...], negated: bool, engine: str, shown: str | None
) -> None:
    piece = class_piece(CharClass((), properties), negated=negated)
    assert piece.engine == engine
    assert piece.plain is None
    assert (piece.example.text() if piece.example else None) == shown


def test_a_class_shows_a_friendly_character_that_it_holds() -> None:
    shown = [class_piece(CharClass(r)).example for r in (((0x30, 0x7A),), ((0x21, 0x2F),), ((0x3B1, 0x3C9),))]
    assert [one.text() for one in shown if one] == ["a", "-", "\u03b1"]
    assert class_piece(CharClass(((0x61, 0x7A),)), negated=True).example == Example("A")


def test_a_sequence_stretches_in_its_first_repetition_alone() -> None:
    a, b = literal(0x61), literal(0x62)
    many_a, many_b = repeated(a, 1, None, lazy=False), repeated(b, 0, None, lazy=False)
    both = sequence([b, many_a, many_b, b])
    assert both.example is not None
    assert both.example.text() == "bab"
    assert both.example.text(6) == "baaaab"


def test_a_sequence_with_a_part_of_which_no_text_is_known_has_none() -> None:
    unknown = class_piece(CharClass((), ("\\P{Lu}",)))
    assert sequence([literal(0x61), unknown]).example is None
    assert sequence([]).engine == "(?:)"
    assert sequence([literal(0x61)]) == literal(0x61)
    assert choice([unknown, literal(0x61)]).example == Example("a")
    assert choice([unknown, literal(0x61)]).plain is None
    assert choice([literal(0x61)]) == literal(0x61)
    assert repeated(unknown, 0, 3, lazy=False).example == Example("")
    assert repeated(unknown, 1, 3, lazy=False).example is None


def test_a_counted_repetition_shows_what_it_must_and_can_take() -> None:
    exact, some = repeated(literal(0x61), 3, 3, lazy=False).example, repeated(literal(0x61), 1, 4, lazy=False).example
    assert exact == Example("aaa")
    assert some is not None
    assert (some.text(), some.text(9)) == ("a", "aaaa")
    assert repeated(literal(0x61), 2_000_000, None, lazy=False).example is None


def test_what_takes_no_character_is_not_repeated() -> None:
    start = Piece("^", zero_width=True, anchored=True, example=Example(""))
    group = Piece("(^)", zero_width=True, anchored=True, captures=(1,))
    assert repeated(start, 2, 5, lazy=False) == start
    assert repeated(start, 0, 5, lazy=False) == Piece("(?:)", example=Example(""), zero_width=True)
    maybe = repeated(group, 0, 1, lazy=False)
    assert (maybe.engine, maybe.anchored, maybe.captures) == ("(?:(^)|)", False, (1,))
