"""A batch as people see it: a bar and figures on a terminal, plain lines elsewhere, a summary at the end.

Must not go in here: counting (`batches.tally`).
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from types import TracebackType
from typing import Any, Final, Protocol, Self

import anyio
import anyio.abc
import msgspec

from lastcall.batches.bounds import Halt
from lastcall.batches.pacing import Pace
from lastcall.batches.records import OUTCOMES
from lastcall.batches.tally import Tally
from lastcall.cli.streams import say

_PLAIN_EVERY_S: Final = 10.0
_DRAWN_EVERY_S: Final = 0.25
_WORDS: Final = {"out_of_attempts": "out of attempts", "gave_up": "gave up", "bad_row": "not usable"}


class Screen(Protocol):
    """Who shows a batch while it runs. Use it as a context."""

    def note(self, line: str) -> None:
        """Something to say beside the figures."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def open_screen(tally: Tally, pace: Pace, *, quiet: bool) -> Screen:
    """A live display on a terminal, plain lines elsewhere, nothing when quiet."""
    if quiet:
        return Lines(tally, pace, every_s=None)
    if sys.stderr is not None and sys.stderr.isatty():
        from lastcall.cli.batch_live import Live  # noqa: PLC0415 -- rich, on terminals only

        return Live(tally, pace, every_s=_DRAWN_EVERY_S)
    return Lines(tally, pace, every_s=_PLAIN_EVERY_S)


class Lines:
    """One line of figures every few seconds, and the summary at the end. `every_s` `None` shows neither."""

    def __init__(self, tally: Tally, pace: Pace, *, every_s: float | None) -> None:
        self.tally = tally
        self.pace = pace
        self._every_s = every_s
        self._tasks: anyio.abc.TaskGroup | None = None

    def note(self, line: str) -> None:
        """A line of its own."""
        if self._every_s is not None:
            say(line)

    def show(self) -> None:
        """The figures now."""
        say(f"lastcall: {'; '.join(figures(self.tally, self.pace, time.monotonic()))}")

    def end(self) -> None:
        """The summary."""
        for name, value in summary(self.tally, time.monotonic()):
            say(f"lastcall: {name}: {value}")

    async def __aenter__(self) -> Self:
        if self._every_s is not None:
            self._tasks = await anyio.create_task_group().__aenter__()
            self._tasks.start_soon(self._repeat, self._every_s)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._tasks is not None:
            self._tasks.cancel_scope.cancel()
            await self._tasks.__aexit__(None, None, None)
            if error is None:
                self.end()

    async def _repeat(self, every_s: float) -> None:
        while True:
            await anyio.sleep(every_s)
            self.show()


# -- words ----------------------------------------------------------------------------------------------------------


def figures(tally: Tally, pace: Pace, now: float) -> list[str]:
    """How far it is: rows and their outcomes, attempts, tokens, cost, rate and time left."""
    of = "" if tally.total is None else f" of {tally.total - tally.skipped}"
    found = [f"{tally.done}{of} rows done", *outcome_words(tally.outcomes)]
    asked = tally.done - tally.outcomes["bad_row"]
    if asked > 0:
        found.append(f"{tally.attempts / asked:.2f} attempts a row")
        found.append(f"{_short(tally.tokens_in)} tokens in, {_short(tally.tokens_out)} out")
        found.append(_cost(tally))
    found.append(f"{tally.running} running, at most {int(pace.limit)} requests")
    if pace.pause_s > 0:
        found.append(f"the service asks to wait {pace.pause_s:.0f} s")
    eta_s = tally.eta_s(now)
    found.append(f"{tally.rate(now):.1f} rows/s" + ("" if eta_s is None else f", {_span(eta_s)} left"))
    return found


def outcome_words(outcomes: Counter[str]) -> list[str]:
    """Each outcome with its number."""
    return [f"{outcomes[name]} {_WORDS.get(name, name)}" for name in OUTCOMES if outcomes[name]]


def summary(tally: Tally, now: float) -> list[tuple[str, str]]:
    """What this sitting came to, as names and values."""
    found = [("rows done", str(tally.done))]
    if tally.skipped:
        found.append(("done before", str(tally.skipped)))
    found += [(_WORDS.get(name, name), str(tally.outcomes[name])) for name in OUTCOMES if tally.outcomes[name]]
    if tally.left:
        found.append(("begun, without a record", str(tally.left)))
    asked = tally.done - tally.outcomes["bad_row"]
    if asked > 0:
        found.append(("attempts a row", f"{tally.attempts / asked:.2f}"))
        found.append(("tokens in / out", f"{tally.tokens_in} / {tally.tokens_out}"))
        found.append(("cost", _dollars(tally)))
    found.append(("time", _span(now - tally.started_at)))
    return found


def summary_value(tally: Tally, kept: Counter[str], halt: Halt | None) -> str:
    """The summary as one line of JSON."""
    value: dict[str, Any] = {
        "rows": tally.total,
        "done": tally.done,
        "done_before": tally.skipped,
        "without_record": tally.remaining,
        "outcomes": dict(tally.outcomes),
        "outcomes_in_output": dict(kept + tally.outcomes),
        "attempts": tally.attempts,
        "input_tokens": tally.tokens_in,
        "output_tokens": tally.tokens_out,
        "cost_usd": None if tally.unpriced else tally.cost_usd,
        "seconds": round(time.monotonic() - tally.started_at, 3),
        "stopped_by": None if halt is None else halt.why.value,
        "reason": "" if halt is None else halt.words,
    }
    return msgspec.json.Encoder(decimal_format="number").encode(value).decode()


def _cost(tally: Tally) -> str:
    projected = tally.projected_usd
    return _dollars(tally) + ("" if projected is None or tally.unpriced else f" (${projected:.2f} at the end)")


def _dollars(tally: Tally) -> str:
    if tally.unpriced:
        return f"${tally.cost_usd:.4f} and {tally.unpriced} rows of unknown price"
    return f"${tally.cost_usd:.4f}"


def _short(number: int) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.1f}{letter}"
    return str(number)


def _span(seconds: float) -> str:
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {left:02} s" if minutes else f"{seconds:.1f} s"
