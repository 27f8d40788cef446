"""Five hundred streamed runs at once through `lastcall serve`, with a model that takes a second; and a soak.

    python bench/server_load.py [--runs 500] [--soak SECONDS] [--storage postgresql://...]

Prints one JSON object: of the load, how many runs were lost, the latency that the server adds to the model's second (each
beside a direct request at the same time, so that a slow machine slows both), its memory per run; of the soak, memory, files
and threads at its beginning and end, under runs, cancels and clients that leave.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / "tests")]

import httpx2  # noqa: E402 -- behind the path

from server_tools import Endpoint, Server, body, good, script_of  # noqa: E402 -- the tests' own

DELAY_S = 1.0


def memory_mb(pid: int) -> float:
    fields = Path(f"/proc/{pid}/statm").read_text().split()
    return int(fields[1]) * 4096 / 1e6


def cpu_s(pid: int) -> float:
    """Processor time of a process so far: what a busy machine does not change."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def links_of(pid: int) -> list[str]:
    """What the descriptors of a process are."""
    found = []
    for place in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.append(str(place.readlink()))
        except OSError:
            continue  # closed meanwhile
    return found


def counts(pid: int) -> dict[str, float]:
    """What a leak would make grow."""
    return {
        "memory_mb": round(memory_mb(pid), 1),
        "files": sum(not link.startswith("socket:") for link in links_of(pid)),
        "sockets": sum(link.startswith("socket:") for link in links_of(pid)),
        "threads": len(list(Path(f"/proc/{pid}/task").iterdir())),
    }


async def streamed(client: httpx2.AsyncClient, n: int) -> tuple[bool, float]:
    """One run; whether its object came, and how long it took."""
    content = {**body(good(n), delay_s=DELAY_S, id=f"load{n}"), "stream": True}
    began = time.perf_counter()
    last = ""
    async with client.stream("POST", "/v1/runs", json=content) as answer:
        async for line in answer.aiter_lines():
            if line.startswith("data: "):
                last = line[6:]
    return json.loads(last).get("structured_output") == {"n": n}, time.perf_counter() - began


async def direct(client: httpx2.AsyncClient, url: str, n: int) -> float:
    content = body(good(n), delay_s=DELAY_S, id=f"direct{n}")
    message = {"role": "user", "content": [{"type": "text", "text": content["prompt"]}]}
    began = time.perf_counter()
    answer = await client.post(f"{url}/v1/messages", json={"messages": [message]})
    assert answer.status_code == 200
    assert script_of({"messages": [message]})["id"] == f"direct{n}"
    return time.perf_counter() - began


async def load(server: Server, endpoint: Endpoint, runs: int) -> dict[str, object]:
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx2.AsyncClient(base_url=server.url, timeout=120, limits=limits) as client:
        await asyncio.gather(*(streamed(client, n) for n in range(20)))  # everything is loaded
        before = memory_mb(server.process.pid)
        peak = before

        async def watch() -> None:
            nonlocal peak
            while True:
                peak = max(peak, memory_mb(server.process.pid))
                await asyncio.sleep(0.05)

        watching = asyncio.create_task(watch())
        alone = await asyncio.gather(*(direct(client, endpoint.url, n) for n in range(runs)))
        spent = cpu_s(server.process.pid)
        found = await asyncio.gather(*(streamed(client, 1000 + n) for n in range(runs)), return_exceptions=True)
        spent = cpu_s(server.process.pid) - spent
        watching.cancel()
    took = sorted(x[1] for x in found if isinstance(x, tuple))
    p99 = took[int(len(took) * 0.99) - 1]
    direct_p99 = sorted(alone)[int(len(alone) * 0.99) - 1]
    return {
        "runs": runs,
        "lost": runs - sum(isinstance(x, tuple) and x[0] for x in found),
        "p50_s": round(statistics.median(took), 3),
        "p99_s": round(p99, 3),
        "direct_p50_s": round(statistics.median(alone), 3),
        "direct_p99_s": round(direct_p99, 3),
        "added_p99_s": round(p99 - direct_p99, 3),
        "cpu_ms_per_run": round(spent * 1000 / runs, 2),
        "memory_before_mb": round(before, 1),
        "memory_peak_mb": round(peak, 1),
        "memory_per_run_kb": round((peak - before) * 1000 / runs, 1),
    }


async def soak(server: Server, seconds: float) -> dict[str, object]:
    """Runs, cancels, clients that leave in the middle; what is left is counted when all is quiet."""
    chance = random.Random(7)
    done = {"runs": 0, "cancelled": 0, "left": 0}

    async def one(client: httpx2.AsyncClient) -> None:
        kind = chance.choice(("runs", "runs", "cancelled", "left"))
        content = body({"object": {"n": "x"}}, good(1), delay_s=chance.choice((0, 0.05, 0.2)), id="soak")
        if kind == "runs":
            answer = await client.post("/v1/runs", json=content)
            assert answer.status_code == 200, answer.text
        elif kind == "cancelled":
            answer = await client.post("/v1/runs", json={**content, "wait": False})
            await client.post(f"/v1/runs/{answer.json()['run_id']}/cancel")
        else:
            async with client.stream("POST", "/v1/runs", json={**content, "stream": True}) as answer:
                async for _ in answer.aiter_lines():
                    break
        done[kind] += 1

    async def worker(until: float) -> None:
        async with httpx2.AsyncClient(base_url=server.url, timeout=60) as client:
            while time.monotonic() < until:
                await one(client)

    async def round_of(length_s: float) -> dict[str, float]:
        await asyncio.gather(*(worker(time.monotonic() + length_s) for _ in range(20)))
        await asyncio.sleep(3)
        return counts(server.process.pid)

    first = await round_of(max(5.0, seconds / 4))
    second = await round_of(seconds * 3 / 4)
    async with httpx2.AsyncClient(base_url=server.url) as client:
        metrics = (await client.get("/metrics")).text
    here = next(line for line in metrics.splitlines() if line.startswith("lastcall_runs_here "))
    open_streams = next(line for line in metrics.splitlines() if line.startswith("lastcall_streams "))
    return {
        **done,
        "after_a_quarter": first,
        "at_the_end": second,
        "still_running": float(here.split()[1]),
        "still_streaming": float(open_streams.split()[1]),
    }


def main() -> None:
    wanted = argparse.ArgumentParser()
    wanted.add_argument("--runs", type=int, default=500)
    wanted.add_argument("--soak", type=float, default=0)
    wanted.add_argument("--storage")
    given = wanted.parse_args()
    flags = ("--storage", given.storage) if given.storage else ()
    with tempfile.TemporaryDirectory() as folder, Endpoint() as endpoint:
        with Server(Path(folder) / "server", endpoint, "--lease", "15", *flags) as server:
            told = {"load": asyncio.run(load(server, endpoint, given.runs))} if given.runs else {}
        if given.soak:
            with Server(Path(folder) / "soaked", endpoint, "--lease", "15", *flags) as server:
                told["soak"] = asyncio.run(soak(server, given.soak))
    print(json.dumps(told, indent=2))


if __name__ == "__main__":
    main()
