"""Cold start: how long until the first request is sent, and how long `--help` takes.

Pairs of processes, one of each contestant, one after the other, so that whatever else the machine does meets both.

    cold_start.py [--pairs 15] [--check]

With `--check` the exit code is 1 when a ratio is over its bound.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from endpoint import SCHEMA, Endpoint

HERE = Path(__file__).parent
LASTCALL = [sys.executable, "-m", "lastcall"]
FIRST_REQUEST_BOUND = 1.3
HELP_BOUND = 1.5


def environment(folder: str, url: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
    dirs = {"HOME": folder, "LASTCALL_STATE_DIR": f"{folder}/state", "LASTCALL_CACHE_DIR": f"{folder}/cache"}
    return kept | dirs | {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-test"}


def commands_for(endpoint: Endpoint, folder: str) -> dict[str, list[str]]:
    """The command of each contestant."""
    schema = Path(folder, "schema.json")
    schema.write_text(json.dumps(SCHEMA))
    run = [*LASTCALL, "-p", "Describe the incident.", "--json-schema", f"@{schema}", "--model", "haiku"]
    return {
        "lastcall": [*run, "--tools", "", "--output-format", "json"],
        "floor": [sys.executable, str(HERE / "floor.py"), endpoint.url, str(schema)],
    }


def seconds_to_first_request(command: list[str], endpoint: Endpoint, folder: str) -> float:
    before = len(endpoint.arrivals)
    start = time.perf_counter()
    ran = subprocess.run(
        command, cwd=folder, env=environment(folder, endpoint.url), capture_output=True, text=True, check=False
    )
    if ran.returncode or len(endpoint.arrivals) != before + 1:
        raise SystemExit(f"{' '.join(command)}\nexit code {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return endpoint.arrivals[before] - start


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def race(name: str, ours: Callable[[], float], theirs: Callable[[], float], pairs: int, bound: float) -> bool:
    ours(), theirs()  # the first of each fills caches
    times = [(ours(), theirs()) for _ in range(pairs)]
    mine, other = (statistics.median(column) for column in zip(*times, strict=True))
    ratio = statistics.median(a / b for a, b in times)
    verdict = "ok" if ratio <= bound else "OVER"
    print(f"{name:<16} {mine * 1000:8.0f} ms {other * 1000:8.0f} ms   {ratio:5.2f}   {bound:5.2f}  {verdict}")
    return ratio <= bound


def main() -> int:
    parser = argparse.ArgumentParser(description="Cold start against the bare-bones contestant.")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--check", action="store_true")
    chosen = parser.parse_args()
    print(f"{'':<16} {'lastcall':>11} {'floor':>11}   {'ratio':>5}   {'bound':>5}")
    with tempfile.TemporaryDirectory() as folder, Endpoint() as endpoint:
        commands = commands_for(endpoint, folder)
        met = [
            race(
                "first request",
                lambda: seconds_to_first_request(commands["lastcall"], endpoint, folder),
                lambda: seconds_to_first_request(commands["floor"], endpoint, folder),
                chosen.pairs,
                FIRST_REQUEST_BOUND,
            ),
            race(
                "--help",
                lambda: seconds([*LASTCALL, "--help"]),
                lambda: seconds([sys.executable, "-c", "import click"]),
                chosen.pairs,
                HELP_BOUND,
            ),
        ]
    return 0 if all(met) or not chosen.check else 1


if __name__ == "__main__":
    sys.exit(main())
