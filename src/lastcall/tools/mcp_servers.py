"""MCP servers as a configuration names them, and reading that configuration.

The form is the one that MCP clients share: `{"mcpServers": {"name": {"command": ..., "args": [...], "env": {...}}}}`, or
`{"type": "http", "url": ..., "headers": {...}}`. `${NAME}` and `${NAME:-default}` stand for environment variables.

Must not go in here: starting a server (`tools.mcp`), reading files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from lastcall.errors import BadConfig
from lastcall.nouns.json import JsonValue

_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}")
_NAME = re.compile(r"[A-Za-z0-9_. -]{1,64}")


class StdioServer(Struct, frozen=True):
    """A server that is a command; it speaks through its standard input and output."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}


class HttpServer(Struct, frozen=True):
    """A server at an address (streamable HTTP)."""

    name: str
    url: str
    headers: Mapping[str, str] = {}


McpServer = StdioServer | HttpServer


def read_servers(value: JsonValue, environment: Mapping[str, str], *, where: str) -> tuple[McpServer, ...]:
    """The servers of one configuration; those that live in a client's process (`sdk`) are left out.

    Raises `BadConfig`.
    """
    listed = value.get("mcpServers") if isinstance(value, dict) else None
    if not isinstance(listed, dict):
        raise BadConfig("there is no object mcpServers", hint='Write {"mcpServers": {"name": {...}}}.', where=where)
    servers = []
    for name, entry in listed.items():
        place = f"{where}, server {name}"
        if not _NAME.fullmatch(name) or not isinstance(entry, dict):
            raise BadConfig(
                "a server needs a name of letters and digits, and an object", hint="See the docs.", where=place
            )
        if entry.get("type") != "sdk":
            servers.append(_server(name, _expanded(entry, environment, place), place))
    return tuple(servers)


def _server(name: str, entry: dict[str, JsonValue], place: str) -> McpServer:
    kind = entry.get("type", "http" if "url" in entry else "stdio")
    if kind == "stdio":
        command, args = entry.get("command"), entry.get("args", [])
        if not isinstance(command, str) or not command or not isinstance(args, list):
            raise BadConfig("a stdio server needs a command, and args as a list", hint="Correct it.", where=place)
        return StdioServer(name, command, tuple(map(str, args)), _strings(entry.get("env"), "env", place))
    if kind in ("http", "streamable-http"):
        url = entry.get("url")
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            raise BadConfig("an http server needs a url that begins with http", hint="Correct it.", where=place)
        return HttpServer(name, url, _strings(entry.get("headers"), "headers", place))
    raise BadConfig(f"servers of type {kind!r} are not supported", hint="Use stdio or http.", where=place)


def _strings(value: JsonValue, key: str, place: str) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
        raise BadConfig(f"{key} has to be an object of strings", hint="Correct it.", where=place)
    return {name: str(text) for name, text in value.items()}


def _expanded(entry: dict[str, JsonValue], environment: Mapping[str, str], place: str) -> dict[str, JsonValue]:
    """The entry with its variables replaced. Raises `BadConfig` for one that is not set."""

    def variable(match: re.Match[str]) -> str:
        found = environment.get(match.group(1), match.group(2))
        if found is None:
            raise BadConfig(f"the variable {match.group(1)} is not set", hint="Set it, or give a default.", where=place)
        return found

    def expand(value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            return _VARIABLE.sub(variable, value)
        if isinstance(value, list):
            return [expand(v) for v in value]
        if isinstance(value, dict):
            return {k: expand(v) for k, v in value.items()}
        return value

    return {key: expand(value) for key, value in entry.items()}
