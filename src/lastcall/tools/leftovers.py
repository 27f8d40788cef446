"""Ending what a command started: its process group, and whatever left the group but still bears its call's mark.

A command's processes inherit its environment, and in it a word that nobody else has. On Linux that finds daemons too
(`setsid`, a double fork); elsewhere the process group has to do.

Must not go in here: starting commands, reading their output.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress

_LONGEST_S = 3.0
"""Something that forks faster than it is killed is stopped first, then killed; longer than this it cannot last."""
_QUIET = 2
"""So many looks in a row have to find nothing: of a process in the middle of `exec` a single one sees no environment."""


def end_group(group: int, signal_number: int) -> None:
    """Signal every process of the group; one that is gone is no error."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal_number)


def end_all(group: int, mark: str) -> None:
    """Kill the group, and every process whose environment holds `mark` (`NAME=value`). Returns when none is found."""
    end_group(group, signal.SIGKILL)
    quiet, end = 0, time.monotonic() + _LONGEST_S
    while quiet < _QUIET and time.monotonic() < end:
        found = list(marked(mark))
        quiet = 0 if found else quiet + 1
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in found:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
        time.sleep(0.001)  # a killed process needs a moment to go


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
