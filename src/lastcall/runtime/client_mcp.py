"""MCP servers that live in the client's process: JSON-RPC carried in control frames (`mcp_message`).

Must not go in here: what a tool's answer means (`tools.remote`), the control frames' form (`wire.control`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lastcall.errors import LastcallError
from lastcall.nouns.json import JsonObject
from lastcall.runtime.client import Client, ClientGone
from lastcall.tools import Tool, ToolContext
from lastcall.tools.remote import remote_tools
from lastcall.version import VERSION
from lastcall.wire.frames import Frame

PROTOCOL: Final = "2025-11-25"
CONNECT_S: Final = 30.0
"""How long a server may take to say which tools it has."""
_PAGES: Final = 50


class McpRefused(LastcallError):  # noqa: N818 -- named as the other errors are, for what it says
    """The server answered with an error."""

    code = "mcp_refused"


class ClientServer:
    """One server of the client. `status` is the reference's word for how it is doing."""

    def __init__(self, name: str, client: Client) -> None:
        self.name = name
        self.status = "pending"
        self.about: Mapping[str, Any] = {}
        self.tools: tuple[Tool, ...] = ()
        self._client = client
        self._number = 0

    async def connect(self) -> None:
        """Ask which tools it has. A server that does not answer has none and is shown as failed."""
        try:
            hello = {
                "protocolVersion": PROTOCOL,
                "capabilities": {},
                "clientInfo": {"name": "lastcall", "version": VERSION},
            }
            answer = await self._request("initialize", hello, timeout_s=CONNECT_S)
            self.about = dict(about) if isinstance(about := answer.get("serverInfo"), Mapping) else {}
            await self._send({"jsonrpc": "2.0", "method": "notifications/initialized"}, timeout_s=CONNECT_S)
            self.tools = remote_tools(self.name, [entry async for entry in self._listed()], self._of_run)
        except (ClientGone, McpRefused, TimeoutError):
            self.status = "failed"
        else:
            self.status = "connected"

    async def _listed(self) -> Any:
        cursor: Any = None
        for _ in range(_PAGES):
            page = await self._request("tools/list", {} if cursor is None else {"cursor": cursor}, timeout_s=CONNECT_S)
            listed = page.get("tools")
            for entry in listed if isinstance(listed, list) else ():
                if isinstance(entry, Mapping):
                    yield entry
            cursor = page.get("nextCursor")
            if not cursor:
                return

    async def _of_run(self, tool: str, arguments: JsonObject, context: ToolContext) -> Mapping[str, Any]:
        return await self._call(tool, arguments, context.call_id)

    async def _call(self, tool: str, arguments: JsonObject, call_id: str) -> Mapping[str, Any]:
        meta = {"claudecode/toolUseId": call_id, "progressToken": self._number + 1}
        return await self._request("tools/call", {"name": tool, "arguments": arguments, "_meta": meta})

    async def _request(self, method: str, params: Frame, *, timeout_s: float | None = None) -> Mapping[str, Any]:
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        answer = await self._send(message, timeout_s=timeout_s)
        error = answer.get("error")
        if isinstance(error, Mapping):
            raise McpRefused(
                f"the server {self.name} answered with an error: {error.get('message', 'no reason given')}"
            )
        result = answer.get("result")
        return result if isinstance(result, Mapping) else {}

    async def _send(self, message: Frame, *, timeout_s: float | None) -> Mapping[str, Any]:
        request = {"subtype": "mcp_message", "server_name": self.name, "message": message}
        answer = (await self._client.ask(request, timeout_s=timeout_s)).get("mcp_response")
        return answer if isinstance(answer, Mapping) else {}
