"""A history that grew too long, as a shorter one that means the same.

Answers of old calls go first, and the drafts of rejected attempts, whose problems stay; then whole exchanges, oldest first,
of which a note keeps the names of the calls and what was wrong with the drafts, and a summary what the model made of them.
What the user wrote always stays, and so do the latest messages. A call and its answer stay or go together, so the pairing
holds.

Must not go in here: when that is done (`core.decide`), asking for a summary (`core.summing`), the journal, which keeps
everything.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, assert_never

from msgspec import Struct
from msgspec.structs import replace

from lastcall.contract import long_run_words
from lastcall.nouns.ids import CallId
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
from lastcall.nouns.tools import Arguments, ResultKind, ToolCall, ToolResult

KEPT: Final = (6, 2, 0)
"""How many of the latest messages are left as they are; fewer where nothing else can be left out."""
CLEARED: Final = "[This answer was left out to save room. The call took place; do not repeat it for that alone.]"
DRAFT_CLEARED: Final = Arguments('{"left_out":"a rejected draft; what was wrong with it stands in the answer"}')
_REJECTED: Final = frozenset({ResultKind.REJECTED, ResultKind.HELD, ResultKind.CUT_OFF})
_NOTE: Final = "[Earlier turns were left out to save room. Calls made in them: "
_NOTE_END: Final = ". What they changed stays changed."
_PROBLEMS: Final = "\nWhat was wrong with the latest object that was rejected in them: "
_PROBLEMS_CAP: Final = 1_500
_COUNTED: Final = re.compile(r"(\S+) ×(\d+)")


class Shorter(Struct, frozen=True):
    """A history without its oldest exchanges.

    `kept` is what stays of them: the user's words. `gone` are they, as they were; `counted` their calls by name, `problems`
    what was wrong with the last rejected draft in them, `notes` an earlier summary. `tail` follows.
    """

    tail: tuple[Message, ...]
    kept: tuple[UserBlock, ...] = ()
    gone: tuple[Message, ...] = ()
    counted: tuple[tuple[str, int], ...] = ()
    problems: str = ""
    notes: str = ""

    def messages(self, summary: str = "") -> tuple[Message, ...]:
        """The shorter history, with a summary of what is gone; without one, an earlier summary stays."""
        if not self.gone:
            return self.tail
        words = long_run_words.shown(summary) if summary else self.notes
        notes = (TextBlock(words),) if words else ()
        return (UserMessage((*self.kept, *notes, TextBlock(self._note()))), *self.tail)

    def _note(self) -> str:
        names = ", ".join(f"{name} ×{count}" for name, count in self.counted) or "none"
        problems = f"{_PROBLEMS}{self.problems}" if self.problems else ""
        return f"{_NOTE}{names}{_NOTE_END}{problems}]"


def history_size(messages: Iterable[Message]) -> int:
    """Characters of what is said and told: what a model's window is filled with, give or take its tokens."""
    return sum(_size(block) for message in messages for block in message.blocks)


def shorten(messages: tuple[Message, ...], target: int | None = None) -> Shorter | None:
    """The shorter history of at most `target` characters (half of it, if none is given), or as near as can be.

    `None` where nothing can be left out any more.
    """
    whole = history_size(messages)
    target = whole // 2 if target is None else target
    best: Shorter | None = None
    for kept in KEPT:
        end = max(0, len(messages) - kept)
        cleared = _cleared(messages[:end])
        size = history_size(cleared) + history_size(messages[end:])
        shorter = Shorter((*cleared, *messages[end:]))
        if size > target:
            shorter = _without_oldest(messages[:end], shorter.tail, size - target)
        size = history_size(shorter.messages())
        if size < (whole if best is None else history_size(best.messages())):
            best = shorter
        if size <= target:
            break
    return best


def record_of(messages: Iterable[Message], cap: int) -> str:
    """What was said and told, as text of at most `cap` characters: all parts share the room, the longest give way."""
    parts = [part for message in messages for block in message.blocks if (part := _part(message, block)) is not None]
    left = cap - sum(len(who) + _SEAM for who, _ in parts)
    lengths = sorted(len(text) for _, text in parts)
    most = 0
    for index, length in enumerate(lengths):
        most = left // (len(lengths) - index)
        if length > most:
            break
        left -= length
        most = length
    record = "\n".join(f"{who}: {_shown(text, most)}" for who, text in parts)
    return record if len(record) <= cap else record[len(record) - cap :]


def paired(messages: Sequence[Message]) -> bool:
    """Whether every call has its answer in the next message, and every answer its call in the one before."""
    for before, after in zip(messages, (*messages[1:], UserMessage(())), strict=True):
        asked = [b.call_id for b in before.blocks if isinstance(b, ToolCall)]
        answered = [b.call_id for b in after.blocks if isinstance(b, ToolResult)]
        if isinstance(before, AssistantMessage) and sorted(asked) != sorted(answered):
            return False
    return True


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


# -- answers and drafts ---------------------------------------------------------------------------------------------


def _cleared(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The messages with short words in the place of long answers and of drafts that were rejected."""
    rejected = {
        block.call_id
        for message in messages
        for block in message.blocks
        if isinstance(block, ToolResult) and block.kind in _REJECTED
    }
    return tuple(
        replace(message, blocks=tuple(_of_model(block, rejected) for block in message.blocks))
        if isinstance(message, AssistantMessage)
        else replace(message, blocks=tuple(map(_answer, message.blocks)))
        for message in messages
    )


def _of_model(block: AssistantBlock, rejected: set[CallId]) -> AssistantBlock:
    long = isinstance(block, ToolCall) and len(block.arguments.text) > len(DRAFT_CLEARED.text)
    if long and isinstance(block, ToolCall) and block.call_id in rejected:
        return replace(block, arguments=DRAFT_CLEARED)
    return block


def _answer(block: UserBlock) -> UserBlock:
    if not isinstance(block, ToolResult) or block.kind in _REJECTED or len(block.content) <= len(CLEARED):
        return block
    return replace(block, content=CLEARED, blocks=False, display=None, reminder="")


# -- whole exchanges ------------------------------------------------------------------------------------------------


def _without_oldest(originals: tuple[Message, ...], messages: tuple[Message, ...], excess: int) -> Shorter:
    """The history without its oldest exchanges, as many as hold `excess` characters; `originals` are those that may go."""
    kept: list[UserBlock] = []
    gone: Counter[str] = Counter()
    problems, notes = "", ""
    at = freed = 0
    # an answer must not lose its call: the cut lies before a message of the model
    while at < len(messages) and (
        (at < len(originals) and freed < excess) or not isinstance(messages[at], AssistantMessage)
    ):
        message = messages[at]
        freed += history_size((message,))
        for block in message.blocks:
            if isinstance(block, ToolCall):
                gone[block.name] += 1
            elif isinstance(block, ToolResult):
                problems = block.content[:_PROBLEMS_CAP] if block.kind in _REJECTED else problems
            elif isinstance(message, AssistantMessage) or message.nudge or isinstance(block, ThinkingBlock):
                continue
            elif isinstance(block, TextBlock) and long_run_words.is_shown(block.text):
                notes = block.text
            elif isinstance(block, TextBlock) and block.text.startswith(_NOTE):
                problems = problems or block.text.partition(_PROBLEMS)[2].removesuffix("]")
                gone.update({name: int(n) for name, n in _COUNTED.findall(block.text.partition(_NOTE_END)[0])})
            else:
                kept.append(block)
                freed -= _size(block)
        at += 1
    if not gone and freed <= 0:
        return Shorter(messages)
    left_out = (*originals[:at], *messages[len(originals) : at])
    return Shorter(messages[at:], tuple(kept), left_out, tuple(sorted(gone.items())), problems, notes)


# -- the record that is summed up -----------------------------------------------------------------------------------

_SEAM: Final = 3
_GAP: Final = " [...] "


def _part(message: Message, block: AssistantBlock | UserBlock) -> tuple[str, str] | None:
    match block:
        case TextBlock(text=text):
            return ("You" if isinstance(message, AssistantMessage) else "Told", text) if text.strip() else None
        case ToolCall(name=name, arguments=arguments):
            return f"Call of {name}", arguments.text
        case ToolResult(content=content):
            return "Answer", content
        case ThinkingBlock() | OpaqueBlock():
            return None
        case _:
            assert_never(block)


def _shown(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    kept = max(0, most - len(_GAP))
    head = kept - kept // 3
    return f"{text[:head]}{_GAP}{text[len(text) - (kept - head) :]}"
