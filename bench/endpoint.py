"""A Messages endpoint on loopback that answers every request with one good call, and notes when requests arrive."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

ANSWER = {"severity": "high", "title": "Database lost", "count": 3}
SCHEMA = {
    "type": "object",
    "properties": {
        "severity": {"type": "string", "enum": ["low", "medium", "high"]},
        "title": {"type": "string", "minLength": 5, "maxLength": 20},
        "count": {"type": "integer", "minimum": 0},
    },
    "required": ["severity", "title", "count"],
    "additionalProperties": False,
}
_USAGE = {"input_tokens": 100, "output_tokens": 20}
_MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-haiku-4-5-20251001"}
_CALL = {"type": "tool_use", "id": "toolu_1", "name": "StructuredOutput"}


def _events() -> bytes:
    delta = {"type": "input_json_delta", "partial_json": json.dumps(ANSWER)}
    events = [
        {"type": "message_start", "message": {**_MESSAGE, "content": [], "stop_reason": None, "usage": _USAGE}},
        {"type": "content_block_start", "index": 0, "content_block": {**_CALL, "input": {}}},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": _USAGE},
        {"type": "message_stop"},
    ]
    return b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events)


class _Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Endpoint

    def do_POST(self) -> None:
        self.server.arrivals.append(time.perf_counter())
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if body.get("stream"):
            kind, content = "text/event-stream", _events()
        else:
            message = {**_MESSAGE, "content": [{**_CALL, "input": ANSWER}], "stop_reason": "tool_use", "usage": _USAGE}
            kind, content = "application/json", json.dumps(message).encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        return


class Endpoint(ThreadingHTTPServer):
    """Use as a context; `arrivals` are the moments (`time.perf_counter`) of the requests so far."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.arrivals: list[float] = []
        self.url = f"http://127.0.0.1:{self.server_port}"
        self._thread = threading.Thread(target=self.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()
        self.server_close()
