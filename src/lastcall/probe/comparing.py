"""Two probes beside each other, case by case, with how likely a difference is by chance.

Must not go in here: how it is shown (`page`, `lastcall.cli`).
"""

from __future__ import annotations

from math import comb

from msgspec import Struct
from msgspec.structs import replace

from lastcall.errors import BadConfig
from lastcall.probe.endings import Ending
from lastcall.probe.sheet import Sheet
from lastcall.probe.tally import Row, count


class Pair(Struct, frozen=True):
    """One row of each probe. `first_p` and `object_p`: how likely shares at least as far apart are if nothing differs.

    `first_p` is about objects at the first call, `object_p` about objects at all (Fisher's exact test, two-sided);
    `None` where one of the two has no trials.
    """

    name: str
    a: Row
    b: Row
    first_p: float | None
    object_p: float | None


class Comparison(Struct, frozen=True):
    """Two probes. `only_a` and `only_b` name cases that the other does not have, or has with another prompt or schema."""

    cases: tuple[Pair, ...]
    families: tuple[Pair, ...]
    total: Pair
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]


def compare(a: Sheet, b: Sheet) -> Comparison:
    """The cases that both have. Raises `BadConfig` if there are none."""
    both = tuple(case for case in a.plan.cases if case in b.plan.cases)
    if not both:
        raise BadConfig("the two probes have no case in common", hint="Compare probes of the same suite.")
    names = {case.name for case in both}
    left, right = (count(_only(sheet, names)) for sheet in (a, b))
    return Comparison(
        _pairs(left.cases, right.cases),
        _pairs(left.families, right.families),
        pair(left.total, right.total),
        tuple(case.name for case in a.plan.cases if case not in both),
        tuple(case.name for case in b.plan.cases if case not in both),
    )


def _only(sheet: Sheet, names: set[str]) -> Sheet:
    cases = tuple(case for case in sheet.plan.cases if case.name in names)
    return replace(
        sheet, plan=replace(sheet.plan, cases=cases), trials=tuple(t for t in sheet.trials if t.case in names)
    )


def _pairs(left: tuple[Row, ...], right: tuple[Row, ...]) -> tuple[Pair, ...]:
    others = {row.name: row for row in right}
    return tuple(pair(row, others[row.name]) for row in left if row.name in others)


def pair(a: Row, b: Row) -> Pair:
    """Two rows beside each other."""
    if not a.trials or not b.trials:
        return Pair(a.name, a, b, None, None)
    first = (a.endings.get(Ending.ACCEPTED_FIRST, 0), b.endings.get(Ending.ACCEPTED_FIRST, 0))
    return Pair(
        a.name,
        a,
        b,
        chance(first[0], a.trials, first[1], b.trials),
        chance(a.objects, a.trials, b.objects, b.trials),
    )


def chance(hits_a: int, of_a: int, hits_b: int, of_b: int) -> float:
    """Fisher's exact test, two-sided: the share of tables with these margins that are no likelier than this one."""
    hits, everything = hits_a + hits_b, of_a + of_b

    def ways(x: int) -> int:
        return comb(of_a, x) * comb(of_b, hits - x)

    mine = ways(hits_a)
    possible = range(max(0, hits - of_b), min(of_a, hits) + 1)
    return sum(w for w in map(ways, possible) if w <= mine) / comb(everything, hits)
