"""Ids of messages that a service uses twice: a reply that starts anew under the id of one taken back is another message.

Some servers name every message alike. To the core an id that was taken back is dead for good, so a living reply gets a
free one before it is heard.

Must not go in here: which messages are taken back (`core.decide`).
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from lastcall.core.events import BlockEnded, Event, FellBack, ReplyEnded, ReplyStarted, Retrying
from lastcall.nouns.ids import MessageId


class LivingIds:
    """Renames what a request's replies say, where their service repeats the id of a dead message."""

    def __init__(self) -> None:
        self._request = 0
        self._names: dict[MessageId, MessageId] = {}

    def heard(self, event: Event, dead: Collection[MessageId]) -> Event:
        """The event under the id that its message has here. `dead` are the ids taken back so far."""
        match event:
            case ReplyStarted(request=request, message_id=given):
                if request != self._request:
                    self._request, self._names = request, {}
                self._names.pop(given, None)
                if given in dead:
                    self._names[given] = _free(given, dead)
                return replace(event, message_id=self._name(request, given))
            case BlockEnded(request=request, message_id=given) | ReplyEnded(request=request, message_id=given):
                return replace(event, message_id=self._name(request, given))
            case Retrying(request=request, retracted=gone) | FellBack(request=request, retracted=gone):
                return replace(event, retracted=tuple(self._name(request, given) for given in gone))
            case _:
                return event

    def _name(self, request: int, given: MessageId) -> MessageId:
        return self._names.get(given, given) if request == self._request else given


def _free(given: MessageId, dead: Collection[MessageId]) -> MessageId:
    n = 2
    while f"{given}_{n}" in dead:
        n += 1
    return MessageId(f"{given}_{n}")
