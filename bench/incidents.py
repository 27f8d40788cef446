"""The embedded model on the incident notes, as a table.

    python bench/incidents.py [--model standard|small] [--set notes|held_out|read|read_held_out] [--limit N]

`notes` and `held_out` hold the note in the prompt; in `read` the model has to read a small file first.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

import anyio

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from incident_tools import Tried, open_model, rows, try_row


async def run(model: str, name: str, limit: int | None) -> list[Tried]:
    provider = open_model(model)
    tried = []
    try:
        began = time.monotonic()
        await provider.ready()
        print(f"{provider.deployment.model}, {name}: engine ready after {time.monotonic() - began:.1f} s", flush=True)
        for row in rows(name)[:limit]:
            one = await try_row(provider, row)
            tried.append(one)
            verdict = "right" if one.right else f"{one.outcome}, wrong: {', '.join(one.wrong)}: {one.found}"
            print(
                f"{one.id:<8} {one.seconds:6.1f} s  {one.turns} turns  {one.attempts} attempts  {one.tokens_in:5} in "
                f"{one.tokens_out:4} out  {verdict}",
                flush=True,
            )
    finally:
        await provider.aclose()
    return tried


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="standard")
    parser.add_argument("--set", default="notes", choices=["notes", "held_out", "read", "read_held_out"])
    parser.add_argument("--limit", type=int)
    args = parser.parse_args()
    tried = anyio.run(run, args.model, args.set, args.limit)
    valid, right = sum(one.found is not None for one in tried), sum(one.right for one in tried)
    seconds = [one.seconds for one in tried]
    print(f"valid {valid}/{len(tried)}, wholly right {right}/{len(tried)}, median {statistics.median(seconds):.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
