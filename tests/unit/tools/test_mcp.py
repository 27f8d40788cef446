"""Servers of their own: their tools work, and whatever happens to them is an answer, not the end of the run."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import anyio
import pytest

pytest.importorskip("mcp")

from lastcall.tools.leftovers import marked
from lastcall.tools.mcp import Surroundings, back_off_s, connected
from lastcall.tools.mcp_servers import HttpServer, StdioServer

EVERYTHING = str(Path(__file__).with_name("mcp_everything.py"))
PLAIN = str(Path(__file__).with_name("mcp_plain.py"))
STDIO = StdioServer("every.thing", sys.executable, ("-I", PLAIN), {"OWN": "yes"})
BY_LIBRARY = StdioServer("lib", sys.executable, (EVERYTHING,))


@contextmanager
def started_http():
    """A server at an address, and what ends it and starts it again there."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = []

    def start():
        for process in running:
            process.kill()
            process.wait()
        process = subprocess.Popen(
            [sys.executable, EVERYTHING, str(port)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        running[:] = [process]
        until = time.monotonic() + 30
        while socket.socket().connect_ex(("127.0.0.1", port)):
            assert time.monotonic() < until
            assert process.poll() is None
            time.sleep(0.05)

    try:
        start()
        yield HttpServer("web", f"http://127.0.0.1:{port}/mcp"), start
    finally:
        for process in running:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def http_server():
    with started_http() as (server, _):
        yield server


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


def test_a_server_that_dies_in_a_call_leaves_its_effect_unknown_and_is_started_anew_by_the_next(play):
    async def work(call, connections):
        first = await call("mcp__every_thing__die")
        return first, text(await call("mcp__every_thing__add", a=1, b=2)), await call("mcp__every_thing__die")

    (first, second, third), _ = play([STDIO], work)
    assert first.failed
    assert "every.thing ended in the middle of the call. Whether it took effect is unknown" in first.content
    assert json.loads(second) == [1, 2, 3]
    assert third == first


def test_a_server_that_is_killed_between_calls_is_started_anew_and_the_call_made_once(play, tmp_path):
    mark = f"test-{time.monotonic_ns()}"

    async def work(call, connections):
        (before,) = marked(f"MARK={mark}")
        os.kill(before, signal.SIGKILL)
        with anyio.fail_after(20):
            await connections[0]._over.wait()
        answers = [None] * 5

        async def one(n):
            answers[n] = json.loads(text(await call("mcp__every_thing__add", a=n, b=1)))

        async with anyio.create_task_group() as tasks:
            for n in range(5):
                tasks.start_soon(one, n)
        return answers, len(list(marked(f"MARK={mark}")))

    answers, alive = play([STDIO], work, environment={"MARK": mark})[0]
    assert answers == [[n, 1, n + 1] for n in range(5)]
    assert alive == 1


def test_pauses_grow_with_each_death_and_are_bounded():
    assert [back_off_s(n) for n in (0, 1, 2, 3, 4, 5, 1000)] == [0, 0.5, 1.5, 3.5, 7.5, 8, 8]


@pytest.mark.slow
def test_a_server_that_ends_again_and_again_is_started_after_longer_and_longer_pauses(play):
    async def work(call, connections):
        took = []
        for name in ("die", "die", "die", "add", "die", "add"):
            began = time.monotonic()
            await call(f"mcp__every_thing__{name}", a=1, b=1)
            took.append(time.monotonic() - began)
        return took

    took = play([STDIO], work)[0]
    # the second death is the first without an answer since the server was started again
    assert took[2] >= 0.5
    assert took[3] >= 1.5


def test_a_server_that_cannot_be_started_again_is_a_failed_answer_each_time(play, tmp_path):
    once = tmp_path / "once"
    script = (
        f"import os, sys; os.path.exists({str(once)!r}) and sys.exit('not again'); open({str(once)!r}, 'w').close()\n"
    )
    server = StdioServer("s", sys.executable, ("-I", "-c", script + Path(PLAIN).read_text()))

    async def work(call, connections):
        return [(await call("mcp__s__die")).content for _ in range(2)], connections[0].status

    (answers, status), notices = play([server], work)
    assert "Whether it took effect is unknown" in answers[0]
    assert "has ended and cannot be started again" in answers[1]
    assert status == "connected"
    assert notices == []


@pytest.mark.slow
def test_a_server_at_an_address_that_was_restarted_gets_the_call_once(play, tmp_path):
    with started_http() as (server, restart):

        async def work(call, connections):
            first = text(await call("mcp__web__add", a=1, b=1))
            await anyio.to_thread.run_sync(restart)
            second = text(await call("mcp__web__add", a=1, b=2))
            died = await call("mcp__web__die")
            down = await call("mcp__web__add", a=1, b=3)
            await anyio.to_thread.run_sync(restart)
            return first, second, died, down, text(await call("mcp__web__add", a=1, b=4))

        first, second, died, down, last = play([server], work)[0]
    assert [json.loads(x)[2] for x in (first, second, last)] == [2, 3, 5]
    assert "Whether it took effect is unknown" in died.content
    assert "cannot be started again" in down.content


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
        pytest.param(
            StdioServer("s", sys.executable, ("-c", "print('hello'); import time; time.sleep(60)")),
            "1 seconds",
            marks=pytest.mark.slow,
        ),
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
