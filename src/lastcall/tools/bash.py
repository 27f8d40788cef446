"""The tool `Bash`: one command in a shell of its own.

The shell leads a process group of its own and has no standard input. When it ends, by itself, by the time limit or
because the call was cancelled, whatever it left running is ended too; when lastcall itself is killed, its group is. Of long
output head and tail are kept. Texts for an exit code and for silence are the reference's, as recorded.

Must not go in here: permissions, the environment's rules (`tools.environment`), finding processes (`tools.leftovers`).
"""

from __future__ import annotations

import codecs
import signal
import subprocess
from collections.abc import Sequence
from decimal import Decimal
from os.path import exists
from uuid import uuid4

import anyio
import anyio.abc
from anyio import to_thread

from lastcall.nouns.json import JsonObject
from lastcall.nouns.profile import Profile
from lastcall.nouns.tools import ToolDefinition, define
from lastcall.tools import CommandSubject, Output, ToolContext
from lastcall.tools.environment import command_environment
from lastcall.tools.leftovers import end_all, end_group
from lastcall.tools.lifeline import Lifeline
from lastcall.tools.sandbox import Sandbox

DEFAULT_TIMEOUT_S = 120.0
MAX_TIMEOUT_S = 600.0
MAX_OUTPUT_CHARS = 100_000
_HEAD_BYTES = 60_000
_TAIL_BYTES = MAX_OUTPUT_CHARS - _HEAD_BYTES
_GRACE_S = 2.0
"""Between asking a command to end and ending it."""
_DRAIN_S = 2.0
"""How long output is read after everything that could write it was ended."""
_MARK = "LASTCALL_CALL"

_DEFINITION = define(
    "Bash",
    "Run a command with bash, in the working directory; each call begins there anew. The answer is its output, standard "
    "error included. It gets no input, and nothing that it starts goes on after it.",
    {
        "type": "object",
        "properties": {
            "command": {"type": "string", "minLength": 1, "description": "The command."},
            "description": {"type": "string", "description": "What it does, in a few words."},
            "timeout": {
                "type": "number",
                "minimum": 1,
                "maximum": MAX_TIMEOUT_S * 1000,
                "description": f"Milliseconds it may take, {DEFAULT_TIMEOUT_S * 1000:.0f} unless given.",
            },
        },
        "required": ["command"],
        "additionalProperties": False,
    },
)


class Bash:
    """The tool `Bash`. With `sandbox`, every command runs behind its walls."""

    def __init__(self, sandbox: Sandbox | None = None) -> None:
        self._sandbox = sandbox

    definition: ToolDefinition = _DEFINITION
    edits_files = False

    def subject(self, arguments: JsonObject) -> CommandSubject:
        """The command's text."""
        return CommandSubject(str(arguments["command"]))

    async def run(self, arguments: JsonObject, context: ToolContext) -> Output:
        """Run it to its end, or to the time limit."""
        command = str(arguments["command"])
        if "\0" in command:
            return Output("The command holds a NUL character, which no command line can hold.", failed=True)
        given = arguments.get("timeout")
        timeout_s = float(given) / 1000 if isinstance(given, int | float | Decimal) else DEFAULT_TIMEOUT_S
        environment = command_environment(context.environment, idempotency_key=context.idempotency_key)
        cwd = context.workspace.cwd
        words = [_shell(), "-c", command]
        inside = words if self._sandbox is None else self._sandbox.around(words, cwd)
        ended = await _run(inside, cwd, environment, timeout_s)
        return _answer(ended, context.profile)


class _Ended:
    """What a command came to. `code` is negative for a signal; `late`: it was ended at the time limit (seconds)."""

    def __init__(self, output: str, code: int, late: float | None) -> None:
        self.output = output
        self.code = code
        self.late = late


async def _run(words: Sequence[str], cwd: str, environment: dict[str, str], timeout_s: float) -> _Ended:
    mark = uuid4().hex
    kept = _Kept()
    late = False
    with Lifeline() as lifeline:
        with anyio.CancelScope(shield=True):  # what was started has to be known, so that it can be ended
            process = await anyio.open_process(
                lifeline.tie(words),
                stdin=lifeline.end,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env={**environment, _MARK: mark},
                start_new_session=True,
            )
        lifeline.started()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_read, process, kept)
                with anyio.move_on_after(timeout_s) as limit:
                    await process.wait()
                late = limit.cancelled_caught
                if late:
                    await _ask_to_end(process)
                await _end(process, mark)
                tasks.cancel_scope.deadline = anyio.current_time() + _DRAIN_S
            return _Ended(kept.text(), process.returncode or 0, timeout_s if late else None)
        finally:
            with anyio.CancelScope(shield=True):
                if process.returncode is None:
                    await _end(process, mark)
                await process.aclose()


async def _end(process: anyio.abc.Process, mark: str) -> None:
    """The command and all that it started are ended, whoever cancels whatever meanwhile."""
    with anyio.CancelScope(shield=True):
        await to_thread.run_sync(end_all, process.pid, f"{_MARK}={mark}")
        await process.wait()


async def _ask_to_end(process: anyio.abc.Process) -> None:
    end_group(process.pid, signal.SIGTERM)
    with anyio.move_on_after(_GRACE_S):
        await process.wait()


async def _read(process: anyio.abc.Process, kept: _Kept) -> None:
    assert process.stdout is not None
    async for chunk in process.stdout:
        kept.add(chunk)


class _Kept:
    """Head and tail of an output of any length."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._left_out = 0

    def add(self, chunk: bytes) -> None:
        room = _HEAD_BYTES - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[max(room, 0) :]
        beyond = len(self._tail) - _TAIL_BYTES
        if beyond > 0:
            self._left_out += beyond
            del self._tail[:beyond]

    def text(self) -> str:
        if not self._left_out:
            return _decode(self._head + self._tail)
        return f"{_decode(self._head)}\n\n[… {self._left_out:,} bytes left out …]\n\n{_decode(self._tail)}"


def _decode(content: bytes | bytearray) -> str:
    return codecs.decode(bytes(content), "utf-8", "replace")


def _answer(ended: _Ended, profile: Profile) -> Output:
    shown = ended.output.rstrip("\n")
    if ended.late is not None:
        return _failed(f"The command did not end within {ended.late:g} seconds and was ended.", shown)
    if ended.code < 0:
        return _failed(f"The command was ended by signal {-ended.code} ({_signal_name(-ended.code)}).", shown)
    if ended.code:
        return _failed(f"Exit code {ended.code}", shown)
    display = {"stdout": shown, "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}
    return Output(shown, display=display, capped=True, says_no_error=profile is Profile.COMPAT)


def _failed(text: str, shown: str) -> Output:
    words = f"{text}\n{shown}" if shown else text
    return Output(words, failed=True, display=f"Error: {words}", capped=True)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


def _shell() -> str:
    return next((path for path in ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash") if exists(path)), "/bin/sh")  # noqa: PTH110
