"""What people try, each with the answer that it has to get. Bytes go over raw sockets where a library would be too polite."""

from __future__ import annotations

import json
import socket
import statistics
import subprocess
import time

import pytest

from server_tools import JSON, Server, body, command, environment, good, prompt

pytestmark = pytest.mark.slow

HOST = "HOST"
"""Stands for the server's own host and port."""


@pytest.fixture(scope="module")
def guarded(endpoint, tmp_path_factory):
    """A server with two tokens, little patience and small limits."""
    folder = tmp_path_factory.mktemp("guarded")
    flags = ("--patience", "1", "--body-bytes", "50000", "--schema-bytes", "20000", "--tools", "Read")
    made = [token(folder, "ann"), token(folder, "bob")]
    with Server(folder, endpoint, *flags) as running:
        running.ann, running.bob = ({"authorization": f"Bearer {word}"} for word in made)
        yield running


def token(folder, name, *flags):
    return subprocess.run(
        command("serve", "token", "create", name, *flags),
        env=environment(folder), capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip


def raw(server, content, *, wait_s=5.0, pieces=()):
    """The status of the first answer to these bytes (0: none), and all that came back."""
    host, port = server.url.removeprefix("http://").split(":")
    content = content.replace(HOST.encode(), f"{host}:{port}".encode())
    with socket.create_connection((host, int(port)), timeout=wait_s) as sock:
        back = b""
        try:
            sock.sendall(content)
            for piece in pieces:
                time.sleep(0.3)
                sock.sendall(piece)
            while piece := sock.recv(65536):
                back += piece
        except (TimeoutError, ConnectionError):
            pass
    return (int(back.split(b" ", 2)[1]) if back.startswith(b"HTTP/1.1 ") else 0), back


def head(line, *headers):
    return "\r\n".join((line, *headers, "", "")).encode()


POST = "POST /v1/runs HTTP/1.1"
OWN = f"Host: {HOST}"
TYPE = "Content-Type: application/json"
CLOSE = "Connection: close"


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (head("GET /healthz HTTP/1.1", "Host: evil.example", CLOSE), 421),
        (head("GET /healthz HTTP/1.1", "Host: 127.0.0.1.evil.example", CLOSE), 421),
        (head("GET /healthz HTTP/1.1", "Host: localhost@evil.example", CLOSE), 421),
        (head("GET /healthz HTTP/1.1", OWN, "Host: evil.example", CLOSE), 400),
        (head("GET /healthz HTTP/1.1", CLOSE), 400),
        (head("GET http://evil.example/healthz HTTP/1.1", OWN, CLOSE), 404),
        (head(POST, OWN, TYPE, "Origin: http://evil.example", "Content-Length: 2", CLOSE) + b"{}", 403),
        (head(POST, OWN, TYPE, "Origin: null", "Content-Length: 2", CLOSE) + b"{}", 403),
        (head(POST, OWN, "Content-Type: text/plain", "Content-Length: 2", CLOSE) + b"{}", 415),
        (head(POST, OWN, "Content-Type: application/x-www-form-urlencoded", "Content-Length: 2", CLOSE) + b"{}", 415),
        (head(POST, OWN, TYPE, "Content-Length: 999999999999", CLOSE), 413),
        (head(POST, OWN, TYPE, "Content-Length: -1", CLOSE), 400),
        (head(POST, OWN, TYPE, "Content-Length: 2", "Content-Length: 3", CLOSE) + b"{} ", 400),
        (head(POST, OWN, TYPE, "Content-Length: 4", "Transfer-Encoding: chunked", CLOSE) + b"2\r\n{}\r\n0\r\n\r\n", 400),
        (head(POST, OWN, TYPE, "Transfer-Encoding: gzip, chunked", CLOSE) + b"0\r\n\r\n", 400),
        (head(POST, OWN, TYPE, "Transfer-Encoding : chunked", CLOSE) + b"0\r\n\r\n", 400),
        (head("GET /healthz HTTP/1.1", OWN, "X: a\0b", CLOSE), 400),
        (head("GET /healthz HTTP/1.1", OWN, "X: " + "a" * 60_000, CLOSE), 431),
        (head("GET /" + "a" * 10_000 + " HTTP/1.1", OWN, CLOSE), 414),
        (head("GET /v1/runs?" + "a" * 5_000 + " HTTP/1.1", OWN, CLOSE), 414),
        (head("GET /v1/runs/../../healthz HTTP/1.1", OWN, CLOSE), 404),
        (head("GET /v1/runs/%2e%2e%2f%2e%2e%2fetc%2fpasswd HTTP/1.1", OWN, CLOSE), 404),
        (head("GET /v1/runs/run_%00 HTTP/1.1", OWN, CLOSE), 401),
        (head("TRACE / HTTP/1.1", OWN, CLOSE), 405),
        (head("CONNECT evil.example:443 HTTP/1.1", OWN, CLOSE), 404),
        (head("OPTIONS /v1/runs HTTP/1.1", OWN, "Origin: http://evil.example", "Access-Control-Request-Method: POST", CLOSE), 405),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 421),
    ],
)  # fmt: skip
def test_a_request_that_means_ill_is_refused(guarded, content, status):
    got, back = raw(guarded, content)
    assert got == status, back[:500]
    assert b"access-control-allow" not in back.lower()
    assert b"server:" not in back.lower()
    assert b"Traceback" not in back


def test_a_body_in_chunks_is_counted_too(guarded):
    chunk = b"c350\r\n" + b" " * 50_000 + b"\r\n"
    got, _ = raw(guarded, head(POST, OWN, TYPE, "Transfer-Encoding: chunked", f"Authorization: {guarded.ann['authorization']}") + chunk, pieces=[chunk])  # fmt: skip
    assert got == 413


@pytest.mark.parametrize(
    "content",
    [
        b"GET /healthz HT",
        head("GET /healthz HTTP/1.1", OWN)[:-2] + b"X: ",
        head("GET /healthz HTTP/1.1", OWN) + b"GET /hea",
    ],
    ids=["at the line", "in a header", "on a kept connection"],
)
def test_a_head_that_never_ends_ends_the_connection(guarded, content):
    began = time.monotonic()
    raw(guarded, content, wait_s=8)
    assert time.monotonic() - began < 6


def test_a_body_that_never_ends_is_refused(guarded):
    began = time.monotonic()
    line = f"Authorization: {guarded.ann['authorization']}"
    got, _ = raw(guarded, head(POST, OWN, TYPE, "Content-Length: 100", line) + b"{", wait_s=8)
    assert (got, time.monotonic() - began < 6) == (408, True)


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 40_000,
        b'{"prompt": ' + b'{"a":' * 8_000,
        b'{"prompt": "x", "prompt": "y"}',
        b'{"prompt": "x", "limits": {"max_turns": 1e999}}',
        b'{"prompt": "\xff\xfe"}',
        b'{"prompt": "x", "schema": {"allOf": ' + b"[" * 300 + b"]" * 300 + b"}}",
        json.dumps({"prompt": "x", "schema": {"$ref": "#"}}).encode(),
        json.dumps({"prompt": "x", "schema": {"$ref": "http://evil.example/schema"}}).encode(),
        json.dumps({"prompt": "x", "schema": {"$ref": "file:///etc/passwd"}}).encode(),
        json.dumps({"prompt": "x", "schema": {"pattern": "("}}).encode(),
        json.dumps({"prompt": "x", "schema": {"enum": list(range(5_000))}}).encode(),
        json.dumps({"prompt": "x", "schema": {}, "rules": ["true"]}).encode(),
        json.dumps({"prompt": "x", "tools": ["Bash"]}).encode(),
        json.dumps({"prompt": "x", "model": "scripted:/etc/passwd"}).encode(),
        json.dumps({"prompt": "x", "model": "local"}).encode(),
        b"",
        b"null",
    ],
)
def test_a_hostile_body_is_refused_at_once_and_nothing_is_sent(guarded, endpoint, content):
    before, began = endpoint.asked.total(), time.monotonic()
    answer = guarded.client.post("/v1/runs", content=content, headers={**JSON, **guarded.ann})
    assert (answer.status_code, answer.json()["is_error"]) == (422, True), answer.text
    assert time.monotonic() - began < 5
    assert endpoint.asked.total() == before


def test_a_schema_that_explodes_does_not_stop_the_server(guarded):
    """Doubling definitions, checked against a value: the check has a budget."""
    defs = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)}
    bomb = {"$defs": {**defs, "d60": {"type": "integer"}}, "$ref": "#/$defs/d0"}
    answer = guarded.client.post("/v1/contracts/check", json={"schema": bomb, "instance": 1}, headers=guarded.ann)
    assert answer.status_code in (200, 422)
    assert guarded.client.get("/healthz").status_code == 200


def test_without_a_token_nothing_is_told(guarded):
    run_id = guarded.client.post("/v1/runs", json=body(good()), headers=guarded.ann).headers["lastcall-run"]
    for path in ("/v1/runs", f"/v1/runs/{run_id}", f"/v1/runs/{run_id}/events", "/metrics", "/v1/stories", f"/v1/stories/{run_id}"):  # fmt: skip
        for headers in (
            {},
            {"authorization": "Bearer lc_0000000000000000_" + "a" * 43},
            {"authorization": "Basic YTpi"},
        ):
            answer = guarded.client.get(path, headers=headers)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer"), path
    assert guarded.client.post(f"/v1/runs/{run_id}/cancel").status_code == 401


def test_the_runs_of_another_are_not_there(guarded):
    mine = guarded.client.post("/v1/runs", json=body(good()), headers=guarded.ann).headers["lastcall-run"]
    for method, path in (("GET", f"/v1/runs/{mine}"), ("GET", f"/v1/runs/{mine}/events"), ("POST", f"/v1/runs/{mine}/cancel"), ("GET", f"/v1/stories/{mine}")):  # fmt: skip
        assert guarded.client.request(method, path, headers=guarded.bob).status_code == 404
        assert guarded.client.request(method, path, headers=guarded.ann).status_code in (200, 202)
    assert mine not in guarded.client.get("/v1/runs", headers=guarded.bob).text
    same = {"idempotency-key": "shared"}
    first = guarded.client.post("/v1/runs", json=body(good(1)), headers={**guarded.ann, **same})
    second = guarded.client.post("/v1/runs", json=body(good(2)), headers={**guarded.bob, **same})
    assert [a.json()["structured_output"]["n"] for a in (first, second)] == [1, 2]


def test_guessing_a_token_learns_nothing_from_the_clock(guarded):
    """A wrong secret behind a real id, and an id that nobody has, take the same time (medians of 300, within 20 %)."""
    real = guarded.ann["authorization"].removeprefix("Bearer ")
    near, far = real[:-1] + ("A" if real[-1] != "A" else "B"), "lc_" + "0" * 16 + "_" + "a" * 43
    took = {near: [], far: []}
    for _ in range(300):
        for word, times in took.items():
            began = time.perf_counter()
            assert guarded.client.get("/v1/runs", headers={"authorization": f"Bearer {word}"}).status_code == 401
            times.append(time.perf_counter() - began)
    first, second = (statistics.median(times) for times in took.values())
    assert max(first, second) / min(first, second) < 1.2


def test_tokens_are_kept_as_digests_alone_and_files_are_the_owners(guarded):
    secrets = [h["authorization"].removeprefix("Bearer ").split("_", 2)[2].encode() for h in (guarded.ann, guarded.bob)]
    guarded.client.get("/v1/runs", headers=guarded.ann)
    kept = [path for path in (guarded.folder / "state").rglob("*") if path.is_file()]
    assert {path.name for path in kept} >= {"server.db", "server.db-wal"}
    for path in kept:
        assert path.stat().st_mode & 0o077 == 0, path
        assert not any(secret in path.read_bytes() for secret in secrets), path
    assert not any(secret.decode() in guarded.log for secret in secrets)


def test_a_revoked_token_lets_nobody_in_from_then_on(guarded):
    word = token(guarded.folder, "carl")
    headers = {"authorization": f"Bearer {word}"}
    assert guarded.client.get("/v1/runs", headers=headers).status_code == 200
    subprocess.run(command("serve", "token", "revoke", "carl"), env=environment(guarded.folder), check=True)
    assert guarded.client.get("/v1/runs", headers=headers).status_code == 401


def test_hostile_text_is_data_wherever_it_is_shown(guarded):
    """The page holds no word of a run; what it fetches is JSON that no browser takes for a page."""
    hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\r\nevent: result\r\n\r\n"
    content = {"prompt": prompt({"text": hostile}, id=hostile)}
    run_id = guarded.client.post("/v1/runs", json=content, headers=guarded.ann).headers["lastcall-run"]
    page = guarded.client.get("/")
    assert "alert(" not in page.text
    assert page.headers["content-security-policy"] == "frame-ancestors 'none'"
    assert "default-src 'none'" in page.text.replace("&#x27;", "'").replace("&#39;", "'")
    for path in (f"/v1/runs/{run_id}", "/v1/runs", "/v1/stories", f"/v1/stories/{run_id}", f"/v1/runs/{run_id}/events"):
        answer = guarded.client.get(path, headers=guarded.ann)
        assert answer.headers["content-type"].split(";")[0] in ("application/json", "text/event-stream")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert "\nevent: result\n\n" not in answer.text


def test_a_client_that_takes_nothing_is_dropped(guarded):
    """It asks for a long answer again and again on one connection and reads none of it."""
    long = {"prompt": prompt({"text": "x" * 30_000})}
    run_id = guarded.client.post("/v1/runs", json=long, headers=guarded.ann).headers["lastcall-run"]
    host, port = guarded.url.removeprefix("http://").split(":")
    own = (f"Host: {host}:{port}", f"Authorization: {guarded.ann['authorization']}")
    ask = head(f"GET /v1/runs/{run_id} HTTP/1.1", *own) * 100
    with socket.create_connection((host, int(port))) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.settimeout(20)

        def ask_for_ever():
            while True:
                sock.sendall(ask)

        with pytest.raises(ConnectionError):
            ask_for_ever()
    assert guarded.client.get("/healthz").status_code == 200
    assert "Traceback" not in guarded.log
