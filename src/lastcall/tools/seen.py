"""Which files a run has read, and in which state.

A second `Read` of an unchanged range is answered with a reminder instead of the same text again. The memory names the
call that holds the text, so that a retraction of that call also takes back the memory of it.

Must not go in here: file contents.
"""

from __future__ import annotations

from msgspec import Struct

from lastcall.nouns.ids import CallId


class FileState(Struct, frozen=True):
    """A file's identity and version: device, inode, size in bytes, time of the last change in nanoseconds."""

    device: int
    inode: int
    size: int
    changed_ns: int


class Range(Struct, frozen=True):
    """Which lines were asked for: the first line (from 1) and how many (`None`: up to the cap)."""

    offset: int
    limit: int | None


class FilesSeen:
    """The run's memory. Changed from the event loop only, and each change is one assignment, so it needs no lock."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, Range], tuple[FileState, CallId]] = {}
        self._latest: dict[str, FileState] = {}

    def has(self, path: str, part: Range, state: FileState) -> bool:
        """Whether the model has this part of the file in this very state in front of it."""
        entry = self._seen.get((path, part))
        return entry is not None and entry[0] == state

    def note(self, path: str, part: Range, state: FileState, call_id: CallId) -> None:
        """Remember that the answer to `call_id` holds this part."""
        self._seen[path, part] = (state, call_id)
        self._latest[path] = state

    def note_written(self, path: str, state: FileState) -> None:
        """The file is as a tool of this run has just written it; what was read of it before is out of date."""
        self.forget_file(path)
        self._latest[path] = state

    def latest(self, path: str) -> FileState | None:
        """The state in which this run last read or wrote the file; `None` if it did neither."""
        return self._latest.get(path)

    def forget_call(self, call_id: CallId) -> None:
        """The answer to this call is no longer in front of the model (retracted, compacted away)."""
        self._seen = {key: entry for key, entry in self._seen.items() if entry[1] != call_id}

    def forget_file(self, path: str) -> None:
        """The file was changed by a tool, or everything about it is void."""
        self._seen = {key: entry for key, entry in self._seen.items() if key[0] != path}

    def clear(self) -> None:
        """The history in front of the model is gone."""
        self._seen = {}
        self._latest = {}
