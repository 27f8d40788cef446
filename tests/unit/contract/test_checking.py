"""The machine that runs checks."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lastcall.contract.budgets import Budget, BudgetExceeded
from lastcall.contract.checking import LEVEL_COST, Run, Walk, drive, pointer


def nested(levels: int, seen: list[int]) -> Walk:
    if levels:
        yield nested(levels - 1, seen)
    seen.append(levels)


def test_walks_run_innermost_first_to_their_end() -> None:
    seen: list[int] = []
    drive(nested(3, seen), Run(100, str), 10)
    assert seen == [0, 1, 2, 3]
    drive(None, Run(0, str), 0)


@contextmanager
def small_stack() -> Iterator[None]:
    before = threading.stack_size(128 * 1024)
    try:
        yield
    finally:
        threading.stack_size(before)


def test_depth_takes_neither_pythons_stack_nor_cs() -> None:
    seen: list[int] = []
    with small_stack():
        thread = threading.Thread(
            target=lambda: drive(nested(20 * sys.getrecursionlimit(), seen), Run(10**6, str), 10**6)
        )
        thread.start()
    thread.join()
    assert len(seen) == 20 * sys.getrecursionlimit() + 1


@pytest.mark.parametrize(("steps", "depth", "budget"), [(10**6, 9, Budget.DEPTH), (9 * LEVEL_COST, 100, Budget.STEPS)])
def test_a_breached_budget_ends_the_walk(steps: int, depth: int, budget: Budget) -> None:
    with pytest.raises(BudgetExceeded, match=f"words for {budget}") as caught:
        drive(nested(10, []), Run(steps, lambda which: f"words for {which}"), depth)
    assert caught.value.budget is budget


def test_what_is_spent_is_gone() -> None:
    run = Run(3, str)
    run.spend(3)
    with pytest.raises(BudgetExceeded):
        run.spend(1)


@pytest.mark.parametrize(
    ("at", "text"),
    [(None, ""), ((None, "a"), "/a"), (((None, "a/b"), 0), "/a~1b/0"), ((None, "~1"), "/~01"), ((None, ""), "/")],
)
def test_places_are_written_as_json_pointers(at: Any, text: str) -> None:
    assert pointer(at) == text
