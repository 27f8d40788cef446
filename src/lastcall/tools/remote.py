"""Tools of an MCP server, as tools of a run: named `mcp__server__tool`, their answers as content blocks.

Must not go in here: speaking to a server. Who does (`runtime.client_mcp` for those of a client) gives `Call`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

from lastcall.nouns.json import JsonObject
from lastcall.nouns.tools import ToolDefinition, define
from lastcall.tools import Output, Subject, ToolContext

Call = Callable[[str, JsonObject, ToolContext], Awaitable[Mapping[str, Any]]]
"""`call(tool, arguments, context)`: the `result` of `tools/call`. Raises for what the server refused."""

MAX_TEXT_CHARS = 100_000
"""Characters of text in one answer."""
MAX_NAME_CHARS: Final = 64
"""Of a tool's name; some services refuse a request with a longer one, and with it the run."""
MAX_IMAGE_CHARS: Final = 5_000_000
"""Of an image in base64, as services limit it."""
_SHOWN_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_DIGITS: Final = 8
_ODD = re.compile(r"[^A-Za-z0-9_-]")
_NO_SCHEMA: JsonObject = {"type": "object"}


def remote_name(server: str, tool: str) -> str:
    """The name under which the model sees a server's tool; of one that is too long, the beginning and a digest."""
    name = f"mcp__{_ODD.sub('_', server)}__{_ODD.sub('_', tool)}"
    return name if len(name) <= MAX_NAME_CHARS else _digested(name, server, tool)


def _digested(name: str, server: str, tool: str) -> str:
    """A name that only this tool has (`tools.permissions.denies_tool` knows the form)."""
    digest = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{name[: MAX_NAME_CHARS - _DIGITS - 1]}_{digest}"


def remote_tools(server: str, listed: Iterable[Mapping[str, Any]], call: Call) -> tuple[RemoteTool, ...]:
    """The tools of a server's list that a model can be offered: with a name of their own and an object as input.

    What a server lists wrongly costs that tool, not the run. Where several come to one name, whose own it is keeps it and
    the others get a digest, whatever the order in which they are listed.
    """
    entries: dict[str, Mapping[str, Any]] = {}
    for entry in listed:
        name, schema = entry.get("name"), entry.get("inputSchema", _NO_SCHEMA)
        if isinstance(name, str) and name and isinstance(schema, Mapping) and schema.get("type", "object") == "object":
            entries.setdefault(name, entry)
    shared = Counter(remote_name(server, name) for name in entries)
    tools: dict[str, RemoteTool] = {}
    for name, entry in entries.items():
        shown = remote_name(server, name)
        if shared[shown] > 1 and _ODD.search(name):
            shown = _digested(shown, server, name)
        tools.setdefault(shown, RemoteTool(server, entry, call, shown=shown))
    return tuple(tools.values())


class RemoteTool:
    """One tool of a server (`tools.Tool`). What a server says of its tools' effects is not believed: none is read-only."""

    def __init__(self, server: str, listed: Mapping[str, Any], call: Call, *, shown: str = "") -> None:
        """`listed` is an entry of `tools/list`, `shown` the name for the model, if not the usual one."""
        self._name = str(listed.get("name", ""))
        self._call = call
        schema = listed.get("inputSchema")
        description = listed.get("description")
        self._definition = define(
            shown or remote_name(server, self._name),
            description if isinstance(description, str) else "",
            {**_NO_SCHEMA, **schema} if isinstance(schema, Mapping) else _NO_SCHEMA,
        )

    @property
    def definition(self) -> ToolDefinition:
        """What the model is shown."""
        return self._definition

    @property
    def edits_files(self) -> bool:
        """It may do anything."""
        return False

    def subject(self, arguments: JsonObject) -> Subject:  # noqa: ARG002 -- a `Tool`
        """Rules are about the whole tool."""
        return None

    async def run(self, arguments: JsonObject, context: ToolContext) -> Output:
        """Have the server do it."""
        return output_of(await self._call(self._name, arguments, context))


def output_of(result: Mapping[str, Any]) -> Output:
    """A server's `tools/call` result as an output: content blocks, or text where it says that it failed."""
    content = result.get("content")
    blocks = [_block(b) for b in content if isinstance(b, Mapping)] if isinstance(content, list) else []
    if not blocks and result.get("structuredContent") is not None:
        blocks = [{"type": "text", "text": json.dumps(result["structuredContent"], ensure_ascii=False, default=float)}]
    if result.get("isError") is True:
        words = "\n".join(str(b.get("text", "")) for b in blocks if b["type"] == "text")
        return Output(words or "The tool failed without saying why.", failed=True)
    if not blocks:
        return Output("")
    blocks = _within(blocks)
    return Output(json.dumps(blocks, ensure_ascii=False, default=float), blocks=True, display=blocks)


def _within(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The blocks with their texts cut to the cap of an answer, all together."""
    room, kept = MAX_TEXT_CHARS, []
    for block in blocks:
        text = block.get("text")
        if isinstance(text, str) and len(text) > room:
            left_out = f"[… {len(text) - room:,} characters left out …]"
            kept.append({**block, "text": f"{text[:room]}\n\n{left_out}"})
            room = 0
        else:
            kept.append(block)
            room -= len(text) if isinstance(text, str) else 0
    return kept


def _block(block: Mapping[str, Any]) -> dict[str, Any]:
    """A content block of MCP in the Messages API's form; what has none becomes text."""
    match block.get("type"):
        case "text":
            return {"type": "text", "text": str(block.get("text", ""))}
        case "image":
            return _image(block.get("mimeType"), block.get("data"))
        case "resource":
            resource = block.get("resource")
            resource = resource if isinstance(resource, Mapping) else {}
            text = resource.get("text")
            where = resource.get("uri", "")
            return {"type": "text", "text": text if isinstance(text, str) else f"[resource {where}: not shown]"}
        case "resource_link":
            return {"type": "text", "text": f"[resource {block.get('name', '')}: {block.get('uri', '')}]"}
        case kind:
            return {"type": "text", "text": f"[{kind}: not shown]"}


def _image(kind: object, content: object) -> dict[str, Any]:
    """The image, or why it is not shown: a service refuses a request with one that it cannot read, and with it the run."""
    if kind not in _SHOWN_IMAGES or not isinstance(content, str):
        return {"type": "text", "text": f"[image of type {kind}: not shown]"}
    if len(content) > MAX_IMAGE_CHARS:
        return {"type": "text", "text": f"[image of {len(content):,} characters in base64: too large to be shown]"}
    try:
        base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        return {"type": "text", "text": "[image in broken base64: not shown]"}
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": content}}
