"""Asking the client whether a call may be made: where the permission rules leave it open, and the client can be asked.

Must not go in here: the rules (`tools.permissions`), hooks (`runtime.hooks`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lastcall.nouns.json import JsonObject
from lastcall.nouns.tools import Halt, ToolCall
from lastcall.runtime.client import Client, ClientGone
from lastcall.tools import Tool
from lastcall.tools.gates import Allowed, DenialKind, Denied, Gate


def client_gate(client: Client) -> Gate:
    """The gate that asks the client (`can_use_tool`)."""

    async def gate(tool: Tool, arguments: JsonObject, call: ToolCall) -> Allowed | Denied:
        name = tool.definition.name
        rule = {"type": "addRules", "rules": [{"toolName": name}], "behavior": "allow", "destination": "localSettings"}
        request = {
            "subtype": "can_use_tool",
            "tool_name": name,
            "display_name": name,
            "input": arguments,
            "permission_suggestions": [rule],
            "tool_use_id": call.call_id,
        }
        try:
            return read_permission(await client.ask(request), arguments)
        except ClientGone as error:
            return Denied(f"The client could not be asked for permission: {error.message}.", DenialKind.USER)

    return gate


def read_permission(answer: Mapping[str, Any], arguments: JsonObject) -> Allowed | Denied:
    """What the client's answer means. Only a plain `allow` allows."""
    if answer.get("behavior") == "allow":
        updated = answer.get("updatedInput")
        return Allowed(dict(updated) if isinstance(updated, Mapping) and dict(updated) != arguments else arguments)
    message = answer.get("message")
    words = message if isinstance(message, str) and message else "The client denied this call."
    halt = Halt("the client stopped the run", interrupts=True) if answer.get("interrupt") is True else None
    return Denied(words, DenialKind.USER, halt)
