"""The bad models against lastcall and its peers, over one Chat Completions endpoint on loopback, as a table in Markdown.

    peers.py PYDANTIC_AI/bin/python INSTRUCTOR/bin/python [--kinds truncation,unicode]

Each peer has a virtual environment of its own, or pip would settle on an older release of one for the sake of the other:
`pip install 'pydantic-ai-slim[openai]'`, `pip install instructor`. Each contestant gets the same type, three retries
(lastcall: its five attempts), and the same replies: bad ones first, then a good one where there is one. In brackets
stands how many requests it made.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from lastcall.contract.finishing_tools import FINISH
from lastcall.testing import BAD_KINDS
from lastcall.testing.bad_models import bad_replies

GOOD = {"verdict": "pass", "lines": [{"name": "rent", "amount": 3}]}
TYPE = """
import json, sys
from pydantic import BaseModel, ConfigDict, Field
class Line(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str = Field(pattern="^[a-z]{1,20}$")
    amount: int
class Report(BaseModel):
    model_config = ConfigDict(extra="forbid")
    verdict: str = Field(min_length=1, max_length=20, pattern="^[a-z]+$")
    lines: list[Line]
url = sys.argv[1]
def tell(run):
    try:
        value = run()
    except BaseException as error:
        print(json.dumps({"error": type(error).__name__}))
    else:
        print(json.dumps({"object": value.model_dump()} if isinstance(value, BaseModel) else {"error": str(value)}))
"""
CONTESTANTS = {
    "lastcall": """
import lastcall
from lastcall.nouns.result import outcome_name
env = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "k"}
def run():
    config = lastcall.RunConfig(environment=env, max_turns=8, max_retries=3)
    result = lastcall.run("Report.", output=Report, model="openai:m", config=config)
    return result.output if result.ok else outcome_name(result.outcome)
tell(run)
""",
    "pydantic-ai": """
from pydantic_ai import Agent, UsageLimits
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=url, api_key="k"))
agent = Agent(model, output_type=Report, retries=3)
tell(lambda: agent.run_sync("Report.", usage_limits=UsageLimits(request_limit=8)).output)
""",
    "instructor": """
import instructor, openai
client = instructor.from_openai(openai.OpenAI(base_url=url, api_key="k"))
ask = [{"role": "user", "content": "Report."}]
tell(lambda: client.chat.completions.create(model="m", response_model=Report, messages=ask, max_retries=3))
""",
}  # fmt: skip
_STOPS = {"max_tokens": "length", "refusal": "content_filter", "model_context_window_exceeded": "length"}


class Peer(BaseHTTPRequestHandler):
    """`/CONTESTANT/KIND/chat/completions`: the next reply of the kind."""

    protocol_version = "HTTP/1.0"
    turns: dict[str, int] = {}  # noqa: RUF012 -- shared by all requests, as is meant

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        kind = self.path.split("/")[2]
        turn = self.turns[self.path] = self.turns.get(self.path, -1) + 1
        replies = bad_replies(kind, GOOD)
        reply = replies[min(turn, len(replies) - 1)]
        reply = {"content": [{"type": "text", "text": reply}]} if isinstance(reply, str) else dict(reply)
        if reply.get("drop"):
            return
        if "call" in reply:
            reply["content"] = [{"type": "tool_use", "id": "c", **reply["call"]}]
        status = reply.get("status", 200)
        told = {"error": reply.get("error", {})} if status != 200 else self.completion(reply, body)
        whole = json.dumps(told).encode()
        events = status == 200 and body.get("stream")
        if events:
            whole = self.streamed(told)
        cut = "cut" in reply or "error_event" in reply
        self.send_response(status)
        self.send_header("content-type", "text/event-stream" if events else "application/json")
        self.send_header("content-length", str(len(whole)))
        self.end_headers()
        self.wfile.write(whole[: len(whole) // 2] if cut else whole)

    def completion(self, reply: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
        names = [tool["function"]["name"] for tool in body.get("tools", ())]
        finish = next((name for name in names if name in (FINISH, "final_result")), names[0] if names else FINISH)
        text = "".join(block["text"] for block in reply["content"] if block["type"] == "text").replace(FINISH, finish)
        calls = [
            {
                "id": block["id"],
                "type": "function",
                "function": {
                    "name": finish if block["name"] == FINISH else block["name"],
                    "arguments": block["raw"] if "raw" in block else json.dumps(block["input"]),
                },
            }
            for block in reply["content"]
            if block["type"] == "tool_use"
        ]
        stop = _STOPS.get(reply.get("stop_reason", ""), "tool_calls" if calls else "stop")
        message: dict[str, Any] = {"role": "assistant", "content": text or None}
        if calls:
            message["tool_calls"] = calls
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        choice = {"index": 0, "message": message, "finish_reason": stop}
        return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}

    def streamed(self, told: dict[str, Any]) -> bytes:
        choice = told["choices"][0]
        calls = [{**call, "index": index} for index, call in enumerate(choice["message"].get("tool_calls", ()))]
        delta = {**choice["message"], **({"tool_calls": calls} if calls else {})}
        head = {**told, "object": "chat.completion.chunk", "usage": None}
        chunks = [
            {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]},
            {**head, "choices": [], "usage": told["usage"]},
        ]
        return b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks) + b"data: [DONE]\n\n"

    def log_message(self, *_: object) -> None:
        return


def verdict(python: str, code: str, url: str) -> str:
    try:
        ran = subprocess.run([python, "-c", TYPE + code, url], capture_output=True, text=True, timeout=60, check=False)
        said = json.loads(ran.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return "no end in 60 s"
    except (IndexError, ValueError):
        return f"crashed ({ran.returncode})"
    if "error" in said:
        return said["error"]
    return "the object" if said["object"] == GOOD else f"**another object**: `{json.dumps(said['object'])[:60]}`"


def version(python: str, package: str) -> str:
    asked = f"import importlib.metadata as m; print(m.version({package!r}))"
    return subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pydantic_ai", help="the interpreter of the environment that holds pydantic-ai")
    parser.add_argument("instructor", help="the interpreter of the environment that holds instructor")
    parser.add_argument("--kinds", default=",".join(BAD_KINDS))
    args = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Peer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    pythons = {"lastcall": sys.executable, "pydantic-ai": args.pydantic_ai, "instructor": args.instructor}
    found = [version(args.pydantic_ai, "pydantic-ai-slim"), version(args.instructor, "instructor")]
    print(f"| kind | lastcall | pydantic-ai {found[0]} | instructor {found[1]} |\n|---|---|---|---|")
    for kind in args.kinds.split(","):
        cells, asked = [], []
        for name, code in CONTESTANTS.items():
            url = f"http://127.0.0.1:{server.server_port}/{name}/{kind}"
            cells.append(verdict(pythons[name], code, url))
            asked.append(Peer.turns.get(f"/{name}/{kind}/chat/completions", -1) + 1)
        row = (f"{cell} ({count})" for cell, count in zip(cells, asked, strict=True))
        print(f"| {kind} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
