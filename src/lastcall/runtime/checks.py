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
import time
from collections.abc import Mapping
from typing import Final, assert_never

from msgspec import Struct

from lastcall.errors import BadRule
from lastcall.nouns.attachment import Problem
from lastcall.nouns.result import CheckVerdict
from lastcall.runtime.commands import Finished, NotStarted, Ran, TimedOut, run_command

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
        ran = await run_command(
            self.argv,
            f"{object_text}\n".encode("utf-8", "replace"),
            cwd=self.cwd,
            environment=self.environment,
            timeout_s=self.timeout_s,
            cap_bytes=_HEARD_BYTES,
        )
        return _judged(self.name, _refusal(ran), began)


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


def _refusal(ran: Ran) -> str:
    """Why the object is not taken, `""` if it is."""
    match ran:
        case Finished(code=0):
            return ""
        case Finished(code=code, out=out, err=err):
            return _capped(err.strip()) or _capped(out.strip()) or f"exit code {code}"
        case TimedOut(seconds=seconds):
            return f"the check did not finish within {seconds:g} s, so the object was not taken"
        case NotStarted(why=why):
            return f"the check could not be started: {why}"
        case _:
            assert_never(ran)


def _capped(text: str) -> str:
    raw = text.encode("utf-8", "replace")
    return text if len(raw) <= SAID_BYTES else raw[: SAID_BYTES - 3].decode("utf-8", "ignore") + "…"
