"""The MCP servers of `--mcp-config`.

Must not go in here: starting them (`runtime.own_mcp`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from lastcall.contract.json_text import JsonFault, read_json
from lastcall.errors import BadConfig
from lastcall.tools.mcp_servers import McpServer, read_servers


def client_servers(configs: Iterable[str]) -> tuple[str, ...]:
    """The MCP servers of `--mcp-config` that live in the client's process (`"type": "sdk"`), by name."""
    names: list[str] = []
    for text in configs:
        read = read_json(text, numbers="exact", max_depth=100, max_bytes=1 << 24)
        value = None if isinstance(read, JsonFault) else read.value
        listed = value.get("mcpServers") if isinstance(value, dict) else None
        entries = listed.items() if isinstance(listed, dict) else ()
        names += [name for name, entry in entries if isinstance(entry, dict) and entry.get("type") == "sdk"]
    return tuple(dict.fromkeys(names))


def own_servers(configs: Iterable[str], environment: Mapping[str, str]) -> tuple[McpServer, ...]:
    """The MCP servers of `--mcp-config` that the session starts: JSON text or files; a later name replaces an earlier one.

    Raises `BadConfig`.
    """
    found: dict[str, McpServer] = {}
    for given in configs:
        where = "--mcp-config"
        text = given
        if not given.lstrip().startswith("{"):
            text, where = _text_file(given, "the MCP configuration"), given
        read = read_json(text, numbers="exact", max_depth=100, max_bytes=1 << 24)
        if isinstance(read, JsonFault):
            raise BadConfig(f"this is no JSON: {read.message}", hint="Correct it.", where=where)
        found |= {server.name: server for server in read_servers(read.value, environment, where=where)}
    return tuple(found.values())


def _text_file(path: str, what: str) -> str:
    try:
        with open(path, encoding="utf-8-sig") as file:  # noqa: PTH123
            return file.read(1 << 24)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise BadConfig(f"{what} cannot be read: {why}", hint="Check the path.", where=path) from error
    except UnicodeDecodeError:
        raise BadConfig(f"{what} is not UTF-8", hint="Save it as UTF-8.", where=path) from None
