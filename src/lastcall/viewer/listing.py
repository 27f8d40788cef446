"""The list of sessions: who each is, from its first lines, and how its latest run ended, from its last ones.

Must not go in here: whole journals (`viewer.tailing`).
"""

from __future__ import annotations

import os
from typing import Final

from lastcall.core import records as r
from lastcall.errors import JournalError
from lastcall.journal.sessions import SessionFile, Sessions, summarise
from lastcall.viewer import telling
from lastcall.viewer.entries import Listing, Row, Tone
from lastcall.viewer.tailing import in_use
from lastcall.wire.journal import Damaged, decode_line

MOST: Final = 1_000
_TAIL: Final = 1 << 16
_PROMPT: Final = 400


def list_sessions(sessions: Sessions, cwd: str | None = None) -> Listing:
    """The sessions of one directory, or all of them; the ones that were written last come first."""
    found = sessions.of(cwd)
    return Listing(runs=tuple(row_of(file) for file in found[:MOST]), left_out=max(0, len(found) - MOST))


def row_of(file: SessionFile) -> Row:
    """One session. What cannot be read is told in its note."""
    summary = summarise(file)
    word, tone = ("unreadable", Tone.BAD) if summary.unreadable and not summary.model else _ended(file)
    return Row(
        id=file.session_id,
        at=file.changed_at,
        prompt=summary.prompt[:_PROMPT],
        word=word,
        tone=tone,
        model=summary.model,
        place=summary.cwd,
        size_bytes=file.size_bytes,
        note=summary.unreadable,
    )


def _ended(file: SessionFile) -> tuple[str, Tone]:
    """How the latest run ended, from the journal's last lines: a run that ends says so in its last step."""
    for record in reversed(_last_records(file)):
        if isinstance(record, r.Ended):
            return telling.outcome_words(record.outcome)
        if isinstance(record, r.Started | r.Resumed):
            break
    return ("running", Tone.CALM) if in_use(file.path) else ("unfinished", Tone.WARN)


def _last_records(file: SessionFile) -> list[r.Record]:
    """The records of the whole lines in the file's last piece; a piece that holds no whole line is made larger."""
    piece = _TAIL
    try:
        with open(file.path, "rb") as journal:  # noqa: PTH123 -- a path as the sessions give it
            size = journal.seek(0, os.SEEK_END)
            while True:
                start = max(0, size - piece)
                journal.seek(start)
                lines = journal.read(size - start).split(b"\n")[:-1]
                whole = lines if start == 0 else lines[1:]
                if whole or start == 0:
                    break
                piece *= 8
        steps = [decode_line(line) for line in whole]
    except (OSError, JournalError):
        return []
    return [record for step in steps if not isinstance(step, Damaged) for record in step.records]
