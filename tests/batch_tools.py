"""Batches for tests: a plan, rows, and an endpoint that counts requests by row."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lastcall.batches.plan import Plan, make_plan
from lastcall.batches.records import MadeBy
from lastcall.batches.template import PromptTemplate
from lastcall.contract import Contract, compile_contract
from lastcall.contract.parse import schema_from_value
from lastcall.nouns.profile import Profile
from lastcall.runtime.config import RunConfig

SCHEMA = {
    "type": "object",
    "properties": {"label": {"type": "string", "enum": ["bug", "praise"]}, "note": {"type": "string"}},
    "required": ["label"],
    "additionalProperties": False,
}
GOOD = {"label": "bug"}
BAD = {"label": "nonsense"}
MADE_BY = MadeBy("p" * 64, "c" * 64, "scripted")


def contract(schema: dict[str, Any] = SCHEMA) -> Contract:
    return compile_contract(schema_from_value(schema, profile=Profile.NATIVE), profile=Profile.NATIVE)


def plan(template: str = "Label {{ text }}", *, schema: dict[str, Any] = SCHEMA, **config: Any) -> Plan:
    settings = RunConfig(tools="", persist=False, partial=False, **config)
    return make_plan(PromptTemplate(template), contract(schema), settings, "scripted")


def write_rows(path: Path, count: int) -> Path:
    path.write_text("".join(json.dumps({"id": n, "text": f"row {n}."}) + "\n" for n in range(count)), "utf-8")
    return path


def read_records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


# -- an endpoint ----------------------------------------------------------------------------------------------------

_USAGE = {"input_tokens": 100, "output_tokens": 20}
_MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-haiku-4-5-20251001"}
_ROW = re.compile(r"row (\d+)\.")

Refusal = tuple[int, dict[str, str]]
"""A status and headers."""
Answer = dict[str, Any] | Refusal


def _stream(value: dict[str, Any]) -> bytes:
    call = {"type": "tool_use", "id": "toolu_1", "name": "StructuredOutput", "input": {}}
    events = [
        {"type": "message_start", "message": {**_MESSAGE, "content": [], "stop_reason": None, "usage": _USAGE}},
        {"type": "content_block_start", "index": 0, "content_block": call},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": json.dumps(value)}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": _USAGE},
        {"type": "message_stop"},
    ]  # fmt: skip
    return b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events)


class _Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: RowEndpoint

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        row, answer = self.server.answer(body)
        self.server.hold()
        if isinstance(answer, tuple):
            status, headers = answer
            content, kind = (
                b'{"type":"error","error":{"type":"rate_limit_error","message":"later"}}',
                "application/json",
            )
        else:
            status, headers, content, kind = 200, {}, _stream(answer), "text/event-stream"
        try:
            self.send_response(status)
            for name, value in {"content-type": kind, "content-length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.server.answered.append((time.monotonic(), row, answer))
            self.wfile.write(content)
        except OSError:
            self.close_connection = True  # the client was killed

    def log_message(self, *_: object) -> None:
        return


class RowEndpoint(ThreadingHTTPServer):
    """Counts requests by the number in `row N.` of the prompt. Use as a context.

    `reply` gets the row, how often it was asked before, and the moment, and makes the answer.
    """

    daemon_threads = True
    request_queue_size = 256

    def __init__(
        self, *, latency_s: float = 0.0, reply: Callable[[int, int, float], Answer] = lambda row, before, at: GOOD
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.hold: Callable[[], object] = lambda: time.sleep(latency_s)
        """Called after a request is counted and before it is answered."""
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.asked: Counter[int] = Counter()
        self.log: list[tuple[float, int, Answer]] = []
        """Requests as they arrive."""
        self.answered: list[tuple[float, int, Answer]] = []
        """The same when their answers leave."""
        self._reply = reply
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def answer(self, body: dict[str, Any]) -> tuple[int, Answer]:
        found = _ROW.search(json.dumps(body["messages"][0]))
        assert found is not None
        row = int(found.group(1))
        with self._lock:
            at = time.monotonic()
            answer = self._reply(row, self.asked[row], at)
            self.asked[row] += 1
            self.log.append((at, row, answer))
        return row, answer

    @property
    def environment(self) -> dict[str, str]:
        """Where the command finds it."""
        return {"ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_MODEL": "claude-haiku-4-5"}

    def handle_error(self, request: Any, client_address: Any) -> None:
        return

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()
        self.server_close()
