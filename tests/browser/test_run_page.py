"""A run as one file: what it shows, filters, keys, screens."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from journals import Writer
from lastcall.core import records as r
from lastcall.nouns.messages import TextBlock


def rows(page):
    return page.locator(".entry").evaluate_all("rows => rows.map(row => row.querySelector('.what').textContent)")


def test_a_run_tells_how_it_ended_and_what_happened_in_order(show):
    page = show(Writer().whole())
    assert page.locator("h1").inner_text() == "The object passed the contract."
    assert page.locator(".hero .chip").inner_text() == "Answered"
    assert page.locator(".prompt").inner_text() == "Write up the incident."
    assert rows(page) == [
        "Prompt", "Turn 1", "Says", "Calls", "Turn 2", "Calls", "Turn 3", "Attempt 1", "Turn 4", "Attempt 2", "Answered"
    ]  # fmt: skip
    facts = dict(
        zip(page.locator(".hero dt").all_inner_texts(), page.locator(".hero dd").all_inner_texts(), strict=True)
    )
    assert facts["Turns"] == "4"
    assert facts["Tool calls"] == "2"
    assert facts["Tokens in"] == "400"
    assert facts["Cost"] == "$0.0048"
    assert page.locator("aside .json").inner_text() == '{\n"ticket": "INC-0012",\n"customers": 40\n}'
    assert page.title().startswith("Answered: Write up the incident.")


def test_problems_stand_below_the_lines_they_are_about_and_changes_are_marked(show):
    page = show(Writer().whole())
    first = page.locator(".k-attempt").first
    assert first.locator(".line.marked").all_inner_texts() == ['"ticket": "INC-12",', '"customers": "many"']
    flaws = first.locator(".line.marked + .flaw").evaluate_all("all => all.map(one => one.lastChild.textContent)")
    assert flaws == ["must match pattern", "must be integer"]
    second = page.locator(".k-attempt").nth(1)
    assert second.locator(".line.minus").evaluate_all("all => all.map(x => x.textContent)") == [
        '-taken away: "ticket": "INC-12",', '-taken away: "customers": "many"']  # fmt: skip
    assert second.locator(".line.plus").count() == 2


def test_calls_open_when_asked_and_show_what_went_in_and_came_out(show):
    page = show(Writer().whole())
    call = page.locator(".k-call").first
    assert call.locator(".body").count() == 0
    call.locator("summary").click()
    assert call.locator(".json").inner_text() == '{\n"file_path": "log.txt"\n}'
    assert call.locator("pre").inner_text() == "40 customers"


def test_what_a_fallback_took_back_is_struck_through(show):
    w = Writer()
    content = w.opened() + w.prompt("x")
    content += w.step(r.BlockSaid(1, "m1", TextBlock("from the first model"), "u"))
    content += w.step(r.FallbackNoted(1, "a", "b", "overloaded", "u", ("m1",)))
    page = show(content)
    text = page.locator(".k-text")
    assert "taken back" in text.inner_text()
    assert re.search("line-through", text.locator(".what").evaluate("x => getComputedStyle(x).textDecoration"))


def test_rows_are_filtered_by_kind_and_words(show):
    page = show(Writer().whole())
    page.get_by_label("Show", exact=True).select_option("attempts")
    assert rows(page) == ["Attempt 1", "Attempt 2", "Answered"]
    page.get_by_label("Show", exact=True).select_option("trouble")
    assert rows(page) == ["Calls", "Attempt 1"]
    page.get_by_label("Show", exact=True).select_option("")
    page.get_by_label("Search this run").fill("customers MANY")
    assert rows(page) == ["Attempt 1", "Attempt 2"]
    assert page.locator("#status").inner_text() == "2 of 11 rows"


def test_the_contract_says_what_enforces_each_keyword(show):
    page = show(Writer().whole())
    page.get_by_role("link", name="Contract").click()
    expect(page.locator("h1")).to_have_text("Incident")
    ticket = page.locator(".node", has=page.locator(".node-name", has_text="ticket"))
    assert "required" in ticket.inner_text()
    pattern = ticket.locator(".keywords li", has_text="pattern")
    assert "checked here" in pattern.inner_text()


def test_several_runs_of_a_session_have_a_page_each(show):
    w = Writer()
    page = show(
        w.opened() + w.prompt("first") + w.accepted({"ticket": "INC-0001", "customers": 1}) + w.prompt("second")
    )
    assert page.locator(".prompt").inner_text() == "second"
    assert page.locator(".hero .chip").first.inner_text() == "unfinished"
    page.get_by_role("link", name="Run 1").click()
    expect(page.locator(".prompt")).to_have_text("first")
    assert page.locator(".hero .chip").first.inner_text() == "Answered"


def test_everything_can_be_reached_with_the_keyboard(show):
    page = show(Writer().whole())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    focused = "document.activeElement.closest('.entry')?.id"
    page.keyboard.press("j")
    assert page.evaluate(focused) == "e0"
    for _ in range(3):
        page.keyboard.press("j")
    page.keyboard.press("Enter")
    assert page.locator("#e3 .body").is_visible()
    assert page.evaluate("document.activeElement.matches(':focus-visible')")
    page.keyboard.press("k")
    assert page.evaluate(focused) == "e2"
    page.keyboard.press("a")
    assert page.evaluate(focused) == "e7"
    page.keyboard.press("/")
    page.keyboard.type("log.txt")
    assert page.locator("#status").inner_text() == "1 of 11 rows"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.get_by_role("dialog").is_visible()
    page.keyboard.press("Enter")
    assert not page.get_by_role("dialog").is_visible()
    page.keyboard.press("c")
    expect(page.locator("h1")).to_have_text("Incident")


def test_the_theme_follows_the_system_until_the_reader_chooses(show):
    page = show(Writer().whole())
    colour = "getComputedStyle(document.body).backgroundColor"
    page.emulate_media(color_scheme="light")
    light = page.evaluate(colour)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(colour)
    assert light != dark
    page.locator("#theme").click()
    assert page.evaluate(colour) == light
    page.reload()
    assert page.evaluate(colour) == light


@pytest.mark.parametrize("width", [320, 390, 768])
def test_nothing_is_cut_off_on_a_narrow_screen(show, width):
    page = show(Writer().whole("x" * 500))
    page.set_viewport_size({"width": width, "height": 800})
    for fragment in ("", "#/run/s1/contract"):
        page.evaluate(f"location.hash = '{fragment}'")
        page.wait_for_timeout(100)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_file_asks_for_nothing(show):
    page = show(Writer().whole())
    assert [url for url in page.watched.requests if not url.startswith("file:")] == []
    assert len(page.watched.requests) == 1


def test_on_paper_all_rows_are_there(show):
    w = Writer()
    page = show(w.opened() + w.prompt("x") + b"".join(w.tool("Read", {"n": n}, "y") for n in range(500)))
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".entry").count() == 1002
