"""Where journals lie, and finding them: by id, the latest of a directory, all of them.

A session is `sessions/<project>/<session id>.jsonl` in the state directory; the project is the working directory with
every character that is no ASCII letter or digit replaced by `-`, as the reference names its folders.

Must not go in here: what is in a journal beyond its first lines.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator

from msgspec import Struct

from lastcall.core.records import Opened, Started
from lastcall.errors import BadConfig, JournalError
from lastcall.journal.load import Loaded
from lastcall.journal.store import FileJournal, create_journal, reopen_journal
from lastcall.nouns.ids import SessionId
from lastcall.nouns.messages import TextBlock
from lastcall.wire.journal import Damaged, decode_line

_NAME_LIMIT = 200
"""Characters of a folder's name; file systems take 255 bytes."""
_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_HEAD_LINES = 8
"""A session tells who it is in its first lines."""
_SUFFIX = ".jsonl"


class SessionFile(Struct, frozen=True):
    """One session on the disk. `changed_at` is seconds since the epoch."""

    session_id: SessionId
    path: str
    changed_at: float
    size_bytes: int


class SessionSummary(Struct, frozen=True):
    """What a list shows of a session. `prompt` is the first prompt's text; empty fields are unknown."""

    file: SessionFile
    cwd: str = ""
    model: str = ""
    version: str = ""
    prompt: str = ""
    unreadable: str = ""


def project_slug(cwd: str) -> str:
    """The folder name of a working directory. Long ones are cut, with a digest so that they stay apart."""
    slug = re.sub(r"[^A-Za-z0-9]", "-", cwd)
    if len(slug) <= _NAME_LIMIT:
        return slug
    digest = hashlib.sha256(cwd.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return f"{slug[:_NAME_LIMIT]}-{digest}"


class Sessions:
    """The sessions below one state directory."""

    def __init__(self, state_dir: str = "") -> None:
        """Take the state directory; `""` is the platform's own (`LASTCALL_STATE_DIR` is read by the configuration)."""
        self.root = os.path.join(state_dir or default_state_dir(), "sessions")  # noqa: PTH118

    def path(self, cwd: str, session_id: str) -> str:
        """Where this session's journal is, or would be.

        Raises `BadConfig` for an id that cannot be a file's name.
        """
        if not _SESSION_ID.fullmatch(session_id):
            raise BadConfig(
                f"{session_id!r} is no session id",
                hint="Use letters, digits, `-` and `_`, 100 at most.",
                where="--session-id",
            )
        return os.path.join(self.root, project_slug(cwd), session_id + _SUFFIX)  # noqa: PTH118

    def create(self, cwd: str, session_id: str) -> FileJournal:
        """A new journal for this session.

        Raises `BadConfig` when the id is taken, `JournalError` when the journal cannot be made.
        """
        path = self.path(cwd, session_id)
        if os.path.lexists(path):
            raise BadConfig(f"Session ID {session_id} is already in use.", hint="Resume it, or choose another.")
        return create_journal(path)

    def open(self, cwd: str, session_id: str) -> tuple[FileJournal, Loaded]:
        """The journal of a session, for going on, and what is in it.

        Raises `JournalLocked` while another process writes it, `JournalCorrupt`, `JournalTooNew`, `JournalError`.
        """
        return reopen_journal(self.path(cwd, session_id))

    def find(self, session_id: str, *, cwd: str | None = None) -> SessionFile | None:
        """The session of this id; with `cwd` only among those of that directory.

        Raises `BadConfig` for an id that cannot be one.
        """
        if cwd is not None:
            return _file(self.path(cwd, session_id))
        self.path("", session_id)
        candidates = (
            _file(os.path.join(folder, session_id + _SUFFIX))  # noqa: PTH118
            for folder in self._folders()
        )
        return next((found for found in candidates if found is not None), None)

    def find_short(self, word: str) -> SessionFile | None:
        """The session of this id, or the only one whose id begins so.

        Raises `BadConfig` for a word that cannot be one, or that several ids begin with.
        """
        found = self.find(word)
        near = [found] if found is not None else [file for file in self.of() if file.session_id.startswith(word)]
        if len(near) > 1:
            raise BadConfig(f"{len(near)} sessions begin with {word}", hint="See `lastcall sessions list --all`.")
        return near[0] if near else None

    def of(self, cwd: str | None = None) -> tuple[SessionFile, ...]:
        """The sessions of one directory, or all of them; the ones that were written last come first."""
        folders = self._folders() if cwd is None else iter([os.path.join(self.root, project_slug(cwd))])  # noqa: PTH118
        found = [file for folder in folders for file in _files_in(folder)]
        return tuple(sorted(found, key=lambda file: (-file.changed_at, file.session_id)))

    def latest(self, cwd: str) -> SessionFile | None:
        """The session of this directory that was written last; those of directories with a like name are left out."""
        return next((file for file in self.of(cwd) if summarise(file).cwd in {"", cwd}), None)

    def remove(self, file: SessionFile) -> None:
        """Delete a session.

        Raises `JournalError`.
        """
        try:
            os.unlink(file.path)  # noqa: PTH108
        except OSError as error:
            words = os.strerror(error.errno) if error.errno else str(error)
            raise JournalError(f"the session cannot be removed: {words}", where=file.path) from error

    def _folders(self) -> Iterator[str]:
        try:
            names = sorted(os.listdir(self.root))  # noqa: PTH208
        except OSError:
            return
        for name in names:
            yield os.path.join(self.root, name)  # noqa: PTH118


def default_state_dir() -> str:
    """The platform's directory for a program's state."""
    import platformdirs  # noqa: PLC0415 -- 4 ms that a run without a journal does not need

    return platformdirs.user_state_dir("lastcall", appauthor=False)


def summarise(file: SessionFile) -> SessionSummary:
    """What the first lines of a session say. Never raises: what cannot be read is told in `unreadable`."""
    opened: Opened | None = None
    prompt = ""
    why = ""
    try:
        with open(file.path, "rb") as lines:  # noqa: PTH123
            for line in (lines.readline() for _ in range(_HEAD_LINES)):
                if not line.endswith(b"\n"):
                    break
                step = decode_line(line)
                if isinstance(step, Damaged):
                    why = step.why
                    break
                for record in step.records:
                    if isinstance(record, Opened) and opened is None:
                        opened = record
                    elif isinstance(record, Started) and not prompt:
                        prompt = " ".join(b.text for b in record.blocks if isinstance(b, TextBlock))
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
    except JournalError as error:
        why = error.message
    if opened is None:
        return SessionSummary(file, prompt=prompt, unreadable=why or "it does not say who it is")
    return SessionSummary(file, opened.cwd, opened.model, opened.version, prompt, why)


def _file(path: str) -> SessionFile | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    name = os.path.basename(path).removesuffix(_SUFFIX)  # noqa: PTH119
    return SessionFile(SessionId(name), path, status.st_mtime, status.st_size)


def _files_in(folder: str) -> Iterator[SessionFile]:
    try:
        names = os.listdir(folder)  # noqa: PTH208
    except OSError:
        return
    for name in names:
        if name.endswith(_SUFFIX):
            found = _file(os.path.join(folder, name))  # noqa: PTH118
            if found is not None:
                yield found
