"""Who is told of every result in this process: the pytest plugin, instrumentation.

A module of one list, so that listening costs no imports.

Must not go in here: results themselves.
"""

from __future__ import annotations

from collections.abc import Callable

listeners: list[Callable[..., object]] = []
"""Each is given the result (`api.result.TerminalResult`) of a run when it is over. None may raise."""
