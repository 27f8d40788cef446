"""Tables of text."""

from __future__ import annotations

from lastcall.cli.probe_tables import columns, trial_line
from lastcall.probe.endings import Ending
from probe_tools import trial


def test_columns_are_as_wide_as_their_widest_cell_and_end_without_blanks():
    assert columns(["case", "n", "why"], [["a", "10", ""], ["longer", "2", "enum"]]) == [
        "case     n  why",
        "a       10",
        "longer   2  enum",
    ]


def test_a_trial_is_one_line_that_says_when_it_does_not_count():
    assert trial_line(trial(ending=Ending.REPAIRED, attempts=2), 3, 9) == (
        "[3/9] level round 1: repaired after 2 attempts, 1.5 s"
    )
    lost = trial(ending=Ending.FAILED, counted=False, attempts=0, reason="Network: cut")
    assert trial_line(lost, 0, 9) == "[0/9] level round 1: failed, 1.5 s (does not count: Network: cut)"
