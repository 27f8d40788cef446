"""Standard input, line by line, without a thread that would outlive the session.

Must not go in here: what a line means (`wire.control`).
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from typing import Final

import anyio

LINE_LIMIT: Final = 256 * 1024 * 1024
_CHUNK: Final = 1 << 16


async def read_lines(fd: int = 0) -> AsyncIterator[str]:
    """Every line that is not blank, to the end of the input; a last line without its line feed too.

    A line longer than `LINE_LIMIT` bytes is cut there. A regular file is read at once, it is always ready.
    """
    pending = bytearray()
    waits = True
    while True:
        if waits:
            waits = await _ready(fd)
        chunk = _read(fd)
        if chunk is None:
            continue
        if len(pending) < LINE_LIMIT:
            pending += chunk
        if chunk and b"\n" not in chunk:
            continue
        *lines, rest = pending.split(b"\n") if chunk else [pending, bytearray()]
        pending = bytearray(rest)
        for line in lines:
            text = line.decode("utf-8", "replace").strip()
            if text:
                yield text
        if not chunk:
            return


async def _ready(fd: int) -> bool:
    """Wait until there is something to read; `False` where that cannot be waited for."""
    try:
        await anyio.wait_readable(fd)
    except (OSError, NotImplementedError):
        return False
    return True


def _read(fd: int) -> bytes | None:
    try:
        return os.read(fd, _CHUNK)
    except BlockingIOError:
        return None
    except OSError:
        return b""
