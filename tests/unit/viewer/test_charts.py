from __future__ import annotations

import math
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastcall.viewer import charts as c

HOSTILE = "</text><script>alert(1)</script>\"' onload=x"


def parsed(chart):
    return ET.fromstring(chart.html)


def texts(node, path):
    return ["".join(found.itertext()) for found in node.iterfind(path)]


def rows(node):
    return [["".join(cell.itertext()) for cell in row] for row in node.iterfind(".//table//tr")]


def widths(node):
    return [
        float(r.get("width").rstrip("%"))
        for r in node.iterfind(".//div[@class='bars']//rect")
        if r.get("class") != "trough"
    ]


def test_bars_are_as_long_as_their_values_and_told_as_a_table():
    node = parsed(c.bars("Rows", ["a", "b", "c"], [10, 5, None], unit="rows"))
    assert widths(node) == [100, 50]
    assert rows(node) == [["", "rows"], ["a", "10"], ["b", "5"], ["c", "none"]]
    assert texts(node, ".//span[@class='figure']") == ["10 rows", "5 rows", "none"]
    assert texts(node, "figcaption") == ["Rows"]


def test_stacked_bars_have_a_part_a_series_and_a_legend():
    series = [c.Series("first", (1, 3)), c.Series("later", (1, 0), colour=5)]
    node = parsed(c.stacked_bars("Verdicts", ["x", "y"], series))
    assert widths(node) == pytest.approx([100 / 3, 100 / 3, 100], abs=0.001)
    assert texts(node, "ul/li") == ["first", "later"]
    assert [r.get("class") for r in node.iterfind("ul//rect")] == ["s0", "s5"]
    assert rows(node) == [["", "first", "later"], ["x", "1", "1"], ["y", "3", "0"]]


def test_shares_make_every_bar_equally_long():
    node = parsed(c.stacked_bars("s", ["x", "y"], [c.Series("a", (1, 30)), c.Series("b", (3, 10))], shares=True))
    assert widths(node) == [25, 75, 75, 25]


def test_a_histogram_counts():
    node = parsed(c.histogram("Times", [0, 1, 2, 3, 4], bins=2, unit="s"))
    assert rows(node) == [["from", "to", "count"], ["0", "2", "2"], ["2", "4", "3"]]
    assert len(node.findall(".//rect[@class='s0']")) == 2


def test_lines_join_their_points_and_clouds_do_not():
    series = [c.Points("a", ((0, 0), (10, 10), (20, 0))), c.Points("b", ((0, 5),))]
    node = parsed(c.lines("L", series, x_label="minutes", y_label="rows"))
    assert len(node.findall(".//line[@class='line c0']")) == 2
    assert len(node.findall(".//circle")) == 4
    assert [(x.get("cx"), x.get("cy")) for x in node.iterfind(".//circle[@class='dot s0']")] == [
        ("0.000%", "220.0"), ("50.000%", "0.0"), ("100.000%", "220.0")]  # fmt: skip
    assert rows(node)[0] == ["series", "minutes", "rows"]
    assert not parsed(c.scatter("S", series)).findall(".//line[@class='line c0']")


labels = st.text(st.characters(categories=["L", "N", "P", "Zs"]), max_size=8) | st.just(HOSTILE)
figures = st.none() | st.floats(-1e9, 1e12) | st.integers(-5, 10**9)


@settings(max_examples=40)
@given(st.lists(st.tuples(labels, figures), max_size=5), labels)
def test_bars_never_leave_their_trough_and_labels_are_text(pairs, title):
    node = parsed(c.bars(title, [label for label, _ in pairs], [value for _, value in pairs], note=title))
    assert node.find("figcaption").text == (title or None)
    assert not list(node.iter("script"))
    assert all(0 <= w <= 100 for w in widths(node))


@settings(max_examples=40)
@given(st.lists(st.tuples(st.floats(), st.floats()), max_size=6), labels)
def test_points_stay_in_the_picture(points, name):
    kept = tuple(p for p in points if all(map(math.isfinite, p)))
    node = parsed(c.scatter("S", [c.Points(name, kept)]))
    for dot in node.iterfind(".//circle"):
        assert 0 <= float(dot.get("cx").rstrip("%")) <= 100
        assert 0 <= float(dot.get("cy")) <= 220


@pytest.mark.parametrize("chart", [c.bars("t", [], []), c.histogram("t", []), c.lines("t", []), c.scatter("t", [])])
def test_nothing_to_draw_is_an_empty_picture(chart):
    assert parsed(chart).find("figcaption").text == "t"
