"""Ctrl-C during a batch: first no further rows, then an end to those under way, then the process.

Must not go in here: signals of single runs (`cli.run`).
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from lastcall.batches.bounds import Halt, Why
from lastcall.batches.tally import Tally
from lastcall.cli.run import AGAIN_S
from lastcall.nouns.result import Signal

_SIGNALS: Final = {
    signal.SIGINT: (Why.INTERRUPTED, Signal.INTERRUPT, "The batch was interrupted."),
    signal.SIGTERM: (Why.TERMINATED, Signal.TERMINATE, "The batch was terminated."),
}


class Stoppable(Protocol):
    """A sitting as signals reach it (`batches.work.BatchWork`)."""

    tally: Tally

    def stop(self, halt: Halt) -> None:
        """Begin no further row."""
        ...

    def interrupt(self, signal: Signal) -> None:
        """End the rows under way too."""
        ...


@contextmanager
def heard_signals(work: Stoppable, note: Callable[[str], None]) -> Iterator[None]:
    """SIGINT and SIGTERM stop the batch, the second one ends the rows under way, the third one the process.

    Signals closer together than a second are one. Use it inside the event loop.
    """
    loop = asyncio.get_running_loop()
    heard: list[float] = []

    def hear(number: int, _frame: object) -> None:
        now = time.monotonic()
        if heard and now - heard[-1] < AGAIN_S:
            return
        heard.append(now)
        if len(heard) > 2:
            os._exit(128 + number)
        loop.call_soon_threadsafe(_act, work, note, signal.Signals(number), len(heard))

    before = {number: signal.signal(number, hear) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _act(work: Stoppable, note: Callable[[str], None], number: signal.Signals, times: int) -> None:
    why, ending, words = _SIGNALS[number]
    if times == 1:
        work.stop(Halt(why, words))
        note(f"lastcall: {work.tally.running} rows under way are finished; once more ends them without a record")
    else:
        work.interrupt(ending)
