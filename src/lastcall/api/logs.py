"""Runs as lines of the standard `logging`.

Loggers: `lastcall.run` (begin and end), `lastcall.model` (requests and replies), `lastcall.tool`, `lastcall.attempt`,
`lastcall.hook` (failures). No line holds what anybody wrote: no prompt, no argument, no value; problems are named by
place and keyword.
`LASTCALL_LOG=debug` (or another level) shows them on standard error.

`logging` is imported only if the program has done so, or the variable is set: without it nobody could be listening.

Must not go in here: what the command prints.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

from lastcall.api.watching import RunWatcher
from lastcall.core import records as r
from lastcall.nouns.result import TerminalResult, outcome_name
from lastcall.wire.frames import Stage

VARIABLE: Final = "LASTCALL_LOG"
_LEVELS: Final = ("debug", "info", "warning", "error")


def log_observers() -> tuple[Callable[[Stage, str], LogWatcher], ...]:
    """Who writes lines about the run that begins: nobody where no line would be shown."""
    level = os.environ.get(VARIABLE, "").lower()
    if "logging" not in sys.modules and level not in _LEVELS:
        return ()
    import logging  # noqa: PLC0415 -- see above

    logger = logging.getLogger("lastcall")
    if level in _LEVELS and not any(getattr(h, "of_lastcall", False) for h in logger.handlers):
        shown = logging.StreamHandler()
        shown.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
        shown.of_lastcall = True  # type: ignore[attr-defined] # our mark on it
        logger.addHandler(shown)
        logger.setLevel(level.upper())
    return (LogWatcher,) if logger.isEnabledFor(logging.WARNING) else ()


def log_failed_hook(name: str, point: str, error: Exception) -> None:
    """A line about a hook whose failure does not end the run. What it said stands in the result's warning."""
    if log_observers():
        _line("hook", "warning", "the hook %s (%s) failed: %s", name, point, type(error).__name__)


def _line(area: str, level: str, words: str, *figures: Any) -> None:
    import logging  # noqa: PLC0415 -- it is there by now

    getattr(logging.getLogger(f"lastcall.{area}"), level)(words, *figures)


class LogWatcher(RunWatcher):
    """Writes lines about one run."""

    def __init__(self, stage: Stage, prompt: str) -> None:
        self._names: dict[str, str] = {}
        self._session = stage.session_id
        _line("run", "info", "%s begins with %s, prompt of %d characters", stage.session_id, stage.model, len(prompt))

    def records(self, records: Sequence[r.Record]) -> None:
        """Lines about what is true from now on."""
        for record in records:
            self._record(record)

    def _record(self, record: r.Record) -> None:
        match record:
            case r.Asked(number=number, reserved=reserved):
                _line("model", "debug", "request %d%s", number, ", the last that fits" if reserved else "")
            case r.ReplyClosed(stop_reason=stop, usage=usage, took_ms=ms):
                _line("model", "debug", "reply ended: %s, %s in, %s out, %d ms", stop, *usage.figures[:2], ms)
            case r.RequestLost(failure=failure):
                _line("model", "warning", "request lost: %s (status %s)", failure.kind.value, failure.status)
            case r.RetryNoted(attempt=attempt, failure=failure, delay_ms=ms):
                _line("model", "info", "retry %d in %d ms after %s", attempt, ms, failure.kind.value)
            case r.FallbackNoted(from_model=old, to_model=new, trigger=why):
                _line("model", "warning", "%s takes over from %s: %s", new, old, why)
            case r.ToolStarted(call_id=call_id, name=name):
                self._names[call_id] = name
                _line("tool", "debug", "%s starts (%s)", name, call_id)
            case r.CallAnswered(result=result, took_ms=ms) if result.call_id in self._names:
                name = self._names[result.call_id]
                _line("tool", "debug", "%s: %s, %d ms (%s)", name, result.kind.value, ms, result.call_id)
            case r.Attempted(attempt=attempt_made):
                places = ", ".join(f"{p.path or '/'} {p.keyword}" for p in attempt_made.problems)
                _line("attempt", "info", "%d %s %s", attempt_made.n, attempt_made.verdict.value, places)
            case _:
                pass  # the others are in the journal

    def result(self, result: TerminalResult) -> None:
        """The last line."""
        level = "info" if result.ok else "warning"
        took, attempts = result.duration_ms, len(result.attempts)
        _line("run", level, "%s %s, %d attempts, %d ms", self._session, outcome_name(result.outcome), attempts, took)

    def aborted(self) -> None:
        """The last line of a run that was cancelled from outside."""
        _line("run", "warning", "%s cancelled", self._session)
