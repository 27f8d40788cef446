"""The ids of calls and attempts, distinct through a session, and calls as the history shows them.

Must not go in here: what becomes of a call (`core.calls`).
"""

from __future__ import annotations

from msgspec.structs import replace

from lastcall.contract.finishing_tools import FINISH
from lastcall.core.state import RunState
from lastcall.core.step import Draft
from lastcall.nouns.ids import CallId, MessageId
from lastcall.nouns.tools import Arguments, ToolCall, Unreadable


def distinct(draft: Draft, call: ToolCall, message_id: MessageId) -> ToolCall:
    """`call` as one of `message_id`, its id one that no earlier call of the session has (models and servers repeat ids)."""
    free = _free_id(call.call_id or CallId("call"), draft.state)
    if free == call.call_id and message_id == call.message_id:
        return call
    taken = free != call.call_id
    given = call.call_id if taken else CallId("")
    return replace(call, call_id=free, message_id=message_id, made_id=call.made_id or taken, given_id=given)


def as_seen(draft: Draft, call: ToolCall) -> ToolCall:
    """`call` as the history shows it: in compat with the values that the reference coerces, else as the model wrote it."""
    contract = draft.state.contract
    if contract is None or call.name != FINISH or isinstance(call.arguments, Unreadable):
        return call
    text = contract.as_seen(call.arguments.text)
    return call if text is None else replace(call, arguments=Arguments(text, call.arguments.duplicates))


def text_id(state: RunState) -> CallId:
    """An id for an attempt without a call: its message's, with a number where a server repeats those."""
    return _free_id(CallId(state.reply.message_ids[-1]), state)


def _free_id(wanted: CallId, state: RunState) -> CallId:
    n, free = 2, wanted
    while free in state.call_ids or any(a.call_id == free for a in state.attempts):
        n, free = n + 1, CallId(f"{wanted}_{n}")
    return free
