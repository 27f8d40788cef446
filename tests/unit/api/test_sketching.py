"""Partial values in the shape of their types."""

from __future__ import annotations

import datetime as dt
import enum
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypedDict, TypeVar

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from lastcall.api.sketching import sketch

T = TypeVar("T")


class Color(enum.Enum):
    RED = "red"


class Line(BaseModel):
    name: str
    amount: Decimal
    day: dt.date | None = None


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    bark: str


class Invoice(BaseModel):
    vendor: str = Field(alias="vendorName", min_length=30)
    lines: list[Line]
    pet: Cat | Dog | None = None
    color: Color = Color.RED
    tags: set[str] = Field(default_factory=set)
    parent: Invoice | None = None


@dataclass(frozen=True)
class Point:
    x: int
    y: list[int] = field(default_factory=list)

    def __post_init__(self):
        if self.x > 100:
            raise ValueError("too far")


class Packed(msgspec.Struct, frozen=True, rename="camel"):
    first_name: str
    n: int = 3
    points: list[Point] = []


@attrs.define
class Classy:
    x: int = attrs.field(validator=attrs.validators.gt(5))
    y: str = "d"
    z: Point | None = None


class Pair(NamedTuple):
    a: int
    b: str


class Titled(TypedDict, total=False):
    point: Point


class Box(BaseModel, Generic[T]):
    item: T
    more: list[T]


class Touchy(BaseModel):
    name: str
    other: str

    def model_post_init(self, context):
        raise RuntimeError(self.name)


def test_a_model_is_made_unchecked_with_what_is_written_defaults_and_none():
    made = sketch(
        {"vendorName": "Ac", "lines": [{"name": "rent", "amount": "1.5", "day": "2026-01-02"}, {"na": 1}]}, Invoice
    )
    assert isinstance(made, Invoice)
    assert (made.vendor, made.pet, made.color, made.tags) == ("Ac", None, Color.RED, set())
    assert made.lines[0] == Line(name="rent", amount=Decimal("1.5"), day=dt.date(2026, 1, 2))
    assert (made.lines[1].name, made.lines[1].day) == (None, None)
    assert sketch({"parent": {"vendorName": "B"}}, Invoice).parent.vendor == "B"
    assert sketch({}, Invoice).tags is not sketch({}, Invoice).tags


def test_a_member_of_a_union_is_told_by_its_tag_and_else_stays_plain():
    assert sketch({"pet": {"kind": "dog"}}, Invoice).pet == Dog.model_construct(kind="dog", bark=None)
    assert sketch({"pet": {"kind": "do"}}, Invoice).pet == {"kind": "do"}
    assert sketch({"pet": {}}, Invoice).pet == {}
    assert sketch({"pet": None}, Invoice).pet is None
    assert sketch([1], int | list[int]) == [1]
    assert sketch("x", int | str) == "x"
    assert sketch([{"x": 1}], Point | list[Point]) == [Point(1)]
    assert sketch({"x": 1}, Annotated[Point, "note"] | list[Point]) == Point(1)
    assert sketch({"x": 1}, Point | dict[str, int]) == {"x": 1}


@pytest.mark.parametrize(
    ("value", "annotation", "expected"),
    [
        ({"x": 1}, Point, Point(1)),
        ({"firstName": "A", "points": [{"x": 3}]}, Packed, Packed("A", 3, [Point(3)])),
        ({"x": 7, "z": {"x": 2}}, Classy, Classy(7, "d", Point(2))),
        ([1], Pair, Pair(1, None)),
        ({"point": {"x": 1}, "odd": 2}, Titled, {"point": Point(1), "odd": 2}),
        ([{"x": 1}], list[Point], [Point(1)]),
        ({"a": {"x": 2}}, dict[str, Point], {"a": Point(2)}),
        ([1, {"x": 2}], tuple[int, Point], (1, Point(2))),
        ([{"x": 2}], tuple[Point, ...], (Point(2),)),
        ([{"x": 2}], tuple, ({"x": 2},)),
        (["a", "a"], set[str], {"a"}),
        ([{"a": 1}], set[Any], [{"a": 1}]),
        ("2026-01-09", dt.date, dt.date(2026, 1, 9)),
        ("red", Color, Color.RED),
        ("red", Literal["red", "blue"], "red"),
        ("x", Any, "x"),
    ],
    ids=str,
)
def test_each_kind_of_type_is_sketched(value, annotation, expected):
    assert sketch(value, annotation) == expected


@pytest.mark.parametrize(
    ("value", "annotation"),
    [
        ("2026-01-0", dt.date), ("re", Color), ("re", Literal["red"]), (5, Invoice), ([1], Invoice), ("x", list[int]),
        ({"name": "a"}, Touchy), ({"a": 1}, int), ({"a": 1}, list[int]), (1, Packed),
    ],
)  # fmt: skip
def test_what_does_not_fit_stays_plain(value, annotation):
    assert sketch(value, annotation) == value


def test_nothing_is_validated():
    assert sketch({"x": 1_000}, Point).x == 1_000
    assert sketch({"x": 1}, Classy).x == 1
    assert sketch({"vendorName": "too short"}, Invoice).vendor == "too short"


def test_generic_models_are_filled_with_their_argument():
    assert sketch({"item": {"x": 1}}, Box[Point]).item == Point(1)


leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
names = st.sampled_from(
    ["vendorName", "lines", "pet", "kind", "x", "y", "item", "more", "firstName", "points"]
) | st.text(max_size=3)
anything = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4), max_leaves=10
)
TYPES = [Invoice, Point, Packed, Classy, Pair, Titled, Box[Point], Invoice | Packed, list[Invoice], set[str], dict[str, Invoice], dt.date, tuple[int, Point], Touchy]  # fmt: skip


@given(anything, st.sampled_from(TYPES))
def test_no_value_makes_it_fail(value, annotation):
    sketch(value, annotation)
