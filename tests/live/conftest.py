"""The embedded models for the live tests: fetched once, the engine started once a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from lastcall.providers.local_cache import FOLDER_VARIABLE, Shelf, models_folder
from lastcall.providers.local_catalogue import find_model
from lastcall.providers.local_client import EngineClient
from lastcall.providers.local_machine import threads
from lastcall.providers.local_models import obtain
from lastcall.providers.local_process import EngineProcess, start_engine, wishes


@pytest.fixture(scope="module")
def portal() -> Iterator[BlockingPortal]:
    """An event loop that lives as long as the file's tests."""
    with start_blocking_portal() as running:
        yield running


@pytest.fixture(scope="session")
def small_weights() -> str:
    """The small model's file, fetched if it is not here."""
    shelf = Shelf(models_folder(os.environ.get(FOLDER_VARIABLE)), find_model("small"))

    async def fetch() -> str:
        return str(await obtain(shelf, notice=lambda _: None, progress=lambda _: None))

    return anyio.run(fetch)


@pytest.fixture(scope="module")
def peer(small_weights: str) -> Iterator[EngineProcess]:
    """The engine's own server with the small model: a real HTTP peer that is none of our code."""
    asked = wishes(Path(small_weights), alias="small", context=4096, slots=2, threads=threads())
    engine = anyio.run(start_engine, asked)
    yield engine
    engine.kill()


@pytest.fixture(scope="module")
def client(peer: EngineProcess, portal: BlockingPortal) -> Iterator[EngineClient]:
    """The same server, asked as the embedded model's provider does."""
    made = portal.call(lambda: EngineClient(peer, context=2048))
    yield made
    portal.call(made.aclose)
