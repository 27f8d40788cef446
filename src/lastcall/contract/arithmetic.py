"""What a number is worth: exactly (native) or as a double (the reference). Each is one value of `Arithmetic`.

Integers come as `int`, other numbers as `Decimal` (native) or `float` (compat); booleans are never numbers, and numbers
that are not finite count as no number at all, as in the reference. Must not go in here: keywords, wording.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Final

from msgspec import Struct

from lastcall.contract import budgets
from lastcall.contract.budgets import Budget, BudgetExceeded

Number = int | float | Decimal
Reading = Callable[[Number], Number]

_JS_PLAIN_UPTO: Final = 21
"""Doubles from 10^21 on are written with an exponent."""

_JS_PLAIN_FROM: Final = -6
"""Doubles below 10^-6 are written with an exponent."""


class Arithmetic(Struct, frozen=True):
    """How numbers are read, tested, compared and written.

    `readings` holds, for each class of numbers, the function that turns one into what is compared; a class that is not in
    it is compared as it is. `may_be_infinite` are the classes whose values have to be tested with `is_number`.
    """

    readings: dict[type, Reading]
    may_be_infinite: frozenset[type]
    is_number: Callable[[Number], bool]
    is_integer: Callable[[Number], bool]
    is_multiple: Callable[[Number, Number], bool]
    text: Callable[[Number], str]

    def read(self, number: Number) -> Number:
        """The number as it is compared. Equal numbers have equal readings, and equal hashes."""
        reading = self.readings.get(type(number))
        return number if reading is None else reading(number)


# -- exact ----------------------------------------------------------------------------------------------------------


def _decimal_of_double(number: Number) -> Decimal:
    """The shortest decimal that reads as this double: `0.1` stands for one tenth."""
    return Decimal(repr(number))


def _exact_is_number(number: Number) -> bool:
    if isinstance(number, Decimal):
        return number.is_finite()
    return isinstance(number, int) or math.isfinite(number)


def _exact_is_integer(number: Number) -> bool:
    if isinstance(number, Decimal):
        return number.is_finite() and number == number.to_integral_value()
    return isinstance(number, int) or number.is_integer()


def _scaled(number: int | Decimal) -> tuple[int, int] | None:
    """`(a, x)` with number = a * 10^x, and no factor 10 in the `a` of a decimal; `None` for what is not finite."""
    if isinstance(number, int):
        _check_size(number.bit_length())
        return number, 0
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        return None
    significant = len(digits)
    while significant and digits[significant - 1] == 0:
        significant -= 1
    _check_size(significant * 10 // 3)
    # the constructor is exact whatever the context's precision, and not bound by the limit on digits in a string
    return int(Decimal((sign, digits[:significant], 0))), exponent + len(digits) - significant


def _check_size(bits: int) -> None:
    if bits > budgets.NUMBER_BITS:
        raise BudgetExceeded(Budget.NUMBER, "a number has too many digits to be divided exactly")


def _exact_is_multiple(number: Number, factor: Number) -> bool:
    """Whether `number` is `factor` times an integer, without rounding anywhere."""
    if isinstance(number, int) and isinstance(factor, int):
        _check_size(number.bit_length())
        return factor != 0 and number % factor == 0
    left = _scaled(_decimal_of_double(number) if isinstance(number, float) else number)
    right = _scaled(_decimal_of_double(factor) if isinstance(factor, float) else factor)
    if left is None or right is None or right[0] == 0:
        return False
    shift = left[1] - right[1]
    if shift < 0:
        # 10^-shift has more bits than the number where the first test fails, so it is never built when it is huge
        return left[0] == 0 or (-shift <= left[0].bit_length() and left[0] % (right[0] * 10**-shift) == 0)
    return left[0] * pow(10, shift, abs(right[0])) % right[0] == 0


def _exact_text(number: Number) -> str:
    if isinstance(number, int):
        # `Decimal` writes any number of digits, `str(int)` stops at 4,300
        return str(Decimal(number))
    exact = _decimal_of_double(number) if isinstance(number, float) else number
    if exact.is_finite() and exact.adjusted() < _JS_PLAIN_UPTO and _exact_is_integer(exact):
        return str(int(exact))
    return js_text(float(exact)) if Decimal(repr(float(exact))) == exact else str(exact)


# -- doubles --------------------------------------------------------------------------------------------------------


def as_double(number: Number) -> float:
    """The nearest double; beyond the range, an infinity."""
    try:
        return float(number)
    except ValueError:
        # a signalling NaN, which only a caller in Python can send
        return math.nan
    except OverflowError:
        return math.copysign(math.inf, -1 if number < 0 else 1)


def _double_is_number(number: Number) -> bool:
    return math.isfinite(as_double(number))


def _double_is_integer(number: Number) -> bool:
    return as_double(number).is_integer()


def _double_is_multiple(number: Number, factor: Number) -> bool:
    """The reference's test: the quotient of two doubles must be an integer, and be written without an exponent."""
    divisor = as_double(factor)
    if divisor == 0:
        return False
    quotient = as_double(number) / divisor
    return quotient.is_integer() and abs(quotient) < 10.0**_JS_PLAIN_UPTO


def js_text(number: float) -> str:
    """A double as JavaScript writes it: the shortest digits that read back, an exponent only from 1e21 and below 1e-6."""
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else ("Infinity" if number > 0 else "-Infinity")
    if number == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    point = len(text) + exponent
    minus = "-" if sign else ""
    if point > _JS_PLAIN_UPTO or point <= _JS_PLAIN_FROM:
        fraction = f".{text[1:]}" if len(text) > 1 else ""
        return f"{minus}{text[0]}{fraction}e{point - 1:+d}"
    if point <= 0:
        return f"{minus}0.{'0' * -point}{text}"
    if exponent >= 0:
        return f"{minus}{text}{'0' * exponent}"
    return f"{minus}{text[:point]}.{text[point:]}"


def _double_text(number: Number) -> str:
    return js_text(as_double(number))


EXACT: Final = Arithmetic(
    readings={float: _decimal_of_double},
    may_be_infinite=frozenset({float, Decimal}),
    is_number=_exact_is_number,
    is_integer=_exact_is_integer,
    is_multiple=_exact_is_multiple,
    text=_exact_text,
)
"""Numbers as they are written: integers of any size, decimals to the last place."""

DOUBLES: Final = Arithmetic(
    readings={int: as_double, Decimal: as_double},
    may_be_infinite=frozenset({int, float, Decimal}),
    is_number=_double_is_number,
    is_integer=_double_is_integer,
    is_multiple=_double_is_multiple,
    text=_double_text,
)
"""Numbers as IEEE 754 doubles, the reference's: integers past 2^53 lose digits, 10^400 is no number."""
