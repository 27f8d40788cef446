"""Who is told of the runs of this process: the pytest plugin, logging, telemetry.

A module of two lists, so that listening costs no imports.

Must not go in here: results and records themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

listeners: list[Callable[..., object]] = []
"""Each is given the result (`api.result.TerminalResult`) of a run when it is over. None may raise."""

observers: list[Callable[..., Any]] = []
"""Each is given the stage (`wire.frames.Stage`) and the prompt of a run that begins, and makes who watches it
(`runtime.ports.Publisher`). Nothing there may raise."""
