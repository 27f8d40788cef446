"""Where the embedded models lie on disk, and whether what lies there is the whole model.

A model has a folder of its own: the weights, the licence, and a mark that says which checksum was computed for which
file (size and time of change), so that a start does not read a gigabyte to be sure.

Must not go in here: downloading (`.local_models`), reading the environment (the caller passes `LASTCALL_MODELS_DIR`).
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from lastcall.providers.local_catalogue import LocalModel

FOLDER_VARIABLE: Final = "LASTCALL_MODELS_DIR"
_MARK: Final = "verified.json"
_CHUNK: Final = 4 * 1024 * 1024


class _Mark(Struct, frozen=True):
    sha256: str
    size: int
    mtime_ns: int


def models_folder(override: str | None) -> Path:
    """The folder of all models: `override` if it says anything, else the user's cache folder."""
    if override:
        return Path(override).expanduser()
    from platformdirs import user_cache_path  # noqa: PLC0415 -- needed only when an embedded model is

    return user_cache_path("lastcall", appauthor=False) / "models"


class Shelf:
    """The place of one model."""

    def __init__(self, models: Path, model: LocalModel) -> None:
        self.model = model
        self.folder = models / model.name
        self.weights = self.folder / model.file
        self.licence = self.folder / "LICENSE"
        self.staging = self.folder / "download"
        self.lock = models / f"{model.name}.lock"

    def is_marked(self) -> bool:
        """Whether the whole model lies here, unchanged since its checksum was computed."""
        try:
            mark = msgspec.json.decode((self.folder / _MARK).read_bytes(), type=_Mark)
            status = self.weights.stat()
        except (OSError, msgspec.MsgspecError):
            return False
        return mark == _Mark(self.model.sha256, status.st_size, status.st_mtime_ns)

    def put_mark(self) -> None:
        """Notes that the checksum of the weights as they lie here is the right one."""
        status = self.weights.stat()
        mark = _Mark(self.model.sha256, status.st_size, status.st_mtime_ns)
        write_whole(self.folder / _MARK, msgspec.json.encode(mark))

    def drop_mark(self) -> None:
        """Forgets that the weights were found right."""
        (self.folder / _MARK).unlink(missing_ok=True)

    def matches(self, moved: Callable[[int], None] = lambda _: None) -> bool:
        """Whether the weights have the right checksum. Reads them whole."""
        if not self.weights.is_file() or self.weights.stat().st_size != self.model.size:
            return False
        return sha256_of(self.weights, moved) == self.model.sha256

    def used_bytes(self) -> int:
        """Bytes on disk, an unfinished download included."""
        return sum(file.stat().st_size for file in self.folder.rglob("*") if file.is_file())

    def remove(self) -> int:
        """Removes the model and what an unfinished download left; the bytes that were freed."""
        freed = self.used_bytes() if self.folder.is_dir() else 0
        shutil.rmtree(self.folder, ignore_errors=True)
        return freed


def sha256_of(file: Path, moved: Callable[[int], None] = lambda _: None) -> str:
    """The checksum of a file, in hex; `moved` hears the bytes of every step."""
    digest = hashlib.sha256()
    with file.open("rb") as source:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            moved(len(chunk))
    return digest.hexdigest()


def write_whole(target: Path, content: bytes) -> None:
    """Writes a file so that it is there whole or not at all."""
    beside = target.with_name(f".{target.name}.new")
    with beside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(target)


def sync_folder(folder: Path) -> None:
    """Makes names in a folder last through a power cut, where the system can."""
    if os.name != "posix":
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
