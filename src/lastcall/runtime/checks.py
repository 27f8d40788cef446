"""Checks that are commands: each reads the object from its standard input and says by its exit code what it thinks.

A command is started without a shell, in its own process group, with the object (JSON, one line) on standard input; exit
code 0 accepts, any other rejects with what it wrote to standard error (else to standard output).

Must not go in here: Python functions (`api.rules`), when checks are run (`core`), how they run beside each other
(`runtime.driver`).
"""

from __future__ import annotations

import math
import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from typing import Final

import anyio
import anyio.abc
from msgspec import Struct

from lastcall.errors import BadRule
from lastcall.nouns.attachment import Problem
from lastcall.nouns.result import CheckVerdict

KEYWORD: Final = "check"
"""The keyword of a problem that a check found."""

DEFAULT_TIMEOUT_S: Final = 60.0
SAID_BYTES: Final = 2_000
"""The most of a check's words that goes back to the model."""
_HEARD_BYTES: Final = 64 * 1024

Judged = tuple[CheckVerdict, tuple[Problem, ...]]


class CommandCheck(Struct, frozen=True):
    """A command. Made by `command_check`."""

    name: str
    argv: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str]
    timeout_s: float = DEFAULT_TIMEOUT_S

    async def run(self, object_text: str) -> Judged:
        """The verdict on the object. Raises nothing: a check that cannot be run accepts nothing."""
        began = time.monotonic()
        try:
            process = await anyio.open_process(
                self.argv, stdin=subprocess.PIPE, cwd=self.cwd, env=dict(self.environment), start_new_session=True
            )
        except OSError as error:
            return _judged(self.name, f"the check could not be started: {os.strerror(error.errno or 0)}", began)
        out, err = bytearray(), bytearray()
        try:
            with anyio.fail_after(self.timeout_s):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_collect, process.stdout, out)
                    tasks.start_soon(_collect, process.stderr, err)
                    await _feed(process, f"{object_text}\n".encode("utf-8", "replace"))
                    code = await process.wait()
                    _end_group(process.pid)  # what it left running would keep its output open
        except TimeoutError:
            words = f"the check did not finish within {self.timeout_s:g} s, so the object was not taken"
            return _judged(self.name, words, began)
        finally:
            _end_group(process.pid)
            with anyio.CancelScope(shield=True):
                await process.aclose()
        said = _said(err) or _said(out) or f"exit code {code}"
        return _judged(self.name, "" if code == 0 else said, began)


def command_check(
    command: str, *, cwd: str, environment: Mapping[str, str], timeout_s: float = DEFAULT_TIMEOUT_S
) -> CommandCheck:
    """The check that a command line is, in words as a shell would split them; no shell runs it.

    Raises `BadRule` for one that cannot be split or names no program.
    """
    try:
        argv = shlex.split(command)
    except ValueError as error:
        raise BadRule(f"the command cannot be split into words: {error}.", where=command) from None
    if not argv:
        raise BadRule("the command is empty.", where="--check")
    program = argv[0]
    found = shutil.which(program if os.sep not in program else os.path.join(cwd, program), path=environment.get("PATH"))  # noqa: PTH118
    if found is None:
        hint = "Name an executable; for shell syntax write: sh -c '...'."
        raise BadRule(f"there is no program {program!r}.", hint=hint, where="--check")
    return CommandCheck(command, (found, *argv[1:]), cwd, environment, timeout_s)


def _judged(name: str, words: str, began: float) -> Judged:
    took_ms = math.ceil((time.monotonic() - began) * 1000)
    verdict = CheckVerdict(name, passed=not words, message=words, took_ms=took_ms)
    return verdict, (Problem("", KEYWORD, f"{name}: {words}"),) if words else ()


def _said(heard: bytearray) -> str:
    return _capped(heard.decode("utf-8", "replace").strip())


def _capped(text: str) -> str:
    raw = text.encode("utf-8", "replace")
    return text if len(raw) <= SAID_BYTES else raw[: SAID_BYTES - 3].decode("utf-8", "ignore") + "…"


# -- the process ----------------------------------------------------------------------------------------------------


async def _collect(stream: anyio.abc.ByteReceiveStream | None, into: bytearray) -> None:
    """All that comes is read, so that the process never waits for us; only the beginning is kept."""
    if stream is None:
        return
    async for chunk in stream:
        into.extend(chunk[: max(0, _HEARD_BYTES - len(into))])


async def _feed(process: anyio.abc.Process, data: bytes) -> None:
    """The object; a command that does not read it to its end has its reasons."""
    if process.stdin is None:
        return
    try:
        await process.stdin.send(data)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass
    finally:
        with anyio.CancelScope(shield=True):
            await process.stdin.aclose()


def _end_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
