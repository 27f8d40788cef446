"""A scripted ten-turn run with side effects, in a process of its own that can be killed at any moment of it.

The model calls, turn by turn, a shell command that appends a line to a file, a tool of an MCP server that counts by
idempotency key, and a tool of a counting service that the client has; whatever an
answer says, it goes on with the next turn. So an effect that happens twice was repeated by lastcall.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import threading
import traceback
from pathlib import Path

import anyio

from lastcall.contract import compile_contract
from lastcall.contract.parse import parse_schema
from lastcall.journal.load import load
from lastcall.journal.store import DiskFile
from lastcall.nouns.profile import Profile
from lastcall.nouns.tools import ResultKind
from lastcall.providers.scripted import scripted_provider
from lastcall.runtime.client import ClientSide
from lastcall.runtime.config import RunConfig
from lastcall.runtime.publish import Silent
from lastcall.runtime.session import open_session
from lastcall.tools.mcp import Surroundings, connected
from lastcall.tools.mcp_servers import StdioServer
from lastcall.tools.remote import RemoteTool

TURNS = 10
SESSION = "s1"
OBJECT = {"turns": TURNS}
SCHEMA = {
    "type": "object",
    "properties": {"turns": {"type": "integer"}},
    "required": ["turns"],
    "additionalProperties": False,
}
BY_SHELL = frozenset({0, 5})
BY_MCP = frozenset({2, 3, 7})
TALLY = str(Path(__file__).with_name("mcp_tally.py"))


def turn_of(body):
    """The reply to a request: by how many calls the model has made, so also after a crash."""
    made = sum(
        block.get("type") == "tool_use"
        for message in body["messages"]
        for block in (message["content"] if isinstance(message["content"], list) else ())
    )
    if made >= TURNS:
        return {"object": OBJECT}
    if made in BY_SHELL:
        return {"call": {"id": f"call_{made}", "name": "Bash", "input": {"command": f"echo {made} >> effects.txt"}}}
    if made in BY_MCP and any(tool["name"] == "mcp__tally__count" for tool in body["tools"]):
        return {"call": {"id": f"call_{made}", "name": "mcp__tally__count", "input": {"turn": made}}}
    return {"call": {"id": f"call_{made}", "name": "mcp__counter__add", "input": {"turn": made}}}


class Counter:
    """A service that remembers what it was asked to do, in the test's own process."""

    def __init__(self, path):
        self.path = str(path)
        self.seen = []
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(self.path)
        self._server.listen(64)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                peer, _ = self._server.accept()
            except OSError:
                return
            with peer:
                line = peer.makefile("rb").readline()
                if line.endswith(b"\n"):
                    self.seen.append(int(line))
                try:
                    peer.sendall(b"ok\n")
                except OSError:
                    continue

    def close(self):
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()


def counter_tool(path):
    """The service as a tool of a run."""

    async def call(tool, arguments, call_id):
        async with await anyio.connect_unix(path) as stream:
            await stream.send(f"{arguments['turn']}\n".encode())
            await stream.receive()
        return {"content": [{"type": "text", "text": "counted"}]}

    listed = {"name": "add", "inputSchema": {"type": "object", "properties": {"turn": {"type": "integer"}}}}
    return RemoteTool("counter", listed, call)


def config_for(folder, **fields):
    work = Path(folder) / "work"
    work.mkdir(exist_ok=True)
    return RunConfig(
        contract=compile_contract(parse_schema(json.dumps(SCHEMA), profile=Profile.NATIVE), profile=Profile.NATIVE),
        environment={"PATH": os.environ["PATH"]},
        cwd=str(work),
        tools="Bash",
        permission_mode="bypassPermissions",
        state_dir=str(Path(folder) / "state"),
        **fields,
    )


async def play(folder, counter_path, *, resumes, around=None, mcp=True):
    """The run, or what is left of it; its result. Without `mcp`, which takes longer to start, the client's tool does all."""
    fields = {"resume": SESSION, "unfinished": True} if resumes else {"session_id": SESSION}
    tally = StdioServer("tally", sys.executable, ("-I", TALLY, str(Path(folder) / "tally")))
    async with connected(
        [tally] if mcp else [], Surroundings({"PATH": os.environ["PATH"]}, str(folder))
    ) as connections:
        client = ClientSide(tools=(counter_tool(counter_path), *(tool for c in connections for tool in c.tools)))
        async with open_session(
            config_for(folder, **fields), lambda stage: Silent(), scripted_provider(turn_of), client=client
        ) as session:
            go = session.go_on if resumes else lambda: session.run("count")
            return await (around(session, go) if around else go())


def in_child(work):
    """Run `work` in a fork; its exit code, negative for a signal."""
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            code = work()
        except BaseException:  # noqa: BLE001 -- it is told, and this process ends
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def count_moments(on_moment):
    """Have `on_moment` called at every turn of the event loop and around each write and fsync of the journal."""
    run_once, write, sync = asyncio.BaseEventLoop._run_once, DiskFile.write, DiskFile.sync

    def ticking_run_once(loop):
        on_moment()
        run_once(loop)

    def ticking_write(file, line):
        on_moment()
        half = write(file, line[: len(line) // 2])
        on_moment()
        rest = write(file, line[len(line) // 2 :])
        on_moment()
        return half + rest

    def ticking_sync(file):
        on_moment()
        sync(file)
        on_moment()

    asyncio.BaseEventLoop._run_once, DiskFile.write, DiskFile.sync = ticking_run_once, ticking_write, ticking_sync


def child(folder, counter_path, *, resumes, moment=None, number=signal.SIGKILL, around=None, tell=None, mcp=True):
    """Play in a fork and send it `number` at this moment. Exit code 0: ended in the object; 1: otherwise; 2: refused."""

    def work():
        seen = 0

        def on_moment():
            nonlocal seen
            seen += 1
            if seen == moment:
                os.kill(os.getpid(), number)

        count_moments(on_moment)
        from lastcall.errors import BadConfig

        try:
            result = anyio.run(lambda: play(folder, counter_path, resumes=resumes, around=around, mcp=mcp))
        except BadConfig:
            return 2
        except KeyboardInterrupt:  # before the run listened to signals
            return 1
        if tell is not None:
            os.write(tell, b"%d\n" % seen)
        return 0 if result.ok and json.loads(result.object_text) == OBJECT else 1

    return in_child(work)


def journal_records(folder):
    found = list((Path(folder) / "state" / "sessions").glob(f"*/{SESSION}.jsonl"))
    return load(str(found[0])).records if found else ()


def acknowledged(folder):
    """The turns whose effect the journal says was reached."""
    from lastcall.core.records import CallAnswered

    return [
        int(x.result.call_id.split("_")[1])  # an id that comes again gets a number after it
        for x in journal_records(folder)
        if isinstance(x, CallAnswered) and x.result.kind is ResultKind.OK and x.result.call_id.startswith("call_")
    ]


def effects(folder, counter):
    """Every turn's effect that the world has seen, in any order."""
    file = Path(folder) / "work" / "effects.txt"
    lines = file.read_text().split() if file.exists() else []
    return sorted([*map(int, lines), *counter.seen, *(turn for turn, _ in tallied(folder))])


def tallied(folder):
    """What the MCP server was asked to count: turn and idempotency key, in order."""
    tally = Path(folder) / "tally"
    lines = [line.split(" ") for line in tally.read_text().splitlines()] if tally.exists() else []
    return [(int(turn), key) for turn, key in lines]
