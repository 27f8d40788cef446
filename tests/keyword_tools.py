"""Asking one keyword for its problems."""

from __future__ import annotations

from typing import Any

from lastcall.contract.checking import Run, drive, pointer
from lastcall.contract.dialects import DRAFT_2020_12, SchemaDialect
from lastcall.contract.nodes import Space


def problems(
    schema: Any, value: Any, dialect: SchemaDialect = DRAFT_2020_12, *, assert_formats: bool = True
) -> list[str]:
    """`pointer message` for each problem, in order."""
    space = Space(schema, dialect, assert_formats=assert_formats)
    run = Run(10**6, str)
    drive(space.root.enter(value, None, run), run, 10**4)
    return [f"{pointer(at)} {message}" for at, (_, message, _) in run.errors]


def params(schema: Any, value: Any, dialect: SchemaDialect = DRAFT_2020_12) -> list[tuple[str, Any]]:
    """Keyword and parameters of each problem, in order."""
    space = Space(schema, dialect, assert_formats=True)
    run = Run(10**6, str)
    drive(space.root.enter(value, None, run), run, 10**4)
    return [(keyword, given) for _, (keyword, _, given) in run.errors]
