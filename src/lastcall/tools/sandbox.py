"""Commands under bubblewrap: no network, the workspace writable, everything else read-only or hidden.

A command sees the machine's files but can change none outside of the workspace; `/tmp` is its own and empty, other
processes (and with them their environments) are out of sight, and there is no network but a loopback of its own.

Must not go in here: running commands (`tools.bash`).
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from lastcall.errors import BadConfig

_TRIAL_S = 10.0
_WALLS = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp")  # noqa: S108 -- hidden by an empty one
_APART = ("--unshare-all", "--die-with-parent", "--new-session")


class Sandbox(Struct, frozen=True):
    """How commands are put behind walls. `writable` are absolute paths."""

    program: str
    writable: tuple[str, ...]

    def around(self, words: Sequence[str], cwd: str) -> list[str]:
        """The command line that runs `words` inside."""
        binds = [word for root in self.writable for word in ("--bind", root, root)]
        return [self.program, *_WALLS, *binds, *_APART, "--chdir", cwd, "--", *words]


def open_sandbox(writable: Iterable[str], environment: Mapping[str, str]) -> Sandbox:
    """A sandbox that was tried and works.

    Raises `BadConfig` where bubblewrap is missing or cannot do its work: nothing is ever run without it instead.
    """
    program = shutil.which("bwrap", path=environment.get("PATH"))
    if program is None:
        raise BadConfig(
            "there is no bubblewrap on this machine",
            hint="Install it (bwrap), or leave --sandbox away.",
            where="--sandbox",
        )
    sandbox = Sandbox(program, tuple(writable))
    try:
        tried = subprocess.run(  # noqa: S603 -- bubblewrap itself
            sandbox.around(["/bin/sh", "-c", ":"], sandbox.writable[0]),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TRIAL_S,
            check=False,
        )
        why = tried.stderr.decode("utf-8", "replace").strip() if tried.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        tried, why = None, str(error)
    if tried is None or tried.returncode:
        raise BadConfig(
            f"bubblewrap does not work on this machine: {why or 'it gave no reason'}",
            hint="Allow unprivileged user namespaces, or leave --sandbox away.",
            where="--sandbox",
        )
    return sandbox
