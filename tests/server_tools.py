"""Real servers of `lastcall serve` in processes of their own, and a model service whose replies stand in the prompt.

A prompt is a JSON object: `say` are the replies, in order (`object`, `text`, `status`), `delay_s` is how long each takes.
Which reply a request gets is counted from what the model has said in it, so a run that is taken up again goes on where it
was. Every request is noted under the prompt's `id`.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import httpx2

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
JSON = {"content-type": "application/json"}


def prompt(*say, delay_s=0.0, id="run"):  # noqa: A002 -- as it stands in the prompt
    return json.dumps({"id": id, "delay_s": delay_s, "say": list(say)})


def good(n=3):
    return {"object": {"n": n}}


def body(*say, delay_s=0.0, id="run", **fields):  # noqa: A002
    return {"prompt": prompt(*say, delay_s=delay_s, id=id), "schema": SCHEMA, **fields}


class Endpoint:
    """A Messages endpoint on loopback, in a thread with an event loop of its own."""

    def __init__(self):
        self.asked = Counter()
        self.bodies = []
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _serve(self):
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._connected, "127.0.0.1", 0, backlog=2048))
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))

    async def _connected(self, reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(re.search(rb"content-length: (\d+)", head, re.IGNORECASE).group(1))
                request = json.loads(await reader.readexactly(length))
                writer.write(await self._answer(request))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _answer(self, request):
        play = script_of(request)
        said = sum(message["role"] == "assistant" for message in request["messages"]) - play.get("before", 0)
        self.asked[play["id"], said] += 1
        if len(self.bodies) < 1000:
            self.bodies.append(request)
        reply = play["say"][min(said, len(play["say"]) - 1)]
        await asyncio.sleep(play["delay_s"])
        if "status" in reply:
            kind = {"type": "error", "error": {"type": reply.get("type", "api_error"), "message": "scripted"}}
            return http(reply["status"], "application/json", json.dumps(kind).encode())
        return http(200, "text/event-stream", events_of(reply, said))


def script_of(request):
    for message in reversed(request["messages"]):
        blocks = message["content"]
        texts = [blocks] if isinstance(blocks, str) else [b.get("text", "") for b in blocks]
        for text in texts:
            if message["role"] == "user" and text.startswith('{"id"'):
                return json.loads(text)
    return {"id": "?", "say": [{"text": "There is no script."}], "delay_s": 0}


def events_of(reply, said):
    usage = {"input_tokens": 100, "output_tokens": 20}
    message = {"id": f"msg_{said}", "type": "message", "role": "assistant", "model": "claude-haiku-4-5-20251001"}
    if "text" in reply:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": reply["text"]}
    else:
        name = reply.get("tool", "StructuredOutput")
        block = {"type": "tool_use", "id": f"toolu_{said}", "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(reply["object"])}
    stop = "end_turn" if "text" in reply else "tool_use"
    events = [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    return b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events)


def http(status, kind, content):
    return f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(content)}\r\n\r\n".encode() + content


# -- servers --------------------------------------------------------------------------------------------------------


def environment(folder, endpoint=None, **more):
    found = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LASTCALL_STATE_DIR": str(folder / "state"),
        "LASTCALL_CACHE_DIR": str(folder / "cache"),
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTHONUNBUFFERED": "1",
        **more,
    }
    if endpoint is not None:
        found |= {"ANTHROPIC_BASE_URL": endpoint.url, "ANTHROPIC_API_KEY": "key"}
    return found


def command(*words):
    return [sys.executable, "-m", "lastcall", *words]


class Server:
    """`lastcall serve` at a free port. Use as a context; `kill()` and `stop()` end it, `start()` starts it again."""

    def __init__(self, folder, endpoint, *flags, model="haiku", **more):
        self.folder = folder
        self.folder.mkdir(exist_ok=True, parents=True)
        self._words = command("serve", "--port", "0", "--model", model, "--lease", "1.5", *flags)
        self._environment = environment(folder, endpoint, **more)
        self.process = None
        self.said = ""

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()
        self.client.close()

    def start(self):
        log = (self.folder / "stderr.txt").open("ab")
        at = log.tell()
        self.process = subprocess.Popen(
            self._words, env=self._environment, cwd=self.folder, stderr=log, stdout=subprocess.PIPE
        )
        log.close()
        until = time.monotonic() + 60
        while time.monotonic() < until:
            self.said = (self.folder / "stderr.txt").read_bytes()[at:].decode()
            found = re.search(r"listening at (\S+)", self.said)
            if found:
                self.url = found.group(1)
                self.client = httpx2.Client(base_url=self.url, timeout=60)
                return self
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f"the server did not start: {self.said}")

    def kill(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)
        self.process.stdout.close()

    def stop(self):
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    @property
    def log(self):
        return (self.folder / "stderr.txt").read_text()

    def run(self, *say, headers=None, **fields):
        return self.client.post("/v1/runs", json=body(*say, **fields), headers=headers)

    def ended(self, run_id, within_s=30):
        """The run, once it is over."""
        until = time.monotonic() + within_s
        while time.monotonic() < until:
            found = self.client.get(f"/v1/runs/{run_id}").json()
            if found["state"] == "ended":
                return found
            time.sleep(0.05)
        raise AssertionError(f"{run_id} is not over: {found}")


def until(true, within_s=60):
    """Wait for another process."""
    ends = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < ends, "it did not come to that"
        time.sleep(0.01)


def events(lines):
    """Server-sent events as (id, kind, value), from an iterator of lines."""
    number, kind, data = None, None, []
    for line in lines:
        if not line:
            if data:
                yield number, kind, json.loads("\n".join(data))
            number, kind, data = None, None, []
        elif line.startswith("id: "):
            number = int(line[4:])
        elif line.startswith("event: "):
            kind = line[7:]
        elif line.startswith("data: "):
            data.append(line[6:])
