"""A model service on loopback in a process of its own, for measuring: Messages and Chat Completions, streamed or whole.

The address says how it behaves: `http://127.0.0.1:PORT/BEHAVIOUR/LATENCY_MS`. Behaviours: `answer` (the object at once),
`reject` (first an object that the schema refuses, then the right one), `turns-N` (N calls of the tool `lookup`, then the
object), `stream-N` (an object of N bytes, its text in deltas of 20). What a contestant has to look like is learned from
what it sends: the name of its finishing tool, or a response format.

    with Service() as url: ...

`GET /heard` tells when requests came since it was last asked, and how large they were.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from functools import cache
from types import TracebackType
from typing import Any

ANSWER = {"severity": "high", "title": "Database lost", "count": 3}
REFUSED = {**ANSWER, "severity": "awful"}
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
TEXTS_SCHEMA = {
    "type": "object",
    "properties": {"texts": {"type": "array", "items": {"type": "string"}}},
    "required": ["texts"],
    "additionalProperties": False,
}
PROMPT = "Describe the incident."
LOOKUP = "lookup"
LOOKED_UP = "12:00:07 line of the log that says what happened, and where, and to whom it did\n" * 5
DELTA = 20


def texts(size: int) -> dict[str, Any]:
    """An object of about `size` bytes of JSON."""
    line = "The quick brown fox jumps over the lazy dog, and then it does so once more."
    return {"texts": [f"{n:06} {line}" for n in range(size // (len(line) + 11))]}


class Service:
    """Use as a context: the address to put behaviour and latency after."""

    def __enter__(self) -> str:
        self._process = subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, stdin=subprocess.PIPE)
        assert self._process.stdout is not None
        return f"http://127.0.0.1:{int(self._process.stdout.readline())}"

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()


# -- replies --------------------------------------------------------------------------------------------------------


def object_for(behaviour: str, replies_before: int) -> dict[str, Any] | None:
    """The object that it is time for; `None` for a call of the tool."""
    word, _, number = behaviour.partition("-")
    if word == "reject":
        return ANSWER if replies_before else REFUSED
    if word == "turns" and replies_before < int(number):
        return None
    return texts(int(number)) if word == "stream" else ANSWER


@cache
def messages_reply(behaviour: str, replies_before: int, name: str, *, streams: bool) -> bytes:
    value = object_for(behaviour, replies_before)
    call = {"type": "tool_use", "id": f"toolu_{replies_before}", "name": LOOKUP if value is None else name}
    given = json.dumps({"n": replies_before} if value is None else value)
    usage = {"input_tokens": 100, "output_tokens": 20}
    message = {"id": f"msg_{replies_before}", "type": "message", "role": "assistant", "model": "claude-haiku-4-5"}
    if not streams:
        whole = {
            **message,
            "content": [{**call, "input": json.loads(given)}],
            "stop_reason": "tool_use",
            "usage": usage,
        }
        return json.dumps({**whole, "stop_sequence": None}).encode()
    step = DELTA if behaviour.startswith("stream") else max(1, len(given))
    events = [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": {**call, "input": {}}},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": piece}}
            for piece in (given[at : at + step] for at in range(0, len(given), step))
        ),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    return b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events)


@cache
def completions_reply(behaviour: str, replies_before: int, name: str) -> bytes:
    value = object_for(behaviour, replies_before)
    message: dict[str, Any] = {"role": "assistant", "content": None}
    if value is not None and not name:
        message["content"] = json.dumps(value)
    else:
        given = json.dumps({"n": replies_before} if value is None else value)
        function = {"name": LOOKUP if value is None else name, "arguments": given}
        message["tool_calls"] = [{"id": f"call_{replies_before}", "type": "function", "function": function}]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if message.get("tool_calls") else "stop"}
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    return json.dumps(
        {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    ).encode()


def reply_to(path: str, body: dict[str, Any]) -> bytes:
    behaviour = path.split("/")[1]
    before = sum(message["role"] == "assistant" for message in body["messages"])
    streams = bool(body.get("stream"))
    if path.endswith("/messages"):
        names = [tool["name"] for tool in body["tools"] if tool["name"] not in (LOOKUP, "DeclineOutput")]
        return messages_reply(behaviour, before, names[0], streams=streams)
    names = [t["function"]["name"] for t in body.get("tools", ()) if t["function"]["name"] != LOOKUP]
    return completions_reply(behaviour, before, names[0] if names else "")


# -- the server -----------------------------------------------------------------------------------------------------


class Connection(asyncio.Protocol):
    """HTTP/1.1, one request after the other, as little of it as clients of a benchmark need."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport
        self.heard = bytearray()

    def data_received(self, data: bytes) -> None:
        self.heard += data
        head, end, rest = bytes(self.heard).partition(b"\r\n\r\n")
        if not end:
            return
        at = time.perf_counter()
        lines = head.split(b"\r\n")
        length = next((int(line[15:]) for line in lines if line[:15].lower() == b"content-length:"), 0)
        if len(rest) < length:
            return
        del self.heard[: len(head) + 4 + length]
        path = lines[0].split()[1].decode()
        if path == "/heard":
            told, kind, wait_s = json.dumps(heard).encode(), "application/json", 0.0
            heard.clear()
        else:
            body = json.loads(rest[:length])
            heard.append({"at": at, "size": length})
            told, wait_s = reply_to(path, body), int(path.split("/")[2]) / 1000
            kind = "text/event-stream" if body.get("stream") else "application/json"
        answer = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(told)}\r\n\r\n".encode() + told
        asyncio.get_running_loop().call_later(wait_s, self.transport.write, answer)


heard: list[dict[str, float]] = []
"""When requests came (`time.perf_counter`, which all processes of a machine share) and how large they were."""


async def serve() -> None:
    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin.fileno(), os._exit, 0)  # whoever measures is gone
    server = await loop.create_server(Connection, "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())
