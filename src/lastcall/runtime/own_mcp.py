"""The MCP servers of a run's configuration, as something that a session can be opened with.

Must not go in here: the protocol (`tools.mcp`), servers in a client's process (`runtime.client_mcp`).
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec.structs import replace

from lastcall.runtime.client import NOBODY, ClientSide
from lastcall.runtime.config import RunConfig
from lastcall.tools.mcp import CALL_S, START_S, Surroundings, connected
from lastcall.tools.permissions import Permissions, parse_rules
from lastcall.tools.remote import remote_name


@asynccontextmanager
async def with_servers(config: RunConfig, client: ClientSide = NOBODY) -> AsyncIterator[ClientSide]:
    """`client` with the tools of the configured servers, which live as long as the context.

    They are started all at once; one whose every tool is forbidden is not started. `MCP_TIMEOUT` and `MCP_TOOL_TIMEOUT`
    (milliseconds) bound starting and calling, as in the reference.
    """
    around = Surroundings(
        environment=config.environment,
        cwd=config.cwd,
        notice=config.notice,
        start_s=_seconds(config, "MCP_TIMEOUT", START_S),
        call_s=_seconds(config, "MCP_TOOL_TIMEOUT", CALL_S),
    )
    rules = Permissions(deny=parse_rules(config.disallowed_tools, where="--disallowedTools"))
    forbidden = [server for server in config.mcp_servers if rules.denies_tool(remote_name(server.name, "*"))]
    async with connected([s for s in config.mcp_servers if s not in forbidden], around) as connections:
        tools = tuple(tool for connection in connections for tool in connection.tools)
        states = tuple({"name": c.name, "status": c.status} for c in connections)
        states += tuple({"name": server.name, "status": "disabled"} for server in forbidden)
        yield replace(client, tools=(*client.tools, *tools), servers=(*client.servers, *states))


def _seconds(config: RunConfig, name: str, default: float) -> float:
    word = config.environment.get(name, "")
    return int(word) / 1000 if re.fullmatch(r"[1-9]\d{0,8}", word) else default
