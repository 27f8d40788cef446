"""Tools as the model sees them, and what it asks of them.

`ToolDefinition` carries no behaviour (that is `tools.Tool`). `ToolCall` is what the model asked for, never repaired and
never defaulted to `{}`: arguments are `Arguments` (readable JSON text) or `Unreadable` (the exact text and what is wrong
with it). `ToolResult` is one answer to one call, paired by id, never by position.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from lastcall.nouns.ids import CallId, MessageId
from lastcall.nouns.json import JsonObject


class ToolDefinition(Struct, frozen=True, tag=True):
    """What the model is shown. The schemas are shared and must not be changed.

    `strict_schema` is the form for a deployment that constrains decoding (sent with its strict flag instead of
    `input_schema`, where the deployment takes it); `finishing` marks the tools whose call ends the run.
    """

    name: str
    description: str
    input_schema: JsonObject
    strict_schema: JsonObject | None = None
    finishing: bool = False
    read_only: bool = False


def define(
    name: str,
    description: str,
    input_schema: JsonObject,
    *,
    strict_schema: JsonObject | None = None,
    finishing: bool = False,
    read_only: bool = False,
) -> ToolDefinition:
    """A tool definition; the one place that makes them."""
    return ToolDefinition(name, description, input_schema, strict_schema, finishing, read_only)


class Arguments(Struct, frozen=True, tag=True):
    """Arguments that could be read. `text` is the JSON text as the model wrote it.

    `duplicates` lists JSON Pointers of keys that occur more than once (the last one counts when the text is read).
    """

    text: str
    duplicates: tuple[str, ...] = ()


class UnreadableCause(StrEnum):
    """Why arguments could not be read, as far as it can be told from the text."""

    EMPTY = "empty"
    TRUNCATED = "truncated"
    UNESCAPED_QUOTE = "unescaped_quote"
    RAW_CONTROL = "raw_control"
    BAD_ESCAPE = "bad_escape"
    NOT_A_NUMBER = "not_a_number"
    TRAILING_TEXT = "trailing_text"
    FENCED = "fenced"
    TOO_DEEP = "too_deep"
    TOO_LONG = "too_long"
    BAD_UNICODE = "bad_unicode"
    SYNTAX = "syntax"


class Unreadable(Struct, frozen=True, tag=True):
    """Arguments that are no JSON that lastcall takes: the text, and where reading stopped.

    `line` and `column` start at 1, `offset` (characters) at 0. `length` is the length of the whole text when `text` was
    cut to a budget.
    """

    text: str
    cause: UnreadableCause
    message: str
    line: int
    column: int
    offset: int
    length: int


class ToolCall(Struct, frozen=True, tag=True):
    """One call that the model asked for. Made only by `wire.json.read_call`.

    `call_id` is what the provider sent, or one made by lastcall where it sent none (`made_id`) or one that was taken;
    `given_id` is the latter.
    """

    call_id: CallId
    message_id: MessageId
    name: str
    arguments: Arguments | Unreadable
    made_id: bool = False
    given_id: CallId = CallId("")


class ResultKind(StrEnum):
    """How a call was answered."""

    OK = "ok"
    FAILED = "failed"
    DENIED = "denied"
    UNKNOWN_TOOL = "unknown_tool"
    BAD_INPUT = "bad_input"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    CUT_OFF = "cut_off"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    HELD = "held"
    BLOCKED = "blocked"

    @property
    def of_tool(self) -> bool:
        """Whether a tool gave this answer, having been run."""
        return self in (ResultKind.OK, ResultKind.FAILED)

    @property
    def of_finishing(self) -> bool:
        """Whether the contract gave this answer, not a tool."""
        return self in _FINISHING


_FINISHING = frozenset({ResultKind.ACCEPTED, ResultKind.REJECTED, ResultKind.HELD})


class Halt(Struct, frozen=True, tag=True):
    """The run ends after this answer: a hook said so, or (`interrupts`) the client did when it denied the call."""

    reason: str = ""
    interrupts: bool = False


class ToolResult(Struct, frozen=True, tag=True):
    """The answer to one call.

    `content` is text, or content blocks as JSON text when `blocks` is true (images). `is_error` is `None` where the
    protocol's key is left out. `display` is what the stream shows beside it (`tool_use_result`), as a JSON value.
    `reminder` is told to the model after the content and shown to nobody else. `halt` ends the run.
    """

    call_id: CallId
    kind: ResultKind
    content: str
    is_error: bool | None = None
    blocks: bool = False
    display: Any = None
    meta: Mapping[str, Any] | None = None
    reminder: str = ""
    halt: Halt | None = None

    @property
    def failed(self) -> bool:
        """Whether the call did not do what it was asked for."""
        return bool(self.is_error)
