"""Which event loop runs: the standard library's, or uvloop where it is asked for (`LASTCALL_UVLOOP=1`).

Must not go in here: what runs on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Final

from lastcall.errors import BadConfig, MissingExtra

VARIABLE: Final = "LASTCALL_UVLOOP"
_WORDS: Final = {"": False, "0": False, "false": False, "no": False, "1": True, "true": True, "yes": True}


def loop_options(environment: Mapping[str, str]) -> dict[str, Any]:
    """The `backend_options` of `anyio.run`.

    Raises `BadConfig` for a value that means nothing, `MissingExtra` where uvloop is asked for and not installed.
    """
    word = environment.get(VARIABLE, "").strip().lower()
    if word not in _WORDS:
        raise BadConfig(f"{word!r} is neither yes nor no", hint="Use 1 or 0.", where=VARIABLE)
    if not _WORDS[word]:
        return {}
    if find_spec("uvloop") is None:
        raise MissingExtra("uvloop is not installed", hint="Run: pip install 'lastcall[uvloop]'.", where=VARIABLE)
    return {"use_uvloop": True}
