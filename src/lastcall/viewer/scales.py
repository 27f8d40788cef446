"""Axes and figures: round steps, places between 0 and 1, equal bins, numbers as people read them.

Must not go in here: drawing (`viewer.charts`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

_WANTED_STEPS: Final = 5
_MOST_BINS: Final = 40
_EXACT_BELOW: Final = 1_000_000
_FURTHEST: Final = 1e15
"""No figure of a run is larger; what is, lies at the end of its axis."""
_FINEST: Final = 1e-9
"""Values that are nearer to each other are drawn as one."""


class Axis(Struct, frozen=True):
    """From `low` to `high` (which differ) in round `steps`."""

    low: float
    high: float
    steps: tuple[float, ...]

    def place(self, value: float) -> float:
        """Where a value lies, 0 at the axis' beginning and 1 at its end; never outside."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))


def axis_for(values: Sequence[float], *, zero: bool = False, whole: bool = False) -> Axis:
    """An axis that holds all finite values within 1e15 of 0.

    `zero` makes it hold 0 too, `whole` keeps its steps whole numbers.
    """
    finite = [min(_FURTHEST, max(-_FURTHEST, float(v))) for v in values if math.isfinite(v)]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    if zero:
        low, high = min(0.0, low), max(0.0, high)
    if high - low <= max(_FINEST, 1e-9 * max(abs(low), abs(high))):
        low, high = (0.0, high) if high > _FINEST else (low * 1.1 - 1, high + 1)
    step = _round_step((high - low) / _WANTED_STEPS)
    if whole:
        step = max(1.0, math.ceil(step))
    steps = tuple(round(n * step, 12) for n in range(math.floor(low / step), math.ceil(high / step) + 1))
    return Axis(steps[0], steps[-1], steps)


def _round_step(rough: float) -> float:
    """The next of 1, 2, 2.5, 5, 10 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next((m * power for m in (1, 2, 2.5, 5) if m * power >= rough), 10 * power)


def bins_of(values: Sequence[float], wanted: int | None = None, *, log: bool = False) -> list[tuple[float, float, int]]:
    """(from, to, how many) of equal steps over the finite values; the last one holds its end. Empty for no values.

    With `log` values of 0 and less are left out and the steps are equal factors. `wanted` is 1 to 40, by Sturges' rule
    if left out.
    """
    kept = sorted(v for v in values if math.isfinite(v) and (v > 0 or not log))
    if not kept:
        return []
    scaled = [math.log10(v) for v in kept] if log else kept
    low, high = scaled[0], scaled[-1]
    if high - low <= abs(high) * 1e-12:
        return [(kept[0], kept[-1], len(kept))]
    count = min(_MOST_BINS, max(1, wanted or math.ceil(math.log2(len(kept)) + 1)))
    width = (high - low) / count
    totals = [0] * count
    for v in scaled:
        totals[min(count - 1, int((v - low) / width))] += 1
    edges = [low + n * width for n in range(count)] + [high]
    ends = [10**e for e in edges] if log else edges
    return [(ends[n], ends[n + 1], totals[n]) for n in range(count)]


def figure(value: float | None) -> str:
    """A number as people read it: `1,234`, `0.25`, `1.2 million`; three significant digits if it is no whole number."""
    if value is None:
        return "none"
    if not math.isfinite(value):
        return str(value)
    if abs(value) >= _EXACT_BELOW:
        for name, size in (("trillion", 1e12), ("billion", 1e9), ("million", 1e6)):
            if abs(value) >= size:
                return f"{value / size:.3g} {name}" if abs(value) < 1e15 else f"{value:.3g}"
    if value == int(value):
        return f"{int(value):,}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
