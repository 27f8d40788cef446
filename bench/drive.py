"""One contestant under one load, in a process of its own; what it took as one line of JSON.

    drive.py CONTESTANT URL BEHAVIOUR LATENCY_MS --runs N --at-once M

What is loaded and what the first run sets up is not counted: one run comes before. CPU is this process's, memory its peak
above what it was before the counted runs.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import resource
import sys
import time
from typing import Any

from service import ANSWER, texts


def peak_kb() -> float:
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 1024 if sys.platform == "darwin" else float(most)


def now_kb() -> float:
    """Resident memory at this moment, where the system tells it; else the peak."""
    try:
        with open("/proc/self/statm") as file:  # noqa: PTH123
            return int(file.read().split()[1]) * resource.getpagesize() / 1024
    except OSError:
        return peak_kb()


async def drive(args: argparse.Namespace) -> dict[str, float]:
    module = importlib.import_module(f"contestant_{args.contestant}")
    word, _, number = args.behaviour.partition("-")
    wanted: Any = texts(int(number)) if word == "stream" else ANSWER
    contestant = module.Contestant(f"{args.url}/{args.behaviour}/{args.latency}", args.behaviour)
    places = asyncio.Semaphore(args.at_once)

    async def one() -> None:
        async with places:
            assert await contestant.run() == wanted

    first = module.Contestant(f"{args.url}/{args.behaviour}/0", args.behaviour)
    assert await first.run() == wanted
    await first.aclose()
    before, cpu, wall = now_kb(), time.process_time(), time.perf_counter()
    await asyncio.gather(*(one() for _ in range(args.runs)))
    took = {"cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall, "kb": peak_kb() - before}
    await contestant.aclose()
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("contestant")
    parser.add_argument("url")
    parser.add_argument("behaviour")
    parser.add_argument("latency", type=int)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--uvloop", action="store_true")
    parser.add_argument("--profile", help="a file for cProfile's figures")
    args = parser.parse_args()
    factory = importlib.import_module("uvloop").new_event_loop if args.uvloop else None
    profile = None
    if args.profile:
        profile = importlib.import_module("cProfile").Profile()
        profile.enable()
    with asyncio.Runner(loop_factory=factory) as runner:
        took = runner.run(drive(args))
    if profile is not None:
        profile.dump_stats(args.profile)
    print(json.dumps(took))


if __name__ == "__main__":
    main()
