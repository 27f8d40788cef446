"""The bytes of a conversation that only grows: what was written once is not written again.

A request repeats the whole history, so writing it costs more with every turn unless the bytes are kept. Messages are
recognised by being the same objects; a history that is not the old one with more at its end is written afresh.

Must not go in here: how a message is written (`wire.anthropic`, `wire.openai`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_

from lastcall.nouns.messages import Message

Groups = list[tuple[int, bytes]]
"""What messages are on the wire, one after the other: where the message that begins each lies, and its bytes."""


class KeptHistory:
    """Everything but the last group, joined and kept.

    `write` is given messages that begin where a group begins. The last group stays open: what comes next may belong to it.
    """

    __slots__ = ("_closed", "_closed_messages", "_seen", "_write")

    def __init__(self, write: Callable[[Sequence[Message]], Groups]) -> None:
        self._write = write
        self._seen: tuple[Message, ...] = ()
        self._closed_messages = 0
        self._closed = bytearray()

    def join(self, messages: tuple[Message, ...]) -> tuple[bytearray, bytes]:
        """The closed groups, each with a comma behind it, and the open one (`b""` if there is none).

        The former is this object's own and must not be changed or kept.
        """
        closed = self._closed_messages
        known = self._seen[: closed + 1]  # with the message that ended the last closed group
        if len(messages) <= closed or not all(map(is_, known, messages)):
            closed = 0
            self._closed.clear()
        groups = self._write(messages[closed:])
        for _, written in groups[:-1]:
            self._closed += written
            self._closed += b","
        self._seen = messages
        self._closed_messages = closed + groups[-1][0] if groups else closed
        return self._closed, groups[-1][1] if groups else b""
