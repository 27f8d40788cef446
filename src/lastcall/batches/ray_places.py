"""Files wherever pyarrow finds them: this machine, S3, GCS, any other `fsspec`-like address that pyarrow opens.

Must not go in here: formats (`batches.reading`), what is written (`batches.ray_parts`).
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from msgspec import Struct

from lastcall.batches.lines import Piped
from lastcall.batches.reading import open_lines, open_source
from lastcall.batches.rows import AnyRow, BadInput, BadRow, Row, Source
from lastcall.errors import BadConfig, MissingExtra

T = TypeVar("T")
_ATOMIC = frozenset({"s3", "gcs", "abfs"})
"""Where an object is there when it is whole, and not before."""


def load_arrow() -> Any:
    """The module `pyarrow`, with its file systems. Raises `MissingExtra`."""
    try:
        import pyarrow as pa  # noqa: PLC0415 -- an extra
        import pyarrow.fs  # noqa: PLC0415 -- its file systems
    except ImportError:
        raise MissingExtra(
            "The engine ray needs the package pyarrow, which is not installed.",
            hint="Install it with: pip install 'lastcall[ray]'",
        ) from None
    return pa


class Place(Struct, frozen=True):
    """A path on a file system of pyarrow's. `given` is what people call it."""

    given: str
    path: str
    files: Any

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine."""
        return bool(self.files.type_name == "local")

    def below(self, name: str) -> str:
        """The path of something in it."""
        return f"{self.path.rstrip('/')}/{name}"

    def names(self) -> list[str]:
        """The names of the files in it, sorted; none if it is not there. Raises `OSError`."""
        selector = load_arrow().fs.FileSelector(self.path, allow_not_found=True)
        return sorted(found.base_name for found in self.files.get_file_info(selector) if found.is_file)

    def is_folder(self) -> bool:
        """Whether it holds others."""
        return not self.files.get_file_info(self.path).is_file

    def open(self, name: str = "") -> BinaryIO:
        """The bytes of a file in it, of itself without a name. Raises `OSError`."""
        stream = self.files.open_input_stream(self.below(name) if name else self.path)
        return io.BufferedReader(stream, 1 << 20)

    def write(self, name: str, content: bytes) -> None:
        """A file in it, there whole or not at all, and on the disk when this returns. Raises `OSError`."""
        if self.files.type_name in _ATOMIC:
            with self.files.open_output_stream(self.below(name)) as stream:
                stream.write(content)
        elif self.is_local:
            _write_safely(self.below(name), content)
        else:
            part = self.below(f".{name}.part")
            with self.files.open_output_stream(part) as stream:
                stream.write(content)
            self.files.move(part, self.below(name))

    def remove(self, name: str) -> None:
        """A file in it goes. Raises `OSError`."""
        self.files.delete_file(self.below(name))


def _write_safely(path: str, content: bytes) -> None:
    folder, _, name = path.rpartition("/")
    part = f"{folder}/.{name}.part"
    fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)  # noqa: PTH105 -- names are text here
    except OSError:
        Path(part).unlink(missing_ok=True)
        raise


def place_of(given: str, *, flag: str) -> Place:
    """The place of an address (`s3://bucket/rows/`, `gs://...`, `file:///...`) or of a path on this machine.

    Raises `BadConfig` for what is neither, `MissingExtra`.
    """
    arrow = load_arrow()
    if "://" not in given:
        return Place(given, os.path.abspath(given), arrow.fs.LocalFileSystem())  # noqa: PTH100 -- names are text here
    try:
        files, path = arrow.fs.FileSystem.from_uri(given)
    except (arrow.ArrowException, OSError, ValueError) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0]
        hint = "Write it like s3://bucket/folder, gs://bucket/folder or file:///folder."
        raise BadConfig(f"this address cannot be used: {said}", hint=hint, where=flag) from None
    return Place(given, path, files)


def open_rows(given: str, format_: str | None) -> Source:
    """The rows of a path (as `batches.reading` reads it) or of an address: a file, or a folder of files that are parts.

    Raises `BadInput`, `BadConfig`, `MissingExtra`.
    """
    if "://" not in given:
        return open_source(given, format_=format_)
    place = place_of(given, flag="INPUT")
    if place.is_local:
        return open_source(place.path, format_=format_)
    try:
        if not place.is_folder():
            return _open_file(place, "", format_)
        names = [name for name in place.names() if not name.startswith((".", "_"))]
    except OSError as error:
        raise BadInput(f"the input cannot be read: {error}", hint="Check the address.", where=given) from None
    if not names:
        raise BadInput("there are no files here", hint="Check the address.", where=given)
    return PartFiles(given, [lambda name=name: _open_file(place, name, format_) for name in names])  # type: ignore[misc]


def _open_file(place: Place, name: str, format_: str | None) -> Source:
    return open_lines(name or place.path, format_, lambda: Piped(place.open(name)), lambda: _seekable(place, name))


def _seekable(place: Place, name: str) -> BinaryIO:
    return cast("BinaryIO", place.files.open_input_file(place.below(name) if name else place.path))


class PartFiles:
    """The rows of several files one after the other (`batches.rows.Source`), numbered through."""

    rereadable = True

    def __init__(self, name: str, files: list[Callable[[], Source]]) -> None:
        self.name = name
        self._files = files
        first = files[0]()
        self.columns = first.columns
        self.key_column = first.key_column
        self.not_text = first.not_text

    def close(self) -> None:
        """Files keep nobody waiting."""

    def rows(self) -> Iterator[AnyRow]:
        """The rows of all files."""
        number = 0
        for open_file in self._files:
            source = open_file()
            if source.columns != self.columns:
                raise BadInput("its columns are others than those of the first file", where=source.name)
            for row in source.rows():
                number += 1
                yield Row(number, row.values) if isinstance(row, Row) else BadRow(number, row.problem)
