"""`lastcall models`: list, pull, verify, remove the embedded models.

Must not go in here: how they are fetched and checked (`providers.local_models`, `providers.local_cache`).
"""

from __future__ import annotations

import os
import sys

import anyio
import click
import msgspec

from lastcall.cli.say import say
from lastcall.providers.local_cache import FOLDER_VARIABLE, Shelf, models_folder
from lastcall.providers.local_catalogue import MODELS, find_model
from lastcall.providers.local_machine import in_units
from lastcall.providers.local_models import Pulled, obtain

_DAMAGED = 1
_NAMES = tuple(model.name for model in MODELS)

_as_json = click.option("--json", "as_json", is_flag=True, help="JSON instead of text.")
_name = click.argument("name", metavar="[NAME]", default="standard")


@click.group()
def models() -> None:
    """The embedded models on this machine: `standard` and `small`."""


@models.command("list")
@_as_json
def list_models(*, as_json: bool) -> int:
    """What there is, and what of it lies on this machine."""
    folder = models_folder(os.environ.get(FOLDER_VARIABLE))
    shelves = [Shelf(folder, model) for model in MODELS]
    rows = [_row(shelf) for shelf in shelves]
    if as_json:
        _say_json(rows)
        return 0
    for shelf, row in zip(shelves, rows, strict=True):
        model = shelf.model
        state = "here" if row["here"] else "not fetched"
        say(
            f"local:{model.name:<9} {state:<12} {model.title}; {model.licence}; fetches "
            f"{in_units(model.download_size)}, takes {in_units(model.size)} of disk and {in_units(model.memory)} of memory"
        )
    say(f"folder: {folder}")
    return 0


@models.command()
@_name
@_as_json
def pull(name: str, *, as_json: bool) -> int:
    """Fetches a model now, so that no run has to. Does nothing if it is here."""
    shelf = _shelf(name)
    shown = ProgressLine()
    try:
        anyio.run(_obtain, shelf, shown)
    finally:
        shown.end()
    if as_json:
        _say_json(_row(shelf))
    else:
        say(f"local:{shelf.model.name} is here: {shelf.weights}")
    return 0


async def _obtain(shelf: Shelf, shown: ProgressLine) -> None:
    await obtain(shelf, notice=shown.notice, progress=shown)


@models.command()
@_name
@_as_json
def verify(name: str, *, as_json: bool) -> int:
    """Reads a model whole and compares its checksum. Exit code 1 if it is damaged or not here."""
    shelf = _shelf(name)
    shown, read = ProgressLine(), 0

    def moved(count: int) -> None:
        nonlocal read
        read += count
        shown(Pulled("check", read, shelf.model.size))

    there = shelf.weights.is_file()
    try:
        right = shelf.matches(moved)
    finally:
        shown.end()
    if right:
        shelf.put_mark()
    else:
        shelf.drop_mark()
    state = "ok" if right else "damaged" if there else "not fetched"
    if as_json:
        _say_json({"name": shelf.model.name, "state": state, "path": str(shelf.weights), "sha256": shelf.model.sha256})
    elif right:
        say(f"local:{shelf.model.name} is whole: {shelf.weights}")
    else:
        steps = [f"lastcall models {step} {shelf.model.name}" for step in (["remove", "pull"] if there else ["pull"])]
        say(f"local:{shelf.model.name} is {state}. Run: {'; '.join(steps)}")
    return 0 if right else _DAMAGED


@models.command()
@_name
@_as_json
def remove(name: str, *, as_json: bool) -> int:
    """Removes a model from this machine, and what an unfinished download left."""
    shelf = _shelf(name)
    freed = shelf.remove()
    if as_json:
        _say_json({"name": shelf.model.name, "freed_bytes": freed})
    else:
        say(f"local:{shelf.model.name} is removed; {in_units(freed)} are free again.")
    return 0


class ProgressLine:
    """How far a download is, on stderr: one line that changes on a terminal, a line for each quarter elsewhere."""

    def __init__(self, *, terminal: bool | None = None) -> None:
        self._terminal = sys.stderr.isatty() if terminal is None else terminal
        self._open = False
        self._shown = ("", -1)

    def __call__(self, pulled: Pulled) -> None:
        """Shows it, if it says something new."""
        percent = 100 * pulled.done // max(1, pulled.total)
        step = percent if self._terminal else percent - percent % 25
        if (pulled.step, step) == self._shown:
            return
        self._shown = (pulled.step, step)
        words = {"download": "fetched", "check": "checked"}[pulled.step]
        line = f"{words} {percent} % of {in_units(pulled.total)}"
        if self._terminal:
            sys.stderr.write(f"\r{line:<40}")
            self._open = True
        else:
            sys.stderr.write(f"{line}\n")
        sys.stderr.flush()

    def notice(self, line: str) -> None:
        """A line of its own."""
        self.end()
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()

    def end(self) -> None:
        """Leaves the line that changes."""
        if self._open:
            sys.stderr.write("\n")
            self._open = False


def _shelf(name: str) -> Shelf:
    return Shelf(models_folder(os.environ.get(FOLDER_VARIABLE)), find_model(name))


def _row(shelf: Shelf) -> dict[str, object]:
    model = shelf.model
    return {
        "name": model.name,
        "title": model.title,
        "licence": model.licence,
        "here": shelf.is_marked(),
        "path": str(shelf.weights),
        "size_bytes": model.size,
        "download_bytes": model.download_size,
        "memory_bytes": model.memory,
        "sha256": model.sha256,
    }


def _say_json(value: object) -> None:
    say(msgspec.json.encode(value).decode())
