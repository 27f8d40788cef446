"""MCP servers of their own: started or reached when a session begins, their tools offered as tools of the run.

The `mcp` library speaks the protocol. A server that does not start, or dies, is no end of the run: its tools are missing,
or their calls fail with a sentence that says so. The processes of servers end with the session.

Must not go in here: what an answer means (`tools.remote`), reading configurations (`tools.mcp_servers`).
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import IO, TYPE_CHECKING, Any, Final, assert_never

import anyio
import anyio.abc
from msgspec import Struct

from lastcall.errors import BadConfig
from lastcall.nouns.json import JsonObject, JsonValue
from lastcall.tools import Tool, ToolContext
from lastcall.tools.environment import command_environment
from lastcall.tools.mcp_servers import HttpServer, McpServer, StdioServer
from lastcall.tools.remote import RemoteTool

if TYPE_CHECKING:
    from mcp import Client

START_S: Final = 30.0
CALL_S: Final = 600.0
_CLOSE_S: Final = 8.0
_PAGES: Final = 50
_STDERR_TOLD: Final = 500


class Surroundings(Struct, frozen=True):
    """Where servers run. `notice` is told when one does not start; `start_s` and `call_s` are time limits in seconds."""

    environment: Mapping[str, str]
    cwd: str
    notice: Callable[[str], None] | None = None
    start_s: float = START_S
    call_s: float = CALL_S


class McpConnection:
    """One server. `status` is the reference's word for how it is doing."""

    def __init__(self, server: McpServer, around: Surroundings) -> None:
        self.name = server.name
        self.status = "pending"
        self.tools: tuple[Tool, ...] = ()
        self._server = server
        self._around = around
        self._client: Client | None = None
        self._closing = anyio.Event()
        self._connected = False

    def close(self) -> None:
        """Let it go; `serve` returns soon."""
        self._closing.set()

    async def serve(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """Connect, report that (or that it failed), and stay connected until `close`."""
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
            try:
                await self._stay(task_status, errors)
            except Exception as error:  # noqa: BLE001 -- a server and its transport may raise anything, in groups
                self._failed(_words(error), errors)
        if self.status == "pending":
            self._failed(f"it did not answer within {self._around.start_s:g} seconds", None)
        self._client = None
        if not self._connected:
            task_status.started()

    async def _stay(self, task_status: anyio.abc.TaskStatus[None], errors: IO[str]) -> None:
        from mcp import Client  # noqa: PLC0415 -- optional, and half a second

        with anyio.CancelScope(deadline=anyio.current_time() + self._around.start_s) as scope:
            async with self._transport(errors) as transport, Client(transport, mode="legacy") as client:
                self.tools = tuple([RemoteTool(self.name, listed, self._call) async for listed in _listed(client)])
                scope.deadline = math.inf
                self._client = client
                self.status = "connected"
                self._connected = True
                task_status.started()
                await self._closing.wait()

    @asynccontextmanager
    async def _transport(self, errors: IO[str]) -> AsyncIterator[Any]:
        server = self._server
        match server:
            case StdioServer():
                from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: PLC0415 -- optional

                environment = command_environment(self._around.environment, idempotency_key="")
                parameters = StdioServerParameters(
                    command=server.command,
                    args=list(server.args),
                    env={**environment, **server.env},
                    cwd=self._around.cwd,
                )
                yield stdio_client(parameters, errlog=errors)  # type: ignore[arg-type] # a file is a TextIO
            case HttpServer():
                import httpx2  # noqa: PLC0415 -- optional
                from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 -- optional

                limits = httpx2.Timeout(self._around.start_s, read=self._around.call_s)
                async with httpx2.AsyncClient(headers=dict(server.headers), timeout=limits) as http:
                    yield streamable_http_client(server.url, http_client=http)
            case _:
                assert_never(server)

    async def _call(self, tool: str, arguments: JsonObject, context: ToolContext) -> Mapping[str, Any]:
        from mcp import MCPError  # noqa: PLC0415 -- optional

        client = self._client
        if client is None:
            return _failure(f"The MCP server {self.name} is gone; its tools cannot be used any more in this run.")
        meta: Any = {"claudecode/toolUseId": context.call_id, "lastcall/idempotencyKey": context.idempotency_key}
        try:
            with anyio.fail_after(self._around.call_s):
                result = await client.call_tool(tool, _plain(arguments), meta=meta)
        except TimeoutError:
            return _failure(f"The MCP server {self.name} did not answer within {self._around.call_s:g} seconds.")
        except MCPError as error:
            return _failure(f"The MCP server {self.name} answered with an error: {error.message}")
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError):
            return _failure(f"The MCP server {self.name} is gone; whether the call took effect is unknown.")
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)

    def _failed(self, why: str, errors: IO[str] | None) -> None:
        self.status = "failed"
        if self._around.notice is None or self._closing.is_set():
            return
        said = ""
        if errors is not None:
            errors.seek(0)
            said = errors.read()[-_STDERR_TOLD:].strip()
        self._around.notice(
            f"lastcall: the MCP server {self.name} cannot be used: {why}" + (f" ({said})" if said else "")
        )


@asynccontextmanager
async def connected(servers: Iterable[McpServer], around: Surroundings) -> AsyncIterator[tuple[McpConnection, ...]]:
    """The servers, each connected or failed; all are started at once, and ended at the end.

    Raises `BadConfig` when the library is not installed.
    """
    try:
        import mcp  # noqa: F401, PLC0415 -- optional
    except ImportError:
        raise BadConfig(
            "MCP servers need the mcp library", hint="pip install 'lastcall[mcp]'", where="--mcp-config"
        ) from None
    connections = tuple(McpConnection(server, around) for server in servers)
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        async with anyio.create_task_group() as starting:
            for connection in connections:
                starting.start_soon(tasks.start, connection.serve)
        try:
            yield connections
        except Exception as error:  # noqa: BLE001 -- raised below: a task group would wrap the caller's error
            failure = error
        finally:
            for connection in connections:
                connection.close()
            tasks.cancel_scope.deadline = anyio.current_time() + _CLOSE_S
    if failure is not None:
        raise failure


async def _listed(client: Client) -> AsyncIterator[Mapping[str, Any]]:
    cursor: str | None = None
    for _ in range(_PAGES):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            yield tool.model_dump(mode="json", by_alias=True, exclude_none=True)
        cursor = page.next_cursor
        if not cursor:
            return


def _plain(value: Any) -> Any:
    """Numbers as JSON libraries take them: exact decimals become integers or doubles."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, list) else value


def _failure(text: str) -> dict[str, JsonValue]:
    return {"isError": True, "content": [{"type": "text", "text": text}]}


def _words(error: BaseException) -> str:
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(dict.fromkeys(_words(member) for member in error.exceptions))
    return str(error) or type(error).__name__
