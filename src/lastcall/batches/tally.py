"""What a batch has come to so far: the counts that limits go by and people are shown.

Must not go in here: showing them (`cli.batch_show`), what a limit does (`batches.bounds`).
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Final

from lastcall.batches.records import GOOD, Record
from lastcall.nouns.result import NO_USAGE, Usage

_HAD_REPLIES: Final = frozenset({*GOOD, "gave_up", "out_of_attempts", "retracted"})
"""Outcomes that no row has without a reply."""


class Tally:
    """Counts of this sitting. `total` is the number of rows of the input, `None` where nobody knows.

    `skipped` rows had a record already. `cost_usd` is what is known to be spent, `unpriced` the number of rows whose
    price is not known, `untold` of those that had replies whose tokens nobody told. `started_at` is the clock's (seconds),
    `running` the rows under way.
    """

    def __init__(self, *, total: int | None = None, started_at: float = 0.0) -> None:
        self.total = total
        self.started_at = started_at
        self.skipped = 0
        self.running = 0
        self.left = 0
        """Rows that were begun and have no record: a limit of the batch or a signal ended them."""
        self.outcomes: Counter[str] = Counter()
        self.attempts = 0
        self.tokens_in = 0
        self.tokens_out = 0
        self.cost_usd = Decimal(0)
        self.unpriced = 0
        self.untold = 0

    @property
    def done(self) -> int:
        """Rows that got their record in this sitting."""
        return self.outcomes.total()

    @property
    def failures(self) -> int:
        """Those that ended neither in an object nor in an honest no."""
        return sum(count for outcome, count in self.outcomes.items() if outcome not in GOOD)

    @property
    def mean_cost_usd(self) -> Decimal | None:
        """What a row costs on average; `None` while no row has told."""
        paid = self.done - self.outcomes["bad_row"] - self.unpriced
        return self.cost_usd / paid if paid > 0 else None

    @property
    def tokens(self) -> int:
        """All tokens that are known to be spent: read, written, cached."""
        return self.tokens_in + self.tokens_out

    @property
    def mean_tokens(self) -> int | None:
        """What a row takes on average, rounded up; `None` while no row has told."""
        asked = self.done - self.outcomes["bad_row"] - self.untold
        return -(-self.tokens // asked) if asked > 0 else None

    def add(self, record: Record) -> None:
        """Count a record."""
        self.outcomes[record.outcome] += 1
        self.attempts += record.attempts
        self.untold += record.usage == NO_USAGE and record.outcome in _HAD_REPLIES
        self.spend(record.usage, record.cost_usd)

    def spend(self, usage: Usage, cost_usd: Decimal | None) -> None:
        """Count tokens and a cost, also of a row that got no record."""
        self.tokens_out += usage.output_tokens or 0
        self.tokens_in += usage.total - (usage.output_tokens or 0)
        if cost_usd is None:
            self.unpriced += 1
        else:
            self.cost_usd += cost_usd

    @property
    def remaining(self) -> int | None:
        """Rows that are still to do, the running ones among them; `None` where nobody knows."""
        return None if self.total is None else max(0, self.total - self.skipped - self.done)

    def rate(self, now: float) -> float:
        """Rows a second."""
        passed = now - self.started_at
        return self.done / passed if passed > 0 else 0.0

    def eta_s(self, now: float) -> float | None:
        """Seconds to the end at the rate so far; `None` where nobody knows."""
        rate, remaining = self.rate(now), self.remaining
        return remaining / rate if rate > 0 and remaining is not None else None

    @property
    def projected_usd(self) -> Decimal | None:
        """What this sitting will have cost at its end; `None` where nobody knows."""
        mean, remaining = self.mean_cost_usd, self.remaining
        return None if mean is None or remaining is None else self.cost_usd + mean * remaining
