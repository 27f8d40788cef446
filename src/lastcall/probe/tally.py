"""Counting: a sheet to one row a case, one a family, one for all.

Must not go in here: judging (`endings`), how rows are shown (`page`, `lastcall.cli`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from statistics import fmean, median

from msgspec import Struct

from lastcall.probe.endings import OBJECTS, Ending
from lastcall.probe.sheet import Sheet
from lastcall.probe.trials import Trial


class Row(Struct, frozen=True, kw_only=True):
    """What some trials came to.

    `endings` counts each ending that occurred. `attempts` is the mean number of finishing calls of the trials that ended
    in an object; tokens and `seconds` are medians of a trial; what no trial told is `None`. `rejected_by` counts the
    keywords of the problems of all attempts.
    """

    name: str
    trials: int
    endings: Mapping[Ending, int]
    attempts: float | None
    input_tokens: float | None
    output_tokens: float | None
    seconds: float | None
    cost_usd: Decimal | None
    rejected_by: Mapping[str, int]
    conflicts: bool | None = None
    may_correct: bool | None = None
    family: str = ""

    @property
    def objects(self) -> int:
        """How many ended in an object."""
        return sum(count for ending, count in self.endings.items() if ending in OBJECTS)


class Tally(Struct, frozen=True):
    """A sheet, counted. `uncounted` trials say nothing of the model and are in no row."""

    cases: tuple[Row, ...]
    families: tuple[Row, ...]
    total: Row
    uncounted: int


def count(sheet: Sheet) -> Tally:
    """The sheet, counted."""
    counted = sheet.counted
    cases = sheet.plan.cases
    by_case = {case.name: [t for t in counted if t.case == case.name] for case in cases}
    rows = tuple(
        row(c.name, by_case[c.name], conflicts=c.conflicts, may_correct=c.may_correct, family=c.family) for c in cases
    )
    families = tuple(
        row(family, [t for c in cases if c.family == family for t in by_case[c.name]], family=family)
        for family in dict.fromkeys(c.family for c in cases)
    )
    uncounted = sum(1 for t in sheet.trials if not t.counted)
    return Tally(rows, families, row("all", counted), uncounted)


def row(
    name: str,
    trials: Sequence[Trial],
    *,
    conflicts: bool | None = None,
    may_correct: bool | None = None,
    family: str = "",
) -> Row:
    """One row."""
    objects = [len(t.attempts) for t in trials if t.ending in OBJECTS]
    costs = [t.cost_usd for t in trials if t.cost_usd is not None]
    return Row(
        name=name,
        trials=len(trials),
        endings=dict(Counter(t.ending for t in trials)),
        attempts=fmean(objects) if objects else None,
        input_tokens=_median([t.input_tokens for t in trials]),
        output_tokens=_median([t.output_tokens for t in trials]),
        seconds=_median([t.duration_ms / 1000 for t in trials]),
        cost_usd=sum(costs, Decimal(0)) if costs else None,
        rejected_by=dict(Counter(p.keyword for t in trials for a in t.attempts for p in a.problems)),
        conflicts=conflicts,
        may_correct=may_correct,
        family=family,
    )


def _median(values: Sequence[float | None]) -> float | None:
    told = [value for value in values if value is not None]
    return float(median(told)) if told else None
