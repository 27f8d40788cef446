"""Validation, in process: compiling, a good and a bad instance, beside jsonschema-rs; as one line of JSON.

    validate.py

Seconds of each: `{case: {"ours": [compile, good, bad], "floor": [compile, good, bad]}}`. jsonschema-rs is compiled code
without budgets, words for models or an order of its problems; what is compared is how the two ratios move, see
docs/performance.md.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import jsonschema_rs
from service import SCHEMA

from lastcall.contract import compile_contract
from lastcall.contract.parse import parse_schema
from lastcall.nouns.profile import Profile

LEAF = {"type": "string", "maxLength": 40}


def nested(depth: int, leaf: Any) -> Any:
    for _ in range(depth):
        leaf = {"type": "object", "properties": {"a": leaf}, "required": ["a"], "additionalProperties": False}
    return leaf


def within(depth: int, leaf: Any) -> Any:
    for _ in range(depth):
        leaf = {"a": leaf}
    return leaf


def cases() -> dict[str, tuple[Any, Any, Any]]:
    """Schema, an instance that fits, one that does not."""
    two_hundred = {"type": "object", "properties": {f"p{n}": LEAF for n in range(200)}, "required": ["p0"]}
    enum = {"type": "object", "properties": {"e": {"enum": [f"value-{n}" for n in range(5000)]}}}
    row = {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "name": LEAF, "tags": {"type": "array", "items": LEAF}},
    }
    rows = {"type": "array", "items": {**row, "required": ["id", "name"], "additionalProperties": False}}
    good_rows = [{"id": n, "name": f"row number {n}", "tags": ["alpha", "beta"] * 4} for n in range(9000)]
    bad_rows = [{**r, "id": "x"} if n % 10 == 0 else r for n, r in enumerate(good_rows)]
    huge = {"type": "object", "properties": {f"p{n}": {"enum": [0, 1, 2, 3, 4]} for n in range(14_000)}}
    return {
        "small schema": (
            SCHEMA,
            {"severity": "high", "title": "Database lost", "count": 3},
            {"severity": "no", "count": -1},
        ),
        "200 properties": (two_hundred, {f"p{n}": "x" for n in range(200)}, {f"p{n}": 1 for n in range(200)}),
        "nested 100 deep": (nested(100, LEAF), within(100, "x"), within(100, 1)),
        "enum of 5,000": (enum, {"e": "value-4999"}, {"e": "value-5000"}),
        "1 MB instance": (rows, good_rows, bad_rows),
        "100,000-node schema": (huge, {"p1": 1}, {"p1": 7, "p2": 9}),
    }


def fastest(do: Callable[[], object], budget_s: float = 0.4) -> float:
    """The fastest of several times, each of enough repetitions to be told from nothing."""
    began, best, times = time.perf_counter(), float("inf"), 0
    while time.perf_counter() - began < budget_s or times < 2:
        start, loops = time.process_time(), 0
        while loops < 1 or time.process_time() - start < 0.002:
            do()
            loops += 1
        best = min(best, (time.process_time() - start) / loops)
        times += 1
    return best


def main() -> None:
    found = {}
    for name, (schema, good, bad) in cases().items():
        parsed = parse_schema(json.dumps(schema), profile=Profile.NATIVE)
        contract = compile_contract(parsed, profile=Profile.NATIVE)
        theirs = jsonschema_rs.validator_for(schema)
        assert contract.problems_of(good) is None
        assert theirs.is_valid(good)
        assert contract.problems_of(bad) is not None
        assert not theirs.is_valid(bad)
        found[name] = {
            "ours": [
                fastest(lambda parsed=parsed: compile_contract(parsed, profile=Profile.NATIVE)),
                fastest(lambda contract=contract, good=good: contract.problems_of(good)),
                fastest(lambda contract=contract, bad=bad: contract.problems_of(bad)),
            ],
            "floor": [
                fastest(lambda schema=schema: jsonschema_rs.validator_for(schema)),
                fastest(lambda theirs=theirs, good=good: theirs.is_valid(good)),
                fastest(lambda theirs=theirs, bad=bad: list(theirs.iter_errors(bad))),
            ],
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
