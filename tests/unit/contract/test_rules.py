"""A type as a rule."""

from __future__ import annotations

from lastcall.contract.rules import TypeRule
from lastcall.nouns.attachment import Problem

PROBLEM = Problem("/a", "rule", "is odd")


def test_a_type_refuses_in_its_own_words_and_makes_its_values():
    rule = TypeRule("Even", lambda value: (value, ()) if value == 2 else (None, (PROBLEM,)))
    assert rule.problems(2) == ()
    assert rule.problems(3) == (PROBLEM,)
    assert rule.load(2) == 2
