"""Numbers, exactly and as doubles."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastcall.contract.arithmetic import DOUBLES, EXACT, as_double, js_text
from lastcall.contract.budgets import Budget, BudgetExceeded

# expected texts by ECMA-262, Number::toString
JS_TEXTS = [
    (0.0, "0"),
    (-0.0, "0"),
    (1.0, "1"),
    (-1.5, "-1.5"),
    (0.1, "0.1"),
    (1e20, "100000000000000000000"),
    (1e21, "1e+21"),
    (1.5e300, "1.5e+300"),
    (-1e21, "-1e+21"),
    (0.000001, "0.000001"),
    (0.0000001, "1e-7"),
    (1.25e-7, "1.25e-7"),
    (123456.789, "123456.789"),
    (1200.0, "1200"),
    (math.nan, "NaN"),
    (math.inf, "Infinity"),
    (-math.inf, "-Infinity"),
]


@pytest.mark.parametrize(("number", "text"), JS_TEXTS)
def test_doubles_are_written_as_javascript_writes_them(number: float, text: str) -> None:
    assert js_text(number) == text
    assert DOUBLES.text(number) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (7, "7"),
        (Decimal("0.01"), "0.01"),
        (Decimal("1.0"), "1"),
        (Decimal("1E+3"), "1000"),
        (Decimal("1.00000000000000000001"), "1.00000000000000000001"),
        (Decimal("1E+400"), "1E+400"),
        (0.1, "0.1"),
    ],
)
def test_exact_numbers_are_written_to_the_last_digit(number: Decimal | float, text: str) -> None:
    assert EXACT.text(number) == text


def test_integers_of_any_size_are_numbers() -> None:
    huge = 10**5000
    assert EXACT.text(huge) == "1" + "0" * 5000
    assert EXACT.is_number(huge)
    assert EXACT.is_integer(huge)
    assert EXACT.is_multiple(7 * huge, 7)
    assert not EXACT.is_multiple(huge, 7)
    assert EXACT.is_multiple(huge, Decimal("0.01"))


def test_beyond_the_doubles_is_no_number() -> None:
    assert as_double(10**400) == math.inf
    assert as_double(-(10**400)) == -math.inf
    assert math.isnan(as_double(Decimal("sNaN")))
    assert not DOUBLES.is_number(10**400)
    assert not DOUBLES.is_integer(Decimal("NaN"))
    assert DOUBLES.is_number(Decimal("1.5"))


@pytest.mark.parametrize("odd", [math.nan, math.inf, Decimal("NaN"), Decimal("sNaN"), Decimal("-Infinity")])
def test_what_is_not_finite_is_no_number(odd: float | Decimal) -> None:
    assert not EXACT.is_number(odd)
    assert not DOUBLES.is_number(odd)
    assert not EXACT.is_multiple(odd if isinstance(odd, Decimal) else Decimal(repr(odd)), 1)


@pytest.mark.parametrize(
    ("number", "integer"),
    [
        (1, True),
        (1.0, True),
        (1.5, False),
        (Decimal("1.0"), True),
        (Decimal("1.5"), False),
        (Decimal("1E+999999"), True),
        (Decimal("1E-999999"), False),
        (Decimal("Infinity"), False),
    ],
)
def test_a_number_without_fraction_is_an_integer(number: float | Decimal, integer: bool) -> None:
    assert EXACT.is_number(1)
    assert EXACT.is_integer(number) is integer


@pytest.mark.parametrize(
    ("number", "factor", "multiple"),
    [
        (Decimal("19.99"), Decimal("0.01"), True),
        (Decimal("0.07"), Decimal("0.01"), True),
        (Decimal("0.075"), Decimal("0.01"), False),
        (19.99, 0.01, True),
        (6, 3, True),
        (7, 3, False),
        (5, Decimal("2.5"), True),
        (5, Decimal("1E+400"), False),
        (0, Decimal("1E+400"), True),
        (Decimal("0.00"), 3, True),
        (Decimal("1E+999999"), Decimal("0.7"), False),
        (Decimal("7E+999999"), Decimal("0.7"), True),
        (Decimal("1E-999999"), 1, False),
        (Decimal("-4.5"), Decimal("1.5"), True),
        (4, Decimal(-2), True),
        (4, 0, False),
        (4, Decimal(0), False),
        (Decimal("NaN"), 2, False),
    ],
)
def test_multiples_are_exact(number: float | Decimal, factor: float | Decimal, multiple: bool) -> None:
    assert EXACT.is_multiple(number, factor) is multiple


@given(
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12, places=6),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-1000, max_value=1000, places=4).filter(bool),
)
def test_multiples_agree_with_fractions(number: Decimal, factor: Decimal) -> None:
    assert EXACT.is_multiple(number, factor) == ((Fraction(number) / Fraction(factor)).denominator == 1)


@pytest.mark.parametrize(
    ("number", "factor", "multiple"),
    [
        (19.99, 0.01, False),
        (0.5, 0.25, True),
        (1e22, 1, False),
        (1e20, 1, True),
        (3, 0, False),
        (1e308, 1e-10, False),
        (0, 5, True),
        (1e-7, 1, False),
    ],
)
def test_as_doubles_the_quotient_must_be_an_integer_below_1e21(number: float, factor: float, multiple: bool) -> None:
    assert DOUBLES.is_multiple(number, factor) is multiple


def test_a_number_of_too_many_digits_is_not_divided() -> None:
    for number in (1 << 200_000, Decimal("1." + "1" * 100_000)):
        with pytest.raises(BudgetExceeded) as caught:
            EXACT.is_multiple(number, Decimal("0.3"))
        assert caught.value.budget is Budget.NUMBER


def test_equal_numbers_have_equal_readings() -> None:
    assert EXACT.read(0.1) == Decimal("0.1") != EXACT.read(Decimal("0.10000001"))
    assert EXACT.read(2**53 + 1) != EXACT.read(2**53)
    assert DOUBLES.read(2**53 + 1) == DOUBLES.read(2**53)
    assert hash(EXACT.read(1.0)) == hash(EXACT.read(1))
