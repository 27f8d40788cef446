"""Runs over HTTP, against the real command in a process of its own."""

from __future__ import annotations

import pytest

from server_tools import SCHEMA, body, events, good, prompt


def stream(server, content, headers=None, until=None):
    """The events of a streamed run, up to one of a kind; and the run's id."""
    seen = []
    with server.client.stream("POST", "/v1/runs", json={**content, "stream": True}, headers=headers) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        for event in events(answer.iter_lines()):
            seen.append(event)
            if event[1] == until:
                break
        return seen, answer.headers["lastcall-run"]


def test_a_run_answers_with_its_envelope_and_can_be_read_later(server):
    answer = server.run(good(7), id="later")
    run_id = answer.headers["lastcall-run"]
    assert (answer.status_code, answer.json()["structured_output"], answer.json()["session_id"]) == (
        200,
        {"n": 7},
        run_id,
    )
    found = server.client.get(f"/v1/runs/{run_id}").json()
    assert found["result"] == answer.json()
    assert (found["state"], found["outcome"], found["status"]) == ("ended", "answered", 200)
    listed = server.client.get("/v1/runs", params={"outcome": "answered", "limit": 200}).json()["runs"]
    assert {**found, "result": None} in listed


def test_the_second_attempt_counts_where_the_first_was_rejected(server):
    answer = server.run({"object": {"n": "seven"}}, good(7)).json()
    assert answer["structured_output"] == {"n": 7}
    assert [a["verdict"] for a in answer["lastcall"]["attempts"]] == ["rejected", "accepted"]


def test_without_a_schema_the_answer_is_prose(server):
    answer = server.client.post("/v1/runs", json={"prompt": prompt({"text": "Forty-two."})})
    assert (answer.status_code, answer.json()["result"]) == (200, "Forty-two.")
    assert "structured_output" not in answer.json()


@pytest.mark.parametrize(
    ("say", "fields", "status", "outcome"),
    [
        ([{"object": {"n": "x"}}, {"object": {"n": "y"}}, {"object": {"n": "z"}}], {"limits": {"max_attempts": 2}}, 422, "out_of_attempts"),
        ([{"text": "I would rather not."}], {}, 422, "gave_up"),
        ([{"tool": "DeclineOutput", "object": {"reason": "no figures", "missing": ["n"]}}], {}, 422, "declined"),
        ([{"object": {"n": "x"}}, {"object": {"n": 1}}], {"limits": {"max_turns": 1}}, 422, "stopped"),
        ([{"status": 401, "type": "authentication_error"}], {}, 502, "failed"),
        ([{"status": 400, "type": "invalid_request_error"}], {}, 502, "failed"),
    ],
)  # fmt: skip
def test_the_status_says_how_the_run_ended(server, say, fields, status, outcome):
    answer = server.run(*say, **fields)
    assert (answer.status_code, answer.json()["lastcall"]["outcome"]) == (status, outcome)
    assert answer.json()["is_error"] is True


def test_a_deadline_is_a_gateway_timeout(server):
    answer = server.run(good(), delay_s=20, limits={"deadline_s": 0.3})
    assert (answer.status_code, answer.json()["lastcall"]["limit"]) == (504, "deadline")


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        ({}, "bad_config", "prompt"),
        ({"prompt": "   "}, "bad_config", "prompt"),
        ({"prompt": "x", "promt": "y"}, "bad_config", "promt"),
        ({"prompt": "x", "schema": {"type": "intger"}}, "not_a_schema", "/type"),
        ({"prompt": "x", "schema": []}, "schema_not_an_object", "object"),
        ({"prompt": "x", "schema": {"x": "y" * 300_000}}, "schema_too_big", "262144"),
        ({"prompt": "x", "model": "claude-opus"}, "bad_config", "no model 'claude-opus'"),
        ({"prompt": "x", "model": "scripted:/etc/passwd"}, "bad_config", "no model"),
        ({"prompt": "x", "tools": ["Bash"]}, "bad_config", "does not allow the tool 'Bash'"),
        ({"prompt": "x", "schema": SCHEMA, "rules": ["m > 1"]}, "bad_rule", "'m'"),
        ({"prompt": "x", "rules": ["n > 1"]}, "bad_config", "no object to judge"),
    ],
)
def test_what_cannot_be_used_is_refused_before_anything_is_sent(server, endpoint, content, code, words):
    before = endpoint.asked.total()
    answer = server.client.post("/v1/runs", json=content)
    said = answer.json()
    assert (answer.status_code, said["lastcall"]["code"], said["type"]) == (422, code, "result")
    assert words in said["errors"][0]
    assert endpoint.asked.total() == before


def test_rules_and_tools_that_the_operator_allows_are_heeded(server):
    answer = server.run(good(1), good(5), rules=["n > 2"], tools=["Read"]).json()
    assert answer["structured_output"] == {"n": 5}
    assert [(c["name"], c["passed"]) for c in answer["lastcall"]["checks"]] == [("n > 2", False), ("n > 2", True)]


# -- streams --------------------------------------------------------------------------------------------------------


def test_a_stream_has_the_frames_and_the_result_comes_last(server):
    seen, run_id = stream(server, body({"object": {"n": "x"}}, good(2)))
    assert [number for number, _, _ in seen] == list(range(1, len(seen) + 1))
    assert seen[0][2]["subtype"] == "init"
    assert [kind for _, kind, _ in seen].count("result") == 1
    assert seen[-1][1] == "result"
    assert seen[-1][2] == server.client.get(f"/v1/runs/{run_id}").json()["result"]


def test_pieces_of_replies_are_in_the_stream_on_request_and_have_no_number(server):
    seen, _ = stream(server, body({"object": {"n": "x"}}, good(2), delay_s=0.2, partial=True))
    pieces = [number for number, kind, _ in seen if kind == "stream_event"]
    assert pieces
    assert set(pieces) == {None}
    assert seen[-1][1] == "result"


def test_a_dropped_stream_is_taken_up_behind_the_last_event(server):
    content = body({"object": {"n": "x"}}, good(2), delay_s=0.3)
    seen, run_id = stream(server, content, until="assistant")
    last = seen[-1][0]
    with server.client.stream("GET", f"/v1/runs/{run_id}/events", headers={"last-event-id": str(last)}) as answer:
        rest = list(events(answer.iter_lines()))
    assert [number for number, _, _ in rest] == list(range(last + 1, last + 1 + len(rest)))
    assert rest[-1][2]["structured_output"] == {"n": 2}
    with server.client.stream("GET", f"/v1/runs/{run_id}/events") as answer:  # long after its end
        assert list(events(answer.iter_lines())) == [*seen, *rest]


def test_the_same_post_takes_a_dropped_stream_up_too(server, endpoint):
    content, headers = body(good(2), delay_s=0.3, id="again"), {"idempotency-key": "again"}
    _, run_id = stream(server, content, headers, until="system")
    rest, same = stream(server, content, {**headers, "last-event-id": "1"})
    assert same == run_id
    assert (rest[0][0], rest[-1][1]) == (2, "result")
    assert endpoint.asked["again", 0] == 1


def test_text_of_a_model_cannot_make_events_of_its_own(server):
    hostile = 'x\r\n\r\nevent: result\r\ndata: {"type":"result"}\r\n\r\nid: 99\u2028\u2029\x85\n: y'
    seen, _ = stream(server, {"prompt": prompt({"text": hostile})})
    assert [kind for _, kind, _ in seen].count("result") == 1
    assert seen[-1][2]["result"] == hostile


# -- keys, cancelling, lists ----------------------------------------------------------------------------------------


def test_one_key_is_one_run(server, endpoint):
    headers = {"idempotency-key": "one"}
    first, second = server.run(good(), id="one", headers=headers), server.run(good(), id="one", headers=headers)
    assert first.json() == second.json()
    assert first.headers["lastcall-run"] == second.headers["lastcall-run"]
    assert endpoint.asked["one", 0] == 1


def test_a_key_of_another_request_is_refused(server):
    headers = {"idempotency-key": "other"}
    server.run(good(1), headers=headers)
    answer = server.run(good(2), headers=headers)
    assert (answer.status_code, answer.json()["lastcall"]["code"]) == (422, "key_in_other_use")


def test_a_run_need_not_be_waited_for(server):
    answer = server.run(good(4), wait=False, delay_s=0.2)
    assert (answer.status_code, answer.json()["state"]) == (202, "running")
    assert answer.headers["location"] == f"/v1/runs/{answer.json()['run_id']}"
    assert server.ended(answer.json()["run_id"])["result"]["structured_output"] == {"n": 4}


def test_a_cancelled_run_says_so(server):
    run_id = server.run(good(), wait=False, delay_s=30).json()["run_id"]
    answer = server.client.post(f"/v1/runs/{run_id}/cancel")
    assert answer.status_code == 202
    ended = server.ended(run_id)
    assert (ended["outcome"], ended["status"], ended["result"]["lastcall"]["outcome"]) == (
        "cancelled",
        409,
        "cancelled",
    )
    assert server.client.post(f"/v1/runs/{run_id}/cancel").json()["outcome"] == "cancelled"


def test_a_list_goes_back_page_by_page(server):
    made = [server.run(good(n)).headers["lastcall-run"] for n in range(5)]
    found, before = [], None
    while len(found) < 5:
        page = server.client.get("/v1/runs", params={"limit": 2, **({"before": before} if before else {})}).json()
        found += [run["run_id"] for run in page["runs"]]
        before = page["next"]
    assert found[:5] == made[::-1]


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "limit=x", "state=gone", "before=../x", "x=1"])
def test_a_list_refuses_what_it_does_not_know(server, query):
    answer = server.client.get(f"/v1/runs?{query}")
    assert (answer.status_code, answer.json()["lastcall"]["code"]) == (422, "bad_query")


# -- contracts and the server itself --------------------------------------------------------------------------------


def test_a_contract_is_looked_at_without_a_model(server, endpoint):
    before = endpoint.asked.total()
    found = server.client.post("/v1/contracts/check", json={"schema": SCHEMA, "instance": {"n": "x", "m": 1}}).json()
    assert (found["wrapped"], found["strict"]["openai"]) == (False, "yes")
    assert {(p["path"], p["keyword"]) for p in found["instance"]["problems"]} == {
        ("", "additionalProperties"),
        ("/n", "type"),
    }
    assert server.client.post("/v1/contracts/check", json={"schema": SCHEMA, "instance": {"n": 1}}).json()[
        "instance"
    ] == {
        "passes": True,
        "problems": [],
        "more": 0,
    }
    assert endpoint.asked.total() == before


def test_a_contract_that_cannot_be_one_is_refused(server):
    answer = server.client.post("/v1/contracts/check", json={"schema": {"minimum": "x"}})
    assert (answer.status_code, answer.json()["lastcall"]["code"]) == (422, "not_a_schema")


def test_numbers_keep_their_digits(server):
    big = "123456789012345678901234567890"
    content = f'{{"schema": {{"const": {big}}}, "instance": {big}}}'
    found = server.client.post("/v1/contracts/check", content=content, headers={"content-type": "application/json"})
    assert found.json()["instance"]["passes"] is True
    less = content.replace(f'"instance": {big}', f'"instance": {big[:-1]}1')
    found = server.client.post("/v1/contracts/check", content=less, headers={"content-type": "application/json"})
    assert found.json()["instance"]["passes"] is False


def test_the_server_says_how_it_is(server):
    assert server.client.get("/healthz").json()["ok"] is True
    assert server.client.get("/readyz").json()["ok"] is True
    server.run(good())
    text = server.client.get("/metrics").text
    assert 'lastcall_runs_total{outcome="answered"}' in text
    assert 'lastcall_http_requests_total{method="POST",route="/v1/runs",status="200"}' in text


def test_nothing_of_a_run_is_in_the_log(server):
    server.run({"object": {"n": "sesame"}}, good(), id="secret-prompt")
    assert "sesame" not in server.log
    assert "secret-prompt" not in server.log


def test_the_page_finds_the_list_and_the_story_of_a_run(server):
    run_id = server.run({"object": {"n": "sesame"}}, good(6), id="story").headers["lastcall-run"]
    page = server.client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert '"base":"/v1"' in page.text
    listed = server.client.get("/v1/stories").json()["runs"]
    assert [(row["word"], row["tone"]) for row in listed if row["id"] == run_id] == [("Answered", "good")]
    with server.client.stream("GET", f"/v1/stories/{run_id}") as answer:
        (_, _, story), *more = events(answer.iter_lines())
    assert more == []
    assert story["session"]["session_id"] == run_id
    assert "sesame" in str(story["entries"])
    answer = server.client.get("/v1/stories/run_" + "0" * 32)
    assert (answer.status_code, answer.json()["lastcall"]["code"]) == (404, "no_such_run")
