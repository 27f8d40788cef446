"""What was submitted to a service's batch API and not yet written as a record: a file beside the output.

A round is written down before it is submitted and again when its batch has a name, so whatever happens in between, the
next sitting knows what may be paid for already. A row's entries stand until its record does. The file goes when nothing
is outstanding.

Must not go in here: asking a service (`batches.provider_batch`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final, Self, assert_never

import msgspec
from msgspec import Struct

from lastcall.batches.stored import words_of, write_all
from lastcall.errors import BadConfig, JournalError

ENDING: Final = ".batches.jsonl"


class Asked(Struct, frozen=True, array_like=True):
    """A request of a round: the row's key, a digest of service and body."""

    key: str
    digest: str


class Intended(Struct, frozen=True, tag="intended"):
    """A round is about to be submitted to a service."""

    round_id: str
    service: str
    requests: tuple[Asked, ...]


class Submitted(Struct, frozen=True, tag="submitted"):
    """A round has a batch."""

    round_id: str
    batch_id: str


class Dropped(Struct, frozen=True, tag="dropped"):
    """A round will have no answer: it was refused, never arrived, or is gone."""

    round_id: str


class Recorded(Struct, frozen=True, tag="recorded"):
    """A row has its record."""

    key: str


Line = Intended | Submitted | Dropped | Recorded
_DECODER: Final = msgspec.json.Decoder(Line)


class Place(Struct, frozen=True):
    """Where a request is: its place (from 0) in a round."""

    round_id: str
    index: int


class Ledger:
    """The rounds that are outstanding. Made by `open_ledger`; `close` at the end.

    `batches` are the names of batches by round; `doubtful` the rounds of which nobody knows whether they arrived.
    """

    def __init__(self, path: str, fd: int) -> None:
        self.path = path
        self.batches: dict[str, str] = {}
        self.doubtful: dict[str, Intended] = {}
        self._places: dict[str, list[tuple[str, Place]]] = {}
        self._fd = fd

    def places_of(self, asked: Asked) -> list[Place]:
        """Where this very request was submitted, or may have been, in that order; several times after a failure."""
        return [place for digest, place in self._places.get(asked.key, ()) if digest == asked.digest]

    @property
    def is_outstanding(self) -> bool:
        """Whether there is anything that has no record yet."""
        return bool(self._places)

    # -- writing ----------------------------------------------------------------------------------------------------

    def intend(self, round_id: str, service: str, requests: Sequence[Asked]) -> None:
        """Note a round before it is submitted. On the disk when this returns. Raises `JournalError`."""
        self._write(Intended(round_id, service, tuple(requests)), safely=True)

    def submitted(self, round_id: str, batch_id: str) -> None:
        """Note its batch. On the disk when this returns. Raises `JournalError`."""
        self._write(Submitted(round_id, batch_id), safely=True)

    def dropped(self, round_id: str) -> None:
        """Note that there is no answer to be had. Raises `JournalError`."""
        self._write(Dropped(round_id), safely=True)

    def recorded(self, key: str) -> None:
        """Note that a row has its record. Raises `JournalError`."""
        if key in self._places:
            self._write(Recorded(key), safely=False)

    def close(self) -> None:
        """Let go of the file; it is removed if nothing is outstanding."""
        if self._fd < 0:
            return
        os.close(self._fd)
        self._fd = -1
        if not self._places:
            os.unlink(self.path)  # noqa: PTH108 -- names are text here

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, line: Line, *, safely: bool) -> None:
        try:
            write_all(self._fd, msgspec.json.encode(line) + b"\n")
            if safely:
                os.fsync(self._fd)
        except OSError as error:
            said = f"what is submitted cannot be written down: {words_of(error)}"
            hint = "Free some space and run the same command again: it collects what was submitted."
            raise JournalError(said, hint=hint, where=self.path) from error
        self.take(line)

    # -- reading ----------------------------------------------------------------------------------------------------

    def take(self, line: Line) -> None:
        """What a line makes true."""
        match line:
            case Intended():
                self.doubtful[line.round_id] = line
                for index, asked in enumerate(line.requests):
                    self._places.setdefault(asked.key, []).append((asked.digest, Place(line.round_id, index)))
            case Submitted():
                self.doubtful.pop(line.round_id, None)
                self.batches[line.round_id] = line.batch_id
            case Dropped():
                self.doubtful.pop(line.round_id, None)
                self._forget(line)
            case Recorded():
                self._places.pop(line.key, None)
            case _:
                assert_never(line)

    def _forget(self, dropped: Dropped) -> None:
        for key, places in list(self._places.items()):
            kept = [(digest, place) for digest, place in places if place.round_id != dropped.round_id]
            if kept:
                self._places[key] = kept
            else:
                del self._places[key]


def open_ledger(output: str) -> Ledger:
    """The ledger beside an output that this process holds alone. Raises `BadConfig`, `JournalError`."""
    path = output + ENDING
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise JournalError(f"what is submitted cannot be written down: {words_of(error)}", where=path) from error
    ledger = Ledger(path, fd)
    try:
        for line in _lines(fd, path):
            ledger.take(line)
    except BaseException:
        os.close(fd)
        raise
    return ledger


def _lines(fd: int, path: str) -> list[Line]:
    """The whole lines; half a line at the end was never relied on, and is cut off."""
    content = b""
    while some := os.pread(fd, 1 << 24, len(content)):
        content += some
    whole, feed, rest = content.rpartition(b"\n")
    if rest:
        os.ftruncate(fd, len(whole) + len(feed))
    found: list[Line] = []
    for number, line in enumerate(whole.split(b"\n") if whole else (), 1):
        try:
            found.append(_DECODER.decode(line))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            hint = "If the file is not lastcall's, move it away."
            raise BadConfig(f"line {number} says nothing of a batch", hint=hint, where=path) from None
    return found
