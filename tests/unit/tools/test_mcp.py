"""Servers of their own: their tools work, and whatever happens to them is an answer, not the end of the run."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path

import anyio
import pytest

pytest.importorskip("mcp")

from lastcall.tools.leftovers import marked
from lastcall.tools.mcp import Surroundings, connected
from lastcall.tools.mcp_servers import HttpServer, StdioServer

EVERYTHING = str(Path(__file__).with_name("mcp_everything.py"))
PLAIN = str(Path(__file__).with_name("mcp_plain.py"))
STDIO = StdioServer("every.thing", sys.executable, ("-I", PLAIN), {"OWN": "yes"})
BY_LIBRARY = StdioServer("lib", sys.executable, (EVERYTHING,))


@pytest.fixture(scope="module")
def http_server():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, EVERYTHING, str(port)], stderr=subprocess.DEVNULL)
    until = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            break
        except OSError:
            assert time.monotonic() < until
            assert process.poll() is None
            time.sleep(0.05)
    yield HttpServer("web", f"http://127.0.0.1:{port}/mcp")
    process.kill()
    process.wait()


@pytest.fixture
def play(context, tmp_path):
    """Connect to servers, give them to `work(call, connections)`, and what notices were told."""

    def run(servers, work, **fields):
        notices = []
        environment = {"PATH": os.environ["PATH"], "ANTHROPIC_API_KEY": "sk-secret", **fields.pop("environment", {})}
        around = Surroundings(environment, str(tmp_path), notices.append, **fields)

        async def main():
            async with connected(servers, around) as connections:
                tools = {tool.definition.name: tool for c in connections for tool in c.tools}

                async def call(name, **arguments):
                    return await tools[name].run(arguments, context(idempotency_key="s1:c1"))

                return await work(call, connections)

        with_limit = anyio.run(main)
        return with_limit, notices

    return run


def text(output):
    return json.loads(output.content)[0]["text"] if output.blocks else output.content


def test_tools_of_a_command_are_called_with_exact_numbers_as_numbers(play):
    async def work(call, connections):
        return [c.status for c in connections], text(await call("mcp__every_thing__add", a=Decimal("1.5"), b=2))

    (statuses, answer), notices = play([STDIO], work)
    assert statuses == ["connected"]
    assert json.loads(answer) == [1.5, 2, 3.5]
    assert notices == []


def test_a_server_made_with_the_library_is_understood(play):
    async def work(call, connections):
        return text(await call("mcp__lib__add", a=1, b=2))

    assert json.loads(play([BY_LIBRARY], work)[0]) == [1, 2, 3]


def test_tools_at_an_address_are_called(play, http_server):
    async def work(call, connections):
        return text(await call("mcp__web__add", a=1, b=2))

    assert json.loads(play([http_server], work)[0]) == [1, 2, 3]


@pytest.mark.parametrize("kind", ["stdio", "http"])
def test_a_call_carries_its_idempotency_key_and_no_server_a_provider_key(play, http_server, kind):
    server = STDIO if kind == "stdio" else http_server

    async def work(call, connections):
        name = "mcp__every_thing__whoami" if kind == "stdio" else "mcp__web__whoami"
        return json.loads(text(await call(name)))

    seen = play([server], work)[0]
    assert seen["meta"]["lastcall/idempotencyKey"] == "s1:c1"
    assert seen["meta"]["claudecode/toolUseId"] == "toolu_1"
    if kind == "stdio":
        assert seen["env"]["OWN"] == "yes"
        assert "ANTHROPIC_API_KEY" not in seen["env"]


def test_a_tool_that_fails_is_a_failed_answer(play):
    async def work(call, connections):
        return await call("mcp__every_thing__refuse")

    answer = play([STDIO], work)[0]
    assert answer.failed
    assert "no such thing" in answer.content


def test_a_server_that_dies_in_a_call_is_an_answer_and_so_is_every_later_call(play):
    async def work(call, connections):
        first = await call("mcp__every_thing__die")
        return first, await call("mcp__every_thing__add", a=1, b=2)

    (first, second), _ = play([STDIO], work)
    assert first.failed
    assert second.failed
    assert "every.thing" in first.content
    assert "every.thing" in second.content


@pytest.mark.parametrize("kind", ["stdio", "http"])
def test_a_call_that_is_never_answered_ends(play, http_server, kind):
    async def work(call, connections):
        name = "mcp__every_thing__hang" if kind == "stdio" else "mcp__web__hang"
        return await call(name)

    answer = play([STDIO if kind == "stdio" else http_server], work, call_s=0.5)[0]
    assert answer.failed
    assert "did not answer within 0.5 seconds" in answer.content


def test_a_call_that_is_cancelled_ends_and_the_server_goes_on(play):
    async def work(call, connections):
        with anyio.move_on_after(0.3):
            await call("mcp__every_thing__hang")
        return text(await call("mcp__every_thing__add", a=1, b=1))

    assert json.loads(play([STDIO], work)[0]) == [1, 1, 2]


def test_a_flood_is_cut(play):
    async def work(call, connections):
        return await call("mcp__every_thing__flood", size=3_000_000)

    answer = play([STDIO], work)[0]
    assert len(answer.content) < 110_000
    assert "2,900,000 characters left out" in answer.content


@pytest.mark.parametrize(
    ("server", "words"),
    [
        (StdioServer("s", "/no/such/program"), "No such file"),
        (StdioServer("s", sys.executable, ("-c", "import sys; sys.exit('no key given')")), "no key given"),
        (StdioServer("s", sys.executable, ("-c", "import time; time.sleep(60)")), "did not answer within 1 seconds"),
        (StdioServer("s", sys.executable, ("-c", "print('hello'); import time; time.sleep(60)")), "1 seconds"),
        (HttpServer("s", "http://127.0.0.1:9/mcp"), "s cannot be used"),
    ],
    ids=["missing", "exits", "silent", "babbles", "nobody"],
)
def test_a_server_that_does_not_start_is_told_about_and_does_not_keep_the_others_back(play, server, words):
    async def work(call, connections):
        return [c.status for c in connections], text(await call("mcp__every_thing__add", a=1, b=1))

    # the other one imports a library, which may take longer than a second
    with_limit = 1.0 if "1 seconds" in words else 30.0
    if with_limit == 1.0:

        async def alone(call, connections):
            return [c.status for c in connections]

        statuses, notices = play([server], alone, start_s=1.0)
        assert statuses == ["failed"]
    else:
        (statuses, answer), notices = play([server, STDIO], work)
        assert statuses == ["failed", "connected"]
        assert json.loads(answer) == [1, 1, 2]
    assert len(notices) == 1
    assert words in notices[0]


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are found through /proc")
def test_servers_end_with_the_session(play):
    mark = f"test-{time.monotonic_ns()}"

    async def work(call, connections):
        return len(list(marked(f"MARK={mark}")))

    assert play([STDIO], work, environment={"MARK": mark})[0] >= 1
    assert list(marked(f"MARK={mark}")) == []
