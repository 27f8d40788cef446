"""Pages of a PDF as text, taken out of it by a process that can be ended.

Must not go in here: the library (`tools.pdf_child` calls it), opening files (`tools.paths`).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import IO, Any

from msgspec import Struct

from lastcall.tools import Output
from lastcall.tools.seen import Range

MAX_PAGES = 20
"""Pages in one answer."""
MAX_PDF_BYTES = 100 << 20
READ_S = 20.0
_PULSE_S = 0.02
_PAGES = re.compile(r"\s*([1-9]\d{0,5})\s*(?:-\s*([1-9]\d{0,5})?\s*)?")


def pages_asked_for(text: str | None) -> Range | None:
    """The pages in words such as `3`, `1-5` or `7-`; the first ones without words; `None` if they say nothing."""
    match = _PAGES.fullmatch(text or "1-")
    if match is None:
        return None
    first = int(match.group(1))
    last = int(match.group(2) or first + MAX_PAGES - 1) if "-" in match.group(0) else first
    return Range(first, last - first + 1) if first <= last else None


class _Told(Struct):
    """What the child said. `late`: it was ended."""

    pages: int | None
    texts: dict[int, str]
    error: str
    cut: bool
    late: bool


def show_pdf(file: IO[bytes], size: int, shown: str, pages: Range, pulse: Callable[[], None]) -> Output:
    """The pages, each after a line with its number. `file` stands at its beginning; `pulse` is called now and then."""
    if find_spec("pypdf") is None:
        return _failure(f"{shown} is a PDF, and reading those needs pypdf: pip install 'lastcall[pdf]'.")
    if size > MAX_PDF_BYTES:
        return _failure(f"{shown} is a PDF of {size:,} bytes; up to {MAX_PDF_BYTES:,} can be read.")
    if pages.limit is not None and pages.limit > MAX_PAGES:
        return _failure(f"At most {MAX_PAGES} pages are shown at once; ask for fewer.")
    told = _ask_child(file, pages, pulse)
    if told.texts:
        return _show(told, shown, size)
    if told.error or told.late or told.pages is None:
        why = told.error or (f"it took more than {READ_S:g} seconds" if told.late else "its reader broke down")
        return _failure(f"{shown} is a PDF that gives no text: {why}.")
    return _failure(f"{shown} has {told.pages:,} pages; there is no page {pages.offset}.")


def _ask_child(file: IO[bytes], pages: Range, pulse: Callable[[], None]) -> _Told:
    last = pages.offset + (pages.limit or MAX_PAGES) - 1
    until = time.monotonic() + READ_S
    os.lseek(file.fileno(), 0, os.SEEK_SET)  # the child goes on where this process stopped
    with tempfile.TemporaryFile() as answers:
        child = subprocess.Popen(  # noqa: S603 -- this very interpreter
            [sys.executable, "-I", "-m", "lastcall.tools.pdf_child", str(pages.offset), str(last)],
            stdin=file,
            stdout=answers,
            stderr=subprocess.DEVNULL,
        )
        late = False
        try:
            while child.poll() is None and not late:
                late = time.monotonic() > until
                pulse()
                time.sleep(_PULSE_S)
        finally:
            child.kill()
            child.wait()
        answers.seek(0)
        return _read(answers.read(), late=late)


def _read(answers: bytes, *, late: bool) -> _Told:
    told = _Told(None, {}, "", cut=False, late=late)
    for line in answers.split(b"\n")[:-1]:
        value: dict[str, Any] = json.loads(line)
        told.pages = value.get("pages", told.pages)
        told.error = value.get("error", told.error)
        if "page" in value:
            told.texts[value["page"]] = value["text"]
            told.cut = told.cut or value["cut"]
    return told


def _show(told: _Told, shown: str, size: int) -> Output:
    total = told.pages or 0
    last = max(told.texts)
    body = "\n\n".join(f"[page {n:,} of {total:,}]\n{text.strip()}" for n, text in told.texts.items())
    notes = []
    if told.cut:
        notes.append(f"Page {last:,} is cut; it is longer than an answer may be.")
    if told.error or told.late:
        notes.append(f"Page {last + 1:,} could not be read: {told.error or 'it took too long'}.")
    elif last < total:
        notes.append(f"Go on with pages {last + 1}-.")
    if not any(text.strip() for text in told.texts.values()):
        notes.append("There is no text on these pages; they may be pictures.")
    remarks = "".join(f"\n\n[{note}]" for note in notes)
    display = {"type": "pdf", "file": {"filePath": shown, "originalSize": size, "numPages": total}}
    return Output(body + remarks, display=display, capped=True)


def _failure(text: str) -> Output:
    return Output(text, failed=True, display=f"Error: {text}")
