"""Schemas and values made to hang, exhaust or crash a validator. Each is answered: a verdict, a refusal, or a budget.

They run in a process of their own that may take 1 GiB (address space aside from what the interpreter and its libraries
map) and, for each, two seconds of processor time; in a thread with a small stack, so that deep recursion would kill it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

SECONDS: Final = 2.0
MIB: Final = 1024

PROGRAM: Final = r"""
import json, resource, sys, threading, time
from decimal import Decimal

from lastcall.contract import dialects
from lastcall.contract.validator import compile_validator
from lastcall.errors import LastcallError


def nested(levels, value=0, key=None):
    for _ in range(levels):
        value = [value] if key is None else {key: value}
    return value


def chain(levels, keyword, below):
    schema = below
    for _ in range(levels):
        schema = {keyword: schema}
    return schema


def fan(levels, last):
    rungs = {f"d{i}": {"allOf": [{"$ref": f"#/definitions/d{i + 1}"}, {"$ref": f"#/definitions/d{i + 1}"}]} for i in range(levels)}
    return {"$ref": "#/definitions/d0", "definitions": {**rungs, f"d{levels}": last}}


def properties(count, schema):
    return {"properties": {f"p{i}": schema for i in range(count)}}


TWICE = {"anyOf": [{"properties": {"a": {"$ref": "#/definitions/t"}}, "required": [name]} for name in ("q", "r")]}
LIST = {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}}
CASES = {
    "a reference to itself": lambda: ({"$ref": "#"}, 1),
    "references to each other": lambda: (
        {"$ref": "#/definitions/a", "definitions": {"a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/a"}}}, 1),
    "an optional reference to itself": lambda: ({"anyOf": [{"type": "null"}, {"$ref": "#"}]}, 1),
    "a fan of 2^25 references, valid": lambda: (fan(25, {"type": "integer"}), 1),
    "a fan of 2^25 references, invalid": lambda: (fan(25, {"type": "integer"}), "x"),
    "a recursive anyOf": lambda: ({"$ref": "#/definitions/t", "definitions": {"t": TWICE}}, nested(24, 1, "a")),
    "1,000 branches for 1,000 items": lambda: ({"items": {"anyOf": [{"const": i} for i in range(1000)]}}, ["x"] * 1000),
    "1,000 objects for 1,000 items": lambda: (
        {"items": {"anyOf": [{"properties": {"a": {"const": i}}, "required": ["a", "b"]} for i in range(1000)]}},
        [{"a": "x"}] * 1000),
    "a pattern that explodes": lambda: ({"pattern": "^(a+)+$"}, "a" * 100_000 + "!"),
    "a look-ahead that explodes": lambda: ({"pattern": "^(?=(a+)+$)(a|aa)+$"}, "a" * 5000 + "!"),
    "a back-reference that explodes": lambda: ({"pattern": r"^(a|aa)+\1?(?=c)"}, "a" * 5000),
    "a value 100,000 levels deep": lambda: ({"items": {"$ref": "#"}}, nested(100_000)),
    "a value 100,000 levels deep in an enum": lambda: ({"enum": [[1]]}, nested(100_000)),
    "equal items 100,000 levels deep": lambda: ({"uniqueItems": True}, [nested(100_000), nested(100_000)]),
    "a list of 200 links": lambda: (LIST, nested(200, {}, "next")),
    "an integer of 5,000 digits": lambda: ({"type": "integer", "maximum": 5, "multipleOf": 7, "enum": [1]}, 10**5000),
    "a decimal of a million places": lambda: ({"multipleOf": Decimal("0.01"), "type": "integer"}, Decimal("1e-999999")),
    "a decimal of a million digits": lambda: ({"multipleOf": Decimal("0.03"), "maximum": 5}, Decimal("1e999999")),
    "NaN": lambda: ({"type": "number", "minimum": 1, "enum": [1]}, float("nan")),
    "a signalling NaN": lambda: ({"type": "number", "minimum": 1, "enum": [1]}, Decimal("sNaN")),
    "lone surrogates": lambda: (
        {"type": "object", "required": ["\ud800"], "patternProperties": {"^\ud800": {"maxLength": 1, "pattern": "^.$"}}},
        {"\ud800": "\udfff"}),
    "100,001 values in a schema": lambda: ({"enum": list(range(100_001))}, 1),
    "10,001 levels in a schema": lambda: ({"default": nested(10_001)}, 1),
    "1,000 levels of not": lambda: (chain(1000, "not", {}), 1),
    "9,999 levels of not": lambda: (chain(9999, "not", {}), 1),
    "100,000 subschemas": lambda: (properties(24_000, {"type": "string", "minLength": 1, "title": "t"}), {"p7": "x"}),
    "copies of copies": lambda: ({**properties(5000, {"$ref": "#/definitions/d"}), "definitions": {"d": properties(5000, {"type": "null"})}}, {}),
    "a million missing names": lambda: ({"items": {"required": [f"k{i}" for i in range(1000)]}}, [{}] * 1000),
    "a long name above many errors": lambda: ({"additionalProperties": {"items": {"type": "null"}}}, {"k" * 1_000_000: [1] * 100_000}),
    "300,000 unknown names": lambda: ({"additionalProperties": False}, {f"k{i}": 1 for i in range(300_000)}),
    "unevaluated below unevaluated": lambda: (
        {"$ref": "#/$defs/a0", "$defs": {
            **{f"a{i}": {"anyOf": [{"$ref": f"#/$defs/a{i + 1}"}] * 2, "unevaluatedProperties": False} for i in range(30)},
            "a30": {"properties": {"x": True}}}},
        {"x": 1}),
}


def answer(schema, value, dialect):
    try:
        return str(compile_validator(schema, dialect, assert_formats=True).problems(value).total)
    except LastcallError as error:
        return type(error).__name__


def main():
    for name in json.loads(sys.argv[1]):
        for dialect in (dialects.REFERENCE, dialects.DRAFT_2020_12):
            schema, value = CASES[name]()
            began = time.thread_time()
            said = answer(schema, value, dialect)
            took = time.thread_time() - began
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(json.dumps([name, dialect.name, said, took, peak]), flush=True)
            del schema, value


# from 3.12 on the interpreter itself needs more than 256 KiB to free a list of 100,000 levels
threading.stack_size((256 if sys.version_info < (3, 12) else 1024) * 1024)
thread = threading.Thread(target=main)
thread.start()
thread.join()
"""

# what the reference's profile and the native dialect say: a number of problems, or the class of the refusal
ANSWERS: Final[dict[str, tuple[str, str]]] = {
    "a reference to itself": ("BudgetExceeded", "NotASchema"),
    "references to each other": ("NotASchema", "NotASchema"),
    "an optional reference to itself": ("BudgetExceeded", "BudgetExceeded"),
    "a fan of 2^25 references, valid": ("BudgetExceeded", "BudgetExceeded"),
    "a fan of 2^25 references, invalid": ("BudgetExceeded", "BudgetExceeded"),
    "a recursive anyOf": ("BudgetExceeded", "BudgetExceeded"),
    "1,000 branches for 1,000 items": ("BudgetExceeded", "BudgetExceeded"),
    "1,000 objects for 1,000 items": ("BudgetExceeded", "BudgetExceeded"),
    "a pattern that explodes": ("1", "1"),
    "a look-ahead that explodes": ("1", "1"),
    "a back-reference that explodes": ("BudgetExceeded", "BudgetExceeded"),
    "a value 100,000 levels deep": ("BudgetExceeded", "BudgetExceeded"),
    "a value 100,000 levels deep in an enum": ("1", "1"),
    "equal items 100,000 levels deep": ("1", "1"),
    "a list of 200 links": ("0", "0"),
    "an integer of 5,000 digits": ("2", "3"),
    "a decimal of a million places": ("0", "2"),
    "a decimal of a million digits": ("0", "2"),
    "NaN": ("2", "2"),
    "a signalling NaN": ("2", "2"),
    "lone surrogates": ("0", "0"),
    "100,001 values in a schema": ("SchemaTooBig", "SchemaTooBig"),
    "10,001 levels in a schema": ("SchemaTooBig", "SchemaTooBig"),
    "1,000 levels of not": ("0", "0"),
    "9,999 levels of not": ("1", "1"),
    "100,000 subschemas": ("0", "0"),
    "copies of copies": ("SchemaTooBig", "0"),
    "a million missing names": ("BudgetExceeded", "BudgetExceeded"),
    "a long name above many errors": ("100000", "100000"),
    "300,000 unknown names": ("300000", "300000"),
    "unevaluated below unevaluated": ("NotASchema", "BudgetExceeded"),
}
QUICK: Final = (
    "a reference to itself",
    "references to each other",
    "an optional reference to itself",
    "a recursive anyOf",
    "a pattern that explodes",
    "a look-ahead that explodes",
    "a back-reference that explodes",
    "a value 100,000 levels deep",
    "a list of 200 links",
    "an integer of 5,000 digits",
    "a decimal of a million places",
    "a decimal of a million digits",
    "NaN",
    "a signalling NaN",
    "lone surrogates",
    "100,001 values in a schema",
    "10,001 levels in a schema",
    "1,000 levels of not",
)


def asked(names: list[str]) -> list[list[Any]]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(names)],
        capture_output=True,
        text=True,
        timeout=110,
        cwd=Path(__file__).parents[2] / "src",
        check=False,
    )
    assert done.returncode == 0, f"after {done.stdout[-300:]}: {done.stderr[-2000:]}"
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(names: list[str], seconds: float) -> None:
    lines = asked(names)
    assert len(lines) == 2 * len(names)
    for name, dialect, said, took, peak in lines:
        assert said == ANSWERS[name][dialect != "reference"], (name, dialect)
        assert took < seconds, (name, dialect, took)
        assert peak < MIB, (name, dialect, peak)


def test_hostile_schemas_and_values_are_answered_in_time() -> None:
    check(list(QUICK), SECONDS)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ANSWERS if name not in QUICK])
def test_the_costliest_ones_are_answered_in_time_too(name: str) -> None:
    check([name], SECONDS)
