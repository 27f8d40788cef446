"""ripgrep as a sieve: which of these files may hold a match.

ripgrep walks nothing, reads no ignore file and no configuration, and tells nothing but names out of the list it was
given. A file that it names is opened and searched again by the caller, so no answer rests on what it read; what it does
not name is not read at all, which is what makes searches quick.

Must not go in here: walking, opening files, the wider expression (`tools.supersets`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Self

from lastcall.tools.paths import Workspace

_FLAGS = (
    "--no-config", "--no-ignore", "--no-messages", "--no-mmap", "--no-line-buffered", "--files-with-matches", "--null",
    "--text", "--encoding=none", "--color=never",
)  # fmt: skip


def find_ripgrep(environment: Mapping[str, str], workspace: Workspace) -> str | None:
    """The program, or `None`. One that lies in the workspace is not used: a search must not run what a model wrote."""
    found = shutil.which("rg", path=environment.get("PATH") or os.defpath)
    if found is None or not found.startswith("/"):
        return None
    real = os.path.realpath(found)
    inside = any(f"{path}/".startswith(f"{root.rstrip('/')}/") for path in (found, real) for root in workspace.roots)
    return None if inside else real


class Sieve:
    """One run of ripgrep over some files below the directory `fd`, which is under way; close it, or ask it."""

    def __init__(self, program: str, expression: str, fd: int, real_path: str, files: Sequence[str]) -> None:
        """`files` are paths from the directory. `real_path` is where it is, for systems that cannot start in `fd`."""
        self._files = tuple(files)
        self._told = tempfile.TemporaryFile()  # noqa: SIM115 -- closed by `close`; a pipe would have to be emptied
        self._words = tempfile.TemporaryFile()  # noqa: SIM115
        by_fd = f"/proc/self/fd/{fd}"
        self._process = subprocess.Popen(  # noqa: S603 -- ripgrep itself, and no shell
            [program, *_FLAGS, "-e", expression, "--", *files],
            stdin=subprocess.DEVNULL,
            stdout=self._told,
            stderr=self._words,
            cwd=by_fd if os.path.isdir(by_fd) else real_path,  # noqa: PTH112
            env={},
        )

    def wait(self, timeout_s: float) -> bool:
        """Whether it has ended within that time."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def passed(self) -> Iterable[str]:
        """The files that may hold a match, in the given order; all of them where ripgrep had something to complain of."""
        complained = self._words.tell() > 0 or os.fstat(self._words.fileno()).st_size > 0
        if complained or self._process.returncode not in {0, 1, 2}:
            return self._files
        self._told.seek(0)
        named = {os.fsdecode(name) for name in self._told.read().split(b"\0")}
        return [path for path in self._files if path in named]

    def close(self) -> None:
        """End it, if it has not ended."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._told.close()
        self._words.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
