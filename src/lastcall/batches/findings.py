"""What the records of a batch tell together: outcomes, attempts, what was rejected and why, cost, time, the worst rows.

Records are looked at one by one; what is kept does not grow with their number.

Must not go in here: showing it (`batches.report`).
"""

from __future__ import annotations

import heapq
import re
from array import array
from collections import Counter
from collections.abc import Iterable
from typing import Final

from lastcall.batches.records import BAD_ROW, GOOD, Stored

WORST: Final = 20
_SAMPLED: Final = 20_000
_PATHS_KEPT: Final = 5_000
_INDEX: Final = re.compile(r"/\d+(?=/|$)")


class Sample:
    """Values for a histogram: all of them up to a bound, then every second, every fourth, and so on."""

    def __init__(self, most: int = _SAMPLED) -> None:
        self._kept = array("d")
        self._most = most
        self._every = 1
        self._seen = 0

    def add(self, value: float) -> None:
        """Take a value, or pass it over."""
        if self._seen % self._every == 0:
            self._kept.append(value)
            if len(self._kept) >= self._most:
                self._kept = self._kept[::2]
                self._every *= 2
        self._seen += 1

    @property
    def values(self) -> list[float]:
        """What was kept, in the order in which it came."""
        return list(self._kept)

    @property
    def is_whole(self) -> bool:
        """Whether nothing was passed over."""
        return self._every == 1


class Findings:
    """Counts over records. `worst` are the rows with the most trouble, the worst first."""

    def __init__(self, records: Iterable[Stored]) -> None:
        self.rows = 0
        self.outcomes: Counter[str] = Counter()
        self.attempts: Counter[int] = Counter()
        self.keywords: Counter[str] = Counter()
        self.fields: Counter[str] = Counter()
        self.models: Counter[str] = Counter()
        self.tokens_in = 0
        self.tokens_out = 0
        self.cost_usd = 0.0
        self.unpriced = 0
        self.costs = Sample()
        self.seconds = Sample()
        self._worst: list[tuple[tuple[bool, int, int, int], int, Stored]] = []
        for record in records:
            self._add(record)

    @property
    def worst(self) -> list[Stored]:
        """Rows that ended without an object first, then those with the most attempts and problems."""
        return [record for _, _, record in sorted(self._worst, key=lambda item: item[0], reverse=True)]

    def _add(self, record: Stored) -> None:
        self.rows += 1
        self.outcomes[record.outcome] += 1
        if record.outcome != BAD_ROW:
            self._add_run(record)
        for attempt in record.attempts:
            for problem in attempt.problems:
                self.keywords[problem.keyword or "(none)"] += 1
                path = _INDEX.sub("/*", problem.path) or "(the whole)"
                if path in self.fields or len(self.fields) < _PATHS_KEPT:
                    self.fields[path] += 1
        self._keep_if_worse(record)

    def _add_run(self, record: Stored) -> None:
        self.attempts[len(record.attempts)] += 1
        self.models[record.model] += 1
        usage = record.usage
        cached = (usage.cache_creation_input_tokens or 0) + (usage.cache_read_input_tokens or 0)
        self.tokens_in += (usage.input_tokens or 0) + cached
        self.tokens_out += usage.output_tokens or 0
        self.seconds.add(record.duration_ms / 1000)
        if record.cost_usd is None:
            self.unpriced += 1
        else:
            self.cost_usd += record.cost_usd
            self.costs.add(record.cost_usd)

    def _keep_if_worse(self, record: Stored) -> None:
        problems = sum(len(attempt.problems) for attempt in record.attempts)
        if record.outcome == "answered" and not problems:
            return
        badness = (record.outcome not in GOOD, len(record.attempts), problems, -record.row)
        entry = (badness, self.rows, record)
        if len(self._worst) < WORST:
            heapq.heappush(self._worst, entry)
        else:
            heapq.heappushpop(self._worst, entry)
