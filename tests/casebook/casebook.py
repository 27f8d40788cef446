"""One case of the casebook against the command's own code in this process, its model behind a real socket.

Flags, files and environment go in, stdout, stderr, exit code and requests come out. Only waiting between retries is left
out, and the ordinary tools are those that the case scripts.
"""

from __future__ import annotations

import base64
import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from lastcall.cli.args import BadFlag, parse
from lastcall.cli.output import Notes, Output
from lastcall.cli.run import run_print
from lastcall.cli.stdin import Stdin
from lastcall.contract.wrapping import WRAP
from lastcall.nouns.tools import ToolDefinition, define
from lastcall.providers.capability import CapabilityMemory
from lastcall.providers.choose import ModelSettings, choose_provider
from lastcall.providers.clock import ImpatientClock
from lastcall.runtime.client import ClientSide
from lastcall.runtime.session import limits_of, open_session
from lastcall.tools import Output as ToolOutput

DATA = Path(__file__).parents[1] / "data" / "casebook"
MODELS = {"anthropic": "claude-sonnet-4-5", "openai": "openai:m"}
KEYS = {"ANTHROPIC_API_KEY": "sk-test", "OPENAI_API_KEY": "sk-test"}


def grow(value: Any) -> Any:
    """The value with its generated parts written out."""
    if isinstance(value, list):
        return [grow(item) for item in value]
    if not isinstance(value, dict):
        return value
    match value.get("$gen"):
        case None:
            return {key: grow(member) for key, member in value.items()}
        case "concat":
            return "".join(grow(part) for part in value["parts"])
        case "list":
            return [grow(value["item"]) for _ in range(value["times"])]
        case "nest_array_text":
            return "[" * value["depth"] + "]" * value["depth"]
        case "nest_object":
            grown = grow(value["leaf"])
            for _ in range(value["depth"]):
                grown = {**grow(value["node"]), value["key"]: grown}
            return grown
        case "nest_schema_text":
            return '{"type":"object","properties":{"k":' * value["depth"] + "{}" + "}}" * value["depth"]
        case "repeat":
            return value["text"] * value["times"]
        case "strings":
            return [f"{value['prefix']}{n}" for n in range(value["count"])]
        case "wide_object":
            words = {"description": "d" * value["desc_len"]} if value.get("desc_len") else {}
            return {
                "type": "object",
                "properties": {f"p{n}": {"type": "string", **words} for n in range(value["count"])},
            }
        case other:
            raise ValueError(f"unknown generator {other!r}")


def cases() -> dict[str, dict[str, Any]]:
    """The cases by their id."""
    lines = (DATA / "cases.jsonl").read_text(encoding="utf-8").split("\n")
    return {case["id"]: grow(case) for case in (json.loads(line.replace("{{WRAP}}", WRAP)) for line in lines if line)}


# -- the model ------------------------------------------------------------------------------------------------------


class Endpoint:
    """A model service on loopback. `answer` gives the entry for a request's body; requests are kept."""

    def __init__(self, answer: Callable[[int, Any], dict[str, Any]]) -> None:
        self.requests: list[Any] = []
        self._answer = answer
        self._over = threading.Event()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                endpoint.requests.append(body)
                endpoint.serve(self, answer(len(endpoint.requests) - 1, body))

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def serve(self, handler: BaseHTTPRequestHandler, entry: dict[str, Any]) -> None:
        status, headers, pieces = 200, {"content-type": "application/json"}, [b""]
        if "http" in entry:
            status, headers = entry["http"]["status"], {**headers, **entry["http"]["headers"]}
            pieces = [entry["http"]["body"].encode()]
        elif "sse" in entry or "sse_chunks" in entry:
            headers = {"content-type": "text/event-stream"}
            pieces = [text.encode() for text in entry.get("sse_chunks", [entry.get("sse", "")])]
        elif "sse_chunks_b64" in entry:
            headers = {"content-type": "text/event-stream"}
            pieces = [base64.b64decode(text) for text in entry["sse_chunks_b64"]]
        elif "content" in entry:
            told = {"id": f"msg_{len(self.requests)}", "type": "message", "role": "assistant", "model": "m", **entry}
            pieces = [json.dumps(told).encode()]
        else:
            told = {"id": f"chatcmpl-{len(self.requests)}", "object": "chat.completion", "model": "m", **entry}
            pieces = [json.dumps(told).encode()]
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        for piece in pieces:
            handler.wfile.write(piece)
            handler.wfile.flush()
        if entry.get("then") == "hold-open":
            self._over.wait(60)

    def close(self) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()


def refused(rules: dict[str, Any], body: Any) -> str:
    """Why the service of a case refuses a request; `""` when it does not."""
    for tool in body.get("tools", ()):
        schema = tool.get("input_schema") or tool.get("function", {}).get("parameters", {})
        banned = set(rules.get("input_schema_root_keywords", ())) & set(schema)
        if banned:
            return f"tools.0.custom.input_schema: {min(banned)} is not supported at the top level"
        if "property_key_pattern" in rules and _bad_name(schema, rules["property_key_pattern"]):
            return "tools.0.custom.input_schema.properties: Property keys should match pattern"
    forced = (
        body.get("tool_choice", {}).get("type") in ("any", "tool")
        if isinstance(body.get("tool_choice"), dict)
        else False
    )
    if rules.get("forced_tool_choice_with_thinking") and forced and body.get("thinking", {}).get("type") == "enabled":
        return "Thinking may not be enabled when tool_choice forces tool use."
    if rules.get("empty_tool_call_id"):
        ids = [c["id"] for m in body["messages"] for c in m.get("tool_calls") or ()]
        ids += [m["tool_call_id"] for m in body["messages"] if m["role"] == "tool"]
        if not all(ids):
            return "tool_call_id must not be empty"
    return ""


def _bad_name(schema: Any, pattern: str) -> bool:
    import re

    if isinstance(schema, list):
        return any(_bad_name(item, pattern) for item in schema)
    if not isinstance(schema, dict):
        return False
    names = schema.get("properties", {})
    bad = isinstance(names, dict) and any(not re.search(pattern, name) for name in names)
    return bad or any(_bad_name(member, pattern) for member in schema.values())


def script_of(given: dict[str, Any]) -> Callable[[int, Any], dict[str, Any]]:
    """The entry for each request; one that the list does not foresee is answered 400."""
    entries = list(given.get("model_replies", ()))
    served = 0

    def answer(number: int, body: Any) -> dict[str, Any]:
        nonlocal served
        why = refused(given.get("provider_rejects", {}), body)
        if why:
            return _bad_request(why)
        while served < len(entries) and "only_if_request_has" in entries[served]:
            if entries[served]["only_if_request_has"] in json.dumps(body):
                break
            served += 1
        if served >= len(entries) and not (given.get("repeat_last") and entries):
            return _bad_request("the case has no reply for this request")
        entry = entries[min(served, len(entries) - 1)]
        served += 1
        return _with_wire_names(entry, body, list(given.get("schema", {}).get("properties", ())))

    return answer


def _with_wire_names(entry: dict[str, Any], body: Any, named_in: list[str]) -> dict[str, Any]:
    """The call in the names that the request shows, which stand in the order of the schema's."""
    named = entry.get("call_with_wire_names")
    if named is None:
        return entry
    wire = dict(zip(named_in, body["tools"][0]["input_schema"]["properties"], strict=True))
    called = {wire[name]: value for name, value in named.items()}
    call = {"type": "tool_use", "id": "toolu_a1", "name": "StructuredOutput", "input": called}
    return {"content": [call], "stop_reason": "tool_use", "usage": {"input_tokens": 120, "output_tokens": 40}}


def _bad_request(why: str) -> dict[str, Any]:
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": why}}
    return {"http": {"status": 400, "headers": {}, "body": json.dumps(error)}}


# -- the command ----------------------------------------------------------------------------------------------------


class ScriptedTool:
    """An ordinary tool that answers from a list."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.definition: ToolDefinition = define(told["name"], told["description"], told["input_schema"])
        self.edits_files = False
        self._results = list(told["scripted_results"])
        self._noise = told.get("prints_to_stdout", "")

    def subject(self, arguments: Any) -> None:
        return None

    async def run(self, arguments: Any, context: Any) -> ToolOutput:
        result = self._results.pop(0) if self._results else "done"
        if isinstance(result, dict):
            return ToolOutput(str(result.get("content", result.get("text", ""))), failed=bool(result.get("is_error")))
        return ToolOutput(result)


class _Lines(Output):
    def __init__(self) -> None:
        super().__init__()
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data


class _Kept(Notes):
    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def say(self, line: str) -> None:
        self.text += line + "\n"

    error = say


class _Piped(Stdin):
    def __init__(self, text: str | None) -> None:
        super().__init__()
        self._text, self._given = text or "", text is not None

    @property
    def piped(self) -> bool:
        return self._given


class Seen:
    """What a caller sees of a run, and what its model saw."""

    def __init__(self) -> None:
        self.code = -1
        self.out = b""
        self.err = ""
        self.requests: list[Any] = []
        self.took_s = 0.0
        self.state = Path()

    @property
    def frame(self) -> Any:
        return json.loads(self.out) if self.out else None

    @property
    def facts(self) -> Any:
        return (self.frame or {}).get("lastcall", {})


def play(given: dict[str, Any], root: Path, *argv: str, answer: Any = None, stdin: str | None = None) -> Seen:
    """Run what a case gives; `root` is a fresh directory."""
    seen = Seen()
    home, cwd = root / "home", root / "cwd"
    home.mkdir(parents=True)
    cwd.mkdir()
    endpoint = Endpoint(answer or script_of(given))
    wire = given.get("wire") or "anthropic"
    seen.state = home / "state"
    environment = {
        **KEYS, "HOME": str(home), "LASTCALL_STATE_DIR": str(seen.state), "LASTCALL_CACHE_DIR": str(home / "cache"),
        **given.get("env", {}),
    }  # fmt: skip
    if "api_key" in given:
        environment["ANTHROPIC_API_KEY"] = given["api_key"]
    query = f"?{given['base_url'].partition('?')[2]}" if "base_url" in given else ""
    environment["ANTHROPIC_BASE_URL"] = endpoint.url + query
    environment["OPENAI_BASE_URL"] = endpoint.url + "/v1"
    if "max_output_tokens" in given:
        environment["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] = str(given["max_output_tokens"])
    tools = tuple(ScriptedTool(told) for told in given.get("tools", ()))

    def opener(config: Any, publisher_for: Any) -> Any:
        settings = ModelSettings(
            profile=config.profile, max_tokens=config.max_tokens, thinking_tokens=config.thinking_tokens,
            limits=limits_of(config), progress=bool(given.get("stream")), memory=CapabilityMemory(root / "cache"),
            clock=ImpatientClock(), idle_timeout_s=2.0,
        )  # fmt: skip
        provider = choose_provider(config.model, config.environment, settings, fallbacks=config.fallback_models)
        return open_session(config, publisher_for, provider, client=ClientSide(tools=tools))

    output, notes = _Lines(), _Kept()
    before, began = Path.cwd(), time.monotonic()
    os.chdir(cwd)
    try:
        for name, content in _files(given).items():
            (cwd / name).write_bytes(content)
        words = _with(_argv(given, wire, home, cwd), argv)
        args = parse(words)
        seen.code = run_print(args, environment, stdin=_Piped(stdin), output=output, notes=notes, opener=opener)
    except BadFlag as error:
        seen.code = 2
        notes.error(error.message)
    finally:
        os.chdir(before)
        endpoint.close()
    seen.took_s = time.monotonic() - began
    seen.out, seen.err, seen.requests = output.data, notes.text, endpoint.requests
    return seen


def _argv(given: dict[str, Any], wire: str, home: Path, cwd: Path) -> list[str]:
    words = ["-p", "go", "--output-format", "json", "--tools", "", "--model", given.get("model", MODELS[wire])]
    if given.get("tools"):
        words += ["--permission-mode", "bypassPermissions"]
    if "cli" in given and _files(given):
        words += ["--json-schema", "@s.json"]
    elif "schema_json" in given:
        words += ["--json-schema", given["schema_json"]]
    elif given.get("schema") is not None:
        words += ["--json-schema", json.dumps(given["schema"])]
    if "max_turns" in given:
        words += ["--max-turns", str(given["max_turns"])]
    if given.get("thinking"):
        words += ["--max-thinking-tokens", "2048"]
    if "allowed_tools" in given:
        words += ["--allowedTools", ",".join(given["allowed_tools"])]
    if "hooks" in given:
        stop = given["hooks"]["stop"]
        command = f"echo '{stop['stderr']}' >&2; exit {stop['exit']}"
        hooks = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}}
        words += ["--settings", json.dumps(hooks)]
    if "resume_from" in given:
        words += ["--resume", _transcript(given["resume_from"]["messages"], home, cwd)]
    return words


def _with(words: list[str], more: Sequence[str]) -> list[str]:
    """The words of a case and those of a test, whose flags take the place of the case's."""
    for name in [word for word in more if word.startswith("--") and word in words]:
        at = words.index(name)
        words = words[:at] + words[at + 2 :]
    return [*words, *more]


def _files(given: dict[str, Any]) -> dict[str, bytes]:
    out: dict[str, bytes] = {}
    for name, told in given.get("files", {}).items():
        if "b64" in told:
            out[name] = base64.b64decode(told["b64"])
        else:
            out[name] = (told.get("text") or json.dumps(given[told["from"]])).encode()
    return out


def _transcript(messages: list[Any], home: Path, cwd: Path) -> str:
    """A transcript of the reference with this history; its session's id."""
    from lastcall.journal.sessions import project_slug

    session, parent = "5f0c1b1e-0000-4000-8000-000000000001", None
    folder = home / ".claude" / "projects" / project_slug(str(cwd))
    folder.mkdir(parents=True)
    lines = []
    for number, message in enumerate(messages):
        uuid = f"00000000-0000-4000-8000-{number:012d}"
        told = {"id": f"msg_h{number}", "model": "m", **message} if message["role"] == "assistant" else message
        record = {"type": message["role"], "uuid": uuid, "parentUuid": parent, "sessionId": session, "message": told}
        lines.append(json.dumps({**record, "timestamp": f"2026-01-01T00:00:{number:02d}Z"}))
        parent = uuid
    (folder / f"{session}.jsonl").write_text("\n".join(lines) + "\n")
    return session


def runs_of(case: dict[str, Any]) -> list[dict[str, Any]]:
    """The inputs of a case: one, or one for each of its variants."""
    given = case["input"]
    for key in ("variants", "cli_variants"):
        if key in given:
            return [{**given, **entry} for entry in given[key]]
    if "file_variants" in given:
        return [{**given, "files": files} for files in given["file_variants"]]
    return [given]
