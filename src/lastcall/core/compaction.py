"""A history that grew too long, as one of at most half its size that means the same.

Answers of old calls go first; then whole exchanges, oldest first, of which a note keeps the names of the calls. What the
user wrote always stays, and so do the latest messages. A call and its answer stay or go together, so the pairing holds.

Must not go in here: when that is done (`core.decide`), the journal, which keeps everything.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, assert_never

from msgspec.structs import replace

from lastcall.nouns.messages import (
    AssistantBlock,
    AssistantMessage,
    Message,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    UserBlock,
    UserMessage,
)
from lastcall.nouns.tools import ToolCall, ToolResult

KEPT: Final = (6, 2, 0)
"""How many of the latest messages are left as they are; fewer where nothing else can be left out."""
CLEARED: Final = "[This answer was left out to save room. The call took place; do not repeat it for that alone.]"
_NOTE: Final = "[Earlier turns were left out to save room. Calls made in them: "
_NOTE_END: Final = ". What they changed stays changed.]"
_COUNTED: Final = re.compile(r"(\S+) ×(\d+)")


def history_size(messages: Iterable[Message]) -> int:
    """Characters of what is said and told: what a model's window is filled with, give or take its tokens."""
    return sum(_size(block) for message in messages for block in message.blocks)


def compact(messages: tuple[Message, ...]) -> tuple[Message, ...] | None:
    """The shorter history; `None` where nothing can be left out any more."""
    whole = history_size(messages)
    for kept in KEPT:
        end = max(0, len(messages) - kept)
        shorter = (*(_cleared(message) for message in messages[:end]), *messages[end:])
        size = history_size(shorter)
        if size > whole // 2:
            shorter = _without_oldest(shorter, end, size - whole // 2)
        if history_size(shorter) < whole:
            return shorter
    return None


def _size(block: AssistantBlock | UserBlock) -> int:
    match block:
        case TextBlock(text=text) | ThinkingBlock(text=text):
            return len(text)
        case OpaqueBlock(value=value):
            return len(str(value))
        case ToolCall(arguments=arguments):
            return len(arguments.text)
        case ToolResult(content=content):
            return len(content)
        case _:
            assert_never(block)


def _cleared(message: Message) -> Message:
    """The message with short words in the place of its long answers."""
    if isinstance(message, AssistantMessage):
        return message
    blocks = tuple(
        replace(block, content=CLEARED, blocks=False, display=None, reminder="")
        if isinstance(block, ToolResult) and len(block.content) > len(CLEARED)
        else block
        for block in message.blocks
    )
    return replace(message, blocks=blocks)


def _without_oldest(messages: tuple[Message, ...], end: int, excess: int) -> tuple[Message, ...]:
    """The history without its oldest exchanges before `end`, as many as hold `excess` characters."""
    kept: list[UserBlock] = []
    gone: Counter[str] = Counter()
    at, freed = 0, 0
    while at < end and freed < excess:
        message = messages[at]
        if isinstance(message, AssistantMessage):
            gone.update(block.name for block in message.blocks if isinstance(block, ToolCall))
            freed += history_size((message,))
        else:
            said = _of_user(message, gone)
            freed += history_size((message,)) - sum(map(_size, said))
            kept += said
        at += 1
    # an answer must not lose its call: the cut lies before a message of the model
    while at < len(messages) and not isinstance(messages[at], AssistantMessage):
        kept += _of_user(messages[at], gone)
        at += 1
    if not gone and not freed:
        return messages
    return (UserMessage((*kept, TextBlock(_note(gone)))), *messages[at:])


def _of_user(message: Message, gone: Counter[str]) -> list[UserBlock]:
    """What of a message to the model is not an answer or lastcall's own word; an older note is counted into `gone`."""
    kept: list[UserBlock] = []
    for block in message.blocks if isinstance(message, UserMessage) and not message.nudge else ():
        if isinstance(block, TextBlock) and block.text.startswith(_NOTE):
            gone.update({name: int(count) for name, count in _COUNTED.findall(block.text)})
        elif not isinstance(block, ToolResult):
            kept.append(block)
    return kept


def _note(gone: Counter[str]) -> str:
    names = ", ".join(f"{name} ×{count}" for name, count in sorted(gone.items())) or "none"
    return f"{_NOTE}{names}{_NOTE_END}"


def paired(messages: Sequence[Message]) -> bool:
    """Whether every call has its answer in the next message, and every answer its call in the one before."""
    for before, after in zip(messages, (*messages[1:], UserMessage(())), strict=True):
        asked = [b.call_id for b in before.blocks if isinstance(b, ToolCall)]
        answered = [b.call_id for b in after.blocks if isinstance(b, ToolResult)]
        if isinstance(before, AssistantMessage) and sorted(asked) != sorted(answered):
            return False
    return True
