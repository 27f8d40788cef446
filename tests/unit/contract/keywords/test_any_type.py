"""`type`, `const`, `enum`, combinators, `if`, references. Messages as AJV's; meanings as the specification's."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from keyword_tools import params, problems
from lastcall.contract.dialects import DRAFT_2020_12, REFERENCE, SchemaDialect

DEEP: Any = {"$ref": "#/$defs/deep"}
DEFS = {"deep": {"type": "array", "items": {"$ref": "#/$defs/deep"}}}
"""A subschema without bound, so that the walks are suspended."""


@pytest.mark.parametrize(
    ("types", "value", "message"),
    [
        ("string", 1, " must be string"),
        (["string", "null"], 1, " must be string,null"),
        ("integer", 1.5, " must be integer"),
        ("integer", Decimal("1.5"), " must be integer"),
        ("integer", True, " must be integer"),
        ("number", True, " must be number"),
        ("boolean", 0, " must be boolean"),
        ("object", [], " must be object"),
        ("array", {}, " must be array"),
        ("null", False, " must be null"),
    ],
)
def test_a_value_of_another_type_is_told(types: Any, value: Any, message: str) -> None:
    assert problems({"type": types}, value) == [message]
    assert params({"type": types}, value) == [("type", {"type": types})]


@pytest.mark.parametrize(
    ("types", "value"),
    [
        ("integer", 1.0),
        ("integer", Decimal("2.0")),
        ("number", 1),
        (["integer", "string"], 3),
        ("null", None),
        ("boolean", False),
    ],
)
def test_a_value_of_the_type_passes(types: Any, value: Any) -> None:
    assert problems({"type": types}, value) == []


CONSTANTS = [
    (None, [None], [False, 0, ""]),
    (True, [True], [1, "true"]),
    (1, [1, 1.0, Decimal("1.00")], [True, "1", 2]),
    (Decimal("0.1"), [0.1, Decimal("0.10")], [Decimal("0.1000001")]),
    ("a", ["a"], ["A", 1, ["a"]]),
    ([1, {"a": [2]}], [[1.0, {"a": [2]}]], [[1, {"a": [3]}], [1], 1]),
    ({"a": 1, "b": 2}, [{"b": 2, "a": 1}], [{"a": 1}, {"a": 1, "b": 2, "c": 3}, {"a": 1, "b": True}]),
]


@pytest.mark.parametrize(("constant", "equal", "other"), CONSTANTS)
def test_a_constant_is_compared_by_value(constant: Any, equal: list[Any], other: list[Any]) -> None:
    for value in equal:
        assert problems({"const": constant}, value) == []
        assert problems({"enum": ["zzz", constant]}, value) == []
    for value in other:
        assert params({"const": constant}, value) == [("const", {"allowedValue": constant})]
        assert problems({"const": constant}, value) == [" must be equal to constant"]
        assert problems({"enum": [constant]}, value) == [" must be equal to one of the allowed values"]


def test_large_integers_are_equal_as_doubles_in_the_reference_alone() -> None:
    schema = {"enum": [2**53]}
    assert problems(schema, 2**53 + 1) == [" must be equal to one of the allowed values"]
    assert problems(schema, 2**53 + 1, REFERENCE) == []
    assert problems(schema, 2**53 + 4, REFERENCE) == [" must be equal to one of the allowed values"]


def test_not() -> None:
    assert problems({"not": {"type": "string"}}, "a") == [" must NOT be valid"]
    assert problems({"not": {"type": "string"}}, 1) == []
    assert problems({"not": DEEP, "$defs": DEFS}, [[1]]) == []
    assert problems({"not": DEEP, "$defs": DEFS}, [[]]) == [" must NOT be valid"]


def test_any_of_lists_every_branch_only_if_all_fail() -> None:
    schema = {"anyOf": [{"type": "string"}, {"minimum": 5}, DEEP], "$defs": DEFS}
    assert problems(schema, 1) == [
        " must be string",
        " must be >= 5",
        " must be array",
        " must match a schema in anyOf",
    ]
    assert problems(schema, "a") == problems(schema, 6) == problems(schema, [[[]]]) == []


def test_one_of_tells_which_branches_accept() -> None:
    schema = {"oneOf": [{"type": "string"}, {"minimum": 1}, {"maximum": 5}, DEEP], "$defs": DEFS}
    assert params(schema, "a")[-1] == ("oneOf", {"passingSchemas": [0, 1]})
    assert problems(schema, "a") == [" must match exactly one schema in oneOf"]
    assert problems(schema, 9) == []
    assert params({"oneOf": [{"type": "null"}]}, 1) == [("type", {"type": "null"}), ("oneOf", {"passingSchemas": None})]


def test_one_of_asks_no_branch_after_the_second_that_accepts() -> None:
    schema = {"oneOf": [{"type": "null"}, True, True, {"type": "string"}]}
    assert problems(schema, 1) == [" must be null", " must match exactly one schema in oneOf"]


def test_all_of_lists_all() -> None:
    schema = {"allOf": [{"minimum": 5}, True, {"multipleOf": 2}, DEEP], "$defs": DEFS}
    assert problems(schema, 3) == [" must be >= 5", " must be multiple of 2", " must be array"]
    assert problems({"allOf": [True, {}]}, 3) == []


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"then": {"minimum": 5}, "else": {"maximum": 1}}, 3, []),
        ({"if": {"minimum": 2}}, 3, []),
        ({"if": {"minimum": 2}, "then": True, "else": {}}, 3, []),
        ({"if": {"minimum": 2}, "then": {"minimum": 5}}, 3, [" must be >= 5", ' must match "then" schema']),
        ({"if": {"minimum": 2}, "then": {"minimum": 5}}, 1, []),
        ({"if": {"minimum": 2}, "then": {"minimum": 5}}, 6, []),
        ({"if": {"minimum": 2}, "else": {"minimum": 1}}, 0, [" must be >= 1", ' must match "else" schema']),
        ({"if": {"minimum": 2}, "else": {"minimum": 1}}, 3, []),
        ({"if": DEEP, "then": {"if": DEEP, "else": True, "then": DEEP}, "else": DEEP, "$defs": DEFS}, [[]], []),
        ({"if": DEEP, "else": DEEP, "$defs": DEFS}, 1, [" must be array", ' must match "else" schema']),
    ],
)
def test_if_chooses_its_clause(schema: Any, value: Any, expected: list[str]) -> None:
    assert problems(schema, value) == expected


def test_the_failing_clause_is_named() -> None:
    assert params({"if": True, "then": False}, 1)[-1] == ("if", {"failingKeyword": "then"})


@pytest.mark.parametrize("dialect", [DRAFT_2020_12, REFERENCE])
def test_a_reference_adds_no_problem_of_its_own(dialect: SchemaDialect) -> None:
    schema = {"properties": {"a": {"$ref": "#/$defs/s"}}, "$defs": {"s": {"type": "string"}}}
    assert problems(schema, {"a": 1}, dialect) == ["/a must be string"]
    assert problems(schema, {"a": "x"}, dialect) == []


def test_nullable_lets_null_in_where_the_dialect_has_it() -> None:
    assert problems({"type": "string", "nullable": True}, None, REFERENCE) == []
    assert problems({"type": "string", "nullable": True}, None) == [" must be string"]
    assert problems({"type": "string", "nullable": True}, 1, REFERENCE) == [" must be string"]
    assert problems({"type": ["string", "array"], "nullable": True}, 1, REFERENCE) == [" must be string,array,null"]


def test_a_value_of_a_type_of_its_own_is_compared_by_what_it_is() -> None:
    class Count(int):
        pass

    assert problems({"enum": [1, "a"]}, Count(1)) == []
    assert problems({"enum": [1, "a"]}, Count(2)) == [" must be equal to one of the allowed values"]


def test_any_of_with_a_branch_that_takes_everything_asks_nothing() -> None:
    assert problems({"anyOf": [{"type": "string"}, True]}, 1) == []
    assert problems({"anyOf": [{"type": "string"}, {}]}, 1) == []
