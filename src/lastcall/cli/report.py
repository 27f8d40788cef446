"""`--report FILE`: the envelope in a file, whole or not at all, readable by its owner alone."""

from __future__ import annotations

import os

from lastcall.errors import BadConfig
from lastcall.wire.frames import Frame
from lastcall.wire.json import encode_value


def write_report(path: str, frame: Frame) -> None:
    """Write the envelope in place of whatever was there. Raises `BadConfig` when it cannot be written."""
    part = f"{path}.{os.getpid()}.part"
    try:
        fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(fd, "wb") as file:  # noqa: PTH123
            file.write(encode_value(frame) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)  # noqa: PTH105
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise BadConfig(f"the report cannot be written: {why}", hint="Choose another file.", where=path) from error
