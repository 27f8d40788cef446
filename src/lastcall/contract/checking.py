"""The machine that runs checks: errors in order, budgets, and a stack of our own instead of Python's.

A `Check` looks at one value and notes what is wrong in the `Run`. One that has to look at subschemas of unbounded depth is
a generator (a `Walk`) that yields the walks to be done before it goes on; `drive` keeps them on a list. Subschemas of
small, bounded height are run by plain calls, which is several times faster. So neither a deep value nor a deep schema can
exhaust Python's stack or C's, in any thread.

Must not go in here: keywords.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, Final

from lastcall.contract.budgets import Budget, BudgetExceeded

At = tuple[Any, str | int] | None
"""Where a value stands: (where its parent stands, key or index), `None` for the root. Written out only for an error."""

Fault = tuple[str, str, Mapping[str, Any]]
"""Keyword, message, parameters: what a `Problem` says, without its place."""

Walk = Generator[Any, None, None]
"""A suspended check. Yields `Walk`s."""

LEVEL_COST: Final = 3
"""Steps that one level of nesting costs, against one for a child that is looked at by a plain call."""


ERROR_COST: Final = 2
"""Steps that an error costs where errors can multiply: in a branch, in an item."""


class Run:
    """One check of one value: the errors so far and the budget left. Lives only as long as the check."""

    __slots__ = ("errors", "steps", "words")

    def __init__(self, steps: int, words: Callable[[Budget], str]) -> None:
        self.errors: list[tuple[At, Fault]] = []
        self.steps = steps
        self.words = words

    def spend(self, steps: int) -> None:
        """Take from the budget. Raises `BudgetExceeded` when there is none left."""
        self.steps -= steps
        if self.steps < 0:
            raise BudgetExceeded(Budget.STEPS, self.words(Budget.STEPS))


Check = Callable[[Any, At, Run], Walk | None]


def drive(walk: Walk | None, run: Run, depth: int) -> None:
    """Run a check to its end, `depth` suspended walks at most. Raises `BudgetExceeded`."""
    suspended: list[Walk] = []
    try:
        while walk is not None:
            inner = next(walk, None)
            if inner is not None:
                suspended.append(walk)
                if len(suspended) > depth:
                    raise BudgetExceeded(Budget.DEPTH, run.words(Budget.DEPTH))
                run.steps -= LEVEL_COST
                if run.steps < 0:
                    run.spend(0)
                walk = inner
            else:
                walk = suspended.pop() if suspended else None
    finally:
        while suspended:  # from the top: freed from the bottom, each would free the next inside itself, in C
            suspended.pop().close()


def pointer(at: At) -> str:
    """The JSON Pointer of a place."""
    tokens: list[str] = []
    while at is not None:
        at, key = at
        tokens.append(str(key).replace("~", "~0").replace("/", "~1"))
    return "/" + "/".join(reversed(tokens)) if tokens else ""
