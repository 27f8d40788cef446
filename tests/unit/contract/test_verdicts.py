"""Verdicts as the envelope and the whole of a value tell them."""

from __future__ import annotations

from lastcall.contract.verdicts import below, check_verdict
from lastcall.nouns.attachment import Problem
from lastcall.nouns.result import CheckVerdict

ONE, TWO = Problem("/a", "type", "must be integer", {"type": "integer"}), Problem("", "required", "is missing")


def test_a_rule_passes_that_found_no_problem():
    assert check_verdict("total", ()) == CheckVerdict("total", passed=True, message="")
    assert check_verdict("total", (ONE, TWO)) == CheckVerdict("total", False, "must be integer; is missing")


def test_problems_of_a_part_are_placed_in_the_whole():
    assert below("", (ONE, TWO)) == (ONE, TWO)
    assert below("/value", (ONE, TWO)) == (
        Problem("/value/a", "type", "must be integer", {"type": "integer"}),
        Problem("/value", "required", "is missing"),
    )
