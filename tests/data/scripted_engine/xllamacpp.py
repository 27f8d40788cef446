"""Stands in for the engine's library in tests: the same protocol over HTTP, with what a file of replies says.

`SCRIPTED_ENGINE` names a JSON file: {"load_error": text, "replies": [reply, ...]}; the last reply repeats. A reply may have
`text`, `stop` (eos, limit), `drops` (a complaint to standard error), `drops_with` (only if the grammar holds this), `status`
and `error`, `stall` (seconds of silence after the first piece), `cut` (the connection ends there), `dies` (exit code), `likely` ([token, log probability]
pairs, told if asked for).
"""

import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace


class CommonParams(SimpleNamespace):
    def __init__(self):
        super().__init__(model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace())


class Server:
    def __init__(self, params):
        self.script = json.loads(Path(os.environ["SCRIPTED_ENGINE"]).read_text("utf-8"))
        if self.script.get("load_error"):
            raise RuntimeError(self.script["load_error"])
        if self.script.get("load_exit"):
            os._exit(self.script["load_exit"])
        if self.script.get("load_signal"):
            os.kill(os.getpid(), self.script["load_signal"])
        print("a library's chatter on standard output", flush=True)
        self.params, self.asked = params, 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                server.answer(self)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.listening_address = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def answer(self, handler):
        body = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
        if handler.headers["authorization"] != f"Bearer {self.params.api_keys[0]}":
            self.send(handler, 401, {"error": {"message": "no key"}})
            return
        log = os.environ.get("SCRIPTED_ENGINE_LOG")
        if log:
            with open(log, "a", encoding="utf-8") as file:
                file.write(json.dumps({"path": handler.path, **body}) + "\n")
        if handler.path == "/tokenize":
            marks = [-1] if body["parse_special"] else []
            self.send(handler, 200, {"tokens": marks + [ord(c) for c in body["content"]]})
            return
        replies = self.script["replies"]
        reply = replies[min(self.asked, len(replies) - 1)]
        self.asked += 1
        self.reply(handler, body, reply)

    def reply(self, handler, body, reply):
        if reply.get("status"):
            self.send(handler, reply["status"], {"error": reply["error"]})
            return
        if reply.get("drops") and reply.get("drops_with", "") in body.get("grammar", ""):
            print(f"0.1 E llg error: {reply['drops']}", file=sys.stderr, flush=True)
            time.sleep(0.05)
            text = reply.get("dropped_text", "Sure! Here is")
        else:
            text = reply["text"]
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.end_headers()
        size = reply.get("piece", 5)
        for number, start in enumerate(range(0, len(text), size)):
            likely = [{"id": token, "logprob": log} for token, log in reply.get("likely", [])]
            told = {"completion_probabilities": [{"top_logprobs": likely}]} if body.get("n_probs") else {}
            self.event(handler, {"content": text[start : start + size], "stop": False, **told})
            if number == 0 and reply.get("stall"):
                try:
                    for _ in range(int(reply["stall"] * 20)):
                        time.sleep(0.05)
                        self.event(handler, {"content": "", "stop": False})
                except OSError:
                    Path(os.environ["SCRIPTED_ENGINE_LOG"] + ".closed").touch()
                    return
            if number == 0 and reply.get("dies"):
                os._exit(reply["dies"])
            if number == 0 and reply.get("cut"):
                return
        end = {
            "content": "",
            "stop": True,
            "stop_type": reply.get("stop", "eos"),
            "tokens_evaluated": len(body["prompt"]),
            "tokens_predicted": len(text),
            "timings": {"cache_n": reply.get("cached", 0)},
        }
        self.event(handler, end)

    def event(self, handler, value):
        handler.wfile.write(b"data: " + json.dumps(value).encode() + b"\n\n")
        handler.wfile.flush()

    def send(self, handler, status, value):
        body = json.dumps(value).encode()
        handler.send_response(status)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
