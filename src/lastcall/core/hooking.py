"""Asking the caller's hooks: an action whose answer comes as an event, like a check.

A run waits for every hook that it asked. What a hook says of a call is decided where calls are (`core.calls`), what it says
of an end where ends are (`core.decide`).

Must not go in here: running hooks, the words.
"""

from __future__ import annotations

from lastcall.core import records as r
from lastcall.core.actions import RunHooks
from lastcall.core.revisions import shown
from lastcall.core.state import RunState
from lastcall.core.step import Draft
from lastcall.nouns.hooks import HookPoint
from lastcall.nouns.ids import CallId
from lastcall.nouns.messages import TextBlock
from lastcall.nouns.result import Attempt
from lastcall.nouns.tools import Arguments, ToolCall, ToolResult


def ask_about_prompt(draft: Draft, record: r.Started) -> bool:
    """Ask about a new prompt; whether there was anybody to ask."""
    text = "\n".join(b.text for b in record.blocks if isinstance(b, TextBlock))
    return _ask(draft, RunHooks(HookPoint.PROMPT, text=text))


def ask_before(draft: Draft, call: ToolCall) -> bool:
    """Ask before a call is judged; whether there was anybody to ask. What cannot be read is not shown to hooks."""
    return is_readable(call) and _ask(draft, RunHooks(HookPoint.BEFORE_CALL, call))


def ask_after(draft: Draft, call: ToolCall, result: ToolResult) -> None:
    """Tell of a judged call."""
    if is_readable(call):
        point = HookPoint.AFTER_FAILURE if result.failed else HookPoint.AFTER_CALL
        _ask(draft, RunHooks(point, call, result))


def ask_about_rejection(draft: Draft, call_id: CallId) -> None:
    """Tell of a rejected attempt: of one that could not be read too, and of one that came as text."""
    _ask(draft, RunHooks(HookPoint.REJECTED, attempt=_attempt(draft.state, call_id)))


def ask_about_stop(draft: Draft) -> bool:
    """Ask, once a reply, whether the run may end; whether an answer has to be waited for."""
    if draft.state.stop_asked:
        return False
    return _ask(draft, stop_question(draft.state))


def stop_question(state: RunState) -> RunHooks:
    """The question whether the run may end. A reply that ended on a call has no last words."""
    words = "" if state.reply.calls else state.reply.text
    kept = any(kind in (r.NudgeKind.ENFORCE, r.NudgeKind.STOP_HOOK) for kind in state.nudges)
    return RunHooks(HookPoint.STOP, text=words, active=kept)


def ask_again(draft: Draft) -> None:
    """After a crash: ask once more whatever was not answered."""
    state = draft.state
    for point, call_id in state.hooking:
        call = next((c for c in state.reply.calls if c.call_id == call_id), None)
        result = next((x for x in state.results if x.call_id == call_id), None)
        if point is HookPoint.STOP:
            draft.do(stop_question(state))
        elif point is HookPoint.REJECTED:
            draft.do(RunHooks(point, attempt=_attempt(state, call_id)))
        elif point is HookPoint.PROMPT:
            draft.do(RunHooks(point, text=state.prompt_text))
        elif call is not None:
            draft.do(RunHooks(point, shown(state, call), result))


def is_readable(call: ToolCall) -> bool:
    """Whether a call's arguments are an object that somebody can look at."""
    return isinstance(call.arguments, Arguments) and call.arguments.text.lstrip().startswith("{")


def _attempt(state: RunState, call_id: CallId) -> Attempt:
    return next(a for a in state.attempts if a.call_id == call_id)


def _ask(draft: Draft, action: RunHooks) -> bool:
    if action.point not in draft.state.setting.hooks:
        return False
    draft.note(r.HooksAsked(action.point, action.call_id))
    draft.do(action)
    return True
