"""Who shows a run: frames as lines, frames collected, or nothing.

Must not go in here: what a frame looks like (`wire.frames`), what a person sees (`cli.show`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from lastcall.core.events import Progress
from lastcall.core.records import Record
from lastcall.nouns.result import TerminalResult
from lastcall.runtime.ports import Publisher
from lastcall.wire.envelope import result_frame
from lastcall.wire.frames import Frame, Framer, Stage


class Silent:
    """Nobody watches."""

    def records(self, records: Sequence[Record]) -> None:
        """Show nothing."""

    def progress(self, progress: Progress) -> None:
        """Show nothing."""

    def result(self, result: TerminalResult) -> None:
        """Show nothing."""

    def tell(self, subtype: str, fields: Frame) -> None:
        """Show nothing."""

    def restage(self, stage: Stage) -> None:
        """Nothing was shown."""


SILENT = Silent()


class FramePublisher:
    """Frames of records, given to `emit` one by one.

    With partial messages, answers that the core gave at once wait for the end of their block's raw events, so that the
    stream keeps the provider's order.
    """

    def __init__(self, stage: Stage, new_uuid: Callable[[], str], emit: Callable[[Frame], None]) -> None:
        self._stage = stage
        self._framer = Framer(stage, new_uuid)
        self._new_uuid = new_uuid
        self._emit = emit
        self._open_block = False
        self._waiting: list[Frame] = []

    def records(self, records: Sequence[Record]) -> None:
        """Show what is true from now on."""
        for record in records:
            for frame in self._framer.frames(record):
                if self._open_block and frame["type"] == "user":
                    self._waiting.append(frame)
                else:
                    self._emit(frame)

    def progress(self, progress: Progress) -> None:
        """Show a piece of a block."""
        for frame in self._framer.progress(progress):
            self._emit(frame)
        kind = progress.event.get("type")
        if kind == "content_block_start" and self._stage.partial:
            self._open_block = True
        elif kind in ("content_block_stop", "message_stop"):
            self.flush()

    def flush(self) -> None:
        """Show what waited for a block's end."""
        self._open_block = False
        waiting, self._waiting = self._waiting, []
        for frame in waiting:
            self._emit(frame)

    def tell(self, subtype: str, fields: Frame) -> None:
        """Show a system frame beside the run's."""
        self._emit(self._framer.system(subtype, fields))

    def restage(self, stage: Stage) -> None:
        """Show the session so from now on."""
        self._stage = replace(stage, partial=self._stage.partial)
        self._framer.restage(self._stage)

    def result(self, result: TerminalResult) -> None:
        """Show the end."""
        self.flush()
        self._emit(result_frame(result, self._stage, self._new_uuid()))


class Several:
    """Several watchers, told in order."""

    def __init__(self, publishers: Iterable[Publisher]) -> None:
        self._publishers = tuple(publishers)

    def records(self, records: Sequence[Record]) -> None:
        """Tell all."""
        for publisher in self._publishers:
            publisher.records(records)

    def progress(self, progress: Progress) -> None:
        """Tell all."""
        for publisher in self._publishers:
            publisher.progress(progress)

    def result(self, result: TerminalResult) -> None:
        """Tell all."""
        for publisher in self._publishers:
            publisher.result(result)

    def tell(self, subtype: str, fields: Frame) -> None:
        """Tell all."""
        for publisher in self._publishers:
            publisher.tell(subtype, fields)

    def restage(self, stage: Stage) -> None:
        """Tell all."""
        for publisher in self._publishers:
            publisher.restage(stage)
