"""Suites: the two that are built in, and those that people write as a file.

A file is JSON: `{"name", "trials", "cases": [{"name", "family", "prompt", "schema", "conflicts", "may_correct"}]}`.

Must not go in here: the texts of the built-in tasks (`families`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lastcall.contract import Contract, compile_contract
from lastcall.contract.json_text import write_json
from lastcall.contract.parse import parse_schema
from lastcall.errors import BadConfig, UsageError
from lastcall.nouns.profile import Profile
from lastcall.probe.cases import Case, Suite, vary
from lastcall.probe.families import TASKS

KEYWORDS: Final = "keywords"
SEVEN: Final = "seven-constraints"

_SEVEN: Final = ("enum", "maxLength", "minLength", "type", "required", "additionalProperties", "minimum")
_WITH_PERMISSION: Final = ("enum", "maxLength", "minLength", "minimum")
"""Those whose conflicting value has a nearest one that passes."""
_FILE_BYTES: Final = 16 * 1024 * 1024
_MOST_TRIALS: Final = 1_000


def keywords() -> Suite:
    """Every family: conflicting or not, with and without permission to correct."""
    cases = [
        vary(task.family, task.schema_text, text, conflicts=conflicts, may_correct=may_correct)
        for task in TASKS
        for text, conflicts in ((task.conflict, True), (task.fits, False))
        for may_correct in (False, True)
    ]
    return Suite(name=KEYWORDS, cases=tuple(cases))


def seven_constraints() -> Suite:
    """Seven constraints in eleven cases: each against a prompt that conflicts, four of them again with permission."""
    tasks = {task.family: task for task in TASKS}
    cases = [
        vary(name, tasks[name].schema_text, tasks[name].conflict, conflicts=True, may_correct=may_correct)
        for may_correct, names in ((False, _SEVEN), (True, _WITH_PERMISSION))
        for name in names
    ]
    return Suite(name=SEVEN, cases=tuple(cases))


BUILT_IN: Final[Mapping[str, Callable[[], Suite]]] = {KEYWORDS: keywords, SEVEN: seven_constraints}


def find_suite(name: str) -> Suite:
    """The suite of this name, or in this file. Raises `BadConfig`."""
    if name in BUILT_IN:
        return BUILT_IN[name]()
    if os.path.exists(name):  # noqa: PTH110
        return read_suite(_text(name), where=name)
    hint = f"Use {', '.join(BUILT_IN)}, or the path of a suite file."
    raise BadConfig(f"there is no suite {name!r}", hint=hint, where="--suite")


def only(suite: Suite, families: Sequence[str]) -> Suite:
    """The suite without other families. Raises `BadConfig` for one that it does not have."""
    unknown = [family for family in families if family not in suite.families]
    if unknown:
        hint = f"It has {', '.join(suite.families)}."
        raise BadConfig(f"the suite {suite.name} has no family {unknown[0]!r}", hint=hint, where="--families")
    return replace(suite, cases=tuple(case for case in suite.cases if case.family in families))


def contract_of(case: Case) -> Contract:
    """The case's contract. Raises `UsageError` that names the case."""
    try:
        return compile_contract(parse_schema(case.schema_text, profile=Profile.NATIVE), profile=Profile.NATIVE)
    except UsageError as error:
        raise BadConfig(f"its schema cannot be used: {error.message}", hint=error.hint, where=case.name) from error


# -- suite files ----------------------------------------------------------------------------------------------------


class _FileCase(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    prompt: str
    schema: dict[str, Any]
    family: str = ""
    conflicts: bool = False
    may_correct: bool = False


class _FileSuite(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    cases: list[_FileCase]
    trials: int = 3


def read_suite(text: bytes, *, where: str) -> Suite:
    """The suite in a file's text; every contract in it is compiled once. Raises `BadConfig`."""
    try:
        found = msgspec.json.decode(text, type=_FileSuite)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadConfig(f"this is no suite: {error}", hint="See docs/tasks/probe-a-model.md.", where=where) from None
    names = [case.name for case in found.cases]
    twice = next((name for name in names if names.count(name) > 1), None)
    if not found.cases or twice is not None or not 1 <= found.trials <= _MOST_TRIALS:
        what = (
            "a suite needs a case"
            if not found.cases
            else f"two cases are called {twice!r}"
            if twice is not None
            else f"trials has to be from 1 to {_MOST_TRIALS}"
        )
        raise BadConfig(what, hint="Correct it.", where=where)
    cases = tuple(
        Case(
            name=case.name,
            family=case.family or case.name,
            prompt=case.prompt,
            schema_text=write_json(case.schema, numbers="exact"),
            conflicts=case.conflicts,
            may_correct=case.may_correct,
        )
        for case in found.cases
    )
    for case in cases:
        contract_of(case)
    return Suite(name=found.name, cases=cases, trials=found.trials)


def _text(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read(_FILE_BYTES)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise BadConfig(f"the suite cannot be read: {why}", hint="Check the path.", where=path) from error
