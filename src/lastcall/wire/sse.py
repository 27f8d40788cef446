"""Server-sent events: bytes in any chunking to events.

Follows the event-stream format of the HTML standard at the level of bytes: lines end with CR, LF or CRLF (a pair may be
split between two reads), a byte order mark at the start is skipped, lines that begin with a colon are comments, a space
after the colon is optional, several `data` lines make one event. Other line separators of Unicode (U+0085, U+2028) are
data. The cost is linear in the bytes, however they are cut.

Must not go in here: what an event means (`wire.anthropic_reply`, `wire.openai_reply`), reading from a socket.
"""

from __future__ import annotations

from msgspec import Struct

from lastcall.errors import ReplyTooLarge

MAX_EVENT_BYTES = 32 * 1024 * 1024
MAX_STREAM_BYTES = 64 * 1024 * 1024

_BOM = b"\xef\xbb\xbf"
_CR, _LF = 0x0D, 0x0A


class SseLimits(Struct, frozen=True):
    """Budgets: bytes of one event (its unfinished line included) and of the whole stream (comments included)."""

    event_bytes: int = MAX_EVENT_BYTES
    stream_bytes: int = MAX_STREAM_BYTES


class SseEvent(Struct, frozen=True):
    """One event. `name` is `""` where the stream gave none, `data` its lines joined by LF, not yet decoded."""

    name: str
    data: bytes


class SseDecoder:
    """Turns the bytes of one stream into its events.

    Feed it every chunk in order, then call `finish` once. `seen_bytes` counts everything fed.
    """

    def __init__(self, limits: SseLimits | None = None) -> None:
        self._limits = limits or SseLimits()
        self._line = bytearray()  # the line that has not ended yet; grows in place, so tiny chunks stay linear
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._name = ""
        self._after_cr = False
        self._first_line = True
        self.seen_bytes = 0

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that `chunk` completes.

        Raises `ReplyTooLarge` when an event or the stream is over its budget; the decoder is of no use afterwards.
        """
        self.seen_bytes += len(chunk)
        if self.seen_bytes > self._limits.stream_bytes:
            raise ReplyTooLarge(f"the reply is larger than {self._limits.stream_bytes} bytes")
        if self._after_cr and chunk:
            self._after_cr = False
            if chunk[0] == _LF:
                chunk = chunk[1:]
        events: list[SseEvent] = []
        for line in chunk.splitlines(keepends=True):  # bytes are split at CR, LF and CRLF only
            self._line += line.rstrip(b"\r\n")
            self._check_event()
            self._after_cr = line[-1] == _CR
            if self._after_cr or line[-1] == _LF:
                events.extend(self._end_line())
        return events

    def finish(self) -> SseEvent | None:
        """What the end of the stream leaves without its empty line: the last event, possibly torn.

        The standard drops it. Servers exist that close without the last line end, so the caller may take it if its data
        prove whole (the text of a JSON object is whole or no JSON).
        """
        if self._line:
            self._end_line()
        return self._dispatch()

    def _check_event(self) -> None:
        if self._data_bytes + len(self._line) > self._limits.event_bytes:
            raise ReplyTooLarge(f"an event of the reply is larger than {self._limits.event_bytes} bytes")

    def _end_line(self) -> tuple[SseEvent, ...]:
        line = bytes(self._line)
        self._line.clear()
        if self._first_line:
            self._first_line = False
            line = line.removeprefix(_BOM)
        if not line:
            event = self._dispatch()
            return () if event is None else (event,)
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
            self._data_bytes += len(value) + 1
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        return ()

    def _dispatch(self) -> SseEvent | None:
        event = SseEvent(self._name, b"\n".join(self._data)) if self._data else None
        self._data.clear()
        self._data_bytes = 0
        self._name = ""
        return event
