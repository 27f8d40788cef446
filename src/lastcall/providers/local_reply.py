"""The engine's text of one reply, piece by piece, to events.

The grammar leaves only a few beginnings, so a piece that cannot begin a reply proves that the grammar is not in force:
that is `NotAsOffered`, and the reply is not used. Nothing is repaired: an input that was cut off stays as it is, and is
read as any model's is (`wire.json.read_call`).

Must not go in here: the engine's protocol (`.local`), the grammar's text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lastcall.core.events import BlockEnded, Progress, ProviderEvent, ReplyEnded, ReplyStarted
from lastcall.nouns.ids import CallId, MessageId, Uuid
from lastcall.nouns.messages import AssistantBlock, TextBlock
from lastcall.nouns.result import Usage
from lastcall.providers.local_grammar import Offer, call_prefix
from lastcall.wire.json import clean_text, read_call

_END: Final = "}"
_SHOWN: Final = 60


class NotAsOffered(Exception):  # noqa: N818 -- it says what the reply is
    """The reply is nothing that the grammar allows, so the grammar is not in force."""


class LocalReply:
    """One reply on its way in."""

    def __init__(self, request: int, model: str, offer: Offer, mint: Callable[[], str]) -> None:
        self._request = request
        self._model = model
        self._offer = offer
        self._mint = mint
        self._prefixes = {call_prefix(name): name for name in offer.tools}
        self._held = ""  # text that has not shown yet what it is, or may be the end of a call
        self._tool: str | None = None
        self._parts: list[str] = []
        self.begun = False
        self.message_id = MessageId(f"msg_{mint().replace('-', '')}")

    # -- beginning --------------------------------------------------------------------------------------------------

    def feed(self, piece: str) -> list[ProviderEvent]:
        """What a piece of text says. Raises `NotAsOffered`."""
        self._held += piece
        events: list[ProviderEvent] = []
        if not self.begun:
            if not self._knows_what():
                return []
            events += self._begin()
        return events + self._go_on()

    def _knows_what(self) -> bool:
        """Whether the text so far tells a call from a text."""
        start = self._held.lstrip()
        if not start:
            return False
        if self._offer.native:
            self._expect(start.startswith("{"))
            return True
        for prefix, name in self._prefixes.items():
            if start.startswith(prefix):
                self._tool, self._held = name, start.removeprefix(prefix)
                return True
        if self._offer.text and not (self._prefixes and start.startswith("{")):
            return True
        self._expect(any(prefix.startswith(start) for prefix in self._prefixes))
        return False

    def _expect(self, holds: bool) -> None:
        if not holds:
            raise NotAsOffered(self._held.strip()[:_SHOWN])

    def _begin(self) -> list[ProviderEvent]:
        self.begun = True
        message: dict[str, Any] = {
            "id": self.message_id, "type": "message", "role": "assistant", "model": self._model, "content": [],
            "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 0, "output_tokens": 0},
        }  # fmt: skip
        block: dict[str, Any] = {"type": "text", "text": ""}
        if self._tool is not None:
            self._call_id = CallId(f"toolu_{self._mint().replace('-', '')}")
            block = {"type": "tool_use", "id": self._call_id, "name": self._tool, "input": {}}
        return [
            ReplyStarted(self._request, self.message_id, self._model),
            self._told({"type": "message_start", "message": message}),
            self._told({"type": "content_block_start", "index": 0, "content_block": block}),
        ]

    def _go_on(self) -> list[ProviderEvent]:
        """The held text as far as it is certain: the last character of a call may be its closing brace."""
        if self._tool is None:
            ready, self._held = self._held, ""
        else:
            ready, self._held = self._held[:-1], self._held[-1:]
        if not ready:
            return []
        self._parts.append(ready)
        delta: dict[str, Any] = {"type": "text_delta", "text": ready}
        if self._tool is not None:
            delta = {"type": "input_json_delta", "partial_json": ready}
        return [self._told({"type": "content_block_delta", "index": 0, "delta": delta})]

    # -- end --------------------------------------------------------------------------------------------------------

    def finish(self, *, limit: str | None, usage: Usage, took_ms: int = 0) -> list[ProviderEvent]:
        """The end of the reply. `limit` is the stop reason of a reply that was cut off, `None` for one that ended.

        Raises `NotAsOffered` for a reply that ended as the grammar does not let it end.
        """
        events: list[ProviderEvent] = [] if self.begun else self._begin()
        if self._tool is None:
            events += self._go_on()
            self._expect(limit is not None or not self._offer.native or "".join(self._parts).rstrip().endswith(_END))
        elif limit is None:
            self._expect(self._held == _END)
        else:
            self._parts.append(self._held)
        whole = "".join(self._parts)
        if self._tool is not None or whole.strip():
            events.append(BlockEnded(self._request, self.message_id, self._block(whole), Uuid(self._mint())))
        reason = limit or ("end_turn" if self._tool is None else "tool_use")
        counts = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
        return [
            *events,
            self._told({"type": "content_block_stop", "index": 0}),
            self._told(
                {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": counts}
            ),
            self._told({"type": "message_stop"}),
            ReplyEnded(self._request, self.message_id, reason, usage, took_ms=took_ms),
        ]

    def _block(self, whole: str) -> AssistantBlock:
        if self._tool is None:
            return TextBlock(clean_text(whole))
        return read_call(self._call_id, self.message_id, self._tool, whole)

    def _told(self, event: Mapping[str, Any]) -> Progress:
        return Progress(self._request, event)
