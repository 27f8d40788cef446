"""What was said and told, as the messages that a model is sent.

A request's messages are closed when it is asked and never touched again, so that their encoded bytes can be kept; what was
said since is pending. This module turns pending entries into messages.

Must not go in here: what goes into a request beside its messages (`core.request`), any provider's wire format.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from lastcall.core.state import Entry, Said, Told
from lastcall.nouns.ids import MessageId
from lastcall.nouns.messages import (
    AssistantBlock,
    AssistantMessage,
    Message,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    UserMessage,
)
from lastcall.nouns.tools import ToolCall, ToolResult

_HIDDEN_KINDS = frozenset({"redacted_thinking"})
_NOTHING_SAID = OpaqueBlock("text", {"type": "text", "text": "[Tool use interrupted]", "citations": []})
_NOTHING_TOLD = "(no content)"
"""What the reference sends in the place of a call whose id was used before, and of its answer."""


def close_messages(closed: tuple[Message, ...], pending: Iterable[Entry], *, joins: bool) -> tuple[Message, ...]:
    """The history with the pending entries as messages, alternating as the protocols want it.

    The model's blocks of one request make one message, whatever came between them; what it was told makes the next. A call
    without an answer and an answer without a call are left out, so every pair is whole. A message of the model that holds
    nothing to show (only thinking, nothing at all) is left out too, since no protocol takes it back. With `joins`, a text
    of lastcall's own is set apart from a text beside it by a new line, and a call whose id was used before is left out, as
    the reference does.
    """
    entries = tuple(pending)
    twice = {e.block.call_id for e in entries if joins and isinstance(e.block, ToolCall) and e.block.given_id}
    asked = {e.block.call_id for e in entries if isinstance(e, Said) and isinstance(e.block, ToolCall)}
    answered = {e.block.call_id for e in entries if isinstance(e, Told) and isinstance(e.block, ToolResult)}
    said: list[AssistantBlock] = []
    before: list[Told] = []
    told: list[Told] = []
    message_id = MessageId("")
    for entry in entries:
        block = entry.block
        if isinstance(block, ToolCall | ToolResult) and (
            block.call_id in twice or not (block.call_id in asked and block.call_id in answered)
        ):
            continue
        if isinstance(entry, Told):
            told.append(entry)
            continue
        if not said:
            before, told = told, []
            message_id = entry.message_id
        said.append(entry.block)
    if twice and not said:
        before, told = [], told or [Told(TextBlock(_NOTHING_TOLD), nudge=True)]
        said.append(_NOTHING_SAID)
    out = _tell(closed, before, joins=joins)
    if any(_shows(block) for block in said):
        out = _say(out, AssistantMessage(message_id, tuple(said)))
    return _tell(out, told, joins=joins)


def _say(messages: tuple[Message, ...], message: AssistantMessage) -> tuple[Message, ...]:
    """A reply joins the one before it if nothing was told between them (it paused)."""
    last = messages[-1] if messages else None
    if not isinstance(last, AssistantMessage):
        return (*messages, message)
    return (*messages[:-1], AssistantMessage(last.message_id, (*last.blocks, *message.blocks)))


def _shows(block: AssistantBlock) -> bool:
    match block:
        case ThinkingBlock():
            return False
        case OpaqueBlock(kind=kind):
            return kind not in _HIDDEN_KINDS
        case TextBlock(text=text):
            return bool(text.strip())
        case ToolCall():
            return True
        case _:
            assert_never(block)


def _tell(messages: tuple[Message, ...], told: list[Told], *, joins: bool) -> tuple[Message, ...]:
    """Each block joins the user message before it, unless it stands alone or comes after the model spoke."""
    before: Told | None = None
    for entry in told:
        last = messages[-1] if messages else None
        if not isinstance(last, UserMessage) or entry.alone:
            messages = (*messages, UserMessage((entry.block,), nudge=entry.nudge))
            before = entry
            continue
        head = list(last.blocks)
        of_ours = entry.nudge or (before is not None and before.nudge)
        if joins and isinstance(head[-1], TextBlock) and isinstance(entry.block, TextBlock) and of_ours:
            head[-1] = TextBlock(head[-1].text + "\n")
        messages = (*messages[:-1], UserMessage((*head, entry.block), nudge=last.nudge and entry.nudge))
        before = entry
    return messages
