from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastcall.viewer.scales import axis_for, bins_of, figure

floats = st.floats(allow_nan=True, allow_infinity=True)
finite = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)


@settings(max_examples=60)
@given(st.lists(floats, max_size=20), st.booleans(), st.booleans())
def test_an_axis_holds_every_finite_value_between_rising_steps(values, zero, whole):
    axis = axis_for(values, zero=zero, whole=whole)
    kept = [v for v in values if abs(v) <= 1e15]
    assert axis.low < axis.high
    assert list(axis.steps) == sorted(set(axis.steps))
    assert 2 <= len(axis.steps) <= 14
    for v in kept:
        assert 0 <= axis.place(v) <= 1
        assert axis.low <= v or math.isclose(axis.low, v, rel_tol=1e-8, abs_tol=1e-8)
        assert v <= axis.high or math.isclose(axis.high, v, rel_tol=1e-8, abs_tol=1e-8)


@pytest.mark.parametrize(
    ("values", "steps"),
    [
        ([0, 10], (0, 2, 4, 6, 8, 10)),
        ([0, 23], (0, 5, 10, 15, 20, 25)),
        ([1, 2, 3], (1, 1.5, 2, 2.5, 3)),
        ([-3, 4], (-4, -2, 0, 2, 4)),
        ([7], (0, 2, 4, 6, 8)),
        ([], (0, 0.2, 0.4, 0.6, 0.8, 1)),
    ],
)
def test_steps_are_round(values, steps):
    assert axis_for(values).steps == pytest.approx(steps)


def test_counts_have_whole_steps():
    assert axis_for([0, 2], whole=True).steps == (0, 1, 2)


def test_a_value_lies_between_the_ends():
    axis = axis_for([0, 10])
    assert (axis.place(0), axis.place(2.5), axis.place(10), axis.place(99)) == (0, 0.25, 1, 1)


@settings(max_examples=60)
@given(st.lists(finite, max_size=50), st.none() | st.integers(1, 60), st.booleans())
def test_bins_hold_every_value_once_and_touch(values, wanted, log):
    bins = bins_of(values, wanted, log=log)
    assert sum(count for _, _, count in bins) == len([v for v in values if v > 0 or not log])
    assert len(bins) <= 40
    assert all(a[1] == b[0] for a, b in pairwise(bins))


def test_bins_are_counted_by_hand():
    assert bins_of([0, 1, 2, 3, 4], 2) == [(0, 2, 2), (2, 4, 3)]
    assert [count for _, _, count in bins_of([1, 5, 10, 50, 100, 0], 2, log=True)] == [2, 3]
    assert bins_of([3, 3, math.nan]) == [(3, 3, 2)]


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "none"), (0, "0"), (1234, "1,234"), (0.25, "0.25"), (0.000123456, "0.000123"), (123.456, "123"), (1.2e6, "1.2 million"),
     (3.4e9, "3.4 billion"), (5e12, "5 trillion"), (1e18, "1e+18"), (math.inf, "inf"), (-2.5, "-2.5")],
)  # fmt: skip
def test_figures_are_written_for_people(value, text):
    assert figure(value) == text
