"""Calls and their answers: what happens to each call of a reply before anyone asks how the run ends.

Every call gets exactly one answer, by its id. A finishing call is an attempt: judged by the contract, answered with the
problems or taken as an object (at once, or held until the calls beside it and the checks are done). An ordinary call is
given to the tools.

Must not go in here: the end of a run (`core.decide`), the words (`contract.wording`).
"""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from lastcall.contract import Contract, wording
from lastcall.contract.finishing_tools import DECLINE, FINISH, is_finishing, read_decline
from lastcall.contract.suspicion import degenerate
from lastcall.contract.verdicts import Accepted, CannotRead, Rejected, WrongInput
from lastcall.core import records as r
from lastcall.core.actions import RunChecks, RunTool
from lastcall.core.step import Draft
from lastcall.nouns.attachment import Attachment, Problem
from lastcall.nouns.ids import CallId
from lastcall.nouns.result import Attempt, RunWarning, VerdictKind
from lastcall.nouns.tools import Arguments, ResultKind, ToolCall, ToolResult, Unreadable


def distinct(draft: Draft, call: ToolCall) -> ToolCall:
    """`call` with an id that no earlier call of the session has (models and servers repeat them)."""
    known = draft.state.call_ids
    if call.call_id and call.call_id not in known:
        return call
    base = call.call_id or CallId("call")
    n = 2
    while (made := CallId(f"{base}_{n}")) in known:
        n += 1
    return replace(call, call_id=made, made_id=True)


def as_seen(draft: Draft, call: ToolCall) -> ToolCall:
    """`call` as the history shows it: in compat with the values that the reference coerces, else as the model wrote it."""
    contract = draft.state.contract
    if contract is None or call.name != FINISH or isinstance(call.arguments, Unreadable):
        return call
    text = contract.as_seen(call.arguments.text)
    return call if text is None else replace(call, arguments=Arguments(text, call.arguments.duplicates))


def take(draft: Draft, call: ToolCall) -> None:
    """Judge a finishing call, start an ordinary one."""
    contract = draft.state.contract
    if contract is not None and draft.state.setting.finishing_denied and call.name == FINISH:
        answer(draft, call, ResultKind.DENIED, wording.denied(call.name), is_error=True)
    elif contract is None or not is_finishing(call.name, declines=draft.state.policy.declines):
        tool = next((t for t in draft.state.setting.tools if t.name == call.name), None)
        draft.note(r.ToolStarted(call.call_id, call.name, read_only=tool is None or tool.read_only))
        draft.do(RunTool(call))
    elif call.name == DECLINE:
        _hear_decline(draft, call)
    else:
        _judge(draft, call, contract)


def take_native(draft: Draft, contract: Contract) -> None:
    """Judge the text of a reply that came in the provider's own JSON format: an attempt like any other.

    There is no call to answer, so what is wrong goes back as a message.
    """
    reply = draft.state.reply
    call_id = CallId(reply.message_ids[-1])
    verdict = contract.judge_text(reply.text)
    if isinstance(verdict, Accepted):
        attachment = Attachment(call_id, reply.message_ids[-1], verdict.text, source="native_format")
        draft.note(r.Attempted(_attempt(draft, call_id, reply.text, VerdictKind.ACCEPTED, ())))
        _warn(draft, verdict.warnings)
        draft.note(r.Attached(attachment))
        return
    kind, problems = _verdict_of(verdict)
    draft.note(r.Attempted(_attempt(draft, call_id, reply.text, kind, problems)))
    draft.note(
        r.Nudged(r.NudgeKind.FEEDBACK, wording.rejection(verdict, contract.profile, repeats=draft.state.repeats))
    )


def answer(draft: Draft, call: ToolCall, kind: ResultKind, content: str, *, is_error: bool | None) -> None:
    """Note the one answer to `call`, as the core itself gives it."""
    display = f"Error: {content}" if is_error else content
    draft.note(r.CallAnswered(ToolResult(call.call_id, kind, content, is_error, display=display)))


def answer_cut_off(draft: Draft) -> None:
    """Answer every call of a reply that was cut off: none was executed; finishing calls are attempts all the same."""
    state = draft.state
    for call in state.unanswered:
        if state.contract is not None and is_finishing(call.name, declines=state.policy.declines):
            draft.note(r.Attempted(_attempt(draft, call.call_id, _text(call), VerdictKind.CUT_OFF, ())))
        answer(draft, call, ResultKind.CUT_OFF, wording.cut_off_call(state.reply.stop_reason), is_error=True)


def answer_interrupted(draft: Draft, *, restarts: bool) -> None:
    """Answer what a crash or an end from outside left open: unknown whether it took effect.

    After a crash (`restarts`), held objects stay held and calls that were started again are left to their tools.
    """
    if not draft.state.reply.closed and not draft.state.policy.eager:
        return
    running = draft.state.running
    for call in draft.state.unanswered:
        held = any(h.attachment.call_id == call.call_id for h in draft.state.held)
        if restarts and (held or call.call_id in running):
            continue
        if held:
            draft.note(r.AttemptRevised(call.call_id, VerdictKind.INTERRUPTED))
        answer(draft, call, ResultKind.INTERRUPTED, wording.interrupted_call(restarts=restarts), is_error=True)


def release(draft: Draft) -> None:
    """Decide on held objects once nothing of their reply is open: taken, unless a call beside them failed."""
    state = draft.state
    beside = tuple(x for x in state.results if not x.kind.of_finishing)
    failed = tuple(x for x in beside if x.failed and state.policy.holds)
    for held in state.held:
        attachment = held.attachment
        call = next(c for c in state.reply.calls if c.call_id == attachment.call_id)
        if failed:
            draft.note(r.AttemptRevised(call.call_id, VerdictKind.HELD))
            answer(draft, call, ResultKind.HELD, wording.held_back(len(failed)), is_error=True)
        else:
            _attach(draft, call, attachment, tuple(x.call_id for x in beside))


def check_failed(draft: Draft, call_id: CallId, problems: tuple[Problem, ...], contract: Contract) -> None:
    """A check refused a held object: its attempt is a rejected one after all."""
    call = next((c for c in draft.state.reply.calls if c.call_id == call_id), None)
    if call is None:
        return
    draft.note(r.AttemptRevised(call_id, VerdictKind.REJECTED, problems))
    verdict = Rejected(problems, len(problems))
    words = wording.rejection(verdict, contract.profile, repeats=draft.state.repeats)
    answer(draft, call, ResultKind.REJECTED, words, is_error=True)


# -- attempts -------------------------------------------------------------------------------------------------------


def _judge(draft: Draft, call: ToolCall, contract: Contract) -> None:
    verdict = contract.judge(call.arguments)
    if isinstance(verdict, Accepted):
        verdict = _guard(draft, verdict)
    if isinstance(verdict, Accepted):
        _take_object(draft, call, verdict, contract)
        return
    kind, problems = _verdict_of(verdict)
    draft.note(r.Attempted(_attempt(draft, call.call_id, _text(call), kind, problems)))
    words = wording.rejection(verdict, contract.profile, repeats=draft.state.repeats)
    answer(draft, call, ResultKind.REJECTED, words, is_error=True)


def _take_object(draft: Draft, call: ToolCall, verdict: Accepted, contract: Contract) -> None:
    state = draft.state
    attachment = Attachment(call.call_id, call.message_id, verdict.text)
    waits = state.policy.holds and any(
        not is_finishing(c.name, declines=state.policy.declines) for c in state.unanswered
    )
    waits = waits or (state.policy.eager and state.policy.max_budget_usd is not None)
    held = waits or contract.has_checks
    kind = VerdictKind.HELD if held else VerdictKind.ACCEPTED
    draft.note(r.Attempted(_attempt(draft, call.call_id, _text(call), kind, ())))
    _warn(draft, verdict.warnings)
    if not held:
        _attach(draft, call, attachment, ())
        return
    draft.note(r.HeldBack(attachment, checking=contract.has_checks))
    if contract.has_checks:
        draft.do(RunChecks(call.call_id, verdict.text))


def _attach(draft: Draft, call: ToolCall, attachment: Attachment, beside: tuple[CallId, ...]) -> None:
    attempt = next(a for a in draft.state.attempts if a.call_id == call.call_id)
    if attempt.verdict is not VerdictKind.ACCEPTED:
        draft.note(r.AttemptRevised(call.call_id, VerdictKind.ACCEPTED))
    draft.note(r.Attached(attachment, beside))
    answer(draft, call, ResultKind.ACCEPTED, wording.ACCEPTED, is_error=None)


def _guard(draft: Draft, verdict: Accepted) -> Accepted | Rejected:
    """Send an object back once that lost what a rejected draft held; the second time it is taken with a warning."""
    state = draft.state
    rejected = tuple(a.draft for a in state.attempts if a.verdict is VerdictKind.REJECTED)
    if not state.policy.guards_degenerate or not rejected:
        return verdict
    problem = degenerate(verdict.text, rejected)
    if problem is None:
        return verdict
    if not state.degenerate_guarded:
        return Rejected((problem,), 1)
    warning = RunWarning("degenerate", problem.message, problem.path)
    return replace(verdict, warnings=(*verdict.warnings, warning))


def _hear_decline(draft: Draft, call: ToolCall) -> None:
    """A decline in the first reply is challenged once, then accepted."""
    state = draft.state
    heard = read_decline(call.arguments)
    if isinstance(heard, Problem):
        draft.note(r.Attempted(_attempt(draft, call.call_id, _text(call), VerdictKind.REJECTED, (heard,))))
        answer(draft, call, ResultKind.REJECTED, wording.bad_decline(heard), is_error=True)
        return
    accepted = state.asked > 1 or state.declines_challenged > 0
    draft.note(r.Attempted(_attempt(draft, call.call_id, _text(call), VerdictKind.DECLINED, ())))
    draft.note(r.DeclineHeard(call.call_id, heard.reason, heard.missing, accepted))
    if accepted:
        answer(draft, call, ResultKind.ACCEPTED, wording.DECLINE_ACCEPTED, is_error=None)
    else:
        answer(draft, call, ResultKind.REJECTED, wording.DECLINE_CHALLENGED, is_error=True)


def _attempt(draft: Draft, call_id: CallId, text: str, verdict: VerdictKind, problems: tuple[Problem, ...]) -> Attempt:
    state = draft.state
    return Attempt(len(state.attempts) + 1, call_id, state.reply.model, verdict, problems, text)


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


def _warn(draft: Draft, warnings: tuple[RunWarning, ...]) -> None:
    for warning in warnings:
        draft.note(r.Warned(warning))


def _text(call: ToolCall) -> str:
    match call.arguments:
        case Arguments(text=text) | Unreadable(text=text):
            return text
        case _:
            assert_never(call.arguments)
