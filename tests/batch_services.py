"""A server on loopback that speaks Anthropic's Message Batches and OpenAI's Batch API, files included.

Both vendors' own libraries are run against it (`tests/unit/providers/test_batch_apis.py`), so that it is true.
"""

from __future__ import annotations

import email.parser
import email.policy
import json
import random
import re
import threading
import urllib.parse
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Told = dict[str, Any] | str
"""The arguments of the finishing call, or `expired`, `canceled`, `errored:TYPE`, `lost`."""
_ROW = re.compile(r"row (\d+)\.")
_TIME = "2026-01-01T00:00:00Z"


class Batch:
    """One batch and its requests, by custom id."""

    def __init__(self, batch_id: str, requests: dict[str, dict[str, Any]], polls: int) -> None:
        self.batch_id = batch_id
        self.requests = requests
        self.polls_left = polls
        self.ended = False
        self.metadata: dict[str, str] = {}
        self.input_file_id = ""
        self.files: dict[str, str] = {}
        self.errors: list[dict[str, Any]] = []
        self.lines: list[dict[str, Any]] = []


class BatchServices(ThreadingHTTPServer):
    """Both APIs. `reply` gets the row in `row N.` of the prompt and how often it was asked before. Use as a context.

    `polls` looks at a batch pass before it has ended. `fail` may answer any request in place of the server: it gets method
    and path, and returns a status (0: the connection breaks after the server has done what it was asked) or `None`.
    """

    daemon_threads = True

    def __init__(self, reply: Callable[[int, int], Told], *, polls: int = 1) -> None:
        super().__init__(("127.0.0.1", 0), _Serving)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.paid: Counter[int] = Counter()
        """Requests in batches that were taken, by row."""
        self.batches: dict[str, Batch] = {}
        self.files: dict[str, bytes] = {}
        self.polls = polls
        self.calls: list[tuple[str, str, dict[str, str]]] = []
        self.fail: Callable[[str, str], int | None] = lambda _method, _path: None
        self.faults: Callable[[dict[str, dict[str, Any]]], list[dict[str, Any]]] = lambda _requests: []
        """Errors of a batch as a whole (OpenAI)."""
        self._reply = reply
        self._chance = random.Random(5)
        self._lock = threading.RLock()
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()
        self.server_close()

    @property
    def anthropic(self) -> dict[str, str]:
        """The environment of a command that is to ask it."""
        return {"ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_MODEL": "claude-haiku-4-5"}

    @property
    def openai(self) -> dict[str, str]:
        """The same for the other API."""
        return {"OPENAI_BASE_URL": self.url, "OPENAI_API_KEY": "sk-test", "OPENAI_MODEL": "gpt-4o-mini"}

    # -- what it does -----------------------------------------------------------------------------------------------

    def serve(self, method: str, path: str, body: bytes, kind: str, query: dict[str, str]) -> tuple[int, bytes]:
        with self._lock:
            found = self._route(method, path, body, kind, query)
        if isinstance(found, bytes):
            return 200, found
        return (
            (404, b'{"type":"error","error":{"type":"not_found_error","message":"nothing here"}}')
            if found is None
            else (
                200,
                json.dumps(found).encode(),
            )
        )

    def _route(self, method: str, path: str, body: bytes, kind: str, query: dict[str, str]) -> Any:
        *_, last = path.rstrip("/").split("/")
        match method, path:
            case "POST", "/v1/messages/batches":
                return self._message_batch(json.loads(body))
            case "GET", "/v1/messages/batches" | "/v1/batches":
                return self._page("messages" in path, query)
            case "GET", _ if path.startswith("/v1/messages/batches/") and last == "results":
                batch = self.batches[path.split("/")[-2]]
                return b"".join(json.dumps(line).encode() + b"\n" for line in batch.lines)
            case "GET", _ if "/batches/" in path and last in self.batches:
                return self._shown(self._polled(self.batches[last]))
            case "POST", "/v1/files":
                return self._upload(body, kind)
            case "GET", _ if path.startswith("/v1/files/") and last == "content":
                return self.files[path.split("/")[-2]]
            case "POST", "/v1/batches":
                return self._file_batch(json.loads(body))
        return None

    def _page(self, messages: bool, query: dict[str, str]) -> dict[str, Any]:
        batches = [b for b in reversed(self.batches.values()) if b.batch_id.startswith("msgbatch") == messages]
        after = query.get("after_id") or query.get("after")
        if after:
            batches = batches[[b.batch_id for b in batches].index(after) + 1 :]
        some = batches[: int(query.get("limit", "20"))]
        ids = [b.batch_id for b in some]
        more = len(some) < len(batches)
        ends = {"first_id": ids[0] if ids else None, "last_id": ids[-1] if ids else None}
        return {"object": "list", "data": [self._shown(b) for b in some], "has_more": more, **ends}

    def _polled(self, batch: Batch) -> Batch:
        if not batch.ended:
            batch.polls_left -= 1
            if batch.polls_left <= 0:
                self._end(batch)
        return batch

    def _end(self, batch: Batch) -> None:
        batch.ended = True
        made = [line for name, body in batch.requests.items() if (line := self._line(batch, name, body)) is not None]
        self._chance.shuffle(made)
        batch.lines = made
        if batch.batch_id.startswith("batch"):
            for name, is_error in (("output_file_id", False), ("error_file_id", True)):
                some = [line for line in made if (line["error"] is not None) == is_error]
                if some:
                    file_id = f"file-{name}-{batch.batch_id}"
                    self.files[file_id] = b"".join(json.dumps(line).encode() + b"\n" for line in some)
                    batch.files[name] = file_id

    def _line(self, batch: Batch, name: str, body: dict[str, Any]) -> dict[str, Any] | None:
        row, times = row_of(body), self.paid[row_of(body)]
        told = self._reply(row, times - 1)
        if told == "lost":
            return None
        return (_message_line if batch.batch_id.startswith("msgbatch") else _completion_line)(name, row, times, told)

    # -- Message Batches --------------------------------------------------------------------------------------------

    def _message_batch(self, order: dict[str, Any]) -> dict[str, Any]:
        requests = {item["custom_id"]: item["params"] for item in order["requests"]}
        assert len(requests) == len(order["requests"])
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in requests)
        assert not any(body.get("stream") for body in requests.values())
        return self._shown(self._add(f"msgbatch_{len(self.batches)}", requests))

    def _add(self, batch_id: str, requests: dict[str, dict[str, Any]]) -> Batch:
        batch = self.batches[batch_id] = Batch(batch_id, requests, self.polls)
        self.paid.update(map(row_of, requests.values()))
        return batch

    def _shown(self, batch: Batch) -> dict[str, Any]:
        return self._message_shown(batch) if batch.batch_id.startswith("msgbatch") else self._file_shown(batch)

    def _message_shown(self, batch: Batch) -> dict[str, Any]:
        counts = Counter(line["result"]["type"] for line in batch.lines)
        processing = 0 if batch.ended else len(batch.requests)
        url = f"{self.url}/v1/messages/batches/{batch.batch_id}/results" if batch.ended else None
        names = ("succeeded", "errored", "canceled", "expired")
        return {
            "id": batch.batch_id,
            "type": "message_batch",
            "processing_status": "ended" if batch.ended else "in_progress",
            "request_counts": {"processing": processing, **{name: counts[name] for name in names}},
            "created_at": _TIME,
            "expires_at": _TIME,
            "ended_at": _TIME if batch.ended else None,
            "cancel_initiated_at": None,
            "archived_at": None,
            "results_url": url,
        }

    # -- Batch API --------------------------------------------------------------------------------------------------

    def _upload(self, body: bytes, kind: str) -> dict[str, Any]:
        parser = email.parser.BytesParser(policy=email.policy.HTTP)
        form = parser.parsebytes(b"content-type: " + kind.encode() + b"\r\n\r\n" + body)
        parts = {part.get_param("name", header="content-disposition"): part for part in form.iter_parts()}
        assert parts["purpose"].get_payload(decode=True) == b"batch"
        file_id = f"file-{len(self.files)}"
        self.files[file_id] = parts["file"].get_payload(decode=True)
        size = len(self.files[file_id])
        shown = {"id": file_id, "object": "file", "bytes": size, "created_at": 1, "purpose": "batch"}
        return {**shown, "filename": parts["file"].get_filename(), "status": "processed"}

    def _file_batch(self, order: dict[str, Any]) -> dict[str, Any]:
        lines = [json.loads(line) for line in self.files[order["input_file_id"]].splitlines()]
        assert (order["endpoint"], order["completion_window"]) == ("/v1/chat/completions", "24h")
        assert all((line["method"], line["url"]) == ("POST", order["endpoint"]) for line in lines)
        requests = {line["custom_id"]: line["body"] for line in lines}
        errors = self.faults(requests)
        if errors:
            batch = self.batches[f"batch_{len(self.batches)}"] = Batch(f"batch_{len(self.batches)}", requests, 0)
            batch.ended, batch.errors = True, errors
        else:
            batch = self._add(f"batch_{len(self.batches)}", requests)
        batch.metadata, batch.input_file_id = order.get("metadata") or {}, order["input_file_id"]
        return self._shown(batch)

    def _file_shown(self, batch: Batch) -> dict[str, Any]:
        failed = sum(line["error"] is not None for line in batch.lines)
        total = len(batch.requests)
        counts = {"total": total, "completed": len(batch.lines) - failed, "failed": failed}
        status = "failed" if batch.errors else "completed" if batch.ended else "in_progress"
        return {
            "id": batch.batch_id,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "created_at": 1,
            "status": status,
            "input_file_id": batch.input_file_id,
            "output_file_id": batch.files.get("output_file_id"),
            "error_file_id": batch.files.get("error_file_id"),
            "errors": {"object": "list", "data": batch.errors} if batch.errors else None,
            "request_counts": counts,
            "metadata": batch.metadata,
        }


def row_of(body: dict[str, Any]) -> int:
    """The row that a request is about."""
    found = _ROW.search(json.dumps(body["messages"]))
    assert found is not None
    return int(found.group(1))


def _message_line(name: str, row: int, times: int, told: Told) -> dict[str, Any]:
    if isinstance(told, str):
        kind, _, error = told.partition(":")
        result: dict[str, Any] = {"type": kind}
        if kind == "errored":
            words = {
                "type": error,
                "message": f"{error} of strict tools" if error == "invalid_request_error" else error,
            }
            result["error"] = {"type": "error", "error": words, "request_id": "req_1"}
    else:
        call = {"type": "tool_use", "id": f"toolu_{row}_{times}", "name": "StructuredOutput", "input": told}
        message = {"id": f"msg_{row}_{times}", "type": "message", "role": "assistant", "model": "claude-haiku-4-5"}
        message |= {"content": [call], "stop_reason": "tool_use", "stop_sequence": None}
        message |= {"usage": {"input_tokens": 1000, "output_tokens": 200}}
        result = {"type": "succeeded", "message": message}
    return {"custom_id": name, "result": result}


def _completion_line(name: str, row: int, times: int, told: Told) -> dict[str, Any]:
    line: dict[str, Any] = {"id": f"batch_req_{name}", "custom_id": name, "response": None, "error": None}
    if isinstance(told, dict):
        function = {"name": "StructuredOutput", "arguments": json.dumps(told)}
        call = {"id": f"call_{row}_{times}", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        body = {"id": f"chatcmpl-{row}-{times}", "object": "chat.completion", "created": 1, "model": "gpt-4o-mini"}
        body |= {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
        body |= {"usage": {"prompt_tokens": 1000, "completion_tokens": 200, "total_tokens": 1200}}
        line["response"] = {"status_code": 200, "request_id": "req_1", "body": body}
    elif told.startswith("errored:"):
        kind = told.partition(":")[2]
        words = {
            "message": f"{kind} of strict tools" if kind == "invalid_request_error" else kind,
            "type": kind,
            "code": None,
        }
        status = 400 if kind == "invalid_request_error" else 500
        line["response"] = {"status_code": status, "request_id": "req_1", "body": {"error": words}}
    else:
        code = {"expired": "batch_expired", "canceled": "batch_cancelled"}[told]
        line["error"] = {"code": code, "message": f"This request was not executed: {code}."}
    return line


class _Serving(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: BatchServices

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        parts = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(parts.query))
        self.server.calls.append((self.command, parts.path, {k.lower(): v for k, v in self.headers.items()}))
        status, content = self.server.fail(self.command, parts.path), b'{"error":{"message":"refused","type":"x"}}'
        if status is None:
            status, content = self.server.serve(
                self.command, parts.path, body, self.headers.get("content-type") or "", query
            )
        elif status == 0:
            self.server.serve(self.command, parts.path, body, self.headers.get("content-type") or "", query)
            self.close_connection = True
            return
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = _serve  # noqa: N815 -- the library's names

    def log_message(self, *_: object) -> None:
        return
