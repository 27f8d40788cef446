"""lastcall, as a program uses it that makes many runs: one contract, one configuration, one provider lent to each run."""

from __future__ import annotations

import os
from typing import Any

from service import LOOKED_UP, PROMPT, SCHEMA, TEXTS_SCHEMA

import lastcall
from lastcall.providers.lending import lend
from lastcall.runtime.session import open_provider


@lastcall.tool
def lookup(n: int) -> str:  # noqa: ARG001 -- every line is alike
    """Looks a line up."""
    return LOOKED_UP


class Contestant:
    def __init__(self, url: str, behaviour: str) -> None:
        environment = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-test"}
        self.config = lastcall.RunConfig(
            model="anthropic:claude-haiku-4-5", environment=environment | _places(), partial=False
        )
        self.provider = open_provider(self.config)
        self.contract = lastcall.Contract(TEXTS_SCHEMA if behaviour.startswith("stream") else SCHEMA)
        self.tools = [lookup] if behaviour.startswith("turns") else []

    async def run(self) -> Any:
        result = await lastcall.arun(
            PROMPT, output=self.contract, model=lend(self.provider), tools=self.tools, config=self.config
        )
        return result.unwrap()

    async def aclose(self) -> None:
        await self.provider.aclose()


def _places() -> dict[str, str]:
    return {
        name: os.environ[name] for name in ("HOME", "LASTCALL_STATE_DIR", "LASTCALL_CACHE_DIR") if name in os.environ
    }
