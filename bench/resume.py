"""Going on with a long session: reading its journal and folding its records, beside reading its lines as JSON.

    resume.py [--steps 10000]

Prints one line of JSON: seconds of CPU of both, the steps and the bytes of the journal.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from service import ANSWER, LOOKED_UP, SCHEMA

import lastcall
from lastcall.runtime.publish import Silent
from lastcall.runtime.session import open_session
from lastcall.testing import ScriptedModel


@lastcall.tool
def lookup(n: int) -> str:  # noqa: ARG001 -- every line is alike
    """Looks a line up."""
    return LOOKED_UP


async def journal(folder: Path, steps: int) -> tuple[Path, lastcall.RunConfig]:
    """The journal of a session of at least so many steps."""
    config = lastcall.RunConfig(persist=True, state_dir=str(folder))
    contract = lastcall.Contract(SCHEMA)
    calls = [{"call": {"name": "lookup", "input": {"n": n}}} for n in range(100)]
    session_id = None
    while True:
        path = next(folder.rglob("*.jsonl"), None)  # noqa: ASYNC240 -- nothing else runs
        if path is not None and path.read_bytes().count(b"\n") >= steps:
            return path, lastcall.RunConfig(persist=True, state_dir=str(folder), resume=session_id, tools="")
        go_on = lastcall.RunConfig(persist=True, state_dir=str(folder), resume=session_id) if session_id else config
        model = ScriptedModel(*calls, {"object": ANSWER})
        result = await lastcall.arun("Describe.", output=contract, model=model, tools=[lookup], config=go_on)
        assert result.output == ANSWER
        session_id = result.session_id


def fastest(do: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        before = time.process_time()
        do()
        times.append(time.process_time() - before)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=10_000)
    steps = parser.parse_args().steps
    with tempfile.TemporaryDirectory() as folder:
        path, config = asyncio.run(journal(Path(folder), steps))
        lines = path.read_bytes().splitlines()
        provider = ScriptedModel({"object": ANSWER})

        def ours() -> None:
            async def opened() -> None:
                session = open_session(config, lambda _stage: Silent(), provider)
                assert len(session.driver.state.messages) > len(lines) / 10
                await session.aclose()

            asyncio.run(opened())

        ours()  # what the first one loads is the start's business
        size = sum(map(len, lines))
        took = {"ours_s": fastest(ours), "floor_s": fastest(lambda: [json.loads(line) for line in lines])}
        print(json.dumps({**took, "steps": len(lines), "bytes": size}))


if __name__ == "__main__":
    main()
