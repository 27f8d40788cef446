"""Lines on stderr and text on stdout for people: what may be said before anything else of lastcall is loaded.

Must not go in here: frames, envelopes (`cli.output`).
"""

from __future__ import annotations

import sys


def say(line: str) -> None:
    """A line on stderr, if there is one; control characters of other people's words are written out."""
    plain = "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in line)
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(plain + "\n")
        sys.stderr.flush()
    except UnicodeEncodeError:
        sys.stderr.write(plain.encode("ascii", "backslashreplace").decode() + "\n")
    except (OSError, ValueError):
        return


def show(text: str) -> None:
    """Text on stdout, as UTF-8; a stdout that cannot take it is somebody's choice."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.buffer.write(text.encode() + b"\n")
        sys.stdout.buffer.flush()
    except (OSError, ValueError):
        say("lastcall: stdout could not be written")
