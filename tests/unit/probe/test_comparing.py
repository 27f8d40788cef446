"""Two probes beside each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastcall.errors import BadConfig
from lastcall.probe.comparing import chance, compare
from lastcall.probe.endings import Ending
from lastcall.probe.sheet import Sheet
from probe_tools import case, plan, trial


@pytest.mark.parametrize(
    ("table", "p"),
    [
        ((3, 4, 1, 4), 34 / 70),  # Fisher's tea, either way
        ((5, 5, 0, 5), 2 / 252),
        ((8, 10, 1, 6), 0.03497),  # the table (8, 2; 1, 5) of the documentation of scipy.stats.fisher_exact
        ((0, 3, 0, 3), 1.0),
        ((3, 3, 3, 3), 1.0),
    ],
)
def test_a_difference_is_as_likely_as_fishers_exact_test_says(table, p):
    a, of_a, b, of_b = table
    assert chance(a, of_a, b, of_b) == pytest.approx(p, abs=1e-4)


@given(st.integers(1, 30), st.integers(1, 30), st.data())
def test_a_likelihood_is_one_and_the_same_from_both_sides(of_a, of_b, drawn):
    a, b = drawn.draw(st.integers(0, of_a)), drawn.draw(st.integers(0, of_b))
    p = chance(a, of_a, b, of_b)
    assert 0 < p <= 1
    assert p == pytest.approx(chance(b, of_b, a, of_a))
    assert p == pytest.approx(chance(of_a - a, of_a, of_b - b, of_b))


def test_only_cases_that_ask_the_same_are_compared():
    a = Sheet(plan(case("x"), case("y"), case("z")), tuple(trial(name) for name in "xyz"))
    b = Sheet(
        plan(case("x"), case("y", prompt="Another."), case("w")),
        (trial("x", 1, Ending.REPAIRED, attempts=2), trial("x", 2, Ending.GAVE_UP, attempts=0), trial("y"), trial("w")),
    )
    found = compare(a, b)
    assert [(p.name, p.a.trials, p.b.trials) for p in found.cases] == [("x", 1, 2)]
    assert (found.total.a.trials, found.total.b.trials) == (1, 2)
    assert (found.only_a, found.only_b) == (("y", "z"), ("y", "w"))
    assert found.total.first_p == pytest.approx(1 / 3)
    assert found.total.object_p == pytest.approx(1.0)


def test_a_side_without_trials_has_no_likelihood():
    found = compare(Sheet(plan(case("x")), ()), Sheet(plan(case("x")), (trial("x"),)))
    assert (found.cases[0].first_p, found.cases[0].object_p) == (None, None)


def test_probes_that_have_nothing_in_common_are_refused():
    with pytest.raises(BadConfig, match="no case in common"):
        compare(Sheet(plan(case("x")), ()), Sheet(plan(case("y")), ()))
