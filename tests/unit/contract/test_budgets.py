"""The budgets and their error."""

from __future__ import annotations

from lastcall.contract import budgets
from lastcall.contract.budgets import Budget, BudgetExceeded
from lastcall.errors import LastcallError


def test_a_breach_says_which_budget_and_is_one_of_our_errors() -> None:
    error = BudgetExceeded(Budget.STEPS, "too long", where="/a")
    assert isinstance(error, LastcallError)
    assert (error.budget, error.code, str(error)) == (Budget.STEPS, "budget_exceeded", "/a: too long")


def test_the_schema_budgets_are_those_that_the_parser_promises() -> None:
    assert (budgets.SCHEMA_VALUES, budgets.SCHEMA_DEPTH) == (100_000, 10_000)
