"""A run's records and progress as the typed events of `stream`.

Must not go in here: what the events are (`api.events`), deciding anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from lastcall.api import events as e
from lastcall.api.partial import NOTHING, PartialText
from lastcall.contract import Contract
from lastcall.contract.finishing_tools import FINISH
from lastcall.contract.wrapping import WRAP
from lastcall.core import records as r
from lastcall.core.events import Progress
from lastcall.nouns.attachment import Attachment
from lastcall.nouns.request import Channel
from lastcall.nouns.result import TerminalResult, VerdictKind
from lastcall.nouns.tools import ToolCall
from lastcall.runtime.ports import Publisher
from lastcall.runtime.publish import SILENT, Silent
from lastcall.wire.frames import Frame, Stage

_REFUSED: Final = frozenset({VerdictKind.REJECTED, VerdictKind.UNREADABLE, VerdictKind.CUT_OFF})
_REFUSED_LATER: Final = frozenset({VerdictKind.REJECTED, VerdictKind.HELD})
"""Of an object that passed the schema and waited: a rule refused it, or a call beside it failed."""

Emit = Callable[[Any], None]


class Relay:
    """A publisher whose watcher changes from run to run."""

    __slots__ = ("watcher",)

    def __init__(self) -> None:
        self.watcher: Publisher = SILENT

    def records(self, records: Sequence[r.Record]) -> None:
        """Pass on."""
        self.watcher.records(records)

    def progress(self, progress: Progress) -> None:
        """Pass on."""
        self.watcher.progress(progress)

    def result(self, result: TerminalResult) -> None:
        """Pass on."""
        self.watcher.result(result)

    def tell(self, subtype: str, fields: Frame) -> None:
        """Pass on."""
        self.watcher.tell(subtype, fields)

    def restage(self, stage: Stage) -> None:
        """Pass on."""
        self.watcher.restage(stage)


class RunWatcher(Silent):
    """Who watches one run to its end, which may also come from outside (`api.ends.observers` makes them)."""

    def aborted(self) -> None:
        """The run is over without a result: its task was cancelled, or the caller's code raised."""


class Watcher(Silent):
    """Turns what happens into events and gives them to `emit`."""

    def __init__(
        self,
        contract: Contract | None,
        emit: Emit,
        output: Any = None,
        channel: Callable[[], Channel] = lambda: Channel.TOOL,
        sent: Callable[[], Contract | None] = lambda: None,
    ) -> None:
        """`output` is the type that objects are loaded as, `None` where it is a schema.

        `sent` is the contract as the model sees it now, whose names of properties may be others.
        """
        self._contract = contract
        self._emit = emit
        self._output = output
        self._channel = channel
        self._sent = sent
        self._calls: dict[str, ToolCall] = {}
        self._attached: Attachment | None = None
        self._drafts: dict[int, PartialText] = {}
        self._held: dict[str, tuple[int, str]] = {}

    def records(self, records: Sequence[r.Record]) -> None:
        """What is true from now on, as events."""
        for record in records:
            self._record(record)

    def _record(self, record: r.Record) -> None:
        match record:
            case r.BlockSaid(block=ToolCall() as call):
                self._calls[call.call_id] = call
            case r.ToolStarted(call_id=call_id, name=name):
                given = self._calls[call_id].arguments if call_id in self._calls else None
                self._emit(e.ToolStarted(call_id, name, given.text if given is not None else ""))
            case r.CallAnswered(result=result, took_ms=took_ms):
                call_of = self._calls.get(result.call_id)
                if call_of is not None and not result.kind.of_finishing and call_of.name != FINISH:
                    name = call_of.name
                    self._emit(e.ToolFinished(result.call_id, name, result.content, result.failed, took_ms))
            case r.Attached(attachment=attachment):
                self._attached = attachment
                if self._contract is not None:
                    self._emit(e.ObjectAttached(self._contract.load(attachment.text)))
            case r.RetryNoted() | r.FallbackNoted() | r.FeatureDropped():
                self._take_back(record)
            case _:
                self._refusal(record)

    def _refusal(self, record: r.Record) -> None:
        match record:
            case r.Attempted(attempt=attempt) if attempt.verdict in _REFUSED:
                self._emit(e.AttemptRejected(attempt.n, attempt.verdict, attempt.problems, attempt.draft))
            case r.AttemptRevised(verdict=verdict, problems=problems, call_id=call_id) if verdict in _REFUSED_LATER:
                n, draft = self._held.get(call_id, (0, ""))
                self._emit(e.AttemptRejected(n, verdict, problems, draft))
            case r.Attempted(attempt=attempt):
                self._held[attempt.call_id] = (attempt.n, attempt.draft)
            case _:
                pass  # no news to a caller

    def _take_back(self, record: r.RetryNoted | r.FallbackNoted | r.FeatureDropped) -> None:
        self._drafts.clear()
        if self._attached is not None and self._attached.message_id in record.retracted:
            self._attached = None
            why = (
                f"{record.to_model} took over"
                if isinstance(record, r.FallbackNoted)
                else "the reply was asked for again"
            )
            self._emit(e.ObjectRetracted(why))

    def progress(self, progress: Progress) -> None:
        """A piece of text, or of the object."""
        event = progress.event
        match event.get("type"):
            case "message_start":
                self._drafts.clear()
            case "content_block_start":
                block = event.get("content_block") or {}
                kind = block.get("type")
                native = kind == "text" and self._contract is not None and self._channel() is Channel.NATIVE
                if native or (kind == "tool_use" and block.get("name") == FINISH):
                    self._drafts[event.get("index", 0)] = PartialText()
            case "content_block_delta":
                self._delta(event.get("index", 0), event.get("delta") or {})
            case _:
                pass  # ends of blocks come as records

    def _delta(self, index: int, delta: Frame) -> None:
        match delta.get("type"):
            case "text_delta" if self._is_prose(index, delta.get("text", "")):
                self._emit(e.TextPiece(delta["text"]))
            case "text_delta" if index in self._drafts:
                self._piece(self._drafts[index], delta["text"])
            case "input_json_delta" if index in self._drafts:
                self._piece(self._drafts[index], delta.get("partial_json", ""))
            case _:
                pass  # thinking, or arguments of another tool

    def _is_prose(self, index: int, text: str) -> bool:
        """Whether a piece of text is for people: on the native channel text that begins as an object is not."""
        draft = self._drafts.get(index)
        if draft is not None and not draft.pieces and text.strip() and not text.lstrip().startswith("{"):
            del self._drafts[index]
            draft = None
        return draft is None and bool(text)

    def _piece(self, draft: PartialText, piece: str) -> None:
        draft.pieces.append(piece)
        if len(draft.pieces) < draft.due:
            return
        value = draft.look()
        sent = self._sent()
        if sent is not None and value is not NOTHING:
            seen = sent.in_callers_view(value)
            value = NOTHING if seen is None else seen
        if self._contract is not None and self._contract.wrapped:
            value = value.get(WRAP, NOTHING) if isinstance(value, dict) else NOTHING
        if value is not NOTHING:
            self._emit(e.PartialObject(value, self._output))
