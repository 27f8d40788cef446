"""Reading the configuration of MCP servers."""

from __future__ import annotations

import pytest

from lastcall.errors import BadConfig
from lastcall.tools.mcp_servers import HttpServer, StdioServer, read_servers


def read(servers, **environment):
    return read_servers({"mcpServers": servers}, environment, where="--mcp-config")


def test_both_kinds_are_read_and_those_of_a_client_are_left_out():
    assert read({
        "a": {"command": "run", "args": ["x", 1], "env": {"K": "v"}},
        "b": {"type": "http", "url": "https://h/mcp", "headers": {"H": "v"}},
        "c": {"url": "http://h/mcp"},
        "d": {"type": "sdk", "name": "d"},
        "e": {"type": "stdio", "command": "run"},
    }) == (
        StdioServer("a", "run", ("x", "1"), {"K": "v"}),
        HttpServer("b", "https://h/mcp", {"H": "v"}),
        HttpServer("c", "http://h/mcp"),
        StdioServer("e", "run"),
    )  # fmt: skip


def test_variables_are_replaced_everywhere():
    entry = {"command": "${BIN}/run", "args": ["${A:-none}", "$A"], "env": {"K": "${KEY}"}}
    assert read({"a": entry}, BIN="/b", KEY="k") == (StdioServer("a", "/b/run", ("none", "$A"), {"K": "k"}),)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"command": "${NOWHERE}"}, "NOWHERE is not set"),
        ({"command": ""}, "needs a command"),
        ({"command": "x", "args": "y"}, "args as a list"),
        ({"command": "x", "env": {"K": 1}}, "env has to be"),
        ({"url": "ftp://x"}, "begins with http"),
        ({"type": "sse", "url": "http://x"}, "'sse' are not supported"),
        ({}, "needs a command"),
        ("x", "and an object"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(entry, words):
    with pytest.raises(BadConfig, match="server a") as caught:
        read({"a": entry})
    assert words in caught.value.message


def test_a_configuration_without_servers_is_refused():
    for value in ({}, [], {"mcpServers": []}, None):
        with pytest.raises(BadConfig, match="no object mcpServers"):
            read_servers(value, {}, where="x")
