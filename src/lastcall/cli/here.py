"""The working directory."""

from __future__ import annotations

import os

from lastcall.errors import BadConfig


def working_directory() -> str:
    """Its path. Raises `BadConfig` where it was removed, or cannot be reached any more."""
    try:
        return os.getcwd()  # noqa: PTH109 -- pathlib is not needed to start
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise BadConfig(f"the working directory cannot be used: {why}", hint="Go to another one.") from None
