"""What a server counts, in Prometheus' text form.

Must not go in here: deciding anything by a count.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

CONTENT_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4
_SECONDS: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)


class Metrics:
    """The counts of one server, since it started."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "lastcall_http_requests", "Requests answered.", ["route", "method", "status"], registry=self._registry
        )
        self._refusals = Counter("lastcall_refused", "Requests refused.", ["code"], registry=self._registry)
        self._runs = Counter("lastcall_runs", "Runs that ended.", ["outcome"], registry=self._registry)
        self._attempts = Counter("lastcall_attempts", "Finishing calls.", ["verdict"], registry=self._registry)
        self._tokens = Counter("lastcall_tokens", "Tokens of models.", ["kind"], registry=self._registry)
        self._cost = Counter("lastcall_cost_usd", "US dollars, where the price is known.", registry=self._registry)
        self._seconds = Histogram(
            "lastcall_run_seconds", "How long runs went on.", buckets=_SECONDS, registry=self._registry
        )
        self._open = Gauge("lastcall_runs_open", "Runs of all servers.", ["state"], registry=self._registry)
        self._here = Gauge("lastcall_runs_here", "Runs of this server.", registry=self._registry)
        self._streams = Gauge("lastcall_streams", "Streams that are open.", registry=self._registry)

    def answered(self, route: str, method: str, status: int) -> None:
        """A request was answered. `route` is its pattern, so that there are only so many."""
        self._requests.labels(route, method, str(status)).inc()

    def refused(self, code: str) -> None:
        """A request began no run."""
        self._refusals.labels(code).inc()

    def ended(self, outcome: str, envelope: Mapping[str, Any], took_s: float) -> None:
        """A run ended."""
        self._runs.labels(outcome).inc()
        self._seconds.observe(took_s)
        for attempt in envelope.get("lastcall", {}).get("attempts", ()):
            self._attempts.labels(attempt["verdict"]).inc()
        for kind, tokens in envelope.get("usage", {}).items():
            self._tokens.labels(kind).inc(tokens or 0)
        self._cost.inc(envelope.get("total_cost_usd") or 0)

    def watched(self, change: int) -> None:
        """A stream was opened (1) or is over (-1)."""
        self._streams.inc(change)

    def text(self, open_runs: Mapping[str, int], here: int) -> bytes:
        """All counts as Prometheus reads them."""
        for state, count in open_runs.items():
            self._open.labels(state).set(count)
        self._here.set(here)
        return generate_latest(self._registry)
