"""`--via provider-batch`: the rows of a sitting over the service's batch API.

Must not go in here: rounds and what is outstanding (`batches.provider_batch`), flags (`cli.batch`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from lastcall.batches.provider_batch import Rounds
from lastcall.batches.provider_batch_ledger import open_ledger
from lastcall.batches.tally import Tally
from lastcall.errors import BadConfig
from lastcall.providers import Provider
from lastcall.providers.batch_apis import open_batch_api
from lastcall.providers.http import HttpProvider

PROVIDER_BATCH: Final = "provider-batch"
VIAS: Final = ("requests", PROVIDER_BATCH)
MOST_REQUESTS: Final = 500
"""At once, one by one: more than that no machine has connections for."""
MAX_RETRIES: Final = 3
"""Of one request over a batch API: each retry may take a day."""


def demand_concurrency(asked: int | None, via: str) -> None:
    """Refuses what is too much for requests one by one; a round of a batch API may hold more. Raises `BadConfig`."""
    if asked is not None and asked > MOST_REQUESTS and via != PROVIDER_BATCH:
        said = f"{asked} requests at once are too many; the most is {MOST_REQUESTS}"
        raise BadConfig(said, hint="Or add --via provider-batch.", where="--concurrency")


def demand_batch_api(provider: Provider) -> HttpProvider:
    """The one service that has a batch API. Raises `BadConfig`."""
    name = provider.deployment.provider
    if isinstance(provider, HttpProvider) and name in ("anthropic", "openai"):
        return provider
    if name in ("anthropic", "openai"):
        hint = "Leave --fallback-model away: a batch goes to one model."
        raise BadConfig("a batch API takes no fallback", hint=hint, where="--via")
    hint = "Use a model of anthropic or openai, or leave --via away."
    raise BadConfig(f"the model {provider.deployment.model} has no batch API", hint=hint, where="--via")


@asynccontextmanager
async def open_rounds(
    provider: HttpProvider, output: str, tally: Tally, most: int, note: Callable[[str], None]
) -> AsyncIterator[Rounds]:
    """The rounds of a sitting whose records go to `output`. Raises `BadConfig`, `JournalError`."""
    with open_ledger(output) as ledger:
        rounds = Rounds(provider, open_batch_api(provider), ledger, running=lambda: tally.running, most=most, note=note)
        async with rounds:
            yield rounds
        if ledger.is_outstanding:
            note("lastcall: what was submitted goes on at the service; the same command collects it")
