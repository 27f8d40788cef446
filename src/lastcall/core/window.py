"""How much of a conversation the model's window holds: known from the model's table, or learnt from a refusal.

Must not go in here: making a history shorter (`core.compaction`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from lastcall.core.compaction import history_size
from lastcall.core.state import Entry, RunState, Said, Told
from lastcall.nouns.ids import MessageId
from lastcall.nouns.messages import AssistantMessage, UserMessage
from lastcall.nouns.result import Failed

WINDOW_FULL: Final = "model_context_window_exceeded"
"""The stop reason of a reply for which the window had no more room."""
_CHARS_PER_TOKEN: Final = 3
"""Of text in English and code there are about four; what is not known is rather taken to be too long."""
_FIGURES: Final = (
    r"(?P<asked>\d[\d,]{0,11}) tokens? ?> ?(?P<most>\d[\d,]{0,11})",
    r"(?P<asked>\d[\d,]{0,11}) tokens?, and [a-z ]{1,40} takes (?P<most>\d[\d,]{0,11})",
    r"(?s)maximum context length is (?P<most>\d[\d,]{0,11}) tokens.{0,80}?(?P<asked>\d[\d,]{0,11}) tokens",
    r"request \((?P<asked>\d[\d,]{0,11}) tokens\) exceeds the available context size \((?P<most>\d[\d,]{0,11})",
)
"""How services say it: so many tokens were asked for, and so many fit. Compiled by whoever meets such a refusal."""


def outgrown(state: RunState) -> bool:
    """Whether the history is to be made shorter: the window would not hold it, or the caller's number of turns is up."""
    if state.reply.stop_reason == WINDOW_FULL:
        return True
    every = state.policy.compact_after_turns
    if every is not None and state.replies and state.replies % every == 0:
        return True
    if state.room is not None and history_size(state.messages) + _size(state.pending) > state.room * 9 // 10:
        return True
    if state.window is None or not state.filled:
        return False
    told = _size(entry for entry in state.pending if isinstance(entry, Told))
    return state.filled + told // _CHARS_PER_TOKEN > state.window * 9 // 10


def refused_size(state: RunState, failure: Failed) -> int:
    """The size (characters) that the window does not hold, after it refused this history."""
    size = history_size(state.messages)
    figures = next(filter(None, (re.search(figure, failure.detail) for figure in _FIGURES)), None)
    if figures is None:
        return size
    asked, most = (int(figures[name].replace(",", "")) for name in ("asked", "most"))
    return size * most // asked if 0 < most < asked else size


def _size(pending: Iterable[Entry]) -> int:
    entries = tuple(pending)
    said = AssistantMessage(MessageId(""), tuple(entry.block for entry in entries if isinstance(entry, Said)))
    told = UserMessage(tuple(entry.block for entry in entries if isinstance(entry, Told)))
    return history_size((said, told))
