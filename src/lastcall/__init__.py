"""lastcall: an agent run that ends in a verified object, or says exactly why not.

The public names are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as `typing` has it, whose import would cost more than all of this module
if TYPE_CHECKING:
    from lastcall.api.config import RunConfig
    from lastcall.api.contract import Contract
    from lastcall.api.events import (
        AttemptRejected,
        ObjectAttached,
        ObjectRetracted,
        PartialObject,
        RunEnded,
        StreamEvent,
        TextPiece,
        ToolFinished,
        ToolStarted,
    )
    from lastcall.api.hooks import (
        EndSeen,
        HookAnswer,
        HookQuestion,
        RejectionQuestion,
        ReplySeen,
        RequestAnswer,
        RequestQuestion,
        hook,
    )
    from lastcall.api.result import TerminalResult
    from lastcall.api.running import arun, run, stream
    from lastcall.api.session import RunOptions, RunStream, Session
    from lastcall.api.telemetry import instrument, uninstrument
    from lastcall.api.tools import ToolContext, tool
    from lastcall.batches.bounds import Bounds
    from lastcall.batches.calling import Batch, BatchRecord, BatchStopped, batch
    from lastcall.errors import LastcallError, NoAnswer, UsageError
    from lastcall.nouns.profile import Profile
    from lastcall.version import VERSION as __version__  # noqa: N811 -- the name that tools look for

_PLACES = {
    "AttemptRejected": "lastcall.api.events",
    "Batch": "lastcall.batches.calling",
    "BatchRecord": "lastcall.batches.calling",
    "BatchStopped": "lastcall.batches.calling",
    "Bounds": "lastcall.batches.bounds",
    "Contract": "lastcall.api.contract",
    "EndSeen": "lastcall.api.hooks",
    "HookAnswer": "lastcall.api.hooks",
    "HookQuestion": "lastcall.api.hooks",
    "LastcallError": "lastcall.errors",
    "NoAnswer": "lastcall.errors",
    "ObjectAttached": "lastcall.api.events",
    "ObjectRetracted": "lastcall.api.events",
    "PartialObject": "lastcall.api.events",
    "Profile": "lastcall.nouns.profile",
    "RejectionQuestion": "lastcall.api.hooks",
    "ReplySeen": "lastcall.api.hooks",
    "RequestAnswer": "lastcall.api.hooks",
    "RequestQuestion": "lastcall.api.hooks",
    "RunConfig": "lastcall.api.config",
    "RunEnded": "lastcall.api.events",
    "RunOptions": "lastcall.api.session",
    "RunStream": "lastcall.api.session",
    "Session": "lastcall.api.session",
    "StreamEvent": "lastcall.api.events",
    "TerminalResult": "lastcall.api.result",
    "TextPiece": "lastcall.api.events",
    "ToolContext": "lastcall.api.tools",
    "ToolFinished": "lastcall.api.events",
    "ToolStarted": "lastcall.api.events",
    "UsageError": "lastcall.errors",
    "arun": "lastcall.api.running",
    "batch": "lastcall.batches.calling",
    "hook": "lastcall.api.hooks",
    "instrument": "lastcall.api.telemetry",
    "run": "lastcall.api.running",
    "stream": "lastcall.api.running",
    "tool": "lastcall.api.tools",
    "uninstrument": "lastcall.api.telemetry",
}

__all__ = [
    "AttemptRejected",
    "Batch",
    "BatchRecord",
    "BatchStopped",
    "Bounds",
    "Contract",
    "EndSeen",
    "HookAnswer",
    "HookQuestion",
    "LastcallError",
    "NoAnswer",
    "ObjectAttached",
    "ObjectRetracted",
    "PartialObject",
    "Profile",
    "RejectionQuestion",
    "ReplySeen",
    "RequestAnswer",
    "RequestQuestion",
    "RunConfig",
    "RunEnded",
    "RunOptions",
    "RunStream",
    "Session",
    "StreamEvent",
    "TerminalResult",
    "TextPiece",
    "ToolContext",
    "ToolFinished",
    "ToolStarted",
    "UsageError",
    "__version__",
    "arun",
    "batch",
    "hook",
    "instrument",
    "run",
    "stream",
    "tool",
    "uninstrument",
]


if not TYPE_CHECKING:  # type checkers shall find names that are not there

    def __getattr__(name: str) -> object:
        place, wanted = ("lastcall.version", "VERSION") if name == "__version__" else (_PLACES.get(name), name)
        if place is None:
            raise AttributeError(f"module 'lastcall' has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415 -- importing the package loads nothing

        found = getattr(import_module(place), wanted)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted(__all__)
