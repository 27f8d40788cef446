"""Python types as contracts, and objects as Python types."""

from __future__ import annotations

import datetime as dt
import enum
import json
import re
import sys
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import msgspec
import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from lastcall.contract.from_types import KEYWORD, rule_of, schema_of, type_at
from lastcall.errors import BadSchema, MissingExtra
from lastcall.nouns.attachment import Problem


class Line(BaseModel):
    amount: Decimal
    note: int | str | None = None


class Invoice(BaseModel):
    model_config = ConfigDict(strict=True)

    day: dt.date
    lines: list[Line]
    total: Decimal

    @model_validator(mode="after")
    def adds_up(self) -> Invoice:
        if sum(line.amount for line in self.lines) != self.total:
            raise ValueError("total is not the sum of the lines")
        return self


class Tree(BaseModel):
    name: str
    children: list[Tree] = []


class Broken(BaseModel):
    value: int

    @field_validator("value")
    @classmethod
    def fails(cls, value: int) -> int:
        raise RuntimeError(f"no {value}")


class Colour(enum.Enum):
    RED = "red"
    ONE = 1


@dataclass
class Point:
    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)


class Row(TypedDict, total=False):
    a: int


class Pair(NamedTuple):
    left: int
    right: str


class Packed(msgspec.Struct):
    count: int
    lines: list[dict[str, int]] = []


class Picky(msgspec.Struct):
    count: int

    def __post_init__(self) -> None:
        if self.count == 13:
            raise ValueError("unlucky")
        if self.count == 14:
            raise KeyError("worse")


@pytest.mark.parametrize(
    ("annotation", "schema", "value", "loaded"),
    [
        (int, {"type": "integer"}, 7, 7),
        (list[str], {"type": "array", "items": {"type": "string"}}, ["a"], ["a"]),
        (Literal["a", "b"], {"enum": ["a", "b"], "type": "string"}, "a", "a"),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}, {"k": 1}, {"k": 1}),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}, None, None),
        (Colour, {"enum": ["red", 1], "title": "Colour"}, "red", Colour.RED),
        (Annotated[int, Field(ge=3)], {"type": "integer", "minimum": 3}, 3, 3),
        (Any, {}, {"x": 1}, {"x": 1}),
    ],
)  # fmt: skip
def test_annotations_become_schemas_and_back(annotation: Any, schema: object, value: Any, loaded: object) -> None:
    made, load = schema_of(annotation)
    assert json.loads(made.text) == schema
    assert load(value) == (loaded, ())


def test_structured_types_are_loaded() -> None:
    assert schema_of(Point)[1]({"x": 1, "tags": ["t"]}) == (Point(1, 0, ["t"]), ())
    assert schema_of(Pair)[1]([1, "r"]) == (Pair(1, "r"), ())
    tree, problems = schema_of(Tree)[1]({"name": "r", "children": [{"name": "c"}]})
    assert (tree, problems) == (Tree(name="r", children=[Tree(name="c")]), ())
    assert schema_of(list[Tree])[0].value["type"] == "array"
    assert schema_of(Row)[1]({"a": 1}) == ({"a": 1}, ())
    assert schema_of(Row)[1]({"a": "x"})[1][0].path == "/a"
    assert schema_of(Packed)[1]({"count": 1}) == (Packed(1), ())
    assert schema_of(list[Packed])[1]([{"count": 1}]) == ([Packed(1)], ())


def test_a_recursive_model_is_a_reference_to_its_definition() -> None:
    assert schema_of(Tree)[0].value["$ref"] == "#/$defs/Tree"


def test_json_is_enough_for_strict_models() -> None:
    invoice, problems = schema_of(Invoice)[1](
        {"day": "2025-01-02", "lines": [{"amount": Decimal("19.99")}], "total": Decimal("19.99")}
    )
    assert problems == ()
    assert isinstance(invoice, Invoice)
    assert invoice.day == dt.date(2025, 1, 2)
    assert invoice.total == Decimal("19.99")


def test_problems_have_the_types_words_and_places() -> None:
    load = schema_of(Invoice)[1]
    loaded, problems = load({"day": "2025-01-02", "lines": [], "total": 1})
    assert loaded is None
    assert problems == (
        Problem("", KEYWORD, "Value error, total is not the sum of the lines", {"type": "value_error"}),
    )
    loaded, problems = load({"day": "2025-13-02", "lines": [{"amount": 1}, {"amount": "x", "note": [1]}]})
    assert loaded is None
    assert [problem.path for problem in problems] == [
        "/day",
        "/lines/1/amount",
        "/lines/1/note",
        "/lines/1/note",
        "/total",
    ]
    assert problems[-1].message == "Field required"


def test_numbers_that_floats_would_change_are_handed_over_as_they_are() -> None:
    class Exact(BaseModel):
        value: Decimal
        count: int
        rest: list[Any] = []

    exact, problems = schema_of(Exact)[1]({"value": Decimal("19.990000000000000000001"), "count": 1, "rest": [None]})
    assert problems == ()
    assert isinstance(exact, Exact)
    assert exact.value == Decimal("19.990000000000000000001")
    exact, problems = schema_of(Exact)[1]({"value": 1, "count": 10**5000})
    assert isinstance(exact, Exact)
    assert exact.count == 10**5000


def test_a_validator_that_breaks_is_a_problem_not_a_crash() -> None:
    loaded, (problem,) = schema_of(Broken)[1]({"value": 3})
    assert loaded is None
    assert re.fullmatch(
        r"the validators of Broken failed: RuntimeError in test_from_types.py, line \d+", problem.message
    )
    assert (problem.path, problem.keyword) == ("", KEYWORD)


def test_msgspec_structs_tell_the_place() -> None:
    load = schema_of(Packed)[1]
    assert load({"count": 1, "lines": [{"a": 1}, {"a": "x"}]})[1] == (
        Problem("/lines/1", KEYWORD, "Expected `int`, got `str`"),
    )
    assert load({"count": "x"})[1] == (Problem("/count", KEYWORD, "Expected `int`, got `str`"),)
    assert load([])[1][0].path == ""
    assert schema_of(Picky)[1]({"count": 13})[1] == (Problem("", KEYWORD, "unlucky"),)
    (problem,) = schema_of(Picky)[1]({"count": 14})[1]
    assert re.fullmatch(r"the validators of Picky failed: KeyError in test_from_types.py, line \d+", problem.message)


@pytest.mark.parametrize(
    "annotation",
    [object(), lambda: 1, print, json, "Undefined", type("Plain", (), {}), list["Nowhere"], type],  # type: ignore[name-defined] # noqa: F821
)
def test_what_has_no_json_schema_is_refused_in_one_sentence(annotation: Any) -> None:
    with pytest.raises(BadSchema) as caught:
        schema_of(annotation)
    assert "\n" not in str(caught.value)


class Faulty:
    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        raise TypeError("this type describes itself wrongly\nsecond line")


def test_a_type_that_describes_itself_wrongly_is_refused() -> None:
    with pytest.raises(BadSchema, match=r"Faulty has no JSON Schema: this type describes itself wrongly$"):
        schema_of(Faulty)


class Odd(msgspec.Struct):
    inner: type


def test_a_struct_without_a_schema_is_refused() -> None:
    with pytest.raises(BadSchema, match="Odd has no JSON Schema"):
        schema_of(Odd)


def test_a_type_is_found_by_module_and_name() -> None:
    schema, rule = rule_of(f"{__name__}:Point")
    assert schema.value["title"] == "Point"
    assert rule.name == f"{__name__}:Point"
    assert rule.problems({"x": 1}) == ()
    assert rule.problems({"x": "no"})[0].path == "/x"
    assert type_at("json:JSONDecoder.decode") is json.JSONDecoder.decode


def test_what_cannot_be_found_is_told(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "explodes_on_import.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    for reference, words in (
        ("no_such_module_at_all:X", "cannot be imported: ModuleNotFoundError"),
        ("explodes_on_import:X", "cannot be imported: ZeroDivisionError"),
        ("json:Nope", "The module json has no Nope."),
        ("json:JSONDecoder.nope", "The module json has no JSONDecoder.nope."),
    ):
        with pytest.raises(BadSchema, match=words):
            type_at(reference)


def test_without_pydantic_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic", None)
    with pytest.raises(MissingExtra) as caught:
        schema_of(int)
    assert "pip install 'lastcall[pydantic]'" in caught.value.hint
    assert schema_of(Packed)[0].value["$ref"] == "#/$defs/Packed"


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("raise RuntimeError('token is hunter2')", r"RuntimeError in holds_secrets\.py, line 1\."),
        ("import os\nos.environ['hunter2']", r"KeyError in holds_secrets\.py, line 2\."),
        ("raise ImportError('hunter2')", r"ImportError in holds_secrets\.py, line 1\."),
        ("import no_such_module_of_mine", r"ModuleNotFoundError: No module named 'no_such_module_of_mine'\."),
        ("from json import nothing_there", r"ImportError: cannot import name 'nothing_there' from 'json' .*"),
        ("not_a_name", r"NameError: name 'not_a_name' is not defined\."),
        ("import json\njson.nothing_there", r"AttributeError: module 'json' has no attribute 'nothing_there'\."),
        ("x = (", r"SyntaxError: .*"),
        ("raise SystemExit('hunter2')", r"SystemExit in holds_secrets\.py, line 1\."),
    ],
)
def test_what_a_module_raises_is_told_without_its_words_unless_python_made_them(tmp_path, monkeypatch, code, told):
    (tmp_path / "holds_secrets.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "holds_secrets", raising=False)
    with pytest.raises(BadSchema) as caught:
        type_at("holds_secrets:X")
    assert re.fullmatch(r"The module holds_secrets cannot be imported: " + told, caught.value.message)
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None
