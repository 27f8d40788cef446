"""Incident notes through the runtime with an embedded model: what came back, and whether it is right."""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from msgspec import Struct

from lastcall.contract import Contract, compile_contract
from lastcall.contract.parse import parse_schema
from lastcall.nouns.profile import Profile
from lastcall.nouns.result import TerminalResult, outcome_name
from lastcall.providers.local import LocalProvider, open_local
from lastcall.providers.local_cache import FOLDER_VARIABLE, models_folder
from lastcall.runtime.config import RunConfig
from lastcall.runtime.publish import Silent
from lastcall.runtime.session import open_session

DATA = Path(__file__).parent / "data" / "incidents"
NOTE = (
    "Which incident does this note tell of: what failed, how many customers were affected, and when did it begin?\n\n"
)
FILE = "Read the file {path} and report the incident in it: what failed, how many customers, and when it began."


class Tried(Struct, frozen=True):
    """One row and what became of it. `found` is the object, `None` if there was none."""

    id: str
    expected: dict[str, Any]
    outcome: str
    found: dict[str, Any] | None
    attempts: int
    turns: int
    tokens_in: int
    tokens_out: int
    seconds: float

    @property
    def right(self) -> bool:
        """Whether every field is the expected one."""
        return self.found == self.expected

    @property
    def wrong(self) -> list[str]:
        """The fields that are not."""
        if self.found is None:
            return sorted(self.expected)
        return [name for name, value in self.expected.items() if self.found.get(name) != value]


class Lent(LocalProvider):
    """A provider that outlives the sessions it is used in."""

    def __init__(self, provider: LocalProvider) -> None:
        self.__dict__ = provider.__dict__

    async def aclose(self) -> None:
        """Stays."""


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of a file of the test set."""
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text("utf-8").splitlines()]


def contract() -> Contract:
    """The incidents' contract."""
    return compile_contract(parse_schema((DATA / "schema.json").read_text("utf-8"), profile=Profile.NATIVE))


def open_model(name: str) -> LocalProvider:
    """The embedded model, where the environment says that models are."""
    return open_local(name, models=models_folder(os.environ.get(FOLDER_VARIABLE)))


async def try_row(provider: LocalProvider, row: dict[str, Any], *, declines: bool = True) -> Tried:
    """One row to its result; a row with a file has to read it with a tool, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        prompt, tools = NOTE + row.get("text", ""), ""
        if "file" in row:
            _lay(Path(folder, row["path"]), row["file"])
            prompt, tools = FILE.format(path=row["path"]), "Read"
        config = RunConfig(
            contract=contract(),
            cwd=folder,
            tools=tools,
            persist=False,
            max_turns=8,
            state_dir=folder,
            declines=declines,
        )
        began = time.monotonic()
        async with open_session(config, lambda _: Silent(), Lent(provider)) as session:
            result = await session.run(prompt)
        return _tried(row, result, time.monotonic() - began)


def _lay(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")


def _tried(row: dict[str, Any], result: TerminalResult, seconds: float) -> Tried:
    usage = result.usage
    return Tried(
        id=row["id"],
        expected=row["expected"],
        outcome=outcome_name(result.outcome),
        found=json.loads(result.object_text) if result.object_text is not None else None,
        attempts=len(result.attempts),
        turns=result.turns,
        tokens_in=(usage.input_tokens or 0) + (usage.cache_read_input_tokens or 0),
        tokens_out=usage.output_tokens or 0,
        seconds=seconds,
    )
