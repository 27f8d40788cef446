"""Counting, against figures counted by hand."""

from __future__ import annotations

from decimal import Decimal

from lastcall.probe.endings import Ending
from lastcall.probe.sheet import Sheet
from lastcall.probe.tally import count
from probe_tools import case, plan, trial

SHEET = Sheet(
    plan(case("a", family="enum"), case("b", family="enum", conflicts=False), case("c", family="type")),
    (
        trial("a", 1),
        trial("a", 2, Ending.REPAIRED, attempts=3, output_tokens=60, duration_ms=4500),
        trial("a", 3, Ending.DEGENERATE, attempts=4, output_tokens=90, duration_ms=3000, cost_usd=None),
        trial("b", 1, Ending.DECLINED, attempts=1, input_tokens=None, output_tokens=None),
        trial("b", 2, Ending.STOPPED, counted=False),
    ),
)


def test_each_case_is_counted_for_itself():
    a, b, c = count(SHEET).cases
    assert (a.name, a.family, a.trials, a.conflicts) == ("a", "enum", 3, True)
    assert a.endings == {Ending.ACCEPTED_FIRST: 1, Ending.REPAIRED: 1, Ending.DEGENERATE: 1}
    assert (a.objects, a.attempts, a.output_tokens, a.seconds) == (3, 8 / 3, 60, 3.0)
    assert (a.cost_usd, a.rejected_by) == (Decimal("0.02"), {"enum": 5})
    assert (b.trials, b.objects, b.attempts, b.input_tokens, b.output_tokens) == (1, 0, None, None, None)
    assert (c.trials, c.endings, c.seconds, c.cost_usd) == (0, {}, None, None)


def test_families_and_all_are_sums_of_their_cases_and_what_does_not_count_is_apart():
    found = count(SHEET)
    assert [(r.name, r.trials, r.objects) for r in found.families] == [("enum", 4, 3), ("type", 0, 0)]
    assert (found.total.trials, found.total.objects, found.uncounted) == (4, 3, 1)
    assert found.total.seconds == 2.25
