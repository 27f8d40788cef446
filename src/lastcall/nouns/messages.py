"""Messages: what the model said, block by block, and what it was told.

A reply's blocks arrive one by one and are kept in their order; a request's messages are computed from them
(`core.request`). Blocks that lastcall does not interpret (redacted thinking, a server's own tools) travel as `OpaqueBlock`
and are sent back unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from lastcall.nouns.ids import MessageId
from lastcall.nouns.tools import ToolCall, ToolResult


class TextBlock(Struct, frozen=True, tag=True):
    """Text of either side."""

    text: str


class ThinkingBlock(Struct, frozen=True, tag=True):
    """The model's reasoning, with the signature that must come back unchanged (`""` where there is none)."""

    text: str
    signature: str = ""


class OpaqueBlock(Struct, frozen=True, tag=True):
    """A block that is carried and not understood: the provider's own JSON value, never changed."""

    kind: str
    value: Mapping[str, Any]


AssistantBlock = TextBlock | ThinkingBlock | OpaqueBlock | ToolCall
UserBlock = TextBlock | OpaqueBlock | ToolResult


class UserMessage(Struct, frozen=True, tag=True):
    """One message to the model: prompt, answers to its calls, nudges.

    `nudge` says that nothing but lastcall's own words is in it; the reference writes such a message in another form.
    """

    blocks: tuple[UserBlock, ...]
    nudge: bool = False


class AssistantMessage(Struct, frozen=True, tag=True):
    """One message of the model."""

    message_id: MessageId
    blocks: tuple[AssistantBlock, ...]


Message = UserMessage | AssistantMessage
