"""An MCP server for tests, made with the `mcp` library: `python mcp_everything.py [port]` (stdio without one)."""

import asyncio
import json
import os
import sys

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("everything")


@server.tool()
def add(a: float, b: float) -> str:
    """Add two numbers."""
    return json.dumps([a, b, a + b])


@server.tool()
def refuse() -> str:
    """Always fails."""
    raise ValueError("no such thing")


@server.tool()
def die() -> str:
    """End the server in the middle of a call."""
    os._exit(3)


@server.tool()
async def hang() -> str:
    """Never answers."""
    await asyncio.sleep(3600)
    return "never"


@server.tool()
def flood(size: int) -> str:
    """A long text."""
    return "x" * size


@server.tool()
def whoami(ctx: Context) -> str:
    """What the call says of itself, and the server's environment."""
    meta = ctx.request_context.meta or {}
    meta = meta if isinstance(meta, dict) else meta.model_dump(by_alias=True)
    return json.dumps({"meta": {k: v for k, v in meta.items() if isinstance(v, str)}, "env": dict(os.environ)})


if len(sys.argv) > 1:
    server.run(transport="streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
else:
    server.run(transport="stdio")
