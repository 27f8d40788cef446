"""Asking the model again, or ending the run where no limit leaves room for it.

These are the last words of each rule in `core.decide`: ask, ask for the same again, tell something and ask, end.

Must not go in here: which of them, and when (`core.decide`).
"""

from __future__ import annotations

from lastcall.core import calls, endings
from lastcall.core import records as r
from lastcall.core.actions import AskModel, CancelCalls, CancelRequest
from lastcall.core.limits import last_that_fits, limit_reached
from lastcall.core.step import Draft
from lastcall.core.summing import Shortening, make_shorter
from lastcall.core.window import outgrown
from lastcall.nouns.request import Choice
from lastcall.nouns.result import Outcome


def ask(draft: Draft, *, choice: Choice = Choice.AUTO) -> None:
    """Ask the model again, if the limits leave a turn for it. The last one that fits is a reserved last call."""
    if over(draft) or (outgrown(draft.state) and make_shorter(draft, choice) is Shortening.WAITS):
        return
    send(draft, choice)


def over(draft: Draft) -> bool:
    """Whether the run ends instead of asking: the attempts are used up, or a limit is reached."""
    state = draft.state
    limit = limit_reached(state)
    if state.exhausted and state.replies:
        end(draft, endings.spent(state))
    elif limit is not None:
        end(draft, endings.stopped(state, limit))
    return draft.state.outcome is not None


def send(draft: Draft, choice: Choice) -> None:
    """Ask for the next turn; the last one that fits is a reserved last call."""
    state = draft.state
    reserved = state.policy.reserves and state.contract is not None and last_that_fits(state)
    forced = (reserved or choice is Choice.FINISH) and state.policy.forces and state.setting.forces
    draft.note(r.Asked(state.asked + 1, Choice.FINISH if forced else Choice.AUTO, reserved))
    draft.do(AskModel(draft.state.asked))


def reask(draft: Draft) -> None:
    """Ask for the same turn again after its request came to nothing; it costs no turn of the caller's limit."""
    state = draft.state
    if state.exhausted and state.attempts:
        end(draft, endings.spent(state))
        return
    draft.note(r.Asked(state.asked + 1, state.choice, state.reserved))
    draft.do(AskModel(draft.state.asked))


def nudge(draft: Draft, kind: r.NudgeKind, words: str, *, choice: Choice = Choice.AUTO) -> None:
    """Tell the model and ask it again. What no request would carry any more is said by the reference alone."""
    if draft.state.policy.eager or limit_reached(draft.state) is None:
        draft.note(r.Nudged(kind, words))
    ask(draft, choice=choice)


def end(draft: Draft, outcome: Outcome) -> None:
    """The run is over: what is still open is stopped and answered, so that the history stays well-formed."""
    state = draft.state
    if state.outstanding:
        draft.do(CancelRequest(state.asked))
    if state.running:
        draft.do(CancelCalls(state.running))
    calls.answer_interrupted(draft, restarts=False)
    draft.note(r.Ended(outcome))
