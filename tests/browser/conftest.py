"""A real browser. Whatever it asks of the network, logs as an error or throws fails the test."""

from __future__ import annotations

import threading

import pytest

from journals import Writer, place
from lastcall.journal.sessions import Sessions
from lastcall.viewer.listing import list_sessions
from lastcall.viewer.pages import session_page
from lastcall.viewer.serving import Shelf, ViewServer
from lastcall.viewer.story import Story
from lastcall.wire.journal import decode_line
from needs import program

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_collection_modifyitems(items):
    for item in items:
        if "browser" in item.path.parts:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="module")
def browser():
    """A browser for the tests of one file: while its library runs, the thread counts as running an event loop."""
    path = program("chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


class Watched:
    """What a page did that it should not have done."""

    def __init__(self, page):
        self.errors, self.requests = [], []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on(
            "console",
            lambda message: self.errors.append(message.text) if message.type in ("error", "warning") else None,
        )
        page.on("dialog", lambda dialog: (self.errors.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: self.requests.append(request.url))


@pytest.fixture
def tab(browser):
    """A page of its own, 1280 pixels wide, that nothing may go wrong in."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(15_000)
    page = context.new_page()
    page.watched = Watched(page)
    yield page
    assert page.watched.errors == []
    context.close()


@pytest.fixture
def show(tab, tmp_path):
    """Open the one file of a session's lines, without any server."""

    def opened(content, fragment=""):
        story = Story("s1")
        for line in content.split(b"\n")[:-1]:
            story.tell(decode_line(line))
        file = tmp_path / "run.html"
        file.write_text(session_page(story.changes()), "utf-8")
        tab.goto(file.as_uri() + fragment)
        return tab

    return opened


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state"


@pytest.fixture
def served(state):
    """The viewer's own server over the sessions of `state`; its address."""
    store = Sessions(str(state))

    def find(session):
        found = store.find(session)
        return None if found is None else found.path

    server = ViewServer(Shelf(lambda: list_sessions(store), find), poll_s=0.05)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server.url
    server.shutdown()
    server.server_close()
    thread.join(10)


@pytest.fixture
def three_sessions(state):
    place(state, "done", Writer("done").whole("Write up the first incident"))
    failed = Writer("cut", model="openai:gpt-x", cwd="/srv/jobs")
    place(state, "cut", failed.opened() + failed.prompt("A run that was cut off"))
    other = Writer("words", schema=None, model="anthropic:claude-x")
    place(
        state, "words", other.opened() + other.prompt("Second incident") + other.tool("Bash", {"command": "ls"}, "a\nb")
    )
    return state
