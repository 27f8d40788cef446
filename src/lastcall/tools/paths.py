"""The workspace: which files a run may touch, and opening them so that nobody can swap them in between.

A path is walked component by component from the root directory, each one opened relative to the one before and never
through a symbolic link: links are read and expanded here. Whether a place is allowed is decided on the directories that
are already open, so there is no moment between the check and the use. Only regular files are opened, never a device, a
FIFO or a socket, and nothing of the kernel's own file systems (`/proc/self/environ` holds keys).

Must not go in here: reading contents (`tools.files`), permission rules (`tools.permissions`).
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from enum import StrEnum

from msgspec import Struct

from lastcall.errors import BadConfig

MAX_LINKS = 40
"""Symbolic links followed in one path, as the kernel's own limit."""
MAX_PATH_BYTES = 4096
_DIRECTORY_FLAGS = (
    getattr(os, "O_PATH", getattr(os, "O_SEARCH", os.O_RDONLY)) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
)
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NO_DIRECTORY = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.ENAMETOOLONG})
_KERNEL_ROOTS = ("/proc", "/sys")


class Reason(StrEnum):
    """Why a path is refused."""

    OUTSIDE = "outside"
    MISSING = "missing"
    DIRECTORY = "directory"
    SPECIAL = "special"
    KERNEL = "kernel"
    MALFORMED = "malformed"
    LINKS = "links"
    UNREADABLE = "unreadable"


class Refusal(Struct, frozen=True):
    """A path that is not opened, and the sentence that says so."""

    reason: Reason
    message: str


class OpenedFile(Struct, frozen=True):
    """A regular file inside the workspace. `fd` belongs to the caller, who closes it; `real_path` holds no links."""

    fd: int
    real_path: str
    status: os.stat_result


class Listing(Struct, frozen=True):
    """The names in a directory inside the workspace, at most as many as were asked for."""

    real_path: str
    names: tuple[str, ...]


class OpenedDirectory(Struct, frozen=True):
    """A directory inside the workspace, opened for reading. `fd` belongs to the caller, who closes it."""

    fd: int
    real_path: str


class OpenedPlace(Struct, frozen=True):
    """Where a file is, or would be: `name` in the open directory `parent_fd`, which the caller closes.

    `status` is that of the regular file that is there, `None` if there is nothing. `parent_fd` can only be used to look
    up names in it.
    """

    parent_fd: int
    name: str
    real_path: str
    status: os.stat_result | None


class _Place(Struct, frozen=True):
    """An open directory on the walk."""

    fd: int
    name: str
    identity: tuple[int, int]


class _Stopped(Exception):  # noqa: N818 -- never leaves this module: it carries the refusal out of the walk
    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


def _refuse(reason: Reason, message: str) -> _Stopped:
    return _Stopped(Refusal(reason, message))


class Workspace:
    """The allowed roots: the working directory and the added ones. Links in their own paths are followed once, here.

    Raises `BadConfig` when a root is not a directory.
    """

    def __init__(self, cwd: str, added: Iterable[str] = (), *, home: str = "") -> None:
        """Take absolute paths. `home` is what a leading `~/` stands for (`""`: it stands for itself)."""
        roots = (cwd, *added)
        for root in roots:
            if not os.path.isdir(root):  # noqa: PTH112 -- pathlib would cost an import on the way to the first request
                raise BadConfig(f"{root} is not a directory", hint="Name an existing directory.", where="--add-dir")
        followed = [os.path.realpath(root) for root in roots]
        self.cwd = followed[0]
        self.roots = tuple(dict.fromkeys(followed))
        self._home = home

    def absolute(self, path: str) -> str:
        """The path as an absolute one, in the caller's spelling (links and `..` are kept)."""
        if self._home and (path == "~" or path.startswith("~/")):
            path = self._home + path[1:]
        return os.path.join(self.cwd, path)  # noqa: PTH118 -- `..` must stay

    def open_file(self, path: str) -> OpenedFile | Refusal:
        """A regular file, opened for reading, or why not. Never blocks on a FIFO and never reads a device."""
        walk = _Walk(self._identities())
        try:
            return walk.open_last(self.absolute(path), path)
        except _Stopped as stopped:
            return stopped.refusal
        finally:
            walk.close()

    def open_directory(self, path: str) -> OpenedDirectory | Refusal:
        """A directory, opened for reading its names, or why not."""
        walk = _Walk(self._identities())
        try:
            return walk.open_directory(self.absolute(path), path)
        except _Stopped as stopped:
            return stopped.refusal
        finally:
            walk.close()

    def open_place(self, path: str) -> OpenedPlace | Refusal:
        """The place of a regular file that may not exist yet, for replacing it; missing directories above it are made."""
        walk = _Walk(self._identities(), makes_directories=True)
        try:
            return walk.open_place(self.absolute(path), path)
        except _Stopped as stopped:
            return stopped.refusal
        finally:
            walk.close()

    def list_directory(self, path: str, *, at_most: int) -> Listing | Refusal:
        """The names in a directory of the workspace, in the order of the file system."""
        walk = _Walk(self._identities())
        try:
            return walk.list_last(self.absolute(path), path, at_most)
        except _Stopped as stopped:
            return stopped.refusal
        finally:
            walk.close()

    def _identities(self) -> frozenset[tuple[int, int]]:
        # asked each time: a root that was deleted and made anew is still the root
        found = set()
        for root in self.roots:
            with suppress(OSError):
                status = os.lstat(root)
                found.add((status.st_dev, status.st_ino))
        return frozenset(found)


class _Walk:
    """One walk from the root directory: a stack of open directories."""

    def __init__(self, roots: frozenset[tuple[int, int]], *, makes_directories: bool = False) -> None:
        self._roots = roots
        self._makes_directories = makes_directories
        self._stack: list[_Place] = []
        self._links = 0

    def close(self) -> None:
        self._shrink(0)

    def open_last(self, absolute: str, shown: str) -> OpenedFile:
        name = self._reach(absolute, shown)
        if name is None:
            raise _refuse(Reason.DIRECTORY, f"{shown} is a directory, not a file. List it, or name a file in it.")
        self._demand_inside(shown)
        parent = self._stack[-1].fd
        status = self._status(name, shown)
        if status is None:
            raise _refuse(Reason.MISSING, f"{shown} does not exist.")
        _demand_regular(status, shown)
        try:
            fd = os.open(name, _FILE_FLAGS, dir_fd=parent)
        except OSError as error:
            raise _refused_by_system(error, shown) from error
        opened = os.fstat(fd)
        if (opened.st_dev, opened.st_ino) != (status.st_dev, status.st_ino) or not stat.S_ISREG(opened.st_mode):
            os.close(fd)
            raise _refuse(Reason.SPECIAL, f"{shown} was replaced while it was being opened.")
        return OpenedFile(fd, self._real_path(name), opened)

    def open_place(self, absolute: str, shown: str) -> OpenedPlace:
        name = self._reach(absolute, shown)
        if name is None:
            raise _refuse(Reason.DIRECTORY, f"{shown} is a directory, not a file.")
        self._demand_inside(shown)
        status = self._status(name, shown)
        if status is not None:
            _demand_regular(status, shown)
        return OpenedPlace(os.dup(self._stack[-1].fd), name, self._real_path(name), status)

    def open_directory(self, absolute: str, shown: str) -> OpenedDirectory:
        name = self._reach(absolute, shown)
        if name is not None:
            status = self._status(name, shown)
            reason = Reason.MISSING if status is None else Reason.SPECIAL
            raise _refuse(reason, f"{shown} is not a directory.")
        self._demand_inside(shown)
        try:
            fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._stack[-1].fd)
        except OSError as error:
            raise _refused_by_system(error, shown) from error
        return OpenedDirectory(fd, self._real_path())

    def list_last(self, absolute: str, shown: str, at_most: int) -> Listing:
        opened = self.open_directory(absolute, shown)
        names: list[str] = []
        try:
            with os.scandir(opened.fd) as entries:
                for entry in entries:
                    names.append(entry.name)
                    if len(names) >= at_most:
                        break
        except OSError as error:
            raise _refused_by_system(error, shown) from error
        finally:
            os.close(opened.fd)
        return Listing(opened.real_path, tuple(names))

    def _reach(self, absolute: str, shown: str) -> str | None:
        """Walk to the last component: its name if it is no directory (or nothing), `None` if the walk stands in it."""
        if not _can_be_a_path(absolute):
            raise _refuse(
                Reason.MALFORMED, "the path is longer than a path can be, or holds characters no path can hold."
            )
        self._enter_root()
        todo = _components(absolute)
        while todo:
            name = todo.pop()
            if name == "..":
                self._shrink(max(1, len(self._stack) - 1))
            elif not self._enter(name):
                target = self._link_target(name, shown)
                if target is not None:
                    if target.startswith("/"):
                        self._shrink(1)
                    todo += _components(target)
                elif todo and self._make(name, shown):
                    todo.append(name)
                elif todo:
                    self._explain_missing(name, shown)
                else:
                    return name
        return None

    def _enter_root(self) -> None:
        fd = os.open("/", _DIRECTORY_FLAGS)
        status = os.fstat(fd)
        self._stack.append(_Place(fd, "", (status.st_dev, status.st_ino)))

    def _enter(self, name: str) -> bool:
        try:
            fd = os.open(name, _DIRECTORY_FLAGS, dir_fd=self._stack[-1].fd)
        except OSError as error:
            if error.errno in _NO_DIRECTORY:
                return False  # what it is instead is found out by the caller
            raise _refused_by_system(error, name) from error
        status = os.fstat(fd)
        self._stack.append(_Place(fd, name, (status.st_dev, status.st_ino)))
        return True

    def _link_target(self, name: str, shown: str) -> str | None:
        """What a symbolic link says, or `None` if this is none."""
        try:
            target = os.readlink(name, dir_fd=self._stack[-1].fd)
        except OSError:
            return None
        self._links += 1
        if self._links > MAX_LINKS:
            raise _refuse(Reason.LINKS, f"{shown} goes through more than {MAX_LINKS} symbolic links.")
        return target

    def _make(self, name: str, shown: str) -> bool:
        """Make a missing directory, where that is wanted; whether it was made."""
        if not self._makes_directories or self._status(name, shown) is not None:
            return False
        self._demand_inside(shown)
        try:
            os.mkdir(name, dir_fd=self._stack[-1].fd)
        except FileExistsError:
            pass  # somebody else made it; it is looked at again
        except OSError as error:
            raise _refused_by_system(error, shown) from error
        return True

    def _explain_missing(self, name: str, shown: str) -> None:
        """A component in the middle is no directory: say why, without telling anything about places outside."""
        self._demand_inside(shown)
        status = self._status(name, shown)
        if status is None:
            raise _refuse(Reason.MISSING, f"{shown} does not exist.")
        if stat.S_ISDIR(status.st_mode):
            raise _refuse(Reason.UNREADABLE, f"{shown} cannot be reached: permission denied.")
        raise _refuse(Reason.MISSING, f"{shown} does not exist: {name} is not a directory.")

    def _demand_inside(self, shown: str) -> None:
        if not any(place.identity in self._roots for place in self._stack):
            raise _refuse(
                Reason.OUTSIDE,
                f"{shown} is outside of the workspace. Only files in the working directory and in added directories "
                "can be used.",
            )
        if any(place.identity[0] in kernel_devices() for place in self._stack):
            raise _refuse(Reason.KERNEL, f"{shown} belongs to the kernel's own file systems and is not read.")

    def _status(self, name: str, shown: str) -> os.stat_result | None:
        try:
            return os.stat(name, dir_fd=self._stack[-1].fd, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _refused_by_system(error, shown) from error

    def _real_path(self, *more: str) -> str:
        return "/" + "/".join([*(place.name for place in self._stack[1:]), *more])

    def _shrink(self, length: int) -> None:
        while len(self._stack) > length:
            os.close(self._stack.pop().fd)


def _can_be_a_path(path: str) -> bool:
    try:
        return "\0" not in path and len(os.fsencode(path)) <= MAX_PATH_BYTES
    except UnicodeEncodeError:  # lone surrogates
        return False


def _components(path: str) -> list[str]:
    """The path's components, last one first; empty ones and `.` left out."""
    return [part for part in reversed(path.split("/")) if part not in {"", "."}]


def kernel_devices() -> frozenset[int]:
    """The devices of the kernel's own file systems, whose files are not read."""
    found = set()
    for path in _KERNEL_ROOTS:
        with suppress(OSError):
            found.add(os.lstat(path).st_dev)
    with suppress(OSError):
        found.discard(os.lstat("/").st_dev)  # where they are not mounted, they are plain directories of the root
    return frozenset(found)


_SPECIAL_KINDS = (
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISLNK, "a symbolic link that changes while it is followed"),
)


def _demand_regular(status: os.stat_result, shown: str) -> None:
    for is_kind, word in _SPECIAL_KINDS:
        if is_kind(status.st_mode):
            raise _refuse(Reason.SPECIAL, f"{shown} is {word}, not a regular file, and is not opened.")
    if stat.S_ISDIR(status.st_mode):
        raise _refuse(Reason.UNREADABLE, f"{shown} cannot be reached: permission denied.")


def _refused_by_system(error: OSError, shown: str) -> _Stopped:
    if error.errno == errno.ENAMETOOLONG:
        return _refuse(Reason.MALFORMED, "a part of the path is longer than a name can be.")
    if error.errno in {errno.ENOENT, errno.ENOTDIR}:
        return _refuse(Reason.MISSING, f"{shown} does not exist.")
    if error.errno == errno.ELOOP:
        return _refuse(Reason.SPECIAL, f"{shown} was replaced while it was being opened.")
    words = os.strerror(error.errno or 0).lower()
    return _refuse(Reason.UNREADABLE, f"{shown} cannot be opened: {words}.")
