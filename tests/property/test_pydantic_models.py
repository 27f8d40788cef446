"""A hundred generated Pydantic models: what the contract accepts the model accepts, and nothing else is ever handed over."""

from __future__ import annotations

import datetime as dt
import enum
import json
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, Optional, TypeVar

import pydantic
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from pydantic import Field

import lastcall
from lastcall.contract.parse import schema_from_value
from lastcall.contract.sample import sample
from lastcall.errors import BadSchema

T = TypeVar("T")


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Page(pydantic.BaseModel, Generic[T]):
    items: list[T]
    next: str | None = None


class Tree(pydantic.BaseModel):
    name: str
    children: list[Tree] = []


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]
    lives: Annotated[int, Field(ge=1, le=9)]


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]
    tricks: set[str] = set()


class Lower(pydantic.BaseModel):
    word: str

    @pydantic.field_validator("word")
    @classmethod
    def is_lower(cls, value: str) -> str:
        if value != value.lower():
            raise ValueError("must be lower case")
        return value


LEAVES: list[Any] = [
    int, str, bool, float, bytes, Decimal, dt.datetime, dt.date, dt.time, dt.timedelta, Colour, Cat, Dog, Lower, Tree,
    Page[int], Page[Cat], pydantic.UUID4, pydantic.AnyUrl, pydantic.Json[list[int]], Any, type(None),
    Annotated[int, Field(ge=-3, lt=40, multiple_of=2)], Annotated[str, Field(min_length=2, max_length=5)],
    Annotated[str, Field(pattern="^[a-c]+$")], Annotated[Decimal, Field(max_digits=5, decimal_places=2)],
    Annotated[Cat | Dog, Field(discriminator="kind")], Literal["a", 2] | None, Annotated[list[int], Field(min_length=1)],
]  # fmt: skip

types = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(
        inner.map(lambda t: list[t]),
        inner.map(lambda t: dict[str, t]),
        inner.map(lambda t: Optional[t]),  # noqa: UP045 -- `t | None` is no expression for every `t`
        st.tuples(inner, inner).map(lambda pair: tuple[pair[0], pair[1]]),
    ),
    max_leaves=3,
)


@st.composite
def models(draw: st.DrawFn) -> type[pydantic.BaseModel]:
    fields: dict[str, Any] = {}
    for number in range(draw(st.integers(1, 4))):
        annotation = draw(types)
        alias = draw(st.sampled_from([None, f"field-{number}", f"Füllung {number}/~"]))
        default = draw(st.sampled_from([..., ..., None]))
        if default is None:
            annotation = Optional[annotation]  # noqa: UP045
        fields[f"f{number}"] = (annotation, Field(default, alias=alias))
    extra = draw(st.sampled_from(["ignore", "forbid", "allow"]))
    return pydantic.create_model("Made", __config__=pydantic.ConfigDict(extra=extra), **fields)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-50, 50)
    | st.sampled_from(["", "a", "abc", "ABC", "2026-01-01", "1.25", "red"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["f0", "kind", "x"]), inner, max_size=2)
    ),
    max_leaves=4,
)


def everywhere(value: Any, change: Any) -> Any:
    """The value with every scalar changed."""
    if isinstance(value, dict):
        return {key: everywhere(member, change) for key, member in value.items()}
    if isinstance(value, list):
        return [everywhere(item, change) for item in value]
    return change(value)


SCALARS = (
    lambda v: v.swapcase() if isinstance(v, str) else v,
    lambda v: f"{v}!" if isinstance(v, str) else v,
    lambda v: -v if isinstance(v, int | float) and not isinstance(v, bool) else v,
    lambda v: v + 1_000 if isinstance(v, int) and not isinstance(v, bool) else v,
)
"""Changes that many schemas let pass and many validators do not."""


def changed(draw, value: Any) -> Any:
    """The object with every scalar changed, or with one member replaced, taken away, or added."""
    if draw(st.booleans()):
        return everywhere(value, draw(st.sampled_from(SCALARS)))
    names = [*value, "unasked"]
    name = draw(st.sampled_from(names))
    if name in value and draw(st.booleans()):
        return {key: member for key, member in value.items() if key != name}
    return {**value, name: draw(json_values)}


@seed(20261130)
@settings(
    max_examples=100, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
@given(models(), st.data())
def test_what_the_contract_accepts_the_model_accepts_and_its_words_reach_the_model(model, data):
    contract = lastcall.Contract(model)
    try:
        good = sample(schema_from_value(contract.json_schema))
    except BadSchema:
        good = {}
    for value in [good, *(changed(data.draw, good) for _ in range(8))]:
        text = json.dumps(value, default=str)
        problems = contract.problems(json.loads(text))
        try:
            expected = model.model_validate_json(text)
        except pydantic.ValidationError:
            assert problems
        else:
            if not problems:
                assert contract.load(text) == expected
        if any(problem.keyword == "type_validator" for problem in problems):
            with pytest.raises(pydantic.ValidationError) as refused:
                model.model_validate_json(text)
            assert {problem.message for problem in problems} == {error["msg"] for error in refused.value.errors()}
