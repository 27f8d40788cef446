"""Which rejected drafts of a run may be revised, and what a revision makes of one.

A draft is kept when it was read, was rejected (or held and not taken), is large, and was not taken back; the tool is on
offer from the next request on, never earlier, so a run that needs no correction never sees it. Everything is computed from
the attempts, so it survives whatever they survive.

Must not go in here: applying patches (`contract.revision`), words.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from lastcall.contract.finishing_tools import FINISH, REVISE, is_revision
from lastcall.contract.verdicts import CannotRead, Rejected
from lastcall.core.state import RunState
from lastcall.nouns.ids import CallId
from lastcall.nouns.request import Channel
from lastcall.nouns.result import Attempt, VerdictKind
from lastcall.nouns.tools import Arguments, ToolCall

_KEPT = (VerdictKind.REJECTED, VerdictKind.HELD)
_UNCLEAR = "duplicate_key"
"""The keyword of a draft that does not say one thing; it cannot be patched."""
DRAFT_BYTES = 4096
"""Only larger drafts are kept: a smaller one is written again as fast as patched."""


class Whole(Struct, frozen=True):
    """A finishing call that holds a whole object, and the number of the draft that it was made from (0: none)."""

    call: ToolCall
    base: int = 0


def offers_revision(state: RunState) -> bool:
    """Whether the outstanding request offers the revision of a draft."""
    return any(attempt.request < state.asked for attempt in _kept(state))


def kept_as(state: RunState, call_id: CallId) -> int:
    """The number under which the next request offers the draft of a call for revision; 0 if it does not."""
    return next((attempt.n for attempt in _kept(state) if attempt.call_id == call_id), 0)


def whole_of(state: RunState, call: ToolCall) -> Whole | Rejected | CannotRead:
    """A finishing call with the whole object as its arguments: of a revision the patched draft, or why there is none."""
    contract = state.contract
    assert contract is not None, "there is nothing to hand over without a contract"
    if not is_revision(call.name):
        return Whole(replace(call, arguments=contract.in_callers_names(call.arguments)))
    from lastcall.contract.revision import Kept, Revised, revise  # noqa: PLC0415 -- most runs revise nothing

    kept = [Kept(a.n, a.call_id, contract.in_wire_names(a.draft)) for a in _kept(state) if a.request < state.asked]
    gone = [(a.n, a.call_id) for a in state.attempts if a.verdict is VerdictKind.RETRACTED]
    revised = revise(call.arguments, kept, gone)
    if not isinstance(revised, Revised):
        return revised
    arguments = contract.in_callers_names(Arguments(revised.text))
    return Whole(replace(call, name=FINISH, arguments=arguments), revised.base.n)


def shown(state: RunState, call: ToolCall) -> ToolCall:
    """A call as hooks see it: a revision is the whole that it makes, so that who watches the object sees all of it."""
    whole = whole_of(state, call)
    return whole.call if isinstance(whole, Whole) else call


def _kept(state: RunState) -> tuple[Attempt, ...]:
    if not state.policy.revises or state.contract is None or state.channel is not Channel.TOOL:
        return ()
    if any(tool.name == REVISE for tool in state.setting.tools):
        return ()  # somebody else's tool has the name
    held = {h.attachment.call_id for h in state.held}
    return tuple(a for a in state.attempts if a.verdict in _KEPT and a.call_id not in held and _is_large(a))


def _is_large(attempt: Attempt) -> bool:
    text = attempt.draft
    large = len(text) > DRAFT_BYTES or len(text.encode("utf-8", "replace")) > DRAFT_BYTES
    return large and all(problem.keyword != _UNCLEAR for problem in attempt.problems)
