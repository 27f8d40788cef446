"""`lastcall mcp`: lastcall as an MCP server on stdin and stdout, with one tool, `run`.

The flags are those of `lastcall -p` and hold for every call; the prompt comes with the call. The tool's output schema is
the contract, its structured content the verified object. A run without one is a failed call that says why.

Must not go in here: the protocol (the `mcp` library speaks it), rules of a run.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import click

from lastcall.cli.args import parse
from lastcall.cli.config import choose_profile, resolve
from lastcall.cli.stdin import Stdin
from lastcall.errors import BadConfig, LastcallError
from lastcall.nouns.result import TerminalResult
from lastcall.runtime.config import RunConfig
from lastcall.runtime.publish import Silent
from lastcall.runtime.session import open_session
from lastcall.version import VERSION

_INPUT = {
    "type": "object",
    "properties": {"prompt": {"type": "string", "description": "What is to be done, with everything it needs."}},
    "required": ["prompt"],
    "additionalProperties": False,
}
_OF_ONE_SESSION = ("resume", "continue", "session_id", "fork_session", "input_format", "output_format", "report")


@click.command("mcp", context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.pass_context
def serve_mcp(context: click.Context) -> int:
    """Serves the tool `run` over MCP (stdio). All flags of `lastcall -p` that hold for every run may follow."""
    args = parse(["-p", *context.args])
    if args.prompt is not None:
        raise BadConfig("the prompt comes with each call", hint="Leave it away.", where="lastcall mcp")
    for key in _OF_ONE_SESSION:
        if key in args.values:
            raise BadConfig("this flag is of a single run", hint="Leave it away.", where=f"--{key.replace('_', '-')}")
    environment = dict(os.environ)
    profile = choose_profile(args, environment)
    config = resolve(args, environment, profile, Stdin(), _notice)
    try:
        import mcp  # noqa: F401, PLC0415 -- optional
    except ImportError:
        raise BadConfig("serving MCP needs the mcp library", hint="pip install 'lastcall[mcp]'") from None
    anyio.run(_serve, config)
    return 0


def _notice(line: str) -> None:
    sys.stderr.write(line + "\n")


async def _serve(config: RunConfig) -> None:
    from mcp.server import Server  # noqa: PLC0415 -- optional, and half a second
    from mcp.server.stdio import stdio_server  # noqa: PLC0415 -- optional

    list_tools, call_tool = _answers(config)
    server: Server[Any] = Server("lastcall", version=VERSION, on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (received, sent):
        await server.run(received, sent, server.create_initialization_options())


Answering = Callable[[Any, Any], Awaitable[Any]]


def _answers(config: RunConfig) -> tuple[Answering, Answering]:
    """What answers `tools/list` and `tools/call`."""
    import mcp_types as types  # noqa: PLC0415 -- optional

    schema = _output_schema(config)

    async def list_tools(_context: Any, _params: Any) -> Any:
        tool = types.Tool(
            name="run",
            description="Has a model do something and answers with an object that was checked against the output schema.",
            input_schema=_INPUT,
            output_schema=schema,
        )
        return types.ListToolsResult(tools=[tool])

    async def call_tool(_context: Any, params: Any) -> Any:
        prompt = (params.arguments or {}).get("prompt")
        if params.name != "run" or not isinstance(prompt, str) or not prompt.strip():
            return _text(types, "Call run with a prompt that is a text.", failed=True)
        try:
            result = await _run(config, prompt)
        except LastcallError as error:
            return _text(types, str(error), failed=True)
        if not result.ok:
            return _text(types, f"{result.reason} (session {result.session_id})", failed=True)
        answer = _text(types, result.text if result.object_text is None else result.object_text, failed=False)
        if schema is not None and result.object_text is not None:
            answer.structured_content = json.loads(result.object_text)
        return answer

    return list_tools, call_tool


def _text(types: Any, text: str, *, failed: bool) -> Any:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=failed)


async def _run(config: RunConfig, prompt: str) -> TerminalResult:
    if not config.mcp_servers:
        async with open_session(config, lambda _: Silent()) as session:
            return await session.run(prompt)
    from lastcall.runtime.own_mcp import with_servers  # noqa: PLC0415 -- only where servers are configured

    async with (
        with_servers(config) as client,
        open_session(config, lambda _: Silent(), client=client) as session,
    ):
        return await session.run(prompt)


def _output_schema(config: RunConfig) -> dict[str, Any] | None:
    """The contract's schema, where the protocol can carry it: the root has to be an object."""
    if config.contract is None:
        return None
    schema = json.loads(config.contract.schema.text)
    return schema if isinstance(schema, dict) and schema.get("type") == "object" else None
