"""What `.gitignore` files leave out of a search, as ripgrep reads them.

They count inside of a repository only (a folder with `.git` in it), from the repository's top down to the file's own
folder; the nearest file that says something wins, and in it the last line. What lies below a folder that is left out is
left out too. Files that are no regular files, and those outside of the workspace, are not read.

Must not go in here: walking (`tools.tree`), the grammar of a line (the `pathspec` library has it).
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from msgspec import Struct

from lastcall.tools.paths import Refusal, Workspace

MAX_IGNORE_BYTES = 1 << 20
"""Of a longer file the rest is not read."""
MATCH_S = 0.1
"""For one path; a line of many stars that nearly matches could take for ever."""
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_DIRECTORY_MARK = "(?:(?P<ps_d>/)|$)"


class _Lines(Struct, frozen=True):
    """Neighbouring lines that say the same: whether what they match is kept, and what they match.

    `names` is for files and folders, `folders` for folders only, whose paths end with a slash.
    """

    keeps: bool
    names: Any  # compiled patterns of `regex`, which has no types of its own
    folders: Any

    def match(self, path: str, *, folder: bool) -> bool:
        """Whether they speak of this path. Raises `TimeoutError`."""
        return _matches(self.names, path) or (folder and _matches(self.folders, f"{path}/"))


def _matches(compiled: Any, path: str) -> bool:
    return compiled is not None and compiled.match(path, timeout=MATCH_S, concurrent=True) is not None


class _Level(Struct, frozen=True):
    """The lines of one folder's file, last ones first. `cut` is how much of a path from the top stands before it."""

    above: str
    cut: int
    lines: tuple[_Lines, ...]


class Ignores(Struct, frozen=True):
    """What is left out in one folder: the files that count there, nearest first."""

    levels: tuple[_Level, ...] = ()
    in_repository: bool = False

    def below(self, fd: int, prefix: str, names: frozenset[str]) -> Ignores:
        """What is left out in the folder `fd`, whose path from the top is `prefix` and which holds `names`."""
        starts = ".git" in names
        levels = () if starts else self.levels
        lines = _read_at(fd) if ".gitignore" in names else ()
        if lines:
            levels = (_Level("", len(prefix), lines), *levels)
        return self if levels is self.levels and not starts else Ignores(levels, self.in_repository or starts)

    def leave_out(self, path: str, *, folder: bool) -> bool:
        """Whether the file or folder at `path` from the top is left out. Raises `TimeoutError`."""
        if not self.in_repository:
            return False
        for level in self.levels:
            inner = _in_bytes(level.above + path[level.cut :])
            for lines in level.lines:
                if lines.match(inner, folder=folder):
                    return not lines.keeps
        return False


def _in_bytes(path: str) -> str:
    """One character for each byte: in these files `?` means one byte, whatever the encoding."""
    return path if path.isascii() else os.fsencode(path).decode("latin-1")


def ignores_above(top: str, workspace: Workspace) -> Ignores:
    """What the files above the folder `top` (a real path in the workspace) leave out below it.

    Only whether a folder has `.git` in it is asked outside of the workspace.
    """
    found: list[_Level] = []
    folder, above = top, ""
    while not os.path.lexists(f"{folder.rstrip('/')}/.git"):
        if folder == "/":
            return Ignores()
        folder, _, name = folder.rpartition("/")
        folder, above = folder or "/", f"{name}/{above}"
        lines = _read_inside(f"{folder.rstrip('/')}/.gitignore", workspace)
        if lines:
            found.append(_Level(above, 0, lines))
    return Ignores(tuple(found), in_repository=True)


def _read_inside(path: str, workspace: Workspace) -> tuple[_Lines, ...]:
    opened = workspace.open_file(path)
    if isinstance(opened, Refusal):
        return ()
    with os.fdopen(opened.fd, "rb") as file:
        return parse_lines(file.read(MAX_IGNORE_BYTES)) if opened.real_path == path else ()


def _read_at(fd: int) -> tuple[_Lines, ...]:
    with suppress(OSError), os.fdopen(os.open(".gitignore", _OPEN, dir_fd=fd), "rb") as file:
        return parse_lines(file.read(MAX_IGNORE_BYTES))
    return ()


def parse_lines(content: bytes) -> tuple[_Lines, ...]:
    """The lines of one file, those that win first. A line that cannot be read says nothing."""
    import regex  # noqa: PLC0415 -- 10 ms that only searches need
    from pathspec.patterns.gitignore.base import GitIgnorePatternError  # noqa: PLC0415 -- only where such files are
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern  # noqa: PLC0415

    runs: list[tuple[bool, list[str], list[str]]] = []
    for line in content.decode("latin-1").split("\n"):
        text = line.removesuffix("\r")
        try:
            expression, leaves_out = GitIgnoreSpecPattern.pattern_to_regex(text)
            if not isinstance(expression, str):
                continue
            plain = expression.replace(_DIRECTORY_MARK, r"\Z").replace("(?P<ps_d>/)", r"/\Z")
            regex.compile(plain, _flags())
        except (GitIgnorePatternError, ValueError, regex.error):
            continue
        if not runs or runs[-1][0] is bool(leaves_out):
            runs.append((not leaves_out, [], []))
        _, names, folders = runs[-1]
        (folders if text.rstrip(" ").endswith("/") else names).append(plain)
    return tuple(_Lines(keeps, _any_of(names), _any_of(folders)) for keeps, names, folders in reversed(runs))


def _any_of(expressions: list[str]) -> Any:
    import regex  # noqa: PLC0415 -- as above

    return regex.compile("|".join(expressions), _flags()) if expressions else None


def _flags() -> int:
    import regex  # noqa: PLC0415 -- as above

    return int(regex.DOTALL | regex.VERSION0)
