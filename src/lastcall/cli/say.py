"""Lines of the subcommands on standard output: UTF-8 in any locale."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """Print the text and a line feed; what no UTF-8 can carry is escaped."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.buffer.flush()
