"""Putting a whole file in place: all of the new content or all of the old, never a part, and never outside.

The content goes to a new file beside the old one, to the disk, and is then renamed over it, all of it relative to a
directory that is already open. A hard link or a symbolic link at the name is replaced, not written through.

Must not go in here: what the content is (`tools.editing`), which places are allowed (`tools.paths`).
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress

from msgspec import Struct

from lastcall.tools.paths import OpenedPlace
from lastcall.tools.seen import FileState

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class NotWritten(Struct, frozen=True):
    """Why nothing was changed."""

    why: str


def state_of(status: os.stat_result) -> FileState:
    """A file's identity and version."""
    return FileState(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def put(place: OpenedPlace, content: bytes, *, expected: FileState | None) -> FileState | NotWritten:
    """Replace or make the file; its new state. `expected` is the state that the old one must still have (`None`: absent).

    Access bits of the old file are kept. Nothing is changed unless everything went well.
    """
    if place.status is not None and not place.status.st_mode & 0o222:
        return NotWritten("it is read-only")
    part = f".{place.name[:80]}.{secrets.token_hex(8)}.part"
    try:
        fd = os.open(part, _NEW, 0o666, dir_fd=place.parent_fd)
    except OSError as error:
        return NotWritten(_words(error))
    try:
        with os.fdopen(fd, "wb") as file:
            if place.status is not None:
                os.fchmod(fd, stat.S_IMODE(place.status.st_mode))
            file.write(content)
            file.flush()
            os.fsync(fd)
            written = state_of(os.fstat(fd))
        if _state_at(place) != expected:
            os.unlink(part, dir_fd=place.parent_fd)
            return NotWritten("somebody else changed it at the same time")
        os.replace(part, place.name, src_dir_fd=place.parent_fd, dst_dir_fd=place.parent_fd)
        _sync_directory(place.parent_fd)
    except OSError as error:
        with suppress(OSError):
            os.unlink(part, dir_fd=place.parent_fd)
        return NotWritten(_words(error))
    return written


def _state_at(place: OpenedPlace) -> FileState | None:
    try:
        return state_of(os.stat(place.name, dir_fd=place.parent_fd, follow_symlinks=False))
    except FileNotFoundError:
        return None


def _sync_directory(parent_fd: int) -> None:
    fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=parent_fd)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _words(error: OSError) -> str:
    return os.strerror(error.errno).lower() if error.errno else str(error)
