"""Two servers on one PostgreSQL: one table of runs, and no run executed twice."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from server.postgres import running_postgres
from server_tools import Endpoint, Server, body, events, good, until

pytestmark = pytest.mark.slow


@pytest.fixture
def storage():
    with running_postgres() as url:
        yield url


@pytest.fixture
def endpoint():
    with Endpoint() as running:
        yield running


@pytest.fixture
def two(tmp_path, endpoint, storage):
    with (
        Server(tmp_path / "a", endpoint, "--storage", storage) as first,
        Server(tmp_path / "b", endpoint, "--storage", storage) as second,
    ):
        yield first, second


def test_a_run_of_one_server_is_seen_and_followed_at_the_other(two):
    first, second = two
    run_id = first.run({"object": {"n": "x"}}, good(2), delay_s=0.4, wait=False).json()["run_id"]
    with second.client.stream("GET", f"/v1/runs/{run_id}/events") as answer:
        seen = list(events(answer.iter_lines()))
    assert [number for number, _, _ in seen] == list(range(1, len(seen) + 1))
    assert seen[-1][2]["structured_output"] == {"n": 2}
    assert second.client.get(f"/v1/runs/{run_id}").json() == first.client.get(f"/v1/runs/{run_id}").json()


def test_one_key_is_one_run_at_both(two, endpoint):
    """Both servers are asked at once, with forty keys, in opposite orders."""

    def ask(server, n):
        return server.run(good(n), delay_s=0.1, id=f"key{n}", headers={"idempotency-key": f"key{n}"})

    with ThreadPoolExecutor(16) as pool:
        there = [pool.submit(ask, two[0], n) for n in range(40)]
        back = [pool.submit(ask, two[1], n) for n in reversed(range(40))]
    there, back = [f.result() for f in there], [f.result() for f in back][::-1]
    assert [a.headers["lastcall-run"] for a in there] == [a.headers["lastcall-run"] for a in back]
    assert [a.json()["structured_output"]["n"] for a in there] == list(range(40))
    assert [endpoint.asked[f"key{n}", 0] for n in range(40)] == [1] * 40


def test_a_run_is_cancelled_through_the_other_server(two):
    first, second = two
    run_id = first.run(good(), delay_s=60, wait=False).json()["run_id"]
    assert second.client.post(f"/v1/runs/{run_id}/cancel").json()["cancelling"] is True
    assert second.ended(run_id)["outcome"] == "cancelled"


def test_runs_of_a_killed_server_are_taken_over_and_none_is_run_twice(two, endpoint):
    """Sixty runs on both; one server is killed in the middle. What had ended is not run again."""
    first, second = two
    ids = {}
    for n in range(60):
        server = two[n % 2]
        ids[n] = server.run({"object": {"n": "x"}}, good(n), delay_s=0.02 * n, id=f"t{n}", wait=False).json()["run_id"]
    done = {n for n in range(60) if second.client.get(f"/v1/runs/{ids[n]}").json()["state"] == "ended"}
    first.kill()
    for n, run_id in ids.items():
        ended = second.ended(run_id, within_s=60)
        assert ended["result"]["structured_output"] == {"n": n}, n
        assert endpoint.asked[f"t{n}", 0] <= (2 if n % 2 == 0 and n not in done else 1), n
    assert all(endpoint.asked[f"t{n}", k] == 1 for n in range(60) if n % 2 or n in done for k in (0, 1))


def test_a_run_with_tools_whose_journal_is_elsewhere_says_so(tmp_path, endpoint, storage):
    flags = ("--storage", storage, "--tools", "Read")
    with Server(tmp_path / "a", endpoint, *flags) as first, Server(tmp_path / "b", endpoint, *flags) as second:
        run_id = first.run(good(), delay_s=30, id="tools", tools=["Read"], wait=False).json()["run_id"]
        until(lambda: endpoint.asked["tools", 0])
        first.kill()
        ended = second.ended(run_id)
        assert (ended["outcome"], ended["status"]) == ("failed", 500)
        assert "journal that is not here" in ended["result"]["errors"][0]
        assert endpoint.asked["tools", 0] == 1


def test_a_database_that_goes_away_is_told_as_such(tmp_path, endpoint):
    with ExitStack() as stack:
        with running_postgres() as storage:
            server = stack.enter_context(Server(tmp_path, endpoint, "--storage", storage))
            assert server.client.get("/readyz").status_code == 200
        answer = server.client.post("/v1/runs", json=body(good()))
        assert (answer.status_code, answer.json()["lastcall"]["code"]) == (503, "storage_lost")
        assert server.client.get("/readyz").status_code == 503
        assert server.client.get("/healthz").status_code == 200
        assert "Traceback" not in server.log


def test_a_server_that_slept_through_its_lease_writes_nothing_any_more(two, endpoint):
    """It is stopped in the middle of a run, which the other takes over; awake again, it finds the run gone."""
    first, second = two
    run_id = first.run({"object": {"n": "x"}}, good(2), delay_s=1, id="slept", wait=False).json()["run_id"]
    until(lambda: endpoint.asked["slept", 0])
    first.process.send_signal(signal.SIGSTOP)
    ended = second.ended(run_id)
    first.process.send_signal(signal.SIGCONT)
    until(lambda: "lastcall_runs_here 0.0" in first.client.get("/metrics").text)
    assert ended["result"]["structured_output"] == {"n": 2}
    assert first.client.get(f"/v1/runs/{run_id}").json() == second.client.get(f"/v1/runs/{run_id}").json() == ended
    with first.client.stream("GET", f"/v1/runs/{run_id}/events") as answer:
        seen = list(events(answer.iter_lines()))
    assert [number for number, _, _ in seen] == list(range(1, len(seen) + 1))
    assert [kind for _, kind, _ in seen].count("result") == 1
    assert "Traceback" not in first.log
