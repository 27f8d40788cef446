"""The process that takes a PDF apart: the file is its standard input, what it finds goes to standard output.

A hostile PDF can make any reader loop or fill the memory, so this runs under limits of its own, which hold also when
nobody waits for it any more. One JSON value a line: first `{"pages": n}`, then `{"page": n, "text": ...}` for each page
that was asked for, or `{"error": ...}`.

Must not go in here: starting it (`tools.pdf`).
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress

MAX_CHARS = 100_000
CPU_S = 30
MEMORY_BYTES = 2 << 30
_BROKEN = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, AssertionError, OSError, RecursionError)
"""What the library lets out of broken files beside errors of its own."""


def main(first: int, last: int) -> None:
    """Tell the pages from `first` to `last`, counted from 1, until there are enough characters."""
    _limit()
    from pypdf import PdfReader  # noqa: PLC0415 -- optional
    from pypdf.errors import PyPdfError  # noqa: PLC0415

    try:
        reader = PdfReader(sys.stdin.buffer)
        _tell(pages=len(reader.pages))
        room = MAX_CHARS
        for number in range(first, min(last, len(reader.pages)) + 1):
            text = reader.pages[number - 1].extract_text()
            _tell(page=number, text=text[:room], cut=len(text) > room)
            room -= len(text)
            if room <= 0:
                return
    except MemoryError:
        _tell(error="it takes too much memory")
    except (*_BROKEN, PyPdfError) as error:
        _tell(error=f"it cannot be read: {str(error) or type(error).__name__}"[:300])


def _limit() -> None:
    """Where the system has such limits."""
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 -- not on every system

        resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def _tell(**told: object) -> None:
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
