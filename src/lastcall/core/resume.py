"""The state after a crash, to the step that lets the run go on.

A journal ends anywhere. What was asked and not answered is void; a call that was started and not answered is answered
"interrupted, unknown whether it took effect", except where the tool only reads: such a call is simply run again. The
contract and the attempts stay as they were.

A run that was ended from outside (a signal, a limit, a failure of the service or the disk) can be continued in the same
way; one that came to its own end cannot.
"""

from __future__ import annotations

from lastcall.core import hooking
from lastcall.core import records as r
from lastcall.core.actions import RunChecks, RunTool
from lastcall.core.calls import answer_interrupted
from lastcall.core.decide import go_on
from lastcall.core.state import RunState
from lastcall.core.step import Draft, Step
from lastcall.nouns.result import Cancelled, Failed, Limit, Stopped

_LIMITS = (Limit.TURNS, Limit.BUDGET, Limit.TOKENS, Limit.REPEATS, Limit.WINDOW, Limit.DEADLINE)


def can_go_on(state: RunState) -> bool:
    """Whether there is a run that a crash cut off, or that was ended from outside."""
    if not state.run_id:
        return False
    match state.outcome:
        case None | Cancelled() | Failed():
            return True
        case Stopped(limit=limit):
            return limit in _LIMITS
        case _:
            return False


def resume(state: RunState, *, reopens: bool = False) -> Step:
    """The step that continues a run that was cut off; empty when there is nothing to continue.

    With `reopens`, a run that was ended from outside is continued too: somebody asked for it.
    """
    draft = Draft(state)
    if not can_go_on(state) or (state.outcome is not None and not reopens):
        return draft.step()
    draft.note(r.Resumed())
    if state.reply.closed:
        _restart_reads(draft)
    answer_interrupted(draft, restarts=True)
    for held in draft.state.held:
        if held.checking:
            draft.do(RunChecks(held.attachment.call_id, held.attachment.text))
    hooking.ask_again(draft)
    go_on(draft)
    return draft.step()


def _restart_reads(draft: Draft) -> None:
    readers = {t.name for t in draft.state.setting.tools if t.read_only}
    for call in draft.state.unanswered:
        if call.name in readers:
            draft.note(r.ToolStarted(call.call_id, call.name, read_only=True))
            draft.do(RunTool(call))
