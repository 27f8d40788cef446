"""What an operator decides: who may connect, how much of what, and what the command refuses before it listens."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from server_tools import Endpoint, Server, command, environment, good

pytestmark = pytest.mark.slow


@pytest.fixture
def endpoint():
    with Endpoint() as running:
        yield running


def refused(folder, *words, endpoint=None, **more):
    """What the command says on standard error, when it refuses with exit code 2 and says nothing on standard output."""
    ran = subprocess.run(
        command("serve", *words), env=environment(folder, endpoint, **more),
        cwd=folder, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (2, ""), ran.stderr
    assert "Traceback" not in ran.stderr
    return ran.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--host", "0.0.0.0"), "there is no token"),
        (("--host", "nowhere.invalid"), "the address cannot be used"),
        (("--storage", "mysql://x"), "no database's address"),
        (("--storage", "sqlite:///proc/x/y.db"), "cannot be opened"),
        (("--json-schema", "{}"), "this flag is of a single run"),
        (("--resume", "x"), "this flag is of a single run"),
        (("--profile", "compat"), "this flag is of a single run"),
        (("count the words",), "the prompt comes with each request"),
        (("--model", "no-such"), "there is no model"),
        (("--tools", "Sing"), "there is no tool Sing"),
        (("--allow-model", "*"), "names no model"),
        (("--port", "99999"), "port"),
        (("--speed", "3"), "unknown option"),
        (("token", "create", "a b"), "cannot be a token's name"),
        (("token", "revoke", "nobody"), "no token 'nobody'"),
    ],
)
def test_what_cannot_be_served_is_refused_in_one_sentence(tmp_path, endpoint, words, said):
    asks_nobody = "no-such" in words  # a service of one's own might know any name
    line = refused(tmp_path, *words, endpoint=None if asks_nobody else endpoint)
    assert said in line
    assert len(line.strip().splitlines()) <= 4  # click adds the usage


def test_a_port_that_is_taken_is_told(tmp_path, endpoint):
    with Server(tmp_path, endpoint) as server:
        port = server.url.rsplit(":", 1)[1]
        assert "the address cannot be used" in refused(tmp_path, "--port", port, "--model", "haiku", endpoint=endpoint)


def test_without_the_extra_the_command_says_how_to_get_it(tmp_path, endpoint):
    (tmp_path / "uvicorn.py").write_text("raise ModuleNotFoundError(\"No module named 'uvicorn'\", name='uvicorn')")
    path = os.pathsep.join((str(tmp_path), environment(tmp_path)["PYTHONPATH"]))
    line = refused(tmp_path, "--model", "haiku", endpoint=endpoint, PYTHONPATH=path)
    assert "pip install 'lastcall[server]'" in line


def test_another_address_is_served_once_there_is_a_token_and_wants_it(tmp_path, endpoint):
    made = subprocess.run(
        command("serve", "token", "create", "a"), env=environment(tmp_path), capture_output=True, text=True, check=True
    ).stdout.strip()
    with Server(tmp_path, endpoint, "--host", "0.0.0.0") as server:
        assert server.client.get("/v1/runs").status_code == 401
        headers = {"authorization": f"Bearer {made}"}
        assert server.run(good(), headers=headers).json()["structured_output"] == {"n": 3}
        assert server.client.get("/healthz", headers={"host": "any.example"}).status_code == 200


def test_a_name_that_was_allowed_is_answered_to_and_no_other(tmp_path, endpoint):
    with Server(tmp_path, endpoint, "--allow-host", "runs.example", "--insecure") as server:
        for host, status in (("runs.example", 200), ("runs.example:443", 200), ("localhost", 200), ("x.example", 421)):
            assert server.client.get("/healthz", headers={"host": host}).status_code == status


def test_a_full_queue_is_told_with_when_to_come_back_and_nothing_is_lost(tmp_path, endpoint):
    with Server(tmp_path, endpoint, "--places", "2", "--queue", "3") as server:
        taken = [server.run(good(n), delay_s=0.5, wait=False, id=f"q{n}") for n in range(5)]
        assert [a.status_code for a in taken] == [202] * 5
        assert [a.json()["state"] for a in taken] == ["running"] * 2 + ["queued"] * 3
        late = server.run(good())
        assert (late.status_code, late.json()["lastcall"]["code"]) == (429, "queue_full")
        assert int(late.headers["retry-after"]) > 0
        for n, answer in enumerate(taken):
            assert server.ended(answer.json()["run_id"])["result"]["structured_output"] == {"n": n}
        assert server.run(good()).status_code == 200


def test_what_waits_is_cancelled_without_being_begun(tmp_path, endpoint):
    with Server(tmp_path, endpoint, "--places", "1") as server:
        server.run(good(), delay_s=1, wait=False)
        waiting = server.run(good(), id="waits", wait=False).json()["run_id"]
        answer = server.client.post(f"/v1/runs/{waiting}/cancel").json()
        assert (answer["state"], answer["outcome"], answer["result"]["lastcall"]["code"]) == (
            "ended",
            "cancelled",
            "cancelled",
        )
        assert endpoint.asked["waits", 0] == 0


def test_a_token_has_limits_of_its_own(tmp_path, endpoint):
    def make(name, *flags):
        words = command("serve", "token", "create", name, *flags)
        ran = subprocess.run(words, env=environment(tmp_path), capture_output=True, text=True, check=True)
        return {"authorization": f"Bearer {ran.stdout.strip()}"}

    few, slow, small = (
        make("few", "--concurrency", "1"),
        make("slow", "--per-minute", "3"),
        make("small", "--schema-bytes", "60"),
    )
    with Server(tmp_path, endpoint) as server:
        first = server.run(good(), delay_s=0.6, wait=False, headers=few)
        second = server.run(good(), headers=few)
        assert (first.status_code, second.status_code, second.json()["lastcall"]["code"]) == (
            202,
            429,
            "too_many_at_once",
        )
        assert server.run(good(), headers=small).json()["lastcall"]["code"] == "schema_too_big"
        statuses = [server.client.get("/v1/runs", headers=slow).status_code for _ in range(5)]
        assert statuses == [200, 200, 200, 429, 429]
        assert server.client.get("/v1/runs", headers=small).status_code == 200


def test_forty_at_once_with_one_key_are_one_run(tmp_path, endpoint):
    with Server(tmp_path, endpoint) as server, ThreadPoolExecutor(40) as pool:
        asked = [
            pool.submit(server.run, good(), delay_s=0.2, id="same", headers={"idempotency-key": "same"})
            for _ in range(40)
        ]
        answers = [future.result() for future in asked]
    assert len({answer.headers["lastcall-run"] for answer in answers}) == 1
    assert {answer.status_code for answer in answers} == {200}
    assert endpoint.asked["same", 0] == 1


def test_an_operators_limits_and_secrets_hold_for_every_run(tmp_path, endpoint):
    secret = "ghp_" + "a1B2" * 9
    flags = ("--redact", "--max-budget-tokens", "1000000", "--max-repeats", "3")
    with Server(tmp_path, endpoint, *flags) as server:
        answer = server.run({"object": {"n": secret}}, good(7), id=f"with {secret}")
        assert answer.json()["structured_output"] == {"n": 7}
        assert secret not in answer.text
        run_id = answer.headers["lastcall-run"]
        assert secret not in server.client.get(f"/v1/runs/{run_id}").text
        assert secret not in server.client.get("/v1/runs").text
        refused = server.run(good(1), partial=True, stream=True)
        assert refused.status_code == 422
        assert "half a secret has no form" in refused.text
        stopped = server.run({"object": {"n": "x"}}, good(7), limits={"max_budget_tokens": 1, "max_repeats": 1})
        assert (stopped.status_code, stopped.json()["lastcall"]["limit"]) == (422, "tokens")


def test_a_pattern_that_cannot_be_used_is_refused_at_once(tmp_path, endpoint):
    assert "this pattern cannot be used" in refused(tmp_path, "--redact", "(", endpoint=endpoint)
