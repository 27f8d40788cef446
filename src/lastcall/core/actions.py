"""What the driver must do: imperatives.

Actions are carried out after their step's records are on disk, and never journalled: after a crash they are computed
again (`core.resume`). Each one ends by putting events into the inbox.
"""

from __future__ import annotations

from msgspec import Struct

from lastcall.nouns.hooks import HookPoint
from lastcall.nouns.ids import CallId
from lastcall.nouns.result import Attempt
from lastcall.nouns.tools import ToolCall, ToolResult


class AskModel(Struct, frozen=True, tag=True):
    """Send the request that `core.request` computes from the state."""

    number: int


class RunTool(Struct, frozen=True, tag=True):
    """Run an ordinary tool."""

    call: ToolCall


class RunChecks(Struct, frozen=True, tag=True):
    """Run the contract's checks that need I/O on an object (JSON text)."""

    call_id: CallId
    object_text: str


class RunHooks(Struct, frozen=True, tag=True):
    """Ask the caller's hooks of one point.

    `call` and `result` where a call is meant, `attempt` the one that was rejected, `text` is the prompt or the model's last
    words, `active`: the model was already kept from stopping in this run.
    """

    point: HookPoint
    call: ToolCall | None = None
    result: ToolResult | None = None
    text: str = ""
    active: bool = False
    attempt: Attempt | None = None

    @property
    def call_id(self) -> CallId:
        """The call or the attempt that is meant, `""` where none is."""
        about = self.call or self.attempt
        return about.call_id if about is not None else CallId("")


class CancelCalls(Struct, frozen=True, tag=True):
    """Stop these tools; their answers, if they still come, are late."""

    call_ids: tuple[CallId, ...]


class CancelRequest(Struct, frozen=True, tag=True):
    """Stop the outstanding request."""

    number: int


Action = AskModel | RunTool | RunChecks | RunHooks | CancelCalls | CancelRequest
