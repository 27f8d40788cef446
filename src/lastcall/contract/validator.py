"""Schema in, validator out: every problem of a value in one pass, in the reference's order and words, within budgets.

`compile_validator` checks the schema against its meta-schema with the same machine, inspects what no meta-schema can say,
and prepares the nodes, which are built when they are first used. A `Validator` may be shared by threads.

Must not go in here: what keywords mean (`contract.keywords`), sentences for the model (`contract.wording`).
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Final

from msgspec import Struct

from lastcall.contract import budgets, soundness, strictness
from lastcall.contract.budgets import Budget, BudgetExceeded
from lastcall.contract.checking import At, Fault, Run, drive, pointer
from lastcall.contract.dialects import SchemaDialect, published_at
from lastcall.contract.nodes import Node, Space
from lastcall.errors import NotASchema, SchemaTooBig
from lastcall.nouns.attachment import Problem
from lastcall.nouns.json import JsonObject, JsonValue

_PATTERN_WORDS: Final = "a pattern takes too long to be searched for in this value"


class Problems(Struct, frozen=True):
    """What is wrong with a value. `total` counts all of them; `listed` holds the first ones, in order."""

    listed: tuple[Problem, ...]
    total: int


class Validator:
    """A compiled schema. `warnings` are the log lines about the schema, not about any value."""

    __slots__ = ("_space", "dialect", "warnings")

    def __init__(self, space: Space, dialect: SchemaDialect, warnings: tuple[str, ...]) -> None:
        self._space = space
        self.dialect = dialect
        self.warnings = warnings

    def problems(self, value: JsonValue) -> Problems:
        """All problems of a value. Raises `BudgetExceeded` where the check was given up."""
        return _problems(self._space.root, value, steps=budgets.CHECK_STEPS, depth=budgets.CHECK_DEPTH)

    @property
    def root(self) -> Node:
        """The compiled schema, for whoever walks it beside a value."""
        return self._space.root

    def problems_at(self, node: Node, value: JsonValue) -> Problems:
        """All problems that one of its nodes finds in a value. Raises `BudgetExceeded`."""
        return _problems(node, value, steps=budgets.CHECK_STEPS, depth=budgets.CHECK_DEPTH)

    def fits(self, node: Node, value: JsonValue) -> bool:
        """Whether a value passes one of its nodes; a check that was given up says no."""
        try:
            return not self.problems_at(node, value).total
        except BudgetExceeded:
            return False


def compile_validator(schema: JsonObject, dialect: SchemaDialect, *, assert_formats: bool) -> Validator:
    """The validator of a schema, which must be a tree (as parsed JSON is) and must not be changed afterwards.

    Raises `NotASchema` for what its dialect does not allow (for the reference's dialect with the reference's message),
    `SchemaTooBig`. With `assert_formats`, known formats are checked.
    """
    _check_size(schema, dialect)
    if dialect.strict:
        _check_named_dialect(schema, dialect)
    _check_against_metaschema(schema, dialect)
    space = Space(schema, dialect, assert_formats=assert_formats)
    inspect = strictness.inspect if dialect.strict else soundness.inspect
    return Validator(space, dialect, inspect(space))


def _problems(node: Node, value: JsonValue, *, steps: int, depth: int) -> Problems:
    dialect = node.space.library.main.dialect
    run = Run(steps, lambda budget: _words(budget, dialect))
    drive(node.enter(value, None, run), run, depth)
    return Problems(_listed(run.errors, dialect.listed), len(run.errors)) if run.errors else _NONE


_NONE: Final = Problems((), 0)


def _words(budget: Budget, dialect: SchemaDialect) -> str:
    if budget is Budget.PATTERN:
        return _PATTERN_WORDS
    return dialect.overflow if budget is Budget.DEPTH else dialect.overwork


def _listed(errors: list[tuple[At, Fault]], most: int) -> tuple[Problem, ...]:
    listed: list[Problem] = []
    room = budgets.PROBLEM_TEXT_CHARS
    for at, (keyword, message, params) in errors[:most]:
        path = pointer(at)
        room -= len(path) + len(message)
        if room < 0 and listed:
            break
        listed.append(Problem(path, keyword, message, params))
    return tuple(listed)


# -- the schema itself ----------------------------------------------------------------------------------------------


def _check_size(schema: JsonObject, dialect: SchemaDialect) -> None:
    level: list[Any] = [schema]
    values = depth = 0
    while level:
        values += len(level)
        if values > budgets.SCHEMA_VALUES or depth > budgets.SCHEMA_DEPTH:
            raise SchemaTooBig("schema too large" if dialect.strict else _too_big(values))
        below: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                below += value.values()
            elif isinstance(value, list):
                below += value
        level = below
        depth += 1


def _too_big(values: int) -> str:
    if values > budgets.SCHEMA_VALUES:
        return f"the schema has more than {budgets.SCHEMA_VALUES} values."
    return f"the schema is nested more than {budgets.SCHEMA_DEPTH} levels deep."


def _check_named_dialect(schema: JsonObject, dialect: SchemaDialect) -> None:
    named = schema.get("$schema", "")
    if not isinstance(named, str):
        raise NotASchema("$schema must be a string")
    if named and published_at(named.removesuffix("#/").removesuffix("#"), dialect) is None:
        raise NotASchema(f'no schema with key or ref "{named}"')


@cache
def _metaschema(dialect: _ByName) -> Space:
    """The prepared meta-schema of a dialect; made once."""
    return Space(_flattened(dialect.it.documents()), dialect.it, assert_formats=False)


class _ByName:
    """A dialect as a key: all dialects of one name are the same."""

    __slots__ = ("it",)

    def __init__(self, it: SchemaDialect) -> None:
        self.it = it

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByName) and other.it.name == self.it.name

    def __hash__(self) -> int:
        return hash(self.it.name)


def _flattened(documents: tuple[JsonObject, ...]) -> JsonObject:
    """One schema that says what a meta-schema and its vocabularies say together; checked several times faster.

    The vocabularies name no property twice with different meanings, and refer to the whole by a dynamic reference, which
    is the root here.
    """
    main = documents[0]
    if len(documents) == 1:
        return main
    merged: dict[str, Any] = {"type": main["type"], "properties": {}, "$defs": {}}
    for document in (*documents[1:], main):
        for keyword in ("properties", "$defs"):
            merged[keyword].update(document.get(keyword, {}))
    flat: JsonObject = json.loads(
        json.dumps(merged)
        .replace('"$dynamicRef": "#meta"', '"$ref": "#"')
        .replace('"$recursiveRef": "#"', '"$ref": "#"')
        .replace('"$ref": "meta/validation#', '"$ref": "#')
        .replace('"$ref": "meta/core#', '"$ref": "#')
        .replace('"$ref": "meta/applicator#', '"$ref": "#')
    )
    return flat


def _check_against_metaschema(schema: JsonObject, dialect: SchemaDialect) -> None:
    space = _metaschema(_ByName(dialect))
    found = _problems(space.root, schema, steps=budgets.META_STEPS, depth=budgets.META_DEPTH)
    if not found.total:
        return
    if dialect.strict:
        raise NotASchema(", ".join(f"data{problem.path} {problem.message}" for problem in found.listed))
    first = found.listed[0]
    more = f" ({found.total - 1} more problems)" if found.total > 1 else ""
    raise NotASchema(
        f"the schema is not valid {dialect.name}: the value {_allowed(first)}{more}.",
        where=first.path or "/",
        hint=f"See {dialect.uri}",
    )


def _allowed(problem: Problem) -> str:
    allowed = problem.params.get("allowedValues")
    if isinstance(allowed, list):
        return f"must be one of {', '.join(map(str, allowed))}"
    return problem.message
