"""Calls and their answers: what happens to each call of a reply before anyone asks how the run ends.

Every call gets exactly one answer, by its id. A finishing call is an attempt: judged by the contract, answered with the
problems or taken as an object (at once, or held until the calls beside it and the checks are done). An ordinary call is
given to the tools.

Must not go in here: the end of a run (`core.decide`), the words (`contract.wording`).
"""

from __future__ import annotations

from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from lastcall.contract import Contract, hook_words, wording
from lastcall.contract.finishing_tools import DECLINE, is_finishing, is_revision, read_decline
from lastcall.contract.salvage import candidates
from lastcall.contract.verdicts import Accepted, CannotRead, Rejected, WrongInput
from lastcall.contract.wrapping import WRAP
from lastcall.core import hooking
from lastcall.core import records as r
from lastcall.core.actions import CancelCalls, RunChecks, RunTool
from lastcall.core.guarding import guarded
from lastcall.core.naming import text_id
from lastcall.core.revisions import Whole, kept_as, offers_revision, shown, whole_of
from lastcall.core.sight import sight_of
from lastcall.core.state import RunState
from lastcall.core.step import Draft
from lastcall.nouns.attachment import Attachment, Problem
from lastcall.nouns.hooks import HookDecision, HookVerdict
from lastcall.nouns.ids import CallId, MessageId
from lastcall.nouns.request import Channel
from lastcall.nouns.result import Attempt, RunWarning, VerdictKind
from lastcall.nouns.tools import Arguments, ResultKind, ToolCall, ToolResult, Unreadable

SALVAGED = "salvaged_text"
"""The source of an object that stood in prose."""
REVISED = "revised"
"""The source of an object that a revision made of a draft."""


def take_reply(draft: Draft) -> None:
    """Take what a complete reply holds: its calls, unless they were taken block by block, or its text as the object."""
    state = draft.state
    if not state.policy.eager:
        for call in state.reply.calls:
            take(draft, call)
    if state.contract is not None and _is_object_text(state):
        origin = _Origin(text_id(state), state.reply.message_ids[-1], "native_format")
        _judge(draft, origin, Arguments(state.reply.text), state.contract)
    elif (
        state.contract is not None and state.policy.salvages and not state.reply.calls and not state.contract.has_checks
    ):
        _salvage(draft, state.contract)


def take(draft: Draft, call: ToolCall) -> None:
    """Judge a finishing call, start an ordinary one."""
    contract = draft.state.contract
    if contract is None or not _finishes(draft.state, call):
        tool = next((t for t in draft.state.setting.tools if t.name == call.name), None)
        draft.note(r.ToolStarted(call.call_id, call.name, read_only=tool is None or tool.read_only))
        draft.do(RunTool(call))
    elif call.name == DECLINE:
        _hear_decline(draft, call)
    elif draft.state.setting.finishing_denied:
        answer(draft, call, ResultKind.DENIED, wording.denied(call.name), is_error=True)
    else:
        _propose(draft, call, contract)


def go_on_with(draft: Draft, call_id: CallId, verdict: HookVerdict) -> None:
    """A finishing call as hooks leave it: denied, or judged with the input that they gave it."""
    state = draft.state
    call = next((c for c in state.reply.calls if c.call_id == call_id), None)
    if call is None or state.contract is None:
        return
    whole = whole_of(state, call)
    assert isinstance(whole, Whole), "hooks are asked about whole objects only"
    origin = _origin(whole)
    if verdict.decision is HookDecision.DENY:
        words = hook_words.denied_by_hook(verdict.reason, state.policy.profile)
        problem = Problem("", "hook", verdict.reason)
        _note_attempt(draft, origin, _text(whole.call), VerdictKind.REJECTED, (problem,))
        meta = {"non_execution_kind": "permission-rule"}
        draft.note(
            r.CallAnswered(ToolResult(call_id, ResultKind.BLOCKED, words, True, display=f"Error: {words}", meta=meta))
        )
        return
    arguments = whole.call.arguments if verdict.arguments is None else Arguments(verdict.arguments)
    _judge(draft, origin, arguments, state.contract)


def note_interrupt(draft: Draft, *, tools: bool = False) -> None:
    """The reference tells the model that it was stopped, and answers what was running (`tools`: a call ended the run)."""
    state = draft.state
    if not state.policy.eager:
        return
    running = state.running
    if running:
        draft.do(CancelCalls(running))
    words, shown = hook_words.cancelled_call(state.policy.profile)
    meta = {"non_execution_kind": "user-rejected"}
    for call_id in running:
        draft.note(r.CallAnswered(ToolResult(call_id, ResultKind.CANCELLED, words, True, display=shown, meta=meta)))
    draft.note(r.Nudged(r.NudgeKind.INTERRUPT, hook_words.interrupted(tools=tools or bool(running))))


def answer(draft: Draft, call: ToolCall, kind: ResultKind, content: str, *, is_error: bool | None) -> None:
    """Note the one answer to `call`, as the core itself gives it."""
    display = f"Error: {content}" if is_error else content
    draft.note(r.CallAnswered(ToolResult(call.call_id, kind, content, is_error, display=display)))


def answer_cut_off(draft: Draft) -> None:
    """Answer every call of a reply that was cut off: none was executed; finishing calls are attempts all the same."""
    state = draft.state
    for call in state.unanswered:
        if _finishes(state, call):
            _note_attempt(draft, _Origin(call.call_id, call.message_id), _text(call), VerdictKind.CUT_OFF)
        answer(draft, call, ResultKind.CUT_OFF, wording.cut_off_call(state.reply.stop_reason), is_error=True)
    if _is_object_text(state):
        origin = _Origin(text_id(state), state.reply.message_ids[-1])
        _note_attempt(draft, origin, state.reply.text, VerdictKind.CUT_OFF)


def answer_interrupted(draft: Draft, *, restarts: bool) -> None:
    """Answer what a crash or an end from outside left open: unknown whether it took effect.

    After a crash (`restarts`), held objects stay held and calls that were started again are left to their tools. The
    reference does not answer what an end leaves open; nor is a reply answered that never ended.
    """
    state = draft.state
    open_ids = {*state.running, *(call_id for _, call_id in state.hooking)}
    spared = {h.attachment.call_id for h in state.held} | open_ids if restarts else set()
    for held in () if restarts else state.held:
        draft.note(r.AttemptRevised(held.attachment.call_id, VerdictKind.INTERRUPTED))
    answers = restarts if state.policy.eager else state.reply.closed
    for call in state.unanswered if answers else ():
        if call.call_id not in spared:
            answer(draft, call, ResultKind.INTERRUPTED, wording.interrupted_call(restarts=restarts), is_error=True)


def release(draft: Draft) -> None:
    """Decide on held objects once nothing of their reply is open: taken, unless a call beside them failed."""
    state = draft.state
    ordinary = {c.call_id for c in state.reply.calls if not _finishes(state, c)}
    beside = tuple(x for x in state.results if x.call_id in ordinary)
    failed = tuple(x for x in beside if x.failed and state.policy.holds)
    for held in state.held:
        if failed:
            call_id = held.attachment.call_id
            draft.note(r.AttemptRevised(call_id, VerdictKind.HELD))
            _tell(draft, call_id, ResultKind.HELD, wording.held_back(len(failed), kept=kept_as(draft.state, call_id)))
        else:
            _attach(draft, held, tuple(x.call_id for x in beside))


def check_failed(draft: Draft, call_id: CallId, problems: tuple[Problem, ...]) -> None:
    """A check refused a held object: its attempt is a rejected one after all."""
    contract = draft.state.contract
    text = next(a.draft for a in draft.state.attempts if a.call_id == call_id)
    problems = contract.concealed(text, problems) if contract is not None else problems
    draft.note(r.AttemptRevised(call_id, VerdictKind.REJECTED, problems))
    _reject(draft, call_id, Rejected(problems, len(problems)))


# -- attempts -------------------------------------------------------------------------------------------------------


class _Origin(Struct, frozen=True):
    """Where a candidate comes from: a finishing call, or the text of a reply (`source`); the draft it revises (`base`)."""

    call_id: CallId
    message_id: MessageId
    source: str = "call"
    base: int = 0


def _origin(whole: Whole) -> _Origin:
    source = REVISED if whole.base else "call"
    return _Origin(whole.call.call_id, whole.call.message_id, source, whole.base)


def _propose(draft: Draft, call: ToolCall, contract: Contract) -> None:
    """Judge what a finishing call hands over, once hooks were asked; a revision that makes no whole is rejected here."""
    whole = whole_of(draft.state, call)
    if not isinstance(whole, Whole):
        _refuse(draft, _Origin(call.call_id, call.message_id, REVISED), "", whole, sent=_text(call))
    elif not hooking.ask_before(draft, whole.call):
        _judge(draft, _origin(whole), whole.call.arguments, contract)


def _judge(draft: Draft, origin: _Origin, arguments: Arguments | Unreadable, contract: Contract) -> None:
    arguments = contract.in_callers_names(arguments)
    verdict = contract.judge(arguments, sight_of(draft.state)) if contract.needs_sight else contract.judge(arguments)
    if isinstance(verdict, Accepted | Rejected) and verdict.checks:
        verdicts = tuple(replace(v, call_id=origin.call_id) for v in verdict.checks)
        draft.note(r.Checked(origin.call_id, verdicts, passed=all(v.passed for v in verdicts)))
    if isinstance(verdict, Accepted):
        verdict = guarded(draft.state, verdict, contract)
    if isinstance(verdict, Accepted):
        attachment = Attachment(origin.call_id, origin.message_id, verdict.text, origin.source)
        _take_object(draft, origin, arguments.text, r.HeldBack(attachment, warnings=verdict.warnings))
        return
    _refuse(draft, origin, arguments.text, _without_secrets(contract, arguments.text, verdict))


def _refuse(
    draft: Draft, origin: _Origin, text: str, verdict: Rejected | CannotRead | WrongInput, *, sent: str = ""
) -> None:
    """Note a rejected attempt and answer it; of a revision that made no whole there is no text but what was `sent`."""
    kind, problems = _verdict_of(verdict)
    _note_attempt(draft, origin, text, kind, problems, sent=sent)
    _reject(draft, origin.call_id, verdict)


def _salvage(draft: Draft, contract: Contract) -> None:
    """Take an object that stands in prose, if one passes the whole contract; it is no attempt, and marked."""
    state, sight = draft.state, sight_of(draft.state)
    for candidate in candidates(state.reply.text):
        wrapped = f'{{"{WRAP}":{candidate}}}' if contract.wrapped else candidate
        verdict = contract.judge(contract.in_callers_names(Arguments(wrapped)), sight)
        found = guarded(draft.state, verdict, contract) if isinstance(verdict, Accepted) else verdict
        if isinstance(found, Accepted):
            call_id = text_id(state)
            if found.checks:
                draft.note(r.Checked(call_id, tuple(replace(c, call_id=call_id) for c in found.checks), passed=True))
            salvaged = RunWarning("salvaged", "the object was found in a reply of prose; it was not sent in a call")
            for warning in (*found.warnings, salvaged):
                draft.note(r.Warned(warning))
            draft.note(r.Attached(Attachment(call_id, state.reply.message_ids[-1], found.text, SALVAGED)))
            return


def _without_secrets(
    contract: Contract, text: str, verdict: Rejected | CannotRead | WrongInput
) -> Rejected | CannotRead | WrongInput:
    """The verdict without the values that the schema marks secret; of text that cannot be read nothing is repeated."""
    if not contract.has_secrets:
        return verdict
    match verdict:
        case Rejected(problems=problems):
            return replace(verdict, problems=contract.concealed(text, problems))
        case CannotRead(fault=fault):
            return CannotRead(replace(fault, text=""))
        case WrongInput():
            return verdict
        case _:
            assert_never(verdict)


def _take_object(draft: Draft, origin: _Origin, text: str, found: r.HeldBack) -> None:
    state = draft.state
    checking = state.contract is not None and state.contract.has_checks
    waits = state.policy.holds and any(not _finishes(state, c) for c in state.reply.calls)
    waits = waits or (state.policy.eager and state.policy.max_budget_usd is not None)
    held = replace(found, checking=checking)
    if not waits and not checking:
        _note_attempt(draft, origin, text, VerdictKind.ACCEPTED)
        _attach(draft, held, ())
        return
    _note_attempt(draft, origin, text, VerdictKind.HELD)
    draft.note(held)
    if checking:
        draft.do(RunChecks(origin.call_id, held.attachment.text))


def _attach(draft: Draft, held: r.HeldBack, beside: tuple[CallId, ...]) -> None:
    attachment = held.attachment
    attempt = next(a for a in draft.state.attempts if a.call_id == attachment.call_id)
    if attempt.verdict is not VerdictKind.ACCEPTED:
        draft.note(r.AttemptRevised(attachment.call_id, VerdictKind.ACCEPTED))
    for warning in held.warnings:
        draft.note(r.Warned(warning))
    before = draft.state.surviving
    if before is not None and before.text != attachment.text:
        draft.note(
            r.Warned(RunWarning("other_object", "another object passed too and was discarded: the last one counts"))
        )
    draft.note(r.Attached(attachment, beside))
    _tell(draft, attachment.call_id, ResultKind.ACCEPTED, wording.ACCEPTED)


def _reject(draft: Draft, call_id: CallId, verdict: Rejected | CannotRead | WrongInput) -> None:
    state, kept = draft.state, kept_as(draft.state, call_id)
    if isinstance(verdict, Rejected) and state.contract is not None:
        verdict = replace(verdict, problems=state.contract.told(verdict.problems))
    words = wording.rejection(verdict, state.policy.profile, state.channel, repeats=state.repeats, kept=kept)
    _tell(draft, call_id, ResultKind.REJECTED, words)


def _tell(draft: Draft, call_id: CallId, kind: ResultKind, words: str) -> None:
    """Answer a finishing call. An object that came as text has no call: what is wrong with it goes back as a message."""
    call = next((c for c in draft.state.reply.calls if c.call_id == call_id), None)
    taken = kind is ResultKind.ACCEPTED
    if call is not None:
        answer(draft, call, kind, words, is_error=None if taken else True)
        hooking.ask_after(draft, shown(draft.state, call), draft.state.results[-1])
    elif not taken:
        draft.note(r.Nudged(r.NudgeKind.FEEDBACK, words))
    if not taken:
        hooking.ask_about_rejection(draft, call_id)


def _hear_decline(draft: Draft, call: ToolCall) -> None:
    """A decline in the first reply is challenged once, then accepted; at once if the model could not be asked again."""
    state = draft.state
    heard, origin = read_decline(call.arguments), _Origin(call.call_id, call.message_id)
    if isinstance(heard, Problem):
        _note_attempt(draft, origin, "", VerdictKind.REJECTED, (heard,))
        answer(draft, call, ResultKind.REJECTED, wording.bad_decline(heard), is_error=True)
        return
    last = state.reserved or len(state.attempts) + 1 >= state.policy.max_attempts
    accepted = state.replies > 1 or last
    _note_attempt(draft, origin, "", VerdictKind.DECLINED)
    draft.note(r.DeclineHeard(call.call_id, heard.reason, heard.missing, accepted))
    if accepted:
        answer(draft, call, ResultKind.ACCEPTED, wording.DECLINE_ACCEPTED, is_error=None)
    else:
        answer(draft, call, ResultKind.REJECTED, wording.DECLINE_CHALLENGED, is_error=True)


def _note_attempt(
    draft: Draft,
    origin: _Origin,
    text: str,
    verdict: VerdictKind,
    problems: tuple[Problem, ...] = (),
    *,
    sent: str = "",
) -> None:
    state = draft.state
    draft.note(
        r.Attempted(
            Attempt(
                len(state.attempts) + 1,
                origin.call_id,
                state.reply.model,
                verdict,
                problems,
                text,
                request=state.asked,
                base=origin.base,
                sent=sent,
            )
        )
    )


def _verdict_of(verdict: Rejected | CannotRead | WrongInput) -> tuple[VerdictKind, tuple[Problem, ...]]:
    match verdict:
        case Rejected(problems=problems):
            return VerdictKind.REJECTED, problems
        case CannotRead(fault=fault):
            return VerdictKind.UNREADABLE, (wording.unreadable_problem(fault),)
        case WrongInput(issue=issue):
            return VerdictKind.REJECTED, (Problem("", "input", issue),)
        case _:
            assert_never(verdict)


def _finishes(state: RunState, call: ToolCall) -> bool:
    revises = is_revision(call.name) and offers_revision(state)
    return state.contract is not None and is_finishing(call.name, declines=state.policy.declines, revises=revises)


def _is_object_text(state: RunState) -> bool:
    """Whether the reply's text is an attempt: the object comes as text, and there is nothing else in the reply."""
    native = state.channel is Channel.NATIVE and state.contract is not None
    return native and bool(state.reply.text) and not state.reply.calls


def _text(call: ToolCall) -> str:
    match call.arguments:
        case Arguments(text=text) | Unreadable(text=text):
            return text
        case _:
            assert_never(call.arguments)
