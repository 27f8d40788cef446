"""Ending what a command started: its process group, and whatever left the group but still bears its call's mark.

A command's processes inherit its environment, and in it a word that nobody else has. On Linux that finds daemons too
(`setsid`, a double fork); elsewhere the process group has to do.

Must not go in here: starting commands, reading their output.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress

_ROUNDS = 50
"""Something that forks faster than it is killed is stopped first, then killed; more rounds than this it cannot last."""


def end_group(group: int, signal_number: int) -> None:
    """Signal every process of the group; one that is gone is no error."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal_number)


def end_all(group: int, mark: str) -> None:
    """Kill the group, and every process whose environment holds `mark` (`NAME=value`). Returns when none is found."""
    end_group(group, signal.SIGKILL)
    for _ in range(_ROUNDS):
        found = list(marked(mark))
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in found:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
        if not found:
            return


def marked(mark: str) -> Iterator[int]:
    """The processes of this user whose environment holds `mark`, without this one and without those that have ended."""
    wanted = mark.encode("utf-8", "surrogateescape")
    try:
        names = os.listdir("/proc")  # noqa: PTH208
    except OSError:
        return
    for name in names:
        if name.isdigit() and int(name) != os.getpid():
            try:
                with open(f"/proc/{name}/environ", "rb") as file:  # noqa: PTH123
                    found = wanted in file.read().split(b"\0")
            except OSError:  # ended, or somebody else's
                continue
            if found:
                yield int(name)
