"""A contract's finishing tools, as the model sees them; the only file that knows their names.

`StructuredOutput` hands over the object, `DeclineOutput` is the honest way out, `RevisedOutput` corrects a rejected draft
(`contract.revision`). The name, description and (in compat) the schema of the first are the reference's.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from lastcall.contract.json_text import JsonFault, read_json
from lastcall.nouns.attachment import Problem
from lastcall.nouns.json import JsonObject
from lastcall.nouns.tools import Arguments, ToolDefinition, Unreadable, define

FINISH: Final = "StructuredOutput"
DECLINE: Final = "DeclineOutput"
REVISE: Final = "RevisedOutput"
NAMES: Final = (FINISH, DECLINE, REVISE)

_FINISH_WORDS: Final = (
    "Hands over the final result and ends the task. Call it once, when the work is done; its input is checked against the "
    "schema, and what does not fit comes back with the reasons."
)
_DECLINE_WORDS: Final = (
    "Ends the task without a result. Only when the result cannot be given honestly: say why, and what is missing."
)
_DECLINE_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "reason": {"type": "string"},
        "missing": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["reason"],
    "additionalProperties": False,
}


class DeclineWords(Struct, frozen=True):
    """What a decline says."""

    reason: str
    missing: tuple[str, ...]


def is_finishing(name: str, *, declines: bool, revises: bool = False) -> bool:
    """Whether a call of this tool is an attempt, where the decline tool and revisions are on offer or not."""
    return name == FINISH or (declines and name == DECLINE) or (revises and name == REVISE)


def is_revision(name: str) -> bool:
    """Whether a finishing call corrects a draft instead of handing over a whole object."""
    return name == REVISE


def finish_tool(wire_schema: JsonObject, *, notes: str = "", strict_schema: JsonObject | None = None) -> ToolDefinition:
    """The finishing tool. `notes` tells in words what the schema on the wire does not say."""
    description = f"{_FINISH_WORDS} {notes}".rstrip()
    return define(FINISH, description, wire_schema, strict_schema=strict_schema, finishing=True)


def decline_tool() -> ToolDefinition:
    """The decline tool."""
    return define(DECLINE, _DECLINE_WORDS, _DECLINE_SCHEMA, finishing=True)


def read_decline(arguments: Arguments | Unreadable) -> DeclineWords | Problem:
    """What a decline says, or why it cannot be heard."""
    if isinstance(arguments, Unreadable):
        return Problem("", "unreadable", arguments.message)
    read = read_json(arguments.text, numbers="exact")
    if isinstance(read, JsonFault):
        return Problem("", "unreadable", read.message)
    value = read.value
    if not isinstance(value, dict):
        return Problem("", "type", "must be object", {"type": "object"})
    reason, missing = value.get("reason"), value.get("missing", [])
    if not isinstance(reason, str) or not reason.strip():
        return Problem("/reason", "required", "must be a string that says why")
    if not isinstance(missing, list) or not all(isinstance(m, str) for m in missing):
        return Problem("/missing", "type", "must be an array of strings")
    return DeclineWords(reason.strip(), tuple(str(m) for m in missing))
