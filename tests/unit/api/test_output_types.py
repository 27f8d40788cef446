"""Every kind of output type, from the schema that the model is shown to the object that the caller gets."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import attrs
import msgspec
import pydantic
import pytest
from pydantic import BaseModel, Field

import lastcall
from lastcall.contract.wrapping import WRAP
from lastcall.testing import ScriptedModel


class Model(BaseModel):
    x: int
    day: dt.date

    @pydantic.field_validator("x")
    @classmethod
    def even(cls, x: int) -> int:
        if x % 2:
            raise ValueError("x is odd")
        return x


@dataclass(frozen=True)
class Plain:
    x: int
    name: str = "n"

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x is below zero")


@pydantic.dataclasses.dataclass
class Checked:
    x: Annotated[int, Field(gt=3)]


class Keys(TypedDict, total=False):
    x: int


class Pair(NamedTuple):
    x: int
    y: str


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Packed(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    first_name: Annotated[str, msgspec.Meta(min_length=2)]
    x: int = 3

    def __post_init__(self) -> None:
        if self.first_name == "Nobody":
            raise ValueError("nobody is not a name")


@attrs.define(frozen=True)
class Classy:
    x: int = attrs.field(validator=attrs.validators.gt(5))
    y: str = "d"
    inner: list[Plain] = attrs.field(factory=list)


class Sent(NamedTuple):
    """An output type, what the model sends first and the words of its rejection, what it sends then, what the caller gets."""

    output: Any
    bad: Any
    words: str
    good: Any
    expected: Any


CASES = [
    Sent(
        Model,
        {"x": 3, "day": "2026-01-02"},
        "x is odd",
        {"x": 4, "day": "2026-01-02"},
        Model(x=4, day=dt.date(2026, 1, 2)),
    ),
    Sent(
        Model, {"x": 4, "day": "2026-02-30"}, "/day", {"x": 4, "day": "2026-01-02"}, Model(x=4, day=dt.date(2026, 1, 2))
    ),
    Sent(Plain, {"x": -1}, "x is below zero", {"x": 1}, Plain(1)),
    Sent(Checked, {"x": 3}, "/x", {"x": 4}, Checked(4)),
    Sent(Keys, {"x": "1"}, "/x", {"x": 1}, {"x": 1}),
    Sent(Pair, {WRAP: [1]}, f"/{WRAP}", {WRAP: [1, "a"]}, Pair(1, "a")),
    Sent(Color, {WRAP: "green"}, "red", {WRAP: "red"}, Color.RED),
    Sent(Level, {WRAP: "LOW"}, f"/{WRAP}", {WRAP: 2}, Level.HIGH),
    Sent(Literal["yes", "no"], {WRAP: "maybe"}, "yes", {WRAP: "no"}, "no"),
    Sent(Packed, {"firstName": "A"}, "/firstName", {"firstName": "Ann"}, Packed("Ann")),
    Sent(Packed, {"firstName": "Ann", "y": 1}, "y", {"firstName": "Ann", "x": 4}, Packed("Ann", 4)),
    Sent(Packed, {"firstName": "Nobody"}, "nobody is not a name", {"firstName": "Ann"}, Packed("Ann")),
    Sent(Classy, {"x": 3}, "must be > 5", {"x": 7, "inner": [{"x": 1}]}, Classy(7, "d", [Plain(1)])),
    Sent(Classy, {"x": 7, "inner": [{"x": "1"}]}, "/inner/0/x", {"x": 7}, Classy(7)),
    Sent(Model | Plain, {WRAP: {"day": "2026-01-02"}}, "x", {WRAP: {"x": 7, "name": "m"}}, Plain(7, "m")),
    Sent(list[Plain], {WRAP: [{"x": -1}]}, "x is below zero", {WRAP: [{"x": 1}]}, [Plain(1)]),
    Sent(dict[str, int], {"a": "1"}, "/a", {"a": 1}, {"a": 1}),
    Sent(Decimal, {WRAP: True}, f"/{WRAP}", {WRAP: "1.10"}, Decimal("1.10")),
    Sent(int, {WRAP: 1.5}, f"/{WRAP}", {WRAP: 15}, 15),
    Sent(bool, {WRAP: "true"}, f"/{WRAP}", {WRAP: True}, True),
    Sent(tuple[int, str], {WRAP: [1]}, f"/{WRAP}", {WRAP: [1, "a"]}, (1, "a")),
    Sent(Annotated[str, Field(max_length=2)], {WRAP: "abc"}, f"/{WRAP}", {WRAP: "ab"}, "ab"),
]


def call(arguments):
    return {"call": {"name": "StructuredOutput", "input": arguments}}


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: f"{getattr(case.output, '__name__', case.output)}-{case.words}"
)
def test_what_the_type_refuses_the_model_is_told_and_what_it_takes_the_caller_gets_as_the_type(case):
    model = ScriptedModel(call(case.bad), call(case.good))
    result = lastcall.run("x", output=case.output, model=model)
    assert [attempt.verdict for attempt in result.attempts] == ["rejected", "accepted"], result.ledger()
    assert case.words in model.prompts[1]
    assert result.output == case.expected
    assert type(result.output) is type(case.expected)
