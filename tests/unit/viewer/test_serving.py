from __future__ import annotations

import http.client
import json
import threading
from urllib.parse import urlsplit

import pytest

from journals import Writer, place
from lastcall.errors import JournalError
from lastcall.journal.sessions import Sessions
from lastcall.viewer.listing import list_sessions
from lastcall.viewer.serving import Shelf, ViewServer


def shelf_of(state, **more):
    store = Sessions(str(state))

    def find(session):
        if session == "broken":
            raise JournalError("the disk is gone")
        found = store.find(session) if session.isalnum() else None
        return None if found is None else found.path

    return Shelf(lambda: list_sessions(store), find, **more)


@pytest.fixture
def running():
    servers = []

    def run(shelf):
        server = ViewServer(shelf, poll_s=0.01)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        servers.append((server, thread))
        return server

    yield run
    for server, thread in servers:
        server.shutdown()
        server.server_close()
        thread.join(10)


@pytest.fixture
def server(running, tmp_path):
    place(tmp_path, "done", Writer("done").whole())
    return running(shelf_of(tmp_path))


def get(server, path="", *, method="GET", **headers):
    url = urlsplit(server.url)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=10)
    connection.request(method, path if path.startswith("/") else url.path + path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def test_the_page_and_its_values_are_served_below_the_token(server):
    answer, body = get(server)
    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert b"lastcall-values" in body
    _, body = get(server, "stories")
    assert [row["id"] for row in json.loads(body)["runs"]] == ["done"]


def test_a_finished_story_is_one_event(server):
    answer, body = get(server, "stories/done")
    assert answer.headers["Content-Type"] == "text/event-stream"
    assert body.count(b"data: ") == 1
    assert "live" not in json.loads(body.strip()[6:])


def test_a_run_that_goes_on_is_sent_as_it_grows_until_it_ends(running, tmp_path):
    w = Writer("live")
    path = place(tmp_path, "live", w.opened() + w.prompt("x"))
    server = running(shelf_of(tmp_path))
    url = urlsplit(server.url)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=10)
    connection.request("GET", f"{url.path}stories/live")
    answer = connection.getresponse()

    def event():
        line = answer.readline()
        assert answer.readline() == b"\n"
        return json.loads(line[6:])

    first = event()
    assert first["live"]
    assert [run["prompt"] for run in first["runs"]] == ["x"]
    with open(path, "ab") as file:
        file.write(w.tool("Read", {}, "alpha"))
    second = event()
    assert "Read" in [entry.get("name") for entry in second["entries"]]
    assert "contract" not in second
    with open(path, "ab") as file:
        file.write(w.accepted({}))
    rest = [event()]
    while rest[-1].get("live"):
        rest.append(event())
    assert rest[-1]["runs"][0]["outcome"] == "answered"
    assert answer.read() == b""
    connection.close()


def test_a_journal_that_is_taken_away_ends_its_story_with_a_note(running, tmp_path):
    w = Writer("live")
    path = place(tmp_path, "live", w.opened() + w.prompt("x"))
    server = running(shelf_of(tmp_path))
    url = urlsplit(server.url)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=10)
    connection.request("GET", f"{url.path}stories/live")
    answer = connection.getresponse()
    assert json.loads(answer.readline()[6:])["live"]
    path.unlink()
    [last] = [json.loads(line[6:]) for line in answer.read().split(b"\n\n") if line.strip()]
    assert "live" not in last
    assert last["session"]["note"] == "The journal cannot be read: No such file or directory."
    connection.close()


def test_a_session_is_saved_as_one_file(server):
    answer, body = get(server, "stories/done/page.html")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="run.html"'
    assert b'"kind":"embedded"' in body


@pytest.mark.parametrize("path", ["/", "/stories", "/wrong/", "/wrong/stories", "//", "/%00/", "/../etc/passwd"])
def test_without_the_token_there_is_nothing(server, path):
    answer, body = get(server, path)
    assert (answer.status, body) == (404, b"There is nothing here.\n")


@pytest.mark.parametrize(
    "path",
    [
        "x",
        "stories/",
        "stories/nobody",
        "stories/..%2f..%2fetc",
        "stories/done/x",
        "stories/done/page.html/x",
        "stories/%00",
    ],
)
def test_what_is_not_there_is_not_found(server, path):
    assert get(server, path)[0].status == 404


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example", ""])
def test_a_name_that_only_resolves_to_this_machine_is_refused(server, host):
    assert get(server, Host=host)[0].status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_nothing_can_be_changed(server, method):
    assert get(server, method=method)[0].status == 501


def test_every_answer_says_that_nobody_may_keep_frame_or_read_it(server):
    for path in ("", "stories", "stories/done", "stories/nobody", "/"):
        headers = get(server, path)[0].headers
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Access-Control-Allow-Origin"] is None


def test_an_error_is_one_sentence(server):
    answer, body = get(server, "stories/broken")
    assert (answer.status, body) == (409, b"the disk is gone")


def test_requests_leave_no_trace_on_the_terminal(server, capfd):
    get(server)
    get(server, "/wrong")
    assert capfd.readouterr() == ("", "")


def test_tokens_differ_and_are_long(tmp_path):
    tokens = set()
    for _ in range(3):
        with ViewServer(shelf_of(tmp_path)) as server:
            tokens.add(server.token)
            assert server.server_address[0] == "127.0.0.1"
    assert len(tokens) == 3
    assert all(len(token) >= 32 for token in tokens)


def test_a_page_that_is_made_at_once_stands_in_for_the_list(running, tmp_path):
    server = running(shelf_of(tmp_path, page=lambda: "<p>a batch</p>"))
    assert get(server)[1] == b"<p>a batch</p>"
