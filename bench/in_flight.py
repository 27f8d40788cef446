"""What a run in flight costs: 1,000 runs in one process on a scripted model that takes 2 s, beside bare tasks that wait.

    in_flight.py [--runs 1000] [--latency 2]

The script stands where the network would be, so that only lastcall is measured. The floor waits as long and reads the same
object with the standard library. Memory is the process's peak above what it was before the first run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import time

from endpoint import ANSWER, SCHEMA


async def floor(runs: int, latency: float) -> None:
    text = json.dumps(ANSWER)

    async def one() -> None:
        await asyncio.sleep(latency)
        assert json.loads(text) == ANSWER

    await asyncio.gather(*(one() for _ in range(runs)))


async def lastcall_runs(runs: int, latency: float) -> None:
    import lastcall  # noqa: PLC0415 -- the floor does without
    from lastcall.testing import ScriptedModel  # noqa: PLC0415

    contract = lastcall.Contract(SCHEMA)
    config = lastcall.RunConfig()

    async def one(wait_ms: float) -> None:
        model = ScriptedModel({"object": ANSWER, "delay_ms": wait_ms})
        result = await lastcall.arun("Describe the incident.", output=contract, model=model, config=config)
        assert result.output == ANSWER

    await one(0)  # what the first run loads belongs to no run
    before.update(cpu=time.process_time(), peak=peak())
    await asyncio.gather(*(one(latency * 1000) for _ in range(runs)))


before: dict[str, float] = {}


def peak() -> float:
    """The process's peak resident memory in kB."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 1024 if sys.platform == "darwin" else float(most)


def measure(what: str, runs: int, latency: float) -> None:
    before.update(cpu=time.process_time(), peak=peak())
    began = time.perf_counter()
    asyncio.run({"floor": floor, "lastcall": lastcall_runs}[what](runs, latency))
    took = time.perf_counter() - began
    cpu = (time.process_time() - before["cpu"]) / runs * 1000
    memory = (peak() - before["peak"]) / runs
    print(f"{what:9} {runs} runs in {took:5.1f} s   {cpu:6.2f} ms of CPU and {memory:6.1f} kB of memory a run")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--latency", type=float, default=2.0)
    parser.add_argument("--what", choices=("floor", "lastcall"))
    args = parser.parse_args()
    if args.what:
        measure(args.what, args.runs, args.latency)
        return
    for what in ("floor", "lastcall"):
        words = [sys.executable, __file__, "--what", what, "--runs", str(args.runs), "--latency", str(args.latency)]
        subprocess.run(words, check=True)


if __name__ == "__main__":
    main()
