"""What `lastcall view` was given: a session, or a file that says itself what it is.

Must not go in here: serving and writing pages (`cli.view`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from lastcall.cli.sessions import find
from lastcall.contract.json_text import JsonFault, read_json
from lastcall.errors import BadConfig
from lastcall.journal.sessions import Sessions
from lastcall.viewer.envelope import story_of_envelope
from lastcall.viewer.pages import session_page
from lastcall.viewer.serving import page_of
from lastcall.viewer.tailing import Tail

if TYPE_CHECKING:
    from lastcall.batches.records import Stored

_MOST: Final = 1 << 28
"""Bytes of an envelope, or of a log of frames."""
_WANTED: Final = "Name a session, an envelope, the output of a batch or of a probe."


class ToFollow(Struct, frozen=True):
    """A journal, which may still grow."""

    path: str
    session_id: str

    def page(self) -> str:
        """It as one file. Raises `JournalError`."""
        return page_of(Tail(self.path, self.session_id))


class ToShow(Struct, frozen=True):
    """Something whose page is made at once. `page` may raise `LastcallError`."""

    page: Callable[[], str]


def choose(target: str) -> ToFollow | ToShow:
    """What this names: a file, or a session by its id or the beginning of it. Raises `BadConfig`."""
    if os.path.isdir(target):  # noqa: PTH112 -- names are text here
        raise BadConfig("this is a directory", hint=_WANTED, where=target)
    if os.path.lexists(target):
        return _of_file(target)
    if os.sep in target or target.endswith((".json", ".jsonl")):
        raise BadConfig("there is no such file", hint=_WANTED, where=target)
    file = find(target)
    return ToFollow(file.path, file.session_id)


def _of_file(path: str) -> ToFollow | ToShow:
    first = _first_line(path)
    if first.get("kind") == "step" and "records" in first:
        name = os.path.basename(path).removesuffix(".jsonl")  # noqa: PTH119
        return ToFollow(path, name)
    if first.get("type") == "probe":
        return ToShow(partial(_probe_page, path))
    if "key" in first and "outcome" in first and "made_by" in first:
        return ToShow(partial(_batch_page, path))
    frame = _result_frame(path)
    if frame is None:
        raise BadConfig("this is nothing that can be shown", hint=_WANTED, where=path)
    return _of_envelope(frame)


def _of_envelope(frame: dict[str, Any]) -> ToFollow | ToShow:
    """The journal of the run if it is on this machine, else what the envelope itself tells."""
    session = frame.get("session_id")
    try:
        file = _store().find(session) if isinstance(session, str) and session else None
    except BadConfig:
        file = None
    if file is not None:
        return ToFollow(file.path, file.session_id)
    return ToShow(partial(session_page, story_of_envelope(frame)))


def _store() -> Sessions:
    return Sessions(os.environ.get("LASTCALL_STATE_DIR", ""))


def _probe_page(path: str) -> str:
    from lastcall.probe.page import probe_page  # noqa: PLC0415 -- only for a probe
    from lastcall.probe.sheet import read_sheet  # noqa: PLC0415

    return probe_page(read_sheet(path))


def _batch_page(path: str) -> str:
    from lastcall.batches.findings import Findings  # noqa: PLC0415 -- only for a batch
    from lastcall.batches.report import report_page  # noqa: PLC0415

    return report_page(Findings(_records(path)), title=path)


def _records(path: str) -> Iterator[Stored]:
    """The records of a batch's output; half a line at the end, of a batch that goes on, is left out. Raises `BadConfig`."""
    from lastcall.batches.records import read_record  # noqa: PLC0415 -- only for a batch

    try:
        with open(path, "rb") as file:  # noqa: PTH123
            for number, line in enumerate(file, 1):
                record = read_record(line)
                if record is not None:
                    yield record
                elif line.endswith(b"\n"):
                    raise BadConfig(
                        "this line is no record of a batch", hint="Mend it.", where=f"{path}, line {number}"
                    )
    except OSError as error:
        raise _unreadable(path, error) from error


# -- files ----------------------------------------------------------------------------------------------------------


def _first_line(path: str) -> dict[str, Any]:
    return _object(_content(path, lines=1)) or {}


def _result_frame(path: str) -> dict[str, Any] | None:
    """The envelope in a file: the whole of it, or the last frame of a log."""
    content = _content(path)
    whole = _object(content)
    last = whole if whole is not None else _object(content.rstrip().rpartition(b"\n")[2])
    return last if last is not None and last.get("type") == "result" else None


def _content(path: str, *, lines: int | None = None) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            content = file.read(_MOST + 1) if lines is None else file.readline(_MOST + 1)
    except OSError as error:
        raise _unreadable(path, error) from error
    if len(content) > _MOST:
        raise BadConfig(f"this is larger than {_MOST >> 20} MiB", hint=_WANTED, where=path)
    return content


def _object(content: bytes) -> dict[str, Any] | None:
    try:
        read = read_json(content.decode(), numbers="exact", max_bytes=_MOST)
    except UnicodeDecodeError:
        return None
    return None if isinstance(read, JsonFault) or not isinstance(read.value, dict) else read.value


def _unreadable(path: str, error: OSError) -> BadConfig:
    words = os.strerror(error.errno) if error.errno else str(error)
    return BadConfig(f"this cannot be read: {words}", hint="Check the path.", where=path)
