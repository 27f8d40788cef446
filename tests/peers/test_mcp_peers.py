"""MCP servers that others wrote: two of the TypeScript SDK (over HTTP and stdio) and one from PyPI."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

import needs
from lastcall.nouns.ids import CallId
from lastcall.tools import ToolContext
from lastcall.tools.leftovers import marked
from lastcall.tools.paths import Workspace
from lastcall.tools.permissions import Permissions
from lastcall.tools.seen import FilesSeen

pytest.importorskip("mcp")

from lastcall.tools.mcp import Surroundings, connected
from lastcall.tools.mcp_servers import HttpServer, StdioServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def node_server(name):
    """The program of a server from `package.json`; `npm ci` in `tests/peers/mcp` installs them."""
    path = Path(__file__).parent / "mcp/node_modules/@modelcontextprotocol" / name / "dist/index.js"
    if not path.exists():
        if os.environ.get("CI"):
            pytest.fail(f"{name} is not installed (npm ci in tests/peers/mcp), and CI must not skip what needs it")
        pytest.skip(f"{name} is not installed (npm ci in tests/peers/mcp)")
    return [needs.program("node"), str(path)]


@contextmanager
def everything_at_an_address():
    command = node_server("server-everything")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [*command, "streamableHttp"],
        env={"PATH": os.environ["PATH"], "PORT": str(port)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 60
        while socket.socket().connect_ex(("127.0.0.1", port)):
            assert time.monotonic() < until
            assert process.poll() is None
            time.sleep(0.05)
        yield HttpServer("peer", f"http://127.0.0.1:{port}/mcp"), process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def play(tmp_path):
    def run(server, work, **environment):
        around = Surroundings({"PATH": os.environ["PATH"], **environment}, str(tmp_path))
        context = ToolContext(
            workspace=Workspace(str(tmp_path)),
            seen=FilesSeen(),
            rules=Permissions(cwd=str(tmp_path)),
            call_id=CallId("toolu_1"),
            idempotency_key="s1:toolu_1",
        )

        async def main():
            async with connected([server], around) as connections:
                assert connections[0].status == "connected"
                tools = {tool.definition.name.rpartition("__")[2]: tool for tool in connections[0].tools}

                async def call(name, **arguments):
                    return await tools[name].run(arguments, context)

                return await work(call)

        return anyio.run(main)

    return run


def blocks(output):
    assert not output.failed, output.content
    return json.loads(output.content)


def test_a_foreign_server_at_an_address_answers_with_text_structure_and_pictures(play):
    async def work(call):
        return (
            blocks(await call("echo", message="grüß \U0001f600")),
            blocks(await call("get-sum", a=2, b=3)),
            blocks(await call("get-tiny-image")),
            await call("get-sum", a="two", b=3),
        )

    with everything_at_an_address() as (server, _):
        echoed, added, pictures, wrong = play(server, work)
    assert "grüß \U0001f600" in echoed[0]["text"]
    assert "5" in added[0]["text"]
    (picture,) = [block for block in pictures if block["type"] == "image"]
    assert base64.b64decode(picture["source"]["data"]).startswith(b"\x89PNG")
    assert wrong.failed


def test_a_foreign_server_at_an_address_that_is_killed_in_a_call_leaves_its_effect_unknown(play):
    with everything_at_an_address() as (server, process):

        async def work(call):
            answers = []

            async def long():
                answers.append(await call("trigger-long-running-operation", duration=60, steps=60))

            with anyio.fail_after(30):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(long)
                    await anyio.sleep(0.5)
                    process.kill()
                answers.append(await call("echo", message="x"))
            return answers

        during, after = play(server, work)
    assert during.failed
    assert "Whether it took effect is unknown" in during.content
    assert "cannot be started again" in after.content


def test_a_foreign_command_works_on_files_and_is_started_anew_when_it_was_killed(play, tmp_path):
    mark = f"test-{time.monotonic_ns()}"
    (tmp_path / "a.txt").write_text("first\n")

    async def work(call):
        read = blocks(await call("read_text_file", path=str(tmp_path / "a.txt")))
        for pid in list(marked(f"MARK={mark}")):
            os.kill(pid, signal.SIGKILL)
        written = await call("write_file", path=str(tmp_path / "b.txt"), content="second\n")
        if written.failed:  # the end of the command was not yet noticed
            assert "unknown" in written.content
            written = await call("write_file", path=str(tmp_path / "b.txt"), content="second\n")
        return read, written, await call("read_text_file", path="/etc/hostname")

    program, *words = node_server("server-filesystem")
    server = StdioServer("files", program, (*words, str(tmp_path)))
    read, written, outside = play(server, work, MARK=mark)
    assert read[0]["text"] == "first\n"
    assert not written.failed
    assert (tmp_path / "b.txt").read_text() == "second\n"
    assert outside.failed
    assert list(marked(f"MARK={mark}")) == []


def test_a_server_from_pypi_answers(play):
    needs.package("mcp_server_time")

    async def work(call):
        arguments = {"source_timezone": "Asia/Tokyo", "time": "09:30", "target_timezone": "UTC"}
        return blocks(await call("convert_time", **arguments))

    answer = json.loads(play(StdioServer("clock", sys.executable, ("-m", "mcp_server_time")), work)[0]["text"])
    assert answer["target"]["datetime"].endswith("T00:30:00+00:00")
