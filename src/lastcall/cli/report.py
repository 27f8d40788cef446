"""`--report FILE`: the envelope in a file, whole or not at all, readable by its owner alone.

A link is followed; something that is no regular file (a pipe, a device) is written to and never replaced.
"""

from __future__ import annotations

import os

from lastcall.errors import BadConfig
from lastcall.wire.frames import Frame
from lastcall.wire.json import encode_value


def check_report(path: str, flag: str = "--report") -> None:
    """Refuse a place that cannot take the report, before anything is spent. Raises `BadConfig`."""
    target = os.path.realpath(path)
    if os.path.isdir(target):  # noqa: PTH112
        raise BadConfig(
            "the report cannot be written: this is a directory", hint="Name a file.", where=f"{flag} {path}"
        )
    folder = os.path.dirname(target)  # noqa: PTH120
    if not path or not os.path.isdir(folder):  # noqa: PTH112
        raise BadConfig(
            "the report cannot be written: its folder is not there", hint="Make it first.", where=f"{flag} {path}"
        )


def write_report(path: str, frame: Frame) -> None:
    """Write the envelope in place of whatever was there. Raises `BadConfig` when it cannot be written."""
    write_file(path, encode_value(frame) + b"\n")


def write_file(path: str, data: bytes) -> None:
    """Write a file in place of whatever was there. Raises `BadConfig` when it cannot be written."""
    target = os.path.realpath(path)
    try:
        if os.path.exists(target) and not os.path.isfile(target):  # noqa: PTH110, PTH113
            with open(target, "wb") as file:  # noqa: PTH123
                file.write(data)
            return
        _replace(target, data)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise BadConfig(f"the report cannot be written: {why}", hint="Choose another file.", where=path) from error


def _replace(target: str, data: bytes) -> None:
    part = f"{target}.{os.getpid()}.part"
    fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(fd, "wb") as file:  # noqa: PTH123
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, target)  # noqa: PTH105
