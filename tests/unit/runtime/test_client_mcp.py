"""Servers in the client's process: greeted, listed page by page, called, and never waited for when they are broken."""

import anyio
import pytest

from lastcall.runtime.client import Client
from lastcall.runtime.client_mcp import PROTOCOL, ClientServer
from lastcall.tools.remote import RemoteTool
from lastcall.wire.control import ControlResponse


class FakeServer:
    """Answers JSON-RPC as a client's bridge does; `replies` maps methods to results or errors."""

    def __init__(self, replies):
        self.replies = replies
        self.messages = []
        self.client = Client(self.take, self._new_id)
        self._n = 0

    def _new_id(self):
        self._n += 1
        return f"q{self._n}"

    def take(self, frame):
        message = frame["request"]["message"]
        self.messages.append(message)
        reply = self.replies.get(message["method"], {})
        reply = reply(message) if callable(reply) else reply
        body = {"jsonrpc": "2.0", "id": message.get("id"), **(reply if "error" in reply else {"result": reply})}
        answer = {"mcp_response": body}
        tasks.start_soon(self._answer, ControlResponse(frame["request_id"], answer))

    async def _answer(self, response):
        self.client.hear(response)


tasks = None


def connect(fake, then=None):
    server = ClientServer("calc", fake.client)

    async def drive():
        global tasks
        async with anyio.create_task_group() as tasks:
            await server.connect()
            if then is not None:
                await then(server)

    anyio.run(drive)
    return server


def test_a_server_is_greeted_and_its_tools_are_listed_to_the_last_page():
    pages = {None: {"tools": [{"name": "add"}], "nextCursor": "p2"}, "p2": {"tools": [{"name": "sub"}, 7]}}
    fake = FakeServer(
        {
            "initialize": {"serverInfo": {"name": "calc", "version": "1"}},
            "tools/list": lambda m: pages[m["params"].get("cursor")],
        }
    )
    server = connect(fake)
    assert server.status == "connected"
    assert server.about == {"name": "calc", "version": "1"}
    assert [t.definition.name for t in server.tools] == ["mcp__calc__add", "mcp__calc__sub"]
    methods = [m["method"] for m in fake.messages]
    assert methods == ["initialize", "notifications/initialized", "tools/list", "tools/list"]
    assert fake.messages[0]["params"]["protocolVersion"] == PROTOCOL
    assert "id" not in fake.messages[1]


def test_a_server_that_answers_with_an_error_has_no_tools():
    server = connect(FakeServer({"initialize": {"error": {"code": -1, "message": "no"}}}))
    assert (server.status, server.tools) == ("failed", ())


def test_a_call_carries_its_id_and_a_refusal_is_told():
    results = {"add": {"content": [{"type": "text", "text": "5"}]}}

    def on_call(message):
        name = message["params"]["name"]
        return results.get(name) or {"error": {"code": -32602, "message": f"no tool {name}"}}

    fake = FakeServer({"tools/list": {"tools": [{"name": "add"}, {"name": "gone"}]}, "tools/call": on_call})
    outputs = []

    async def call(server):
        assert all(isinstance(t, RemoteTool) for t in server.tools)
        outputs.append(await server._call("add", {"a": 2}, "toolu_1"))
        with pytest.raises(Exception, match="no tool gone"):
            await server._call("gone", {}, "toolu_2")

    connect(fake, call)
    assert outputs == [results["add"]]
    params = fake.messages[3]["params"]
    assert (params["name"], params["arguments"], params["_meta"]["claudecode/toolUseId"]) == (
        "add",
        {"a": 2},
        "toolu_1",
    )
