"""Servers that are killed, and servers that go down as they should: what was acknowledged is there afterwards."""

from __future__ import annotations

import threading

import httpx2
import pytest

from server_tools import SCHEMA, Endpoint, Server, body, events, good, until

pytestmark = pytest.mark.slow


@pytest.fixture
def endpoint():
    with Endpoint() as running:
        yield running


@pytest.fixture
def server(endpoint, tmp_path):
    with Server(tmp_path, endpoint, "--drain", "0.3") as running:
        yield running


def test_what_was_acknowledged_is_there_after_a_kill_and_goes_on(server, endpoint):
    """Ten runs, each killed after its first attempt was answered: the second is asked for, the first never again."""
    say = ({"object": {"n": "x"}}, good(2))
    ids = [server.run(*say, delay_s=0.4, id=f"k{n}", wait=False).json()["run_id"] for n in range(10)]
    until(lambda: not any(endpoint.asked[f"k{n}", 1] == 0 for n in range(10)))  # the first attempts are in the journals
    server.kill()
    server.start()
    for n, run_id in enumerate(ids):
        ended = server.ended(run_id)
        assert ended["result"]["structured_output"] == {"n": 2}
        assert [a["verdict"] for a in ended["result"]["lastcall"]["attempts"]] == ["rejected", "accepted"]
        assert endpoint.asked[f"k{n}", 0] == 1


def test_a_stream_is_taken_up_after_a_kill_without_losing_a_message(server):
    content = {**body({"object": {"n": "x"}}, good(2), delay_s=0.4), "stream": True}
    seen = []
    with server.client.stream("POST", "/v1/runs", json=content) as answer:
        run_id = answer.headers["lastcall-run"]
        for event in events(answer.iter_lines()):
            seen.append(event)
            if event[1] == "user":
                break
    server.kill()
    server.start()
    last = seen[-1][0]
    with server.client.stream("GET", f"/v1/runs/{run_id}/events", headers={"last-event-id": str(last)}) as answer:
        rest = list(events(answer.iter_lines()))
    numbers = [number for number, _, _ in (*seen, *rest)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert rest[-1][2]["structured_output"] == {"n": 2}
    said = [value["uuid"] for _, kind, value in (*seen, *rest) if kind in ("assistant", "user")]
    assert len(said) == len(set(said)) == 4  # two attempts and their answers, each once


def test_one_key_is_one_run_across_a_kill(server, endpoint):
    headers = {"idempotency-key": "once"}
    first = server.run(good(), delay_s=0.5, id="once", wait=False, headers=headers).json()["run_id"]
    server.kill()
    server.start()
    again = server.run(good(), delay_s=0.5, id="once", headers=headers)
    assert again.headers["lastcall-run"] == first
    assert again.json()["structured_output"] == {"n": 3}


def test_a_run_that_ended_before_the_kill_keeps_its_result(server, endpoint):
    answer = server.run(good(), id="kept")
    server.kill()
    server.start()
    assert server.client.get(f"/v1/runs/{answer.headers['lastcall-run']}").json()["result"] == answer.json()
    assert endpoint.asked["kept", 0] == 1


def test_a_run_that_was_cancelled_while_the_server_was_down_does_not_go_on(server, endpoint):
    run_id = server.run(good(), delay_s=0.8, id="c", wait=False).json()["run_id"]
    server.kill()
    server.start()
    server.client.post(f"/v1/runs/{run_id}/cancel")
    assert server.ended(run_id)["outcome"] in {"cancelled", "answered"}


def test_a_terminated_server_finishes_what_it_can(endpoint, tmp_path):
    found = {}
    with Server(tmp_path, endpoint, "--drain", "30") as server:
        waiting = threading.Thread(target=lambda: found.update(answer=server.run(good(), delay_s=0.3)))
        waiting.start()
        until(lambda: server.client.get("/v1/runs").json()["runs"])
        assert server.stop() == 0
        waiting.join()
    assert found["answer"].json()["structured_output"] == {"n": 3}


def test_a_terminated_server_lets_go_of_the_rest_and_says_so(server, endpoint):
    found = {}
    waiting = threading.Thread(target=lambda: found.update(answer=server.run(good(), delay_s=2, id="rest")))
    waiting.start()
    until(lambda: endpoint.asked["rest", 0])
    assert server.stop() == 0
    waiting.join()
    answer = found["answer"]
    assert (answer.status_code, answer.json()["lastcall"]["code"]) == (503, "going_down")
    assert int(answer.headers["retry-after"]) > 0
    server.start()
    run_id = server.client.get("/v1/runs").json()["runs"][0]["run_id"]
    assert run_id in answer.json()["errors"][0]
    assert server.ended(run_id)["result"]["structured_output"] == {"n": 3}
    assert "Traceback" not in server.log


def test_a_server_that_goes_down_takes_nothing_new(server, endpoint):
    server.run(good(), delay_s=2, id="last", wait=False)
    with httpx2.Client(base_url=server.url) as client:
        client.get("/healthz")  # a connection from before
        server.process.terminate()
        answer = None
        while answer is None or answer.status_code == 202:
            answer = client.post("/v1/runs", json=body(good(), wait=False))
        assert (answer.status_code, answer.json()["lastcall"]["code"]) == (503, "going_down")
    assert server.process.wait(30) == 0


def test_a_vendors_run_with_a_key_goes_on_and_answers_whoever_asks_again(server, endpoint):
    message = {"role": "user", "content": body(good(), delay_s=1, id="w")["prompt"]}
    config = {"format": {"type": "json_schema", "schema": SCHEMA}}
    content = {"model": "haiku", "max_tokens": 100, "messages": [message], "output_config": config}
    headers = {"idempotency-key": "vendor"}

    def ask():
        with pytest.raises(httpx2.HTTPError):
            server.client.post("/v1/messages", json=content, headers=headers)

    asking = threading.Thread(target=ask)
    asking.start()
    until(lambda: endpoint.asked["w", 0])
    server.kill()
    asking.join()
    server.start()
    answer = server.client.post("/v1/messages", json=content, headers=headers)
    assert (answer.status_code, answer.json()["content"][0]["text"]) == (200, '{"n":3}')


def test_a_vendors_run_that_was_cut_off_is_closed(server, endpoint):
    content = {
        "model": "haiku",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": body(good(), delay_s=5, id="v")["prompt"]}],
    }

    def ask():
        with pytest.raises(httpx2.HTTPError):
            server.client.post("/v1/messages", json=content)

    asking = threading.Thread(target=ask)
    asking.start()
    until(lambda: endpoint.asked["v", 0])
    server.kill()
    asking.join()
    server.start()
    run_id = server.client.get("/v1/runs").json()["runs"][0]["run_id"]
    assert server.ended(run_id)["outcome"] == "cancelled"
    assert endpoint.asked["v", 0] == 1
