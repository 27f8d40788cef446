"""A probe, or two beside each other, as one HTML file that loads nothing.

Must not go in here: counting (`tally`, `comparing`), how pages and pictures are made (`lastcall.viewer`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from lastcall.probe.comparing import Comparison, Pair
from lastcall.probe.endings import OBJECTS, Ending
from lastcall.probe.sheet import Plan, Sheet
from lastcall.probe.tally import Row, Tally, count, row
from lastcall.probe.trials import Reply, Trial
from lastcall.probe.words import EXPLAINED, NAMES, kind
from lastcall.viewer.charts import Series, bars, stacked_bars
from lastcall.viewer.markup import Child, Markup, join, tag
from lastcall.viewer.page import render_page
from lastcall.viewer.scales import figure

_GOOD = {Ending.ACCEPTED_FIRST: "good", Ending.REPAIRED: "good", Ending.DEGENERATE: "warn", Ending.DECLINED: "held"}
_NOTABLE = 0.05


def probe_page(sheet: Sheet) -> str:
    """The page of one probe."""
    tally = count(sheet)
    main = join(
        tag("h1", f"How {sheet.plan.model} behaves", dir="auto"),
        tag("p", _lead(sheet.plan), class_="lead soft"),
        _facts(tally),
        _pictures(sheet, tally),
        tag("h2", "Cases"),
        [_case(sheet, r) for r in tally.cases],
        _settings(sheet.plan),
    )
    return render_page(f"Probe of {sheet.plan.model}", tag("div", main, class_="stack"))


def _lead(plan: Plan) -> str:
    number = len(plan.cases)
    return (
        f"Suite {plan.suite}: {number} {'case' if number == 1 else 'cases'}, each a prompt and a contract that it "
        "conflicts with or fits, with and without permission to correct. What is counted is the ledger of real runs."
    )


def _facts(tally: Tally) -> Markup:
    total = tally.total
    shown: list[tuple[str, str]] = [
        ("trials", figure(total.trials)),
        ("objects", _share(total.objects, total.trials)),
        ("at the first call", _share(total.endings.get(Ending.ACCEPTED_FIRST, 0), total.trials)),
        ("attempts to an object", figure(total.attempts)),
        ("output tokens a trial", figure(total.output_tokens)),
        ("seconds a trial", figure(total.seconds)),
    ]
    if total.cost_usd:
        shown.append(("US dollars", figure(float(total.cost_usd))))
    if tally.uncounted:
        shown.append(("did not count", figure(tally.uncounted)))
    return tag("dl", [tag("div", tag("dt", name), tag("dd", value)) for name, value in shown], class_="facts")


def _pictures(sheet: Sheet, tally: Tally) -> Markup:
    families = [r for r in tally.families if r.trials]
    kinds = _kinds(sheet)
    rejected = sorted(tally.total.rejected_by.items(), key=lambda item: -item[1])
    calls = sorted(Counter(len(t.attempts) for t in sheet.counted if t.ending in OBJECTS).items())
    return tag(
        "div",
        _endings("How the trials ended, by kind of constraint", families),
        _endings("How they ended, by what the prompt asks and allows", kinds),
        bars("Keywords that drafts were rejected by", [k for k, _ in rejected], [float(n) for _, n in rejected])
        if rejected
        else None,
        bars(
            "Finishing calls until the object", [str(n) for n, _ in calls], [float(x) for _, x in calls], unit="trials"
        )
        if calls
        else None,
        bars(
            "Seconds of a trial", [r.name for r in families], [r.seconds for r in families], unit="s", note="Medians."
        ),
        bars(
            "Output tokens of a trial", [r.name for r in families], [r.output_tokens for r in families], note="Medians."
        ),
        class_="grid",
    )


def _kinds(sheet: Sheet) -> list[Row]:
    rows: list[Row] = []
    for conflicts in (True, False):
        for may_correct in (False, True):
            names = {c.name for c in sheet.plan.cases if c.conflicts is conflicts and c.may_correct is may_correct}
            trials = [t for t in sheet.counted if t.case in names]
            if trials:
                rows.append(row(kind(conflicts=conflicts, may_correct=may_correct), trials))
    return rows


def _endings(title: str, rows: Sequence[Row], note: str = "") -> Markup:
    series = [
        Series(name, tuple(float(r.endings.get(ending, 0)) for r in rows), colour)
        for colour, (ending, name) in enumerate(NAMES.items())
        if any(r.endings.get(ending) for r in rows)
    ]
    return stacked_bars(title, [r.name for r in rows], series, unit="trials", shares=True, note=note)


def _case(sheet: Sheet, counted: Row) -> Markup:
    case = next(c for c in sheet.plan.cases if c.name == counted.name)
    trials = [t for t in sheet.counted if t.case == case.name]
    ended = [
        tag("span", f"{NAMES.get(e, e.value)} {n}", class_=f"chip {_GOOD.get(e, 'bad')}", title=EXPLAINED[e])
        for e, n in counted.endings.items()
    ]
    return tag(
        "details",
        tag("summary", tag("strong", case.name, dir="auto"), " ", join(*_spaced(ended)) if ended else "no trial yet"),
        tag(
            "div",
            tag("p", kind(conflicts=case.conflicts, may_correct=case.may_correct), class_="soft"),
            tag("pre", case.prompt, dir="auto"),
            tag("details", tag("summary", "The schema"), tag("pre", case.schema_text)),
            [_trial(t) for t in trials],
            class_="stack",
        ),
        class_="card",
        id=f"case-{counted.name}",
    )


def _spaced(parts: Sequence[Markup]) -> list[Child]:
    return [child for part in parts for child in (part, " ")]


def _trial(trial: Trial) -> Markup:
    tokens = figure(trial.output_tokens)
    return tag(
        "details",
        tag(
            "summary",
            f"Round {trial.round}, seed {trial.seed}: ",
            tag("span", NAMES.get(trial.ending, trial.ending.value), class_=f"chip {_GOOD.get(trial.ending, 'bad')}"),
            f" {figure(trial.duration_ms / 1000)} s, {tokens} output tokens",
        ),
        tag("p", trial.reason, dir="auto"),
        [
            tag(
                "div",
                tag("p", f"Attempt {a.n}: {a.verdict.value}"),
                tag("pre", a.draft, dir="auto") if a.draft else None,
                tag(
                    "ul", [tag("li", f"{p.path or 'root'}: {p.message} ({p.keyword})", dir="auto") for p in a.problems]
                ),
            )
            for a in trial.attempts
        ],
        tag("details", tag("summary", "Raw replies"), [_reply(x) for x in trial.replies]) if trial.replies else None,
    )


def _reply(reply: Reply) -> Markup:
    ended = f"broke off: {reply.lost}" if reply.lost else reply.stop_reason
    return tag(
        "div",
        tag("p", f"Request {reply.request}, {reply.model}: {ended}", class_="soft", dir="auto"),
        [tag("pre", f"{b.name or b.kind}: {b.text}", dir="auto") for b in reply.blocks],
    )


def _settings(plan: Plan) -> Markup:
    heat = "the service's own" if plan.temperature is None else str(plan.temperature)
    words = (
        f"Made by lastcall {plan.lastcall} with the seeds from {plan.seed}, temperature {heat}, {plan.max_attempts} "
        f"attempts, {'with' if plan.declines else 'without'} the way out to decline."
    )
    return tag("p", words, class_="soft")


def _share(part: int, of: int) -> str:
    return f"{part} of {of}" if of else "none"


# -- two probes -----------------------------------------------------------------------------------------------------


def comparison_page(comparison: Comparison, a: Plan, b: Plan) -> str:
    """The page of two probes beside each other."""
    names = (f"A: {a.model}", f"B: {b.model}")
    sides = [
        replace(side, name=f"{pair.name} {letter}")
        for pair in (*comparison.families, comparison.total)
        for letter, side in (("A", pair.a), ("B", pair.b))
    ]
    main = join(
        tag("h1", f"{a.model} and {b.model}", dir="auto"),
        tag("p", "Shares of trials, for the cases that both probes have. p is how likely shares so far apart are by "
                 "chance (Fisher's exact test); with many rows some will be small by chance alone.", class_="lead soft"),
        _endings("How the trials ended", sides, note="; ".join(names)),
        tag("h2", "Cases"),
        tag("div", _pairs([comparison.total, *comparison.cases], names), class_="wide card", tabindex="0", role="region",
            aria_label="Cases of both probes"),
        tag("p", f"Only in A: {', '.join(comparison.only_a)}", class_="soft", dir="auto") if comparison.only_a else None,
        tag("p", f"Only in B: {', '.join(comparison.only_b)}", class_="soft", dir="auto") if comparison.only_b else None,
    )  # fmt: skip
    return render_page(f"{a.model} and {b.model}", tag("div", main, class_="stack"))


def _pairs(pairs: Sequence[Pair], names: tuple[str, str]) -> Markup:
    head = ["case", f"{names[0]}, first", f"{names[1]}, first", "p", "A, objects", "B, objects", "p"]
    rows = [
        tag(
            "tr",
            tag("th", pair.name, scope="row", dir="auto"),
            tag("td", _share(pair.a.endings.get(Ending.ACCEPTED_FIRST, 0), pair.a.trials)),
            tag("td", _share(pair.b.endings.get(Ending.ACCEPTED_FIRST, 0), pair.b.trials)),
            tag("td", _chance(pair.first_p)),
            tag("td", _share(pair.a.objects, pair.a.trials)),
            tag("td", _share(pair.b.objects, pair.b.trials)),
            tag("td", _chance(pair.object_p)),
        )
        for pair in pairs
    ]
    return tag("table", tag("thead", tag("tr", [tag("th", h, scope="col") for h in head])), tag("tbody", rows))


def _chance(p: float | None) -> Child:
    if p is None:
        return "none"
    return tag("strong", f"{p:.3f}") if p < _NOTABLE else f"{p:.3f}"
