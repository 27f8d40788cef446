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


@asynccontextmanager
async def with_servers(config: RunConfig, client: ClientSide = NOBODY) -> AsyncIterator[ClientSide]:
    """`client` with the tools of the configured servers, which live as long as the context.

    `MCP_TIMEOUT` and `MCP_TOOL_TIMEOUT` (milliseconds) bound starting and calling, as in the reference.
    """
    around = Surroundings(
        environment=config.environment,
        cwd=config.cwd,
        notice=config.notice,
        start_s=_seconds(config, "MCP_TIMEOUT", START_S),
        call_s=_seconds(config, "MCP_TOOL_TIMEOUT", CALL_S),
    )
    async with connected(config.mcp_servers, around) as connections:
        tools = tuple(tool for connection in connections for tool in connection.tools)
        states = tuple({"name": c.name, "status": c.status} for c in connections)
        yield replace(client, tools=(*client.tools, *tools), servers=(*client.servers, *states))


def _seconds(config: RunConfig, name: str, default: float) -> float:
    word = config.environment.get(name, "")
    return int(word) / 1000 if re.fullmatch(r"[1-9]\d{0,8}", word) else default
