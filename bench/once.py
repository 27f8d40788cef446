"""One run of a contestant from the start of its process: `once.py CONTESTANT URL`."""

import asyncio
import importlib
import sys

from service import ANSWER


async def once() -> None:
    module = importlib.import_module(f"contestant_{sys.argv[1]}")
    contestant = module.Contestant(f"{sys.argv[2]}/answer/0", "answer")
    assert await contestant.run() == ANSWER
    await contestant.aclose()


asyncio.run(once())
