"""The folders that lastcall writes to, from the environment: state (sessions) and cache.

On Linux they follow the XDG base directory specification, by our own three lines because the library costs every start
3 ms; elsewhere the library says where they are.

Must not go in here: making folders, the models' folder (`providers.local_cache`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Final

STATE_VARIABLE: Final = "LASTCALL_STATE_DIR"
CACHE_VARIABLE: Final = "LASTCALL_CACHE_DIR"
_LINUX: Final = "linux"


def state_dir(environment: Mapping[str, str]) -> str:
    """Where sessions are kept."""
    if environment.get(STATE_VARIABLE):
        return environment[STATE_VARIABLE]
    if sys.platform == _LINUX:
        return _xdg(environment, "XDG_STATE_HOME", ".local/state")
    import platformdirs  # noqa: PLC0415 -- not on Linux

    return platformdirs.user_state_dir("lastcall", appauthor=False)


def cache_dir(environment: Mapping[str, str]) -> str:
    """Where what can be fetched or learnt again is kept."""
    if environment.get(CACHE_VARIABLE):
        return environment[CACHE_VARIABLE]
    if sys.platform == _LINUX:
        return _xdg(environment, "XDG_CACHE_HOME", ".cache")
    import platformdirs  # noqa: PLC0415 -- not on Linux

    return platformdirs.user_cache_dir("lastcall", appauthor=False)


def _xdg(environment: Mapping[str, str], variable: str, below_home: str) -> str:
    """The specification: the variable if it holds an absolute path, else the folder below the home directory."""
    base = environment.get(variable, "")
    if not base.startswith("/"):
        home = environment.get("HOME") or os.path.expanduser("~")  # noqa: PTH111
        base = f"{home}/{below_home}"
    return f"{base}/lastcall"
