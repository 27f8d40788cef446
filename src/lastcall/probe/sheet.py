"""The file of a probe: its plan in the first line, then one line a trial. It is the checkpoint too.

A line is on the disk before the next trial begins. Half a line at the end was never acknowledged and is cut off; damage
anywhere else is an error that names the line.

Must not go in here: what is in a trial (`trials`), counting (`tally`).
"""

from __future__ import annotations

import fcntl
import os
import stat
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lastcall.errors import BadConfig
from lastcall.probe.cases import Case
from lastcall.probe.trials import Trial

VERSION: Final = 1


class Plan(Struct, frozen=True, kw_only=True, tag="probe"):
    """What a probe asks, and how. The cases are part of it, so that the file explains itself.

    `trials` is how often each case was to be tried when the file was begun; another number may follow.
    """

    version: int = VERSION
    lastcall: str
    suite: str
    model: str
    cases: tuple[Case, ...]
    trials: int
    seed: int
    temperature: float | None = None
    max_attempts: int = 5
    declines: bool = True


class Sheet(Struct, frozen=True):
    """A probe as it was read. `torn_bytes`: half a line at the end."""

    plan: Plan
    trials: tuple[Trial, ...]
    torn_bytes: int = 0

    @property
    def counted(self) -> tuple[Trial, ...]:
        """The trials that say something of the model, one for each case and round."""
        return tuple({(t.case, t.round): t for t in self.trials if t.counted}.values())


def read_sheet(path: str) -> Sheet:
    """The probe in a file. Raises `BadConfig`."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            content = file.read()
    except OSError as error:
        raise BadConfig(f"the probe cannot be read: {_why(error)}", hint="Check the path.", where=path) from error
    sheet = parse_sheet(content, where=path)
    if sheet is None:
        raise BadConfig("there is no probe in this file", hint="Name a file that `lastcall probe` wrote.", where=path)
    return sheet


def parse_sheet(content: bytes, *, where: str) -> Sheet | None:
    """The probe in a file's content; `None` if not even its plan is whole. Raises `BadConfig`."""
    whole, _, torn = content.rpartition(b"\n")
    lines = whole.split(b"\n") if whole else []
    if not lines:
        if content and not content.startswith(b'{"type":"probe"'[: len(content)]):
            raise _no_probe(where, 1)
        return None
    plan = _plan(lines[0], where)
    trials = tuple(_trial(line, where, number) for number, line in enumerate(lines[1:], 2))
    return Sheet(plan, trials, len(torn))


def _plan(line: bytes, where: str) -> Plan:
    try:
        plan = msgspec.json.decode(line, type=Plan)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _no_probe(where, 1) from None
    if plan.version > VERSION:
        raise BadConfig(f"the probe was written by a later lastcall ({plan.lastcall})", hint="Update.", where=where)
    return plan


def _trial(line: bytes, where: str, number: int) -> Trial:
    try:
        return msgspec.json.decode(line, type=Trial)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _no_probe(where, number) from None


def _no_probe(where: str, number: int) -> BadConfig:
    hint = "Choose another --output, or take the damaged line out."
    return BadConfig(f"line {number} is no line of a probe", hint=hint, where=where)


def _why(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error)


# -- writing --------------------------------------------------------------------------------------------------------


class OpenSheet:
    """A probe's file while trials are added. Made by `open_sheet`; close it."""

    def __init__(self, fd: int, path: str, plan: Plan, trials: tuple[Trial, ...]) -> None:
        self._fd = fd
        self.path = path
        self.plan = plan
        self.trials = trials

    @property
    def sheet(self) -> Sheet:
        """What is in it now."""
        return Sheet(self.plan, self.trials)

    def add(self, trial: Trial) -> None:
        """Keep a trial; it is on the disk when this returns. Raises `BadConfig`."""
        _write(self._fd, msgspec.json.encode(trial), self.path)
        self.trials = (*self.trials, trial)

    def close(self) -> None:
        """Let go of the file and its lock."""
        os.close(self._fd)


def open_sheet(path: str, plan: Plan) -> OpenSheet:
    """The file of this probe: a new one, or the one that is there if it asks the same.

    Raises `BadConfig`, before anything in the file is changed.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    except OSError as error:
        hint = "Name a file in a folder that is there, and that can be written."
        raise BadConfig(f"the probe cannot be kept: {_why(error)}", hint=hint, where=f"--output {path}") from error
    try:
        return _opened(fd, path, plan)
    except BaseException:
        os.close(fd)
        raise


def _opened(fd: int, path: str, plan: Plan) -> OpenSheet:
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise BadConfig("this is no regular file", hint="Name a file.", where=f"--output {path}")
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise BadConfig("another probe is writing this file", hint="Wait for it to end.", where=path) from None
    with open(os.dup(fd), "rb") as file:  # noqa: PTH123 -- a descriptor, not a path
        file.seek(0)
        content = file.read()
    sheet = parse_sheet(content, where=path)
    if sheet is None:
        os.ftruncate(fd, 0)
        _write(fd, msgspec.json.encode(plan), path)
        return OpenSheet(fd, path, plan, ())
    _demand_same(sheet.plan, plan, path)
    if sheet.torn_bytes:
        os.ftruncate(fd, len(content) - sheet.torn_bytes)
    return OpenSheet(fd, path, sheet.plan, sheet.trials)


def _demand_same(before: Plan, now: Plan, path: str) -> None:
    """Another number of trials, or another lastcall, is the same probe going on."""
    same = replace(before, trials=now.trials, lastcall=now.lastcall, version=now.version)
    if same == now:
        return
    named = ("model", "suite", "seed", "temperature", "max_attempts", "declines")
    other = next((name for name in named if getattr(same, name) != getattr(now, name)), "")
    what = f"its {other} is {getattr(same, other)}, not {getattr(now, other)}" if other else "it asks other cases"
    raise BadConfig(f"the file holds another probe: {what}", hint="Choose another --output.", where=path)


def _write(fd: int, line: bytes, path: str) -> None:
    size = os.fstat(fd).st_size
    rest = memoryview(line + b"\n")
    try:
        while rest:
            rest = rest[os.write(fd, rest) :]
        os.fsync(fd)
    except OSError as error:
        _take_back(fd, size)
        raise BadConfig(f"the probe cannot be kept: {_why(error)}", hint="Free some space.", where=path) from error


def _take_back(fd: int, size: int) -> None:
    try:
        os.ftruncate(fd, size)
    except OSError:
        return  # half a line at the end, which the next reader cuts off
