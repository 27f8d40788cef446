"""The state after a crash, to the step that lets the run go on.

A journal ends anywhere. What was asked and not answered is void; a call that was started and not answered is answered
"interrupted, unknown whether it took effect", except where the tool only reads: such a call is simply run again. The
contract and the attempts stay as they were.
"""

from __future__ import annotations

from lastcall.core import hooking
from lastcall.core import records as r
from lastcall.core.actions import RunChecks, RunTool
from lastcall.core.calls import answer_interrupted
from lastcall.core.decide import go_on
from lastcall.core.state import RunState
from lastcall.core.step import Draft, Step


def resume(state: RunState) -> Step:
    """The step that continues a run that was cut off; empty when there is nothing to continue."""
    draft = Draft(state)
    if not state.run_id or state.outcome is not None:
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
