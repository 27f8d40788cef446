"""The report of a batch: one self-contained page about all its records.

Must not go in here: counting (`batches.findings`), what pages and charts are made of (`lastcall.viewer`).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from lastcall.batches.findings import Findings
from lastcall.batches.records import OUTCOMES, Stored
from lastcall.batches.stored import words_of
from lastcall.errors import BadConfig
from lastcall.viewer.charts import bars, histogram
from lastcall.viewer.markup import Markup, join, tag
from lastcall.viewer.page import render_page
from lastcall.viewer.telling import outcome_tone, shorten

_SHOWN: Final = 15
_PROBLEMS_SHOWN: Final = 6


def write_report_page(path: str, records: Iterable[Stored], *, title: str) -> None:
    """Write the page in place of whatever was there, readable by its owner alone. Raises `BadConfig`."""
    page = report_page(Findings(records), title=title).encode()
    target = os.path.realpath(path)
    part = f"{target}.{os.getpid()}.part"
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123
            file.write(page)
        os.replace(part, target)  # noqa: PTH105 -- names are text here
    except OSError as error:
        with suppress(OSError):
            os.unlink(part)  # noqa: PTH108
        raise BadConfig(
            f"the report cannot be written: {words_of(error)}", hint="Choose another file.", where=path
        ) from error


def report_page(found: Findings, *, title: str) -> str:
    """The page as text."""
    main = tag(
        "div",
        tag("h1", "Batch ", tag("code", os.path.basename(title))),  # noqa: PTH119 -- a name, not a path
        _facts(found),
        tag("div", *_charts(found), class_="grid"),
        _worst(found.worst),
        class_="stack",
    )
    return render_page(f"Batch {os.path.basename(title)}", main, styles=("batch",))  # noqa: PTH119


def _facts(found: Findings) -> Markup:
    asked = sum(found.attempts.values())
    attempts = sum(n * count for n, count in found.attempts.items())
    answered = found.outcomes["answered"]
    cost = f"${found.cost_usd:.4f}" + (f" + {found.unpriced} unpriced" if found.unpriced else "")
    facts = [
        ("records", str(found.rows)),
        ("answered", f"{answered} ({answered / found.rows:.1%})" if found.rows else "0"),
        ("attempts a row", f"{attempts / asked:.2f}" if asked else "none"),
        ("tokens in / out", f"{found.tokens_in:,} / {found.tokens_out:,}"),
        ("cost", cost),
        ("cost of an object", f"${found.cost_usd / answered:.5f}" if answered and not found.unpriced else "unknown"),
        ("models", ", ".join(model for model, _ in found.models.most_common(3)) or "none"),
    ]
    shown = [tag("div", tag("dd", value), tag("dt", name)) for name, value in facts]
    return tag("div", tag("dl", *shown, class_="facts"), class_="card")


def _charts(found: Findings) -> list[Markup]:
    named = [name for name in OUTCOMES if found.outcomes[name]]
    charts = [bars("Outcomes", [outcome_tone(n)[0] for n in named], [found.outcomes[n] for n in named], unit="rows")]
    if found.attempts:
        ordered = sorted(found.attempts)
        labels = ["no attempt" if n == 0 else f"{n} attempt{'s' * (n > 1)}" for n in ordered]
        charts.append(bars("Attempts", labels, [found.attempts[n] for n in ordered], unit="rows"))
    if found.keywords:
        charts.append(_most("Keywords that caused rejections", found.keywords))
        charts.append(_most("Fields that were rejected", found.fields))
    seconds = [value for value in found.seconds.values if value > 0]
    if seconds:
        charts.append(histogram("Time of a row", seconds, unit="s", note=_sampled(found.seconds.is_whole), log=True))
    costs = [value for value in found.costs.values if value > 0]
    if costs:
        charts.append(
            histogram("Cost of a row", costs, unit="US dollars", note=_sampled(found.costs.is_whole), log=True)
        )
    return charts


def _most(title: str, counted: Counter[str]) -> Markup:
    most = counted.most_common(_SHOWN)
    left = len(counted) - len(most)
    note = f"and {left} more" if left > 0 else ""
    return bars(title, [name for name, _ in most], [count for _, count in most], unit="problems", note=note)


def _sampled(is_whole: bool) -> str:
    return "" if is_whole else "From an even sample of the rows."


def _worst(records: Sequence[Stored]) -> Markup:
    if not records:
        return tag("p", "No row had any trouble.", class_="card")
    rows = [_row(record) for record in records]
    head = tag("tr", *(tag("th", name, scope="col") for name in ("row", "key", "outcome", "attempts", "problems")))
    table = tag("table", tag("thead", head), tag("tbody", *rows))
    return tag("section", tag("h2", "The worst rows"), tag("div", table, class_="wide"), class_="card")


def _row(record: Stored) -> Markup:
    words, tone = outcome_tone(record.outcome)
    told = [
        f"{problem.path or 'the whole'}: {problem.message}"
        for attempt in record.attempts
        for problem in attempt.problems
    ]
    once = list(dict.fromkeys(told))
    shown = once[:_PROBLEMS_SHOWN] if once else [record.reason]
    more = [f"+{len(once) - _PROBLEMS_SHOWN} more"] if len(once) > _PROBLEMS_SHOWN else []
    return tag(
        "tr",
        tag("td", record.row),
        tag("td", tag("code", shorten(record.key, 60))),
        tag("td", tag("span", words, class_=f"chip {tone.value}")),
        tag("td", len(record.attempts)),
        tag("td", join(*(tag("div", shorten(line, 300)) for line in (*shown, *more)))),
    )
