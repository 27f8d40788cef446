"""The benchmark: one table of ratios to a bare-bones floor, measured beside it in the same minutes.

    run.py                    everything, lastcall and the floor
    run.py --peers            with pydantic-ai, instructor and openai-agents, from PyPI, in an environment of their own
    run.py --quick            fewer runs: a minute without peers
    run.py --gate             the same; exit code 1 when a ratio is over its bound by a third
    run.py --write            also puts the table into docs/performance.md
    run.py --only throughput  only what has this in its name

Figures are CPU time unless a row says otherwise. Each comes from a process of its own; where a ratio is wanted, floor and
contestants take turns, and the median of the turns' ratios counts, so that whatever else the machine does meets all.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from cold_start import FIRST_REQUEST_BOUND, commands_for, seconds_to_first_request
from endpoint import Endpoint
from peers_env import peer_versions, peers_python
from service import Service

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "performance.md"
BEGIN, END = "<!-- table: bench/run.py -->", "<!-- end -->"
OURS = ("floor", "lastcall")
PEERS = ("pydantic_ai", "instructor", "openai_agents")


@dataclass
class Row:
    """One line of the table. `shown` is each contestant's figure, `ratios` each one's to the floor."""

    name: str
    shown: dict[str, str]
    ratios: dict[str, float] = field(default_factory=dict)
    target: float | None = None
    note: str = ""
    slack: float = 1.35
    """What the gate allows beyond the target. CI machines are noisy neighbours: it is for what got worse by a third."""

    @property
    def ratio(self) -> float:
        return self.ratios.get("lastcall", math.nan)


class Bench:
    def __init__(self, url: str, folder: str, *, peers: bool, quick: bool) -> None:
        self.url = url
        self.quick = quick
        self.turns = 3 if quick else 5
        self.peers_python = peers_python() if peers else ""
        self.contestants = (*OURS, *(PEERS if peers else ()))
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
        self.env = kept | {
            "HOME": folder,
            "LASTCALL_STATE_DIR": f"{folder}/state",
            "LASTCALL_CACHE_DIR": f"{folder}/cache",
            "OPENAI_API_KEY": "k",
        }

    # -- processes ------------------------------------------------------------------------------------------------

    def python(self, contestant: str) -> str:
        return self.peers_python if contestant in PEERS else sys.executable

    def child(self, contestant: str, *words: object) -> dict[str, Any] | None:
        """One process's line of JSON; `None` for what the contestant does not do."""
        command = [self.python(contestant), *map(str, words)]
        ran = subprocess.run(command, cwd=HERE, env=self.env, capture_output=True, text=True, check=False)
        if ran.returncode == 1 and ran.stderr.strip() in ("no tools", "does not ask again"):
            return None
        if ran.returncode:
            raise SystemExit(f"{' '.join(command)}\nexit code {ran.returncode}\n{ran.stdout}{ran.stderr}")
        found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1]) if ran.stdout.strip() else {}
        return found

    def drive(self, contestant: str, behaviour: str, latency: int, runs: int, at_once: int) -> dict[str, Any] | None:
        words = (behaviour, latency, "--runs", runs, "--at-once", at_once)
        return self.child(contestant, "drive.py", contestant, self.url, *words)

    def heard(self) -> list[dict[str, float]]:
        with urllib.request.urlopen(f"{self.url}/heard") as answer:
            found: list[dict[str, float]] = json.load(answer)
        return found

    def race(
        self, name: str, measure: Callable[[str], float | None], show: Callable[[float], str], target: float | None
    ) -> Row:
        """All contestants take turns; the figures shown are medians."""
        turns: list[dict[str, float]] = []
        for _ in range(self.turns):
            measured = {who: measure(who) for who in self.contestants}
            turns.append({who: figure for who, figure in measured.items() if figure is not None})
        there = [who for who in self.contestants if who in turns[0]]
        return Row(
            name,
            {who: show(statistics.median(turn[who] for turn in turns)) for who in there},
            {who: statistics.median(turn[who] / turn["floor"] for turn in turns) for who in there if who != "floor"},
            target,
        )

    # -- what is measured -----------------------------------------------------------------------------------------

    def cold_start(self) -> list[Row]:
        def first_request(contestant: str) -> float:
            self.heard()
            began = time.perf_counter()
            self.child(contestant, "once.py", contestant, self.url)
            return self.heard()[0]["at"] - began

        rows = [self.command_start()]
        if not self.quick:
            for contestant in self.contestants:
                first_request(contestant)  # the first of each fills caches
            rows.append(self.race("cold start to the first request, Python (time)", first_request, milliseconds, None))
        return rows

    def command_start(self) -> Row:
        """`lastcall -p` against a script of a dozen lines."""
        with tempfile.TemporaryDirectory() as folder, Endpoint() as endpoint:
            commands = commands_for(endpoint, folder)
            starts = {who: partial(seconds_to_first_request, commands[who], endpoint, folder) for who in OURS}
            pairs = [(starts["floor"](), starts["lastcall"]()) for _ in range(9 if self.quick else 16)][1:]
        floor, ours = (statistics.median(column) for column in zip(*pairs, strict=True))
        ratio = statistics.median(ours / floor for floor, ours in pairs)
        shown = {"floor": milliseconds(floor), "lastcall": milliseconds(ours)}
        return Row(
            "cold start to the first request, command (time)",
            shown,
            {"lastcall": ratio},
            FIRST_REQUEST_BOUND,
            slack=1.6,
        )  # the one row that is no CPU time

    def turns_cost(self) -> list[Row]:
        lengths = (1, 50, 200) if self.quick else (1, 10, 50, 200)
        rows, totals = [], dict[int, dict[str, list[float]]]()
        for turns in lengths:
            runs = max(1, 60 // turns)

            def a_run(contestant: str, turns: int = turns, runs: int = runs) -> float | None:
                took = self.drive(contestant, f"turns-{turns}", 0, runs, 1)
                if took is None:
                    return None
                totals.setdefault(turns, {}).setdefault(contestant, []).append(took["cpu_s"] / runs)
                return float(took["cpu_s"] / runs)

            rows.append(self.race(f"a run of {turns} tool turns", a_run, milliseconds, 4.0))
        grown = {
            who: math.log(statistics.median(totals[200][who]) / statistics.median(totals[50][who])) / math.log(201 / 51)
            for who in self.contestants
            if who in totals[200]
        }
        shown = {who: f"{exponent:.2f}" for who, exponent in grown.items()}
        rows.append(
            Row("growth of a run's CPU, exponent, 50 to 200 turns", shown, {"lastcall": grown["lastcall"]}, 1.05)
        )
        return rows

    def throughput(self) -> list[Row]:
        runs = 300 if self.quick else 1000
        seconds: dict[str, float] = {}

        def a_run(contestant: str) -> float | None:
            took = self.drive(contestant, "reject", 100, runs, 64)
            if took is None:
                return None
            seconds[contestant] = took["wall_s"]
            return float(took["cpu_s"] / runs)

        row = self.race("a run with one rejection, 64 at once, 100 ms latency", a_run, milliseconds, 2.0)
        shown = {who: f"{runs / took:.0f} a second" for who, took in seconds.items()}
        return [row, Row("the same: runs a second (the most that waiting allows: 320)", shown)]

    def in_flight(self) -> list[Row]:
        runs = 200 if self.quick else 500

        def kilobytes(contestant: str) -> float | None:
            took = self.drive(contestant, "answer", 2000, runs, runs)
            return None if took is None else took["kb"] / runs

        return [self.race(f"memory of a run in flight, {runs} at once", kilobytes, "{:.0f} kB".format, 1.5)]

    def streaming(self) -> list[Row]:
        def a_stream(contestant: str) -> float | None:
            if contestant in PEERS:
                return None
            took = self.drive(contestant, "stream-200000", 0, 5, 1)
            return None if took is None else took["cpu_s"] / 5

        return [self.race("an object of 200 kB in deltas of 20 bytes", a_stream, milliseconds, 3.0)]

    def overhead(self) -> list[Row]:
        sizes = {}
        for contestant in self.contestants:
            self.heard()
            self.child(contestant, "once.py", contestant, self.url)
            requests = self.heard()
            sizes[contestant] = sum(request["size"] for request in requests)
        more = {who: size - sizes["floor"] for who, size in sizes.items()}
        shown = {who: f"{size:.0f} B" if who == "floor" else f"{more[who]:+.0f} B" for who, size in sizes.items()}
        tokens = more["lastcall"] / 4
        note = f"lastcall: about {tokens:.0f} tokens at 4 bytes each, of 250 allowed"
        return [Row("what is sent for one object at the first call", shown, {"lastcall": tokens / 250}, 1.0, note)]

    def validation(self) -> list[Row]:
        found = self.child("lastcall", "validate.py")
        assert found is not None
        rows = []
        for name, figures in found.items():
            for what, ours, theirs in zip(
                ("compile", "fits", "does not fit"), figures["ours"], figures["floor"], strict=True
            ):
                shown = {"floor": milliseconds(theirs), "lastcall": milliseconds(ours)}
                rows.append(Row(f"{name}: {what}", shown, {"lastcall": ours / theirs}, VALIDATION.get((name, what))))
        return rows

    def resuming(self) -> list[Row]:
        steps = 2_000 if self.quick else 10_000
        took = self.child("lastcall", "resume.py", "--steps", steps)
        assert took is not None
        shown = {"floor": milliseconds(took["floor_s"]), "lastcall": milliseconds(took["ours_s"])}
        row = Row(f"going on with a session of {took['steps']:,} steps ({took['bytes'] / 1e6:.1f} MB)", shown)
        row.ratios, row.target = {"lastcall": took["ours_s"] / took["floor_s"]}, 5.0
        return [row]


VALIDATION = {
    ("small schema", "fits"): 16.0,
    ("200 properties", "fits"): 20.0,
    ("200 properties", "does not fit"): 1.7,
    ("1 MB instance", "does not fit"): 13.7,
    ("100,000-node schema", "compile"): 7.5,
}
"""What the prototype of the validator took, in jsonschema-rs' times."""
STEPS: dict[str, Callable[[Bench], list[Row]]] = {
    "overhead": Bench.overhead,
    "cold start": Bench.cold_start,
    "throughput": Bench.throughput,
    "turns": Bench.turns_cost,
    "in flight": Bench.in_flight,
    "streaming": Bench.streaming,
    "resume": Bench.resuming,
    "validation": Bench.validation,
}


def milliseconds(seconds: float) -> str:
    value = seconds * 1000
    return f"{value:.0f} ms" if value >= 100 else f"{value:.2f} ms" if value >= 0.1 else f"{value * 1000:.1f} µs"


# -- the table ------------------------------------------------------------------------------------------------------


def verdict(row: Row, *, gate: bool) -> str:
    if row.target is None or math.isnan(row.ratio):
        return ""
    return "ok" if row.ratio <= row.target * (row.slack if gate else 1) else "OVER"


def lines(rows: Sequence[Row], contestants: Sequence[str], *, gate: bool = False) -> list[str]:
    """The table, in Markdown."""
    peers = [who for who in contestants if who in PEERS]
    names = ["floor", "lastcall", "ratio", "at most", "", *(who.replace("_", "-") for who in peers)]
    table = [f"| {' | '.join(['what', *names])} |", "|---" * (len(names) + 1) + "|"]
    for row in rows:
        bound = "" if row.target is None else f"{row.target * (row.slack if gate else 1):.2f}"
        ratio = "" if math.isnan(row.ratio) else f"{row.ratio:.2f}"
        cells = [
            row.name,
            row.shown.get("floor", ""),
            row.shown.get("lastcall", ""),
            ratio,
            bound,
            verdict(row, gate=gate),
        ]
        for who in peers:
            times = f" ({row.ratios[who]:.1f}x)" if who in row.ratios else ""
            absent = "does not" if any(peer in row.shown for peer in peers) else ""
            cells.append(row.shown.get(who, absent) + times)
        table.append(f"| {' | '.join(cells)} |")
    return [*table, *(f"\n{row.note}." for row in rows if row.note)]


def machine(peers: bool) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in peer_versions().items()) if peers else ""
    parts = [f"Python {platform.python_version()}", platform.machine(), f"{os.cpu_count()} cores", versions]
    return f"{', '.join(part for part in parts if part)}."


def write(table: Sequence[str]) -> None:
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n\n" + "\n".join(table) + f"\n\n{END}{after}", "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--gate", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", default="")
    chosen = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, Service() as url:
        bench = Bench(url, folder, peers=chosen.peers, quick=chosen.quick or chosen.gate)
        for name, step in STEPS.items():
            if chosen.only in name:
                print(f"{name} ...", file=sys.stderr, flush=True)
                rows += step(bench)
        contestants = bench.contestants
    table = lines(rows, contestants, gate=chosen.gate)
    print("\n".join(table))
    if chosen.write:
        write([machine(chosen.peers), "", *table])
    return 1 if chosen.gate and any(verdict(row, gate=True) == "OVER" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
