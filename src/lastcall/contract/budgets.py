"""Every budget of compiling a schema and of checking a value against it, in one place, and the error of breaching one.

The figures bound time to about a second and memory to a few hundred MiB on one ordinary core; they are far above what an
honest schema or answer needs. Must not go in here: counting; each budget is counted where the work is done.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from lastcall.errors import LastcallError

SCHEMA_VALUES: Final = 100_000
"""JSON values (objects, arrays, scalars) in a schema."""

SCHEMA_DEPTH: Final = 10_000
"""Levels of nesting in a schema, the root counted; the reference refuses the next one."""

COMPILE_STEPS: Final = 400_000
"""Subschemas looked at while a schema is inspected (the reference's in-line copies count each time)."""

COMPILED_NODES: Final = 300_000
"""Subschemas made ready for checking, each once for every dynamic scope it is used in."""

PATTERNS: Final = 2_000
"""Different patterns in a schema; making one ready takes between 0.05 and 2 ms."""

META_STEPS: Final = 30_000_000
"""As `CHECK_STEPS`, for a schema against its meta-schema: the schema's own size bounds the work already."""

CHECK_STEPS: Final = 2_000_000
"""Units of work in one check: a child looked at is one, a level of nesting three, a kilobyte of text one."""

CHECK_DEPTH: Final = 40_000
"""Suspended subschemas and keywords in one check: levels of the value times the levels of schema that each one takes."""

META_DEPTH: Final = 150_000
"""As `CHECK_DEPTH`, for a schema of `SCHEMA_DEPTH` against its meta-schema."""

BACKTRACKING_STEPS: Final = 400
"""Steps that a search costs that may backtrack; such a search is bounded too (`contract.patterns`)."""

PROBLEMS_LISTED: Final = 1_000
"""Problems listed; the others are counted."""

PROBLEMS_LISTED_REFERENCE: Final = 30_000
"""The same in the reference's own profile, whose messages quote the last problems too."""

PROBLEM_TEXT_CHARS: Final = 1 << 20
"""Characters of paths and messages in the listed problems; the first problem is listed whatever its length."""

WARNING_CHARS: Final = 1 << 20
"""Characters of log lines about a schema; the rest is not told."""

NUMBER_BITS: Final = 80_000
"""Bits of a number that is divided by `multipleOf` (24,000 digits)."""

FLAT_HEIGHT: Final = 4
"""Levels of subschemas that are run by plain calls; whatever is higher, or has no bound, is run on a stack of our own."""


class Budget(StrEnum):
    """Which budget was breached."""

    STEPS = "steps"
    DEPTH = "depth"
    PATTERN = "pattern"
    NUMBER = "number"


class BudgetExceeded(LastcallError):  # noqa: N818 -- no verdict rather than an error: it is caught where one is given
    """A check was given up because it would have taken too much. It is no verdict: the value may be valid or not."""

    code = "budget_exceeded"

    def __init__(self, budget: Budget, message: str, *, where: str = "") -> None:
        super().__init__(message, where=where)
        self.budget = budget
