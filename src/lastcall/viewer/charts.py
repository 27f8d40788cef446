"""Charts as SVG from plain values: bars, stacked bars, a histogram, lines, points.

A chart is a figure with a title, a legend where there is more than one series, axes, and the same figures as a table for
those who do not see the picture. Positions along the width are percentages, so that letters keep their size on every
screen; colours are classes (`assets/base.css`), told apart by people who see few colours, and different in the dark.

Must not go in here: what the figures mean, counting (`viewer.scales` chooses the steps of an axis).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct

from lastcall.viewer.markup import Child, Markup, join, tag
from lastcall.viewer.scales import Axis, axis_for, bins_of, figure

COLOURS: Final = 8
"""Series of a chart have colours of their own up to this many; then they begin anew."""
_ROW: Final = 30
_BAR: Final = 18
_PLOT: Final = 220
_PAD: Final = 10


class Series(Struct, frozen=True):
    """One value a label; `None` where there is none. `colour` (0 to 7) is the series' place in the chart if left out."""

    name: str
    values: tuple[float | None, ...]
    colour: int | None = None


class Points(Struct, frozen=True):
    """Points (x, y) of a line or a cloud, in the order of x for a line."""

    name: str
    points: tuple[tuple[float, float], ...]
    colour: int | None = None


def bars(
    title: str, labels: Sequence[str], values: Sequence[float | None], *, unit: str = "", note: str = ""
) -> Markup:
    """One horizontal bar a label, with its figure beside it. Negative values are drawn as nothing, and told."""
    return stacked_bars(title, labels, [Series(unit or "value", tuple(values))], unit=unit, note=note)


def stacked_bars(
    title: str, labels: Sequence[str], series: Sequence[Series], *, unit: str = "", note: str = "", shares: bool = False
) -> Markup:
    """Horizontal bars, each of the parts that the series name. With `shares` every bar is as long as the others."""
    totals = [sum(max(0.0, s.values[i] or 0) for s in series) for i in range(len(labels))]
    most = max(totals, default=0) or 1
    rows = [
        _bar_row(
            label,
            [(s, s.values[i], _colour(s.colour, n)) for n, s in enumerate(series)],
            (totals[i] or 1) if shares else most,
            _bar_figure(series, i, unit, totals[i]),
        )
        for i, label in enumerate(labels)
    ]
    picture = tag("div", rows, class_="bars", aria_hidden="true")
    table = _table(
        ["", *(s.name for s in series)], [[label, *(s.values[i] for s in series)] for i, label in enumerate(labels)]
    )
    return _figure(title, picture, table, legend=_legend([(s.name, s.colour) for s in series]), note=note)


def histogram(
    title: str, values: Sequence[float], *, unit: str = "", note: str = "", bins: int | None = None, log: bool = False
) -> Markup:
    """How many of the values lie in which of equal steps; with `log` the steps grow by a factor (values above 0)."""
    found = bins_of(values, bins, log=log)
    y = axis_for([0, *(count for _, _, count in found)], whole=True)
    rects: list[Markup] = []
    width = 100 / max(1, len(found))
    for i, (low, high, count) in enumerate(found):
        top = y.place(count) * _PLOT
        what = tag("title", f"{figure(low)} to {figure(high)}{_spaced(unit)}: {count}")
        rects.append(
            tag("rect", what, x=_percent(i * width + width * 0.04), y=_px(_PLOT - top), width=_percent(width * 0.92),
                height=_px(top), class_="s0")
        )  # fmt: skip
    edges = [low for low, _, _ in found] + [found[-1][1]] if found else []
    every = max(1, -(-len(edges) // 5))
    ticks = [(100 * i / (len(edges) - 1), figure(e)) for i, e in enumerate(edges) if i % every == 0]
    table = _table(["from", "to", "count"], [[figure(low), figure(high), count] for low, high, count in found])
    return _figure(title, _plot(y, ticks, rects, unit, "count"), table, note=note)


def lines(title: str, series: Sequence[Points], *, x_label: str = "", y_label: str = "", note: str = "") -> Markup:
    """One line a series."""
    return _xy(title, series, x_label=x_label, y_label=y_label, note=note, joined=True)


def scatter(title: str, series: Sequence[Points], *, x_label: str = "", y_label: str = "", note: str = "") -> Markup:
    """One cloud of points a series."""
    return _xy(title, series, x_label=x_label, y_label=y_label, note=note, joined=False)


def _xy(title: str, series: Sequence[Points], *, x_label: str, y_label: str, note: str, joined: bool) -> Markup:
    x = axis_for([p[0] for s in series for p in s.points])
    y = axis_for([p[1] for s in series for p in s.points], zero=joined)
    drawn: list[Markup] = []
    for n, s in enumerate(series):
        colour = _colour(s.colour, n)
        at = [(100 * x.place(a), _PLOT * (1 - y.place(b)), a, b) for a, b in s.points]
        if joined:
            drawn += [
                tag("line", x1=_percent(a[0]), y1=_px(a[1]), x2=_percent(b[0]), y2=_px(b[1]), class_=f"line c{colour}")
                for a, b in pairwise(at)
            ]
        drawn += [
            tag("circle", tag("title", f"{s.name}: {figure(a)}, {figure(b)}"), cx=_percent(px), cy=_px(py),
                r=3 if joined else 4, class_=f"dot s{colour}")
            for px, py, a, b in at
        ]  # fmt: skip
    ticks = [(100 * x.place(step), figure(step)) for step in x.steps]
    rows: list[list[Child]] = [[s.name, figure(a), figure(b)] for s in series for a, b in s.points]
    table = _table(["series", x_label or "x", y_label or "y"], rows)
    legend = _legend([(s.name, s.colour) for s in series])
    return _figure(title, _plot(y, ticks, drawn, x_label, y_label), table, legend=legend, note=note)


# -- pieces ---------------------------------------------------------------------------------------------------------


def _bar_row(label: str, parts: list[tuple[Series, float | None, int]], most: float, told: str) -> Markup:
    drawn: list[Markup] = []
    at = 0.0
    for series, value, colour in parts:
        width = 100 * max(0.0, value or 0) / most
        if width > 0:
            what = tag("title", f"{label}, {series.name}: {figure(value or 0)}")
            drawn.append(
                tag("rect", what, x=_percent(at), width=_percent(width), y=0, height=_BAR, class_=f"s{colour}")
            )
        at += width
    return join(
        tag("span", label, class_="label", dir="auto", title=label),
        tag("svg", tag("rect", x=0, y=0, width="100%", height=_BAR, class_="trough"), drawn, width="100%", height=_BAR),
        tag("span", told, class_="figure"),
    )


def _bar_figure(series: Sequence[Series], i: int, unit: str, total: float) -> str:
    if len(series) == 1:
        value = series[0].values[i]
        return "none" if value is None else f"{figure(value)}{_spaced(unit)}"
    return f"{figure(total)}{_spaced(unit)}"


def _plot(y: Axis, ticks: Sequence[tuple[float, str]], drawn: Sequence[Markup], x_label: str, y_label: str) -> Markup:
    """The picture between its two axes."""
    places = [(_PAD + _PLOT * (1 - y.place(step)), figure(step)) for step in y.steps]
    side = tag(
        "svg",
        [tag("text", text, x="100%", y=_px(at), class_="tick", text_anchor="end", dominant_baseline="middle")
         for at, text in places],
        class_="side", height=_PLOT + 2 * _PAD,
    )  # fmt: skip
    grid = [tag("line", x1=0, x2="100%", y1=_px(at - _PAD), y2=_px(at - _PAD), class_="grid") for at, _ in places]
    area = tag(
        "svg",
        tag("svg", grid, drawn, y=_PAD, width="100%", height=_PLOT, overflow="visible"),
        class_="area", width="100%", height=_PLOT + 2 * _PAD,
    )  # fmt: skip
    foot = tag(
        "svg",
        [tag("text", text, x=_percent(at), y=14, class_="tick", text_anchor=_anchor(at)) for at, text in ticks],
        class_="area", width="100%", height=20,
    )  # fmt: skip
    return tag(
        "div",
        tag("div", y_label, class_="y-label", dir="auto"),
        side, area, foot,
        tag("div", x_label, class_="x-label", dir="auto"),
        class_="plot", aria_hidden="true",
    )  # fmt: skip


def _anchor(percent: float) -> str:
    return "start" if percent < 1 else "end" if percent > 99 else "middle"


def _figure(title: str, picture: Markup, table: Markup, *, legend: Markup | None = None, note: str = "") -> Markup:
    return tag(
        "figure",
        tag("figcaption", title, dir="auto"),
        legend,
        picture,
        tag("p", note, class_="note", dir="auto") if note else None,
        tag("details", tag("summary", "The figures"), tag("div", table, class_="wide", tabindex="0", role="region",
            aria_label=f"Figures of: {title}"), class_="figures"),
        class_="chart",
    )  # fmt: skip


def _legend(names: Sequence[tuple[str, int | None]]) -> Markup | None:
    if len(names) < 2:
        return None
    return tag(
        "ul",
        [
            tag("li", tag("svg", tag("rect", width=12, height=12, class_=f"s{_colour(colour, n)}"), width=12, height=12,
                aria_hidden="true"), tag("span", name, dir="auto"))
            for n, (name, colour) in enumerate(names)
        ],
        class_="legend",
    )  # fmt: skip


def _table(head: Sequence[str], rows: Sequence[Sequence[Child]]) -> Markup:
    return tag(
        "table",
        tag("thead", tag("tr", [tag("th", cell, scope="col") if cell else tag("td") for cell in head])),
        tag(
            "tbody", [tag("tr", tag("th", row[0], scope="row"), [tag("td", _told(c)) for c in row[1:]]) for row in rows]
        ),
    )


def _told(cell: Child) -> Child:
    return figure(cell) if cell is None or isinstance(cell, float) else cell


def _colour(given: int | None, place: int) -> int:
    return (place if given is None else given) % COLOURS


def _percent(value: float) -> str:
    return f"{value:.3f}%"


def _px(value: float) -> str:
    return f"{value:.1f}"


def _spaced(unit: str) -> str:
    return f" {unit}" if unit else ""
