"""For tests of the embedded model: models of a few bytes, and an engine that says what a script tells it to."""

from __future__ import annotations

import base64
import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from lastcall.contract.finishing_tools import decline_tool, finish_tool
from lastcall.core.events import Progress, ProviderEvent
from lastcall.nouns.messages import TextBlock, UserMessage
from lastcall.nouns.request import Choice, ModelRequest
from lastcall.nouns.tools import ToolDefinition, define
from lastcall.providers.local import LocalProvider, LocalSettings
from lastcall.providers.local_cache import Shelf
from lastcall.providers.local_catalogue import LocalModel, Part
from wire_tools import TestClock

SCRIPTED = Path(__file__).parent / "data" / "scripted_engine"
SCHEMA: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "incidents" / "schema.json").read_text("utf-8"))
READ = define(
    "Read",
    "Shows a file.",
    {"type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]},
    read_only=True,
)
FINISHING = (finish_tool(SCHEMA), decline_tool())


def wheel_of(folder: Path, name: str, member: str, content: bytes) -> Part:
    """A wheel with one data file, as pip takes it."""
    stem = name.replace("-", "_")
    info = f"{stem}-1.0.dist-info"
    entries = {
        f"{stem}/__init__.py": b"raise RuntimeError('pieces of models are never imported')\n",
        member: content,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = []
    for entry, data in entries.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{entry},sha256={digest},{len(data)}")
    entries[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,"]).encode()
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{stem}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        for entry, data in entries.items():
            archive.writestr(entry, data)
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    return Part(f"{name}==1.0", sha256, file.name, file.stat().st_size, member, len(content))


def tiny_model(index: Path, pieces: tuple[bytes, ...], **changes: Any) -> LocalModel:
    """A model whose pieces lie as wheels in the folder `index`."""
    parts = tuple(
        wheel_of(index, f"lastcall-test-piece{n}", f"lastcall_test_piece{n}/data/part{n:02d}.bin", piece)
        for n, piece in enumerate(pieces, 1)
    )
    whole = b"".join(pieces)
    facts: dict[str, Any] = {
        "name": "tiny", "title": "Tiny", "licence": "Apache-2.0", "source": "made by a test", "file": "tiny.gguf",
        "size": len(whole), "sha256": hashlib.sha256(whole).hexdigest(), "parts": parts, "memory": 1_000, "context": 4_096,
    }  # fmt: skip
    return LocalModel(**facts | changes)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., tuple[LocalProvider, Path]]:
    """Makes a provider whose engine plays `replies`; the second value is the file that logs what it was asked."""
    monkeypatch.setenv("PYTHONPATH", str(SCRIPTED))
    monkeypatch.syspath_prepend(str(SCRIPTED))

    def make(*replies: dict[str, Any], context: int = 4_096, **script: Any) -> tuple[LocalProvider, Path]:
        settings = script.pop("settings", LocalSettings())
        file, log = tmp_path / "script.json", tmp_path / "asked.jsonl"
        file.write_text(json.dumps({"replies": replies, **script}), "utf-8")
        monkeypatch.setenv("SCRIPTED_ENGINE", str(file))
        monkeypatch.setenv("SCRIPTED_ENGINE_LOG", str(log))
        shelf = Shelf(tmp_path / "models", tiny_model(tmp_path / "index", (b"weights",), context=context))
        shelf.folder.mkdir(parents=True, exist_ok=True)
        shelf.weights.write_bytes(b"weights")
        shelf.put_mark()
        return LocalProvider(shelf, lambda _: None, lambda _: None, settings, TestClock()), log

    return make


def asks(
    text: str = "Hello", tools: tuple[ToolDefinition, ...] = FINISHING, choice: Choice = Choice.AUTO, **more: Any
) -> ModelRequest:
    """A request with one user message."""
    return ModelRequest(
        number=1, system="Be brief.", messages=(UserMessage((TextBlock(text),)),), tools=tools, choice=choice, **more
    )


def told_by(provider: LocalProvider, *requests: ModelRequest) -> list[list[ProviderEvent]]:
    """All events of each request."""

    async def run() -> list[list[ProviderEvent]]:
        try:
            return [[event async for event in provider.stream(request)] for request in requests]
        finally:
            await provider.aclose()

    return anyio.run(run)


def solid(events: list[ProviderEvent]) -> list[ProviderEvent]:
    """The events without progress."""
    return [event for event in events if not isinstance(event, Progress)]


def asked_of(log: Path, path: str = "/completion", *, measured: bool = False) -> list[dict[str, Any]]:
    """The bodies that the engine was sent; those that measure a habit only if asked for."""
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []
    return [line for line in lines if line["path"] == path and (measured or "n_probs" not in line)]
