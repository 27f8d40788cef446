"""What axe, the checker of accessibility, finds; landmarks, headings."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from journals import Writer
from lastcall.core import records as r
from lastcall.nouns.result import Attempt, CheckVerdict, Failed, FailureKind, Limit, RunWarning, VerdictKind
from lastcall.viewer import charts
from lastcall.viewer.markup import join, tag
from lastcall.viewer.page import render_page

AXE = (Path(__file__).parent / "vendor" / "axe-core-4.14.1.min.js").read_text("utf-8")


def troubled():
    """A run with a fallback, a retry, a decline, a warning, a nudge, a held object, and no end."""
    w = Writer()
    failure = Failed(FailureKind.RATE_LIMIT, "slow down", 429)
    content = w.opened() + w.prompt("x") + w.rejected({"ticket": "x"}, ("/ticket", "pattern", "no"), asks=False)
    content += w.step(r.FallbackNoted(1, "a", "b", "overloaded", "u", ("m1",)), r.RetryNoted(1, 1, 5, 800, failure))
    content += w.step(
        r.Warned(RunWarning("x", "odd", "/a")),
        r.LimitNoted(Limit.TURNS, hit=False),
        r.Nudged(r.NudgeKind.ENFORCE, "Go on."),
    )
    return content + w.step(
        r.Attempted(Attempt(2, "c9", "m", VerdictKind.HELD, (), "{}")), r.Checked("c9", (CheckVerdict("a", False, "no", 1, "c9"),), False),
        r.DeclineHeard("c8", "why", ("total",), False), r.Asked(2),
    )  # fmt: skip


def findings(page):
    """Rules that the page breaks, with an element each."""
    page.evaluate(AXE)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [(v["id"], v["impact"], v["nodes"][0]["html"][:200]) for v in found["violations"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_of_a_run_breaks_no_rule(show, scheme, width):
    page = show(Writer().whole())
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    page.keyboard.press("o")
    page.wait_for_timeout(200)
    assert findings(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nor_does_one_of_everything_that_can_go_wrong(show, scheme):
    page = show(troubled())
    page.emulate_media(color_scheme=scheme)
    page.keyboard.press("o")
    page.wait_for_timeout(200)
    assert findings(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nor_does_the_contract(show, scheme):
    page = show(Writer().whole(), "#/run/s1/contract")
    page.emulate_media(color_scheme=scheme)
    assert page.locator("h1").inner_text() == "Incident"
    assert findings(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nor_does_the_list(tab, served, three_sessions, scheme):
    tab.emulate_media(color_scheme=scheme)
    tab.goto(served)
    expect(tab.locator(".run-link")).to_have_count(3)
    assert findings(tab) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nor_do_charts(tab, tmp_path, scheme):
    tab.emulate_media(color_scheme=scheme)
    names = ["answered", "declined"]
    main = join(
        tag("h1", "Charts"),
        charts.bars("Bars", names, [3, 4], unit="rows", note="A note."),
        charts.stacked_bars("Parts", names, [charts.Series("a", (1, 2)), charts.Series("b", (3, 4))]),
        charts.histogram("Times", [1, 2, 3, 9], unit="s"),
        charts.lines(
            "Lines", [charts.Points("a", ((0, 1), (2, 3))), charts.Points("b", ((0, 2), (2, 1)))], x_label="x"
        ),
        charts.scatter("Points", [charts.Points("a", ((0, 1), (2, 3)))]),
    )
    file = tmp_path / "charts.html"
    file.write_text(render_page("Charts", main), "utf-8")
    tab.goto(file.as_uri())
    for fold in tab.locator("summary").all():
        fold.click()
    assert findings(tab) == []


def test_a_reader_finds_landmarks_one_first_heading_and_a_spoken_region(show):
    page = show(Writer().whole())
    assert page.locator("h1").count() == 1
    for role in ("banner", "main", "contentinfo", "complementary", "navigation"):
        assert page.get_by_role(role).count() == 1, role
    assert page.locator("[aria-live=polite]").count() == 1
    assert page.get_by_role("heading", level=3).all_inner_texts() == ["Turn 1", "Turn 2", "Turn 3", "Turn 4"]
