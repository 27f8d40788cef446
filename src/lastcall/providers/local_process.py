"""The engine's process, seen from here: start, address, complaints, end.

The process has a session of its own, so that a terminal's Ctrl-C does not reach it before us, and ends when its standard
input closes, so that it cannot outlive us. Ending it is killing it: there is nothing in it to save.

Must not go in here: what is asked of the engine (`.local`), what the machine can carry (`.local_machine`).
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path
from typing import Final

import msgspec
from anyio import to_thread
from msgspec import Struct

from lastcall.errors import ModelUnavailable

_KEPT_LINES: Final = 40
_GRACE_S: Final = 5.0
_MOMENT_S: Final = 0.2


class EngineWishes(Struct, frozen=True):
    """What the engine's process is told. `batch` tokens are read at a time, which bounds how long a cancel may wait."""

    model: str
    alias: str
    key: str
    context: int
    slots: int
    threads: int
    batch: int = 256


def wishes(model: Path, *, alias: str, context: int, slots: int, threads: int) -> EngineWishes:
    """Wishes with a new key."""
    return EngineWishes(str(model), alias, secrets.token_urlsafe(24), context, slots, threads)


class EngineProcess:
    """A running engine. Made by `start_engine`."""

    def __init__(self, process: subprocess.Popen[bytes], key: str) -> None:
        self._process = process
        self.key = key
        self.url = ""
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._seen = 0
        self._reader = threading.Thread(target=self._read_complaints, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    @property
    def mark(self) -> int:
        """A place in the complaints, for `complaints`."""
        return self._seen

    def complaints(self, since: int = 0) -> list[str]:
        """The lines that the engine wrote to its standard error after `since`, as far as they are kept."""
        lines, seen = list(self._lines), self._seen
        return lines[max(0, len(lines) - (seen - since)) :]

    def _read_complaints(self) -> None:
        assert self._process.stderr is not None
        for raw in self._process.stderr:
            self._lines.append(raw.decode("utf-8", "replace").rstrip())
            self._seen += 1

    def read_address(self) -> str:
        """Waits for the address. Raises `ModelUnavailable` if the process ends or refuses instead."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        answer = msgspec.json.decode(line) if line else {}
        if "url" in answer:
            return str(answer["url"])
        code = self._process.wait()
        self._reader.join(_GRACE_S)
        raise ModelUnavailable(how_it_ended(code, answer.get("error", ""), self.complaints()), hint=_HINT)

    def has_ended(self) -> bool:
        """Whether it has ended, or does so within a moment: its connections break a little earlier."""
        try:
            self._process.wait(_MOMENT_S)
        except subprocess.TimeoutExpired:
            return False
        return True

    def how_it_ended(self) -> str:
        """One sentence about a process that has ended."""
        return how_it_ended(self._process.wait(), "", self.complaints())

    def kill(self) -> None:
        """Ends it at once; safe to call twice, from any thread."""
        self._process.kill()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait(_GRACE_S)
        self._reader.join(_GRACE_S)
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()


async def start_engine(asked: EngineWishes) -> EngineProcess:
    """Starts the engine and waits until it serves. Raises `ModelUnavailable`; a cancel ends the process."""
    process = subprocess.Popen(  # noqa: ASYNC220 -- starting takes 5 ms; our own module
        [sys.executable, "-m", "lastcall.providers.local_engine"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env=_environment(),
    )
    engine = EngineProcess(process, asked.key)
    try:
        _tell(process, asked)
        engine.url = await to_thread.run_sync(engine.read_address, abandon_on_cancel=True)
    except BaseException:
        engine.kill()
        raise
    return engine


def _tell(process: subprocess.Popen[bytes], asked: EngineWishes) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(msgspec.json.encode(asked) + b"\n")
        process.stdin.flush()
    except OSError:
        pass  # it has ended already; reading its address tells how


def _environment() -> dict[str, str]:
    """Ours, with the place that this package was imported from, in case that is not an installed one."""
    package = str(Path(__file__).parents[2])
    path = os.environ.get("PYTHONPATH", "")
    return os.environ | {"PYTHONPATH": f"{package}{os.pathsep}{path}" if path else package}


_HINT: Final = "Run: lastcall models verify"
_ILLEGAL_INSTRUCTION: Final = (-int(getattr(signal, "SIGILL", 4)), 0xC000001D)
_KILLED: Final = -int(getattr(signal, "SIGKILL", 9))


def how_it_ended(code: int, error: str, complaints: list[str]) -> str:
    """One sentence about how the engine's process ended."""
    if code in _ILLEGAL_INSTRUCTION:
        return "the embedded model's engine does not run on this processor (it needs AVX2, FMA, F16C and BMI2)."
    if code == _KILLED:
        return "the embedded model's engine was killed, most likely because memory ran out."
    last = error or next((line for line in reversed(complaints) if line.strip()), "")
    return f"the embedded model's engine ended with code {code}{': ' + last[:300] if last else ''}."
