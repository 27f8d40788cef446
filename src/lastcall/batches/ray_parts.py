"""An output of part files: a folder, here or in a store, that many sittings add files of whole records to.

A part is there whole or not at all, and never changed. The last record of a key counts, in the order of the parts' names.
Records of rows that could not be used count as never written. What no longer counts is taken out by writing what counts
into new parts before the old ones go, so that a kill in between loses nothing: what then stands twice is told apart by the
next sitting.

Must not go in here: what a record is (`batches.records`), outputs of one file (`batches.output`).
"""

from __future__ import annotations

import fcntl
import os
import time
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Final

from lastcall.batches.keys import KeySet
from lastcall.batches.ray_places import Place
from lastcall.batches.records import BAD_ROW, MadeBy, Stored, read_record
from lastcall.errors import BadConfig, JournalError, JournalLocked

_PART_BYTES: Final = 64 << 20
_MOST_PARTS: Final = 1000
"""More than so many small files are made into fewer large ones at the end."""
_ORIGINS_KEPT: Final = 4
_LOCK: Final = ".lock"
_TRIES: Final = 60


class Parts:
    """The records in a folder. Made by `open_parts`; `begin` before anything is added, `close` at the end.

    The attributes are those of `batches.output.RecordFile`.
    """

    def __init__(self, place: Place, sitting: str, lock: int | None) -> None:
        self.place = place
        self.path = place.given
        self.done = KeySet()
        self.spent_usd = 0.0
        self.spent_tokens = 0
        self.origins: list[MadeBy] = []
        self.kept: Counter[str] = Counter()
        self._sitting = sitting
        self._lock = lock
        self._count = 0
        self._is_clean = True
        self._replaces = False

    def names(self) -> list[str]:
        """The parts, oldest first. Raises `JournalError`."""
        try:
            return [name for name in self.place.names() if name.startswith("part-") and name.endswith(".jsonl")]
        except OSError as error:
            raise JournalError(f"the output cannot be read: {error}", where=self.path) from error

    def lines(self, names: Collection[str] | None = None) -> Iterator[bytes]:
        """The records as they are written. Raises `JournalError`."""
        for name in self.names() if names is None else names:
            try:
                with self.place.open(name) as file:
                    yield from file
            except OSError as error:
                raise JournalError(f"the output cannot be read: {error}", where=self.place.below(name)) from error

    def records(self) -> Iterator[Stored]:
        """The records. Raises `BadConfig` for a part that holds something else, `JournalError`."""
        for line in self.lines():
            record = read_record(line)
            if record is None:
                hint = "Name another folder; nothing was changed."
                raise BadConfig("the output holds what is no record of a batch", hint=hint, where=self.path)
            yield record

    def survey(self) -> None:
        """Look through the parts without changing them. Raises `BadConfig`, `JournalError`."""
        seen = KeySet()
        for record in self.records():
            if not seen.add(record.key) or record.outcome == BAD_ROW:
                self._is_clean = False
            if record.made_by not in self.origins and len(self.origins) < _ORIGINS_KEPT:
                self.origins.append(record.made_by)

    def begin(self, retry: Collection[str] = ()) -> None:
        """Take out what no longer counts, and note what is done, as `RecordFile.begin`. Raises `JournalError`."""
        if not self._is_clean:
            self._rewrite(with_bad_rows=False)
        for record in self.records():
            self.spent_usd += record.cost_usd or 0.0
            self.spent_tokens += record.usage.total
            if record.outcome in retry:
                self._replaces = True
            else:
                self.done.add(record.key)
                self.kept[record.outcome] += 1

    def add(self, content: bytes) -> None:
        """One more part of whole records. Raises `JournalError`."""
        self._count += 1
        try:
            self.place.write(f"part-{self._sitting}-{self._count:06}.jsonl", content)
        except OSError as error:
            hint = "Run the same command again: it goes on with what is missing."
            raise JournalError(f"the output cannot be written: {error}", hint=hint, where=self.path) from error

    def settle(self) -> None:
        """Take out what was replaced; make many small parts into few. Raises `JournalError`."""
        if self._replaces or len(self.names()) > _MOST_PARTS:
            self._rewrite(with_bad_rows=True)
            self._replaces = False

    def close(self) -> None:
        """Let go of the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _rewrite(self, *, with_bad_rows: bool) -> None:
        old = self.names()
        times = Counter[str]()
        seen = KeySet()
        for record in self.records():
            if not seen.add(record.key):
                times[record.key] = times.get(record.key, 1) + 1
        piece = bytearray()
        for line in self.lines(old):
            record_here = read_record(line)
            assert record_here is not None
            if record_here.key in times:
                times[record_here.key] -= 1
            if not times.get(record_here.key) and (with_bad_rows or record_here.outcome != BAD_ROW):
                piece += line
            if len(piece) >= _PART_BYTES:
                self.add(bytes(piece))
                piece.clear()
        if piece:
            self.add(bytes(piece))
        try:
            for name in old:
                self.place.remove(name)
        except OSError as error:
            raise JournalError(f"the output cannot be rewritten: {error}", where=self.path) from error


def open_parts(place: Place) -> Parts:
    """The output, new or with what earlier sittings left in it. On this machine it is held for this process alone.

    Raises `BadConfig` for a place that cannot be the output, `JournalLocked`, `JournalError`.
    """
    sitting = f"{time.time_ns():020}"
    lock = None
    try:
        if place.files.get_file_info(place.path).is_file:
            hint = "With --engine ray the output is a folder of part files: name a folder."
            raise BadConfig("the output cannot be used: this is a file", hint=hint, where=place.given)
        place.files.create_dir(place.path, recursive=True)
        if place.is_local:
            lock = _locked(place)
        return Parts(place, sitting, lock)
    except OSError as error:
        raise BadConfig(f"the output cannot be used: {error}", hint="Name another place.", where=place.given) from None


def _locked(place: Place) -> int:
    """The lock on a folder. A command that was killed leaves processes behind that end within seconds."""
    fd = os.open(place.below(_LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    for _ in range(_TRIES):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.5)
        else:
            return fd
    os.close(fd)
    hint = "Wait for it to end, or name another."
    raise JournalLocked("another process is writing this output", hint=hint, where=place.given)
