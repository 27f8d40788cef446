"""Transcripts that the reference left on this machine: where they lie, and taking one over as a history.

They are read only: going on with one starts a journal of our own under the same id.

Must not go in here: what a record means (`wire.transcript`).
"""

from __future__ import annotations

import os
import re

from lastcall.core.records import Imported, Record
from lastcall.errors import BadConfig, JournalError
from lastcall.journal.sessions import SessionFile, project_slug
from lastcall.nouns.ids import SessionId
from lastcall.wire.transcript import read_transcript

_ID = re.compile(r"[A-Za-z0-9-]{1,100}")
_SUFFIX = ".jsonl"


def find_transcript(home: str, cwd: str, session_id: str) -> str | None:
    """The path of this session's transcript of this working directory."""
    if not home or not _ID.fullmatch(session_id):
        return None
    path = os.path.join(_folder(home, cwd), session_id + _SUFFIX)  # noqa: PTH118
    return path if os.path.isfile(path) else None  # noqa: PTH113


def latest_transcript(home: str, cwd: str) -> SessionFile | None:
    """The transcript of this working directory that was written last."""
    folder = _folder(home, cwd)
    try:
        names = os.listdir(folder) if home else []  # noqa: PTH208
    except OSError:
        return None
    found = []
    for name in names:
        path = os.path.join(folder, name)  # noqa: PTH118
        if name.endswith(_SUFFIX) and os.path.isfile(path):  # noqa: PTH113
            status = os.stat(path)  # noqa: PTH116
            session_id = SessionId(name.removesuffix(_SUFFIX))
            found.append(SessionFile(session_id, path, status.st_mtime, status.st_size))
    return max(found, key=lambda file: file.changed_at, default=None)


def load_transcript(path: str) -> tuple[Record, ...]:
    """The history in it. Raises `JournalError` when it cannot be read, `BadConfig` when it holds no conversation."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            messages = read_transcript(file.read().split(b"\n"))
    except OSError as error:
        words = os.strerror(error.errno) if error.errno else str(error)
        raise JournalError(f"the transcript cannot be read: {words}", where=path) from error
    if messages is None:
        name = os.path.basename(path).removesuffix(_SUFFIX)  # noqa: PTH119
        raise BadConfig(f"No conversation found with session ID: {name}")
    return (Imported(messages),)


def _folder(home: str, cwd: str) -> str:
    return os.path.join(home, ".claude", "projects", project_slug(cwd))  # noqa: PTH118
