"""All regular files below a directory that is already open, in a fixed order, without following a link.

Directories are opened relative to the one above them, so that nobody can lead the walk outside by swapping one for a
link. Folders of version control are left out, as are the kernel's own file systems.

Must not go in here: patterns (`tools.globs`), contents.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from msgspec import Struct

from lastcall.tools.paths import kernel_devices

MAX_DEPTH = 100
_LEFT_OUT = frozenset({".git", ".hg", ".svn", ".jj", ".bzr"})
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Found(Struct, frozen=True):
    """A file: `name` in the directory `parent_fd` (open until the next one is asked for), `path` from the top."""

    path: str
    name: str
    parent_fd: int


def files_below(fd: int) -> Iterator[Found]:
    """Every regular file below the directory `fd`, names in order, a directory's files before those below it.

    What cannot be opened is passed over.
    """
    yield from _below(fd, "", MAX_DEPTH, kernel_devices())


def _below(fd: int, prefix: str, depth: int, shunned: frozenset[int]) -> Iterator[Found]:
    files, folders = _names(fd)
    for name in files:
        yield Found(prefix + name, name, fd)
    for name in folders if depth else ():
        try:
            below = os.open(name, _DIRECTORY, dir_fd=fd)
        except OSError:
            continue
        try:
            if os.fstat(below).st_dev not in shunned:
                yield from _below(below, f"{prefix}{name}/", depth - 1, shunned)
        finally:
            os.close(below)


def _names(fd: int) -> tuple[list[str], list[str]]:
    """The names of files and of folders in a directory."""
    files: list[str] = []
    folders: list[str] = []
    try:
        with os.scandir(fd) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                elif entry.is_file(follow_symlinks=False):
                    files.append(entry.name)
    except OSError:
        return [], []
    return sorted(files), sorted(name for name in folders if name not in _LEFT_OUT)
