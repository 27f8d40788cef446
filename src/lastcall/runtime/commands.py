"""One command of the caller's, run to its end: text in, exit code and output out, within a time and a size.

A command is started without a shell (a caller that wants one names it), in a process group of its own that is killed when
its time is over, when the run is, and when it ends: nothing that it left running is waited for.

Must not go in here: what an answer means (`runtime.checks`, `wire.hooks`); the tool that runs commands of the model
(`tools.bash`).
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence

import anyio
import anyio.abc
from msgspec import Struct


class Finished(Struct, frozen=True):
    """It ended by itself. The outputs are cut at the cap."""

    code: int
    out: str
    err: str


class TimedOut(Struct, frozen=True):
    """It was ended after `seconds`."""

    seconds: float


class NotStarted(Struct, frozen=True):
    """It could not be started, and why in the system's words."""

    why: str


Ran = Finished | TimedOut | NotStarted


async def run_command(
    argv: Sequence[str], stdin: bytes, *, cwd: str, environment: Mapping[str, str], timeout_s: float, cap_bytes: int
) -> Ran:
    """What came of a command. Raises nothing; when it is cancelled, the command's whole group ends."""
    try:
        process = await anyio.open_process(
            list(argv), stdin=subprocess.PIPE, cwd=cwd, env=dict(environment), start_new_session=True
        )
    except OSError as error:
        return NotStarted(os.strerror(error.errno or 0))
    except ValueError as error:  # a zero byte in a word
        return NotStarted(str(error))
    out, err = bytearray(), bytearray()
    try:
        with anyio.fail_after(timeout_s):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_collect, process.stdout, out, cap_bytes)
                tasks.start_soon(_collect, process.stderr, err, cap_bytes)
                await _feed(process, stdin)
                code = await process.wait()
                _end_group(process.pid)  # what it left running would keep its output open
    except TimeoutError:
        return TimedOut(timeout_s)
    finally:
        _end_group(process.pid)
        with anyio.CancelScope(shield=True):
            await process.aclose()
    return Finished(code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


async def _collect(stream: anyio.abc.ByteReceiveStream | None, into: bytearray, cap_bytes: int) -> None:
    """All that comes is read, so that the process never waits for us; only the beginning is kept."""
    if stream is None:
        return
    async for chunk in stream:
        into += chunk[: max(0, cap_bytes - len(into))]


async def _feed(process: anyio.abc.Process, data: bytes) -> None:
    """A command that does not read its input to the end has its reasons."""
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
