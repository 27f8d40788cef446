"""MCP servers of their own: started or reached when a session begins, their tools offered as tools of the run.

The `mcp` library speaks the protocol. A server that does not start, or dies, is no end of the run: its tools are missing,
or the call that it died in fails with a sentence that says so, and the next call starts it anew. A call is made a second
time only where it is certain that the server never got it. The processes of servers end with the session.

Must not go in here: what an answer means (`tools.remote`), reading configurations (`tools.mcp_servers`).
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
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
from lastcall.tools.remote import remote_tools

if TYPE_CHECKING:
    import httpx2
    from mcp import Client

START_S: Final = 30.0
CALL_S: Final = 600.0
_CLOSE_S: Final = 8.0
_LAST_WORDS_S: Final = 0.05
_BACK_OFF_S: Final = 0.5
_MAX_BACK_OFF_S: Final = 8.0
_CONNECTION_CLOSED: Final = -32000
_CALL_ID: Final = "claudecode/toolUseId"
_NOT_FOUND: Final = 404
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
        self._gone = anyio.Event()
        """The connection has ended, or is to end."""
        self._over = anyio.Event()
        """The connection has ended, and why is known."""
        self._why: BaseException | None = None
        self._settled = anyio.Event()
        self._wanted = anyio.Event()
        self._restarting = anyio.Lock()
        self._deaths = 0
        self._closing = False
        self._turned_away: set[str] = set()
        """Calls that a server at an address answered with 404, as it has to when it does not know the session."""

    def close(self) -> None:
        """Let it go; `serve` returns soon."""
        self._closing = True
        for event in (self._gone, self._wanted, self._settled):
            event.set()

    async def serve(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """Connect, report that (or that it failed), and stay connected until `close`; start anew when that is wanted."""
        await self._live(task_status.started)
        if self.status != "connected":
            task_status.started()
            return
        while not self._closing:
            await self._wanted.wait()
            self._wanted = anyio.Event()
            if not self._closing:
                await self._live(lambda: None)

    async def _live(self, connected: Callable[[], None]) -> None:
        """From connecting to the end of the connection."""
        self._gone, self._over, self._why = anyio.Event(), anyio.Event(), None
        first = self.status == "pending"
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
            try:
                await self._stay(errors, connected)
            except Exception as error:  # noqa: BLE001 -- a server and its transport may raise anything, in groups
                self._why = error
            else:
                if not self._gone.is_set():
                    self._why = TimeoutError(f"it did not answer within {self._around.start_s:g} seconds")
            if first and self.status == "pending":
                self._failed(errors)
        self._client = None
        self._gone.set()
        self._over.set()
        self._settled.set()

    async def _stay(self, errors: IO[str], connected: Callable[[], None]) -> None:
        from mcp import Client  # noqa: PLC0415 -- optional, and half a second

        with anyio.CancelScope(deadline=anyio.current_time() + self._around.start_s) as scope:
            async with self._transport(errors) as transport, Client(transport, mode="legacy") as client:
                listed = [tool async for tool in _listed(client)]
                scope.deadline = math.inf
                if self.status == "pending":
                    self.tools = remote_tools(self.name, listed, self._call)
                    self.status = "connected"
                self._client = client
                self._settled.set()
                connected()
                await self._gone.wait()

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
                    encoding_error_handler="replace",
                )
                yield _watched(stdio_client(parameters, errlog=errors), self._gone)  # type: ignore[arg-type] # a TextIO
            case HttpServer():
                import httpx2  # noqa: PLC0415 -- optional
                from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 -- optional

                limits = httpx2.Timeout(self._around.start_s, read=self._around.call_s)
                async with httpx2.AsyncClient(
                    headers=dict(server.headers), timeout=limits, event_hooks={"response": [self._hear_response]}
                ) as http:
                    yield streamable_http_client(server.url, http_client=http)
            case _:
                assert_never(server)

    async def _hear_response(self, response: httpx2.Response) -> None:
        if response.status_code == _NOT_FOUND and "mcp-session-id" in response.request.headers:
            with suppress(ValueError, LookupError, TypeError, RuntimeError):
                self._turned_away.add(json.loads(response.request.content)["params"]["_meta"][_CALL_ID])

    async def _call(self, tool: str, arguments: JsonObject, context: ToolContext) -> Mapping[str, Any]:
        again = False
        while True:
            client = await self._alive()
            if client is None:
                words = _words(self._why) if self._why is not None else "it is being closed"
                return _failure(f"The MCP server {self.name} has ended and cannot be started again: {words}")
            told = await self._ask(client, self._gone, tool, arguments, context)
            if told is not None:
                return told
            if again or not await self._never_got_it(context.call_id):
                return _failure(
                    f"The MCP server {self.name} ended in the middle of the call. Whether it took effect is unknown: "
                    "find out before you call again. The next call starts the server anew."
                )
            again = True

    async def _alive(self) -> Client | None:
        """The client of a living connection; one that has ended is started anew, after a while if that happens often."""
        async with self._restarting:
            if self._gone.is_set() and not self._closing:
                await self._over.wait()
                await anyio.sleep(back_off_s(self._deaths))
                self._deaths += 1
                self._settled = anyio.Event()
                self._wanted.set()
                await self._settled.wait()
            return self._client

    async def _ask(
        self, client: Client, gone: anyio.Event, tool: str, arguments: JsonObject, context: ToolContext
    ) -> Mapping[str, Any] | None:
        """The server's answer; `None` when the connection ended before there was one."""
        from mcp import MCPError  # noqa: PLC0415 -- optional

        meta: Any = {_CALL_ID: context.call_id, "lastcall/idempotencyKey": context.idempotency_key}
        answer: Mapping[str, Any] | None = None
        with anyio.move_on_after(self._around.call_s) as limit:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_cancel_when, gone, tasks.cancel_scope)
                try:
                    result = await client.call_tool(tool, _plain(arguments), meta=meta)
                    answer = result.model_dump(mode="json", by_alias=True, exclude_none=True)
                except MCPError as error:
                    if error.code == _CONNECTION_CLOSED or context.call_id in self._turned_away:
                        gone.set()
                        return None
                    answer = _failure(f"The MCP server {self.name} answered with an error: {error.message}")
                except (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError):
                    gone.set()
                    return None
                finally:
                    tasks.cancel_scope.cancel()
        if limit.cancelled_caught:
            return _failure(
                f"The MCP server {self.name} did not answer within {self._around.call_s:g} seconds. Whether the call took "
                "effect is unknown."
            )
        if answer is not None:
            self._deaths = 0
        return answer

    async def _never_got_it(self, call_id: str) -> bool:
        """Whether it is certain that the server did nothing: it did not know the session, or was not there at all."""
        if call_id in self._turned_away:
            self._turned_away.discard(call_id)
            return True
        import httpx2  # noqa: PLC0415 -- optional

        await self._over.wait()
        causes = list(_leaves(self._why)) if self._why is not None else []
        return bool(causes) and all(isinstance(cause, httpx2.ConnectError) for cause in causes)

    def _failed(self, errors: IO[str]) -> None:
        self.status = "failed"
        if self._around.notice is None or self._closing:
            return
        errors.seek(0)
        said = errors.read()[-_STDERR_TOLD:].strip()
        why = _words(self._why) if self._why is not None else "it ended"
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


@asynccontextmanager
async def _watched(transport: Any, gone: anyio.Event) -> AsyncIterator[Any]:
    """The transport of a command, setting `gone` when the command closes its output: nobody need call it to notice."""
    async with transport as (received, sent), anyio.create_task_group() as tasks:
        passing, passed_on = anyio.create_memory_object_stream[Any](0)

        async def pass_on() -> None:
            async with passing:
                async for message in received:
                    await passing.send(message)
            gone.set()

        tasks.start_soon(pass_on)
        yield passed_on, sent
        tasks.cancel_scope.cancel()


def back_off_s(deaths: int) -> float:
    """How long a server that has ended so often without an answer in between stays ended: at first not at all."""
    return min(_BACK_OFF_S * ((1 << min(deaths, 10)) - 1), _MAX_BACK_OFF_S)


async def _cancel_when(event: anyio.Event, scope: anyio.CancelScope) -> None:
    await event.wait()
    await anyio.sleep(_LAST_WORDS_S)  # an answer may have come with the last words
    scope.cancel()


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """The exceptions in a group of groups."""
    if isinstance(error, BaseExceptionGroup):
        for member in error.exceptions:
            yield from _leaves(member)
    else:
        yield error


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
