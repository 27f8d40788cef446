"""All regular files below a directory that is already open, in a fixed order, without following a link.

With `Ignores`, what `.gitignore` files leave out is left out.

Directories are opened relative to the one above them, so that nobody can lead the walk outside by swapping one for a
link. Folders of version control are left out, as are the kernel's own file systems.

Must not go in here: patterns (`tools.globs`), contents.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator

from msgspec import Struct

from lastcall.tools.ignores import Ignores
from lastcall.tools.paths import kernel_devices

MAX_DEPTH = 100
_LEFT_OUT = frozenset({".git", ".hg", ".svn", ".jj", ".bzr"})
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_MARKS = frozenset({".git", ".gitignore"})
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Found(Struct, frozen=True):
    """A file: `name` in the directory `parent_fd` (open until the next one is asked for), `path` from the top."""

    path: str
    name: str
    parent_fd: int


def files_below(fd: int, ignores: Ignores | None = None, pulse: Callable[[], None] = lambda: None) -> Iterator[Found]:
    """Every regular file below the directory `fd`, names in order, a directory's files before those below it.

    `ignores` is what counts above. What cannot be opened is passed over. `pulse` is called for everything that is looked
    at, also for what is left out; what it raises ends the walk.
    """
    yield from _Walk(kernel_devices(), pulse).below(fd, "", MAX_DEPTH, ignores)


class _Walk:
    """One walk; `shunned` are devices that it does not enter."""

    def __init__(self, shunned: frozenset[int], pulse: Callable[[], None]) -> None:
        self._shunned = shunned
        self._pulse = pulse

    def below(self, fd: int, prefix: str, depth: int, ignores: Ignores | None) -> Iterator[Found]:
        names = _names(fd)
        left_out = ignores.below(fd, prefix, names.marks) if ignores is not None else None
        for name in names.files:
            self._pulse()
            path = prefix + name
            if left_out is None or not left_out.leave_out(path, folder=False):
                yield Found(path, name, fd)
        for name in names.folders if depth else ():
            self._pulse()
            path = prefix + name
            if left_out is not None and left_out.leave_out(path, folder=True):
                continue
            try:
                below = os.open(name, _DIRECTORY, dir_fd=fd)
            except OSError:
                continue
            try:
                if os.fstat(below).st_dev not in self._shunned:
                    yield from self.below(below, f"{path}/", depth - 1, left_out)
            finally:
                os.close(below)


def open_below(fd: int, path: str) -> int | None:
    """The regular file at `path` below the directory `fd`, opened for reading without following a link; else `None`."""
    *folders, name = path.split("/")
    opened: list[int] = []
    try:
        for folder in folders:
            opened.append(os.open(folder, _DIRECTORY, dir_fd=opened[-1] if opened else fd))
        return open_file_at(opened[-1] if opened else fd, name)
    except OSError:
        return None
    finally:
        for folder_fd in opened:
            os.close(folder_fd)


def open_file_at(parent_fd: int, name: str) -> int | None:
    """The regular file of this name, opened for reading; `None` for anything else, which is not waited for."""
    try:
        fd = os.open(name, _FILE, dir_fd=parent_fd)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    return None


class _Names(Struct, frozen=True):
    files: list[str]
    folders: list[str]
    marks: frozenset[str]
    """Names that say something about the others."""


def _names(fd: int) -> _Names:
    """The names of files and of folders in a directory."""
    files: list[str] = []
    folders: list[str] = []
    marks: list[str] = []
    try:
        with os.scandir(fd) as entries:
            for entry in entries:
                if entry.name in _MARKS:
                    marks.append(entry.name)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                elif entry.is_file(follow_symlinks=False):
                    files.append(entry.name)
    except OSError:
        return _Names([], [], frozenset())
    return _Names(sorted(files), sorted(name for name in folders if name not in _LEFT_OUT), frozenset(marks))
