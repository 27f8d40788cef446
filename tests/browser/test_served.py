"""The list of runs, a run that goes on, saving, tokens."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

from journals import Writer, place
from lastcall.viewer.entries import Changes, Listing, Row
from lastcall.viewer.pages import Served, encode, event_of, live_page


def test_the_list_is_filtered_by_outcome_model_and_words(tab, served, three_sessions):
    tab.goto(served)
    links = tab.locator(".run-link")
    expect(links).to_have_count(3)
    tab.get_by_label("Outcome").select_option("Answered")
    assert tab.locator(".run-prompt").all_text_contents() == ["Write up the first incident"]
    tab.get_by_label("Outcome").select_option("")
    tab.get_by_label("Model").select_option("openai:gpt-x")
    assert tab.locator(".run-prompt").all_text_contents() == ["A run that was cut off"]
    tab.get_by_label("Model").select_option("")
    tab.get_by_label("Search the runs").fill("incident SECOND")
    assert tab.locator(".run-prompt").all_text_contents() == ["Second incident"]
    assert "1 of 3" in tab.get_by_role("status").inner_text()


def test_the_list_shows_new_runs_and_keeps_its_filters_and_the_focus(tab, served, three_sessions):
    tab.goto(served)
    tab.get_by_label("Search the runs").fill("incident")
    tab.keyboard.press("Escape")
    expect(tab.locator(".run-link")).to_have_count(2)
    tab.keyboard.press("k")
    chosen = tab.evaluate("document.activeElement.getAttribute('href')")
    place(three_sessions, "new", Writer("new").whole("A third incident"))
    place(three_sessions, "other", Writer("other").whole("Something else"))
    expect(tab.locator(".run-link")).to_have_count(3)
    assert "3 of 5" in tab.get_by_role("status").inner_text()
    assert tab.evaluate("document.activeElement.getAttribute('href')") == chosen


def test_a_run_is_opened_from_the_list_with_the_keyboard_and_left_again(tab, served, three_sessions):
    tab.goto(served)
    expect(tab.locator(".run-link")).to_have_count(3)
    tab.keyboard.press("/")
    tab.keyboard.type("first")
    tab.keyboard.press("Escape")
    tab.keyboard.press("j")
    tab.keyboard.press("Enter")
    expect(tab.locator("h1")).to_have_text("The object passed the contract.")
    tab.go_back()
    expect(tab.locator("h1")).to_have_text("Runs")


def test_a_run_that_goes_on_is_followed_to_its_end(tab, served, state):
    w = Writer("live")
    path = place(state, "live", w.opened() + w.prompt("Watch me"))

    def more(content):
        with open(path, "ab") as file:
            file.write(content)

    tab.goto(f"{served}#/run/live")
    expect(tab.locator(".live")).to_have_text("live")
    expect(tab.locator("h1")).to_have_text("The run goes on.")
    more(w.tool("Read", {"file_path": "a.txt"}, "alpha"))
    expect(tab.locator(".k-call .name")).to_have_text("Read")
    tab.locator(".k-call summary").click()
    line = w.rejected({"ticket": "x"}, ("/ticket", "pattern", "must match pattern"))
    more(line[:300])  # half a line says nothing yet
    more(line[300:])
    expect(tab.locator(".k-attempt .chip").first).to_have_text("rejected")
    expect(tab.locator("#spoken")).to_have_text("Attempt 1 StructuredOutput rejected")
    assert tab.locator(".k-call pre").inner_text() == "alpha"  # what was open stays open
    more(w.accepted({"ticket": "INC-0001", "customers": 1}))
    expect(tab.locator("h1")).to_have_text("The object passed the contract.")
    expect(tab.locator(".live")).to_have_count(0)
    assert tab.locator(".dot").all_inner_texts() == ["1", "2"]


@pytest.mark.parametrize("name", ["nowhere", "%E0%A4%A", "..%2F..%2Fetc", "%3Cimg%3E"])
def test_a_session_that_is_not_there_is_told(tab, served, name):
    tab.goto(f"{served}#/run/{name}")
    expect(tab.locator("h1")).to_have_text("This run cannot be shown")
    tab.watched.errors.clear()  # the browser logs the 404 itself


def test_a_run_is_saved_as_one_file_that_works_alone(tab, served, three_sessions, tmp_path):
    tab.goto(f"{served}#/run/done")
    with tab.expect_download() as download:
        tab.get_by_role("link", name="Save as a file").click()
    saved = tmp_path / "saved.html"
    download.value.save_as(saved)
    tab.goto(saved.as_uri())
    expect(tab.locator("h1")).to_have_text("The object passed the contract.")
    assert tab.locator(".entry").count() == 11


class Guarded(BaseHTTPRequestHandler):
    """A server that wants a bearer token, as `lastcall serve` does."""

    def do_GET(self):
        if self.path == "/":
            return self.say(200, "text/html; charset=utf-8", live_page(Served(base="/v1", bearer=True)).encode())
        if self.headers.get("Authorization") != "Bearer secret-1":
            return self.say(401, "application/json", b"{}")
        if self.path == "/v1/stories":
            return self.say(
                200,
                "application/json",
                encode(Listing(runs=(Row(id="r/1", at=1.0, prompt="Guarded run", word="Answered"),))),
            )
        self.server.asked.append(self.path)
        return self.say(200, "text/event-stream", event_of(Changes()))

    def say(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def guarded():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Guarded)
    server.asked = []
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}).start()
    yield server
    server.shutdown()
    server.server_close()


def test_a_server_with_tokens_is_asked_with_the_one_that_was_typed(tab, guarded):
    tab.goto(f"http://127.0.0.1:{guarded.server_address[1]}/")
    tab.get_by_label("Token").fill("wrong")
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("alert")).to_have_text("The last token was not accepted.")
    tab.get_by_label("Token").fill("secret-1")
    tab.get_by_role("button", name="Look").click()
    expect(tab.locator(".run-prompt")).to_have_text("Guarded run")
    tab.locator(".run-link").click()
    expect(tab.locator("h1")).to_have_text("Nothing was asked yet")
    assert guarded.asked == ["/v1/stories/r%2F1"]
    assert tab.evaluate("[sessionStorage.getItem('lastcall-token'), localStorage.getItem('lastcall-token')]") == [
        "secret-1",
        None,
    ]
    tab.watched.errors.clear()  # the browser logs each 401 itself
