"""A probe as lines of text.

Must not go in here: counting (`lastcall.probe`).
"""

from __future__ import annotations

from collections.abc import Sequence

from lastcall.probe.cases import Case
from lastcall.probe.comparing import Comparison, Pair
from lastcall.probe.endings import OBJECTS, Ending
from lastcall.probe.sheet import Plan
from lastcall.probe.tally import Row, Tally
from lastcall.probe.trials import Trial
from lastcall.probe.words import EXPLAINED, NAMES, kind

_NOTABLE = 0.05


def trial_line(trial: Trial, done: int, of: int) -> str:
    """One trial, as it ends."""
    name = NAMES.get(trial.ending, trial.ending.value)
    after = f" after {len(trial.attempts)} attempts" if trial.ending in OBJECTS and len(trial.attempts) > 1 else ""
    lost = "" if trial.counted else f" (does not count: {trial.reason})"
    return f"[{done}/{of}] {trial.case} round {trial.round}: {name}{after}, {trial.duration_ms / 1000:.1f} s{lost}"


def case_lines(cases: Sequence[Case]) -> list[str]:
    """The cases with their prompts."""
    lines: list[str] = []
    for case in cases:
        lines += [f"{case.name} ({kind(conflicts=case.conflicts, may_correct=case.may_correct)})"]
        lines += [f"    {line}" for line in case.prompt.splitlines() if line]
        lines += [f"    {case.schema_text}"]
    return lines


def tally_lines(plan: Plan, tally: Tally) -> list[str]:
    """The table: one line a case, then all."""
    endings = [e for e in NAMES if e in tally.total.endings]
    head = ["case", "trials", *(NAMES[e] for e in endings), "attempts", "out tokens", "seconds", "rejected by"]
    rows = [_cells(row, endings) for row in (*tally.cases, tally.total) if row.trials or row is tally.total]
    lines = [f"{plan.model}, suite {plan.suite}", "", *columns(head, rows), ""]
    lines += [f"{NAMES[e]}: {EXPLAINED[e]}" for e in endings]
    lines.append("attempts: mean finishing calls of trials with an object; tokens and seconds: medians of a trial")
    if tally.uncounted:
        lines.append(f"did not count, and are in no row (limits of the probe, the network): {tally.uncounted}")
    return lines


def _cells(row: Row, endings: Sequence[Ending]) -> list[str]:
    rejected = sorted(row.rejected_by.items(), key=lambda item: -item[1])
    return [
        row.name,
        str(row.trials),
        *(str(row.endings[e]) if e in row.endings else "" for e in endings),
        _figure(row.attempts),
        _figure(row.output_tokens, 0),
        _figure(row.seconds),
        ", ".join(f"{keyword} {n}" for keyword, n in rejected[:4]),
    ]


def pair_lines(a: Plan, b: Plan, found: Comparison) -> list[str]:
    """Two probes beside each other."""
    head = ["case", "A first", "B first", "p", "A objects", "B objects", "p", ""]
    rows = [_pair_cells(pair) for pair in (*found.cases, found.total)]
    lines = [f"A: {a.model}, suite {a.suite}", f"B: {b.model}, suite {b.suite}", "", *columns(head, rows), ""]
    lines.append("p: how likely shares so far apart are by chance (Fisher's exact test); * below 0.05")
    for name, only in (("A", found.only_a), ("B", found.only_b)):
        if only:
            lines.append(f"only in {name}: {', '.join(only)}")
    return lines


def _pair_cells(pair: Pair) -> list[str]:
    chances = [p for p in (pair.first_p, pair.object_p) if p is not None]
    return [
        pair.name,
        f"{pair.a.endings.get(Ending.ACCEPTED_FIRST, 0)}/{pair.a.trials}",
        f"{pair.b.endings.get(Ending.ACCEPTED_FIRST, 0)}/{pair.b.trials}",
        _figure(pair.first_p, 3),
        f"{pair.a.objects}/{pair.a.trials}",
        f"{pair.b.objects}/{pair.b.trials}",
        _figure(pair.object_p, 3),
        "*" if chances and min(chances) < _NOTABLE else "",
    ]


def _figure(value: float | None, places: int = 1) -> str:
    return "" if value is None else f"{value:.{places}f}"


def columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A head and rows in columns: the first and the last to the left, figures to the right."""
    widths = [max(len(line[i]) for line in (head, *rows)) for i in range(len(head))]
    last = len(head) - 1
    return [
        "  ".join(
            cell.ljust(width) if i in (0, last) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in (head, *rows)
    ]
