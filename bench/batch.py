"""What a batch costs: wall time beside the ideal, CPU a row beside the floor, and memory from 1,000 to 100,000 rows.

    batch.py rows [--rows 930] [--at-once 64] [--latency 0.1]
    batch.py memory [--rows 1000 10000 100000]

The script stands where the network would be, so that only lastcall is measured; a fifth of the first attempts are
rejected. The ideal is requests x latency / requests at once. The time that the process stood in line
for a processor, because others computed, is not counted in the ratio. The floor sleeps as long, reads the same object
with the standard library and writes a line. Memory is the peak of a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from endpoint import ANSWER, SCHEMA


def write_rows(path: Path, rows: int) -> None:
    with path.open("w") as file:
        for n in range(rows):
            file.write(json.dumps({"id": n, "text": f"Something broke in building {n}, and nobody knows why."}) + "\n")


def is_rejected(n: int) -> bool:
    return n % 5 == 0


class Forgetful(list):
    """Keeps none of the bodies that the script was asked with."""

    def append(self, _: object) -> None:
        return


async def floor(folder: Path, rows: int, at_once: int, latency: float) -> int:
    places, text, requests = asyncio.Semaphore(at_once), json.dumps(ANSWER), 0

    async def one(n: int, out: object) -> None:
        nonlocal requests
        async with places:
            for _ in range(2 if is_rejected(n) else 1):
                requests += 1
                await asyncio.sleep(latency)
            out.write(json.dumps({"key": n, "output": json.loads(text)}) + "\n")

    with (folder / "floor.jsonl").open("w") as out:
        await asyncio.gather(*(one(n, out) for n in range(rows)))
    return requests


async def lastcall_batch(folder: Path, rows: int, at_once: int, latency: float) -> int:  # noqa: ARG001 -- as the floor
    import lastcall  # noqa: PLC0415 -- the floor does without
    from lastcall.testing import ScriptedModel  # noqa: PLC0415

    requests = 0

    def reply(body: dict) -> dict:
        nonlocal requests
        requests += 1
        number = int(body["messages"][0]["content"][0]["text"].split("building ")[1].split(",")[0])
        rejected = len(body["messages"]) == 1 and is_rejected(number)
        return {"object": {"severity": "?"} if rejected else ANSWER, "delay_ms": latency * 1000}

    model = ScriptedModel(reply)
    model.player.bodies = Forgetful()
    batch = lastcall.batch(
        folder / "rows.jsonl",
        prompt="Describe: {{ text }}",
        output=lastcall.Contract(SCHEMA),
        model=model,
        save_to=folder / "out.jsonl",
        key="id",
        concurrency=at_once,
    )
    async with batch as records:
        async for record in records:
            assert record.output == ANSWER
    return requests


def queued() -> float:
    """Seconds that this thread stood in line for a processor, where the system tells (Linux)."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return 0.0


def measure(what: str, rows: int, at_once: int, latency: float) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_rows(folder / "rows.jsonl", rows)
        wall, cpu, line = time.perf_counter(), time.process_time(), queued()
        requests = asyncio.run({"floor": floor, "lastcall": lastcall_batch}[what](folder, rows, at_once, latency))
        wall, cpu, line = time.perf_counter() - wall, time.process_time() - cpu, queued() - line
    ideal = requests * latency / at_once
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    ratio = f"{(wall - line) / ideal:5.2f} x the ideal of {ideal:5.2f} s" if ideal else "no latency"
    took = f"{wall:7.2f} s ({line:.2f} s in line for a processor)"
    cost = f"{cpu / rows * 1000:6.2f} ms of CPU a row"
    print(f"{what:9} {rows:7} rows in {took}, {ratio}   {cost}   peak {peak:6.1f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("rows", "memory", "floor", "lastcall"))
    parser.add_argument("--rows", type=int, nargs="+")
    parser.add_argument("--at-once", type=int, default=64)
    parser.add_argument("--latency", type=float)
    args = parser.parse_args()
    if args.what in ("floor", "lastcall"):
        measure(args.what, args.rows[0], args.at_once, args.latency or 0.0)
        return
    sizes = args.rows or ([930] if args.what == "rows" else [1_000, 10_000, 100_000])
    latency = args.latency if args.latency is not None else (0.1 if args.what == "rows" else 0.0)
    for size in sizes:
        for what in ("floor", "lastcall") if args.what == "rows" else ("lastcall",):
            words = [sys.executable, __file__, what, "--rows", str(size), "--at-once", str(args.at_once)]
            subprocess.run([*words, "--latency", str(latency)], check=True)


if __name__ == "__main__":
    main()
