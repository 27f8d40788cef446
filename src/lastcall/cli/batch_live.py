"""The live display of a batch on a terminal, drawn with rich.

Must not go in here: what the figures are (`cli.batch_show`).
"""

from __future__ import annotations

import time

import rich.live
from rich.console import Console, Group
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from lastcall.batches.pacing import Pace
from lastcall.batches.tally import Tally
from lastcall.cli.batch_show import Lines, figures, summary


class Live(Lines):
    """A bar with figures below it; in the end a table."""

    def __init__(self, tally: Tally, pace: Pace, *, every_s: float) -> None:
        super().__init__(tally, pace, every_s=every_s)
        self._console = Console(stderr=True, highlight=False)
        self._live = rich.live.Live(console=self._console, auto_refresh=False, transient=True)
        self._live.start()

    def note(self, line: str) -> None:
        """A line above the bar; control characters of other people's words are left out by rich."""
        self._console.print(Text(line))

    def show(self) -> None:
        """Draw."""
        tally = self.tally
        todo = None if tally.total is None else max(1, tally.total - tally.skipped)
        bar = ProgressBar(total=todo, completed=tally.done, width=min(60, self._console.width), pulse=todo is None)
        told = Text(" · ".join(figures(tally, self.pace, time.monotonic())))
        line = Padding(bar, 0, expand=False)  # a bar alone ends without a line feed
        self._live.update(Group(line, told), refresh=True)

    def end(self) -> None:
        """The summary as a table in place of the bar."""
        self._live.stop()
        table = Table(show_header=False, box=None, pad_edge=False)
        for name, value in summary(self.tally, time.monotonic()):
            table.add_row(Text(name, style="bold"), Text(value))
        self._console.print(table)
