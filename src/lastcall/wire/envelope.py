"""The result frame: how a run ended, for machines.

It has the reference's fields and one key more, `lastcall`. Status, exit code and content come from the one `Outcome`:
`structured_output` is present exactly when the run succeeded with a contract. The compat frame says what the reference
would say, which can be a success without an object; what lastcall knows stands under `lastcall` there too.

Must not go in here: exit codes (`cli.exits`), other frames.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from lastcall.nouns.attachment import Problem
from lastcall.nouns.profile import Profile, Reference
from lastcall.nouns.result import (
    Answered,
    Attempt,
    Cancelled,
    Declined,
    Failed,
    FailureKind,
    GaveUp,
    Limit,
    OutOfAttempts,
    Receipt,
    Retracted,
    Stopped,
    TerminalResult,
    Usage,
    VerdictKind,
    outcome_name,
)
from lastcall.wire.frames import Frame, Stage, plain_value, usage_value
from lastcall.wire.reference_words import failure_text


def result_frame(result: TerminalResult, stage: Stage, uuid: str) -> Frame:
    """The last frame of a run."""
    said = _compat(result, stage) if stage.profile is Profile.COMPAT else _native(result)
    frame: Frame = {
        "type": "result",
        "subtype": said["subtype"],
        "is_error": said["is_error"],
        "duration_ms": result.duration_ms,
        "duration_api_ms": result.duration_api_ms,
        "num_turns": said.get("num_turns", result.turns),
    }
    if "result" in said:
        frame["result"] = said["result"]
    frame["stop_reason"] = said["stop_reason"]
    frame["session_id"] = result.session_id
    frame["total_cost_usd"] = None if result.cost_usd is None else float(result.cost_usd)
    usage = result.usage
    if stage.profile is Profile.COMPAT:
        usage = Usage(*(n or 0 for n in usage.figures))
    frame["usage"] = usage_value(usage)
    frame["modelUsage"] = {model: _model_usage(usage) for model, usage in result.usage_by_model.items()}
    frame["permission_denials"] = [dict(d) for d in result.permission_denials]
    if said.get("object") is not None:
        frame["structured_output"] = plain_value(said["object"])
    if "errors" in said:
        frame["errors"] = said["errors"]
    if said["terminal_reason"]:
        frame["terminal_reason"] = said["terminal_reason"]
    if "api_error_status" in said:
        frame["api_error_status"] = said["api_error_status"]
    frame["uuid"] = uuid
    frame["lastcall"] = details(result)
    return frame


def _model_usage(usage: Any) -> Frame:
    return {
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "cacheReadInputTokens": usage.cache_read_input_tokens,
        "cacheCreationInputTokens": usage.cache_creation_input_tokens,
    }


# -- native ---------------------------------------------------------------------------------------------------------


def _native(result: TerminalResult) -> Frame:
    subtype, terminal = _native_words(result)
    said: Frame = {
        "subtype": subtype,
        "is_error": not result.ok,
        "stop_reason": result.stop_reason,
        "terminal_reason": terminal,
        "object": result.object_text,
    }
    if result.ok:
        said["result"] = result.object_text if result.object_text is not None else result.text
        said["api_error_status"] = None
    else:
        said["errors"] = [result.reason]
        if isinstance(result.outcome, Failed):
            said["api_error_status"] = result.outcome.status
    return said


def _native_words(result: TerminalResult) -> tuple[str, str]:  # noqa: C901, PLR0911 -- one line an outcome
    match result.outcome:
        case Answered():
            return "success", "completed"
        case Declined():
            return "error_declined", "declined"
        case GaveUp():
            return "error_gave_up", "gave_up"
        case OutOfAttempts():
            return "error_max_structured_output_retries", "structured_output_retry_exhausted"
        case Retracted():
            return "error_retracted", "structured_output_retracted"
        case Stopped(limit=limit):
            return _LIMIT_WORDS[limit]
        case Failed(kind=FailureKind.TOO_LONG):
            return "error_during_execution", "prompt_too_long"
        case Failed(kind=kind) if kind in {FailureKind.INTERNAL, FailureKind.JOURNAL}:
            return "error_during_execution", "internal_error"
        case Failed():
            return "error_during_execution", "api_error"
        case Cancelled():
            return "error_during_execution", "aborted"
        case _:
            assert_never(result.outcome)


_LIMIT_WORDS = {
    Limit.TURNS: ("error_max_turns", "max_turns"),
    Limit.BUDGET: ("error_max_budget_usd", "budget_exhausted"),
    Limit.TOKENS: ("error_max_budget_tokens", "budget_exhausted"),
    Limit.REPEATS: ("error_repeats", "repeating"),
    Limit.WINDOW: ("error_context_window", "context_window_full"),
    Limit.DEADLINE: ("error_deadline", "deadline_passed"),
    Limit.PROMPT_HOOK: ("error_prompt_blocked", "prompt_blocked"),
    Limit.TOOL_HOOK: ("error_hook_stopped", "hook_stopped"),
    Limit.STOP_HOOK: ("error_hook_stopped", "stop_hook_prevented"),
}


# -- compat ---------------------------------------------------------------------------------------------------------


def _compat(result: TerminalResult, stage: Stage) -> Frame:
    kept = result.object_text or result.kept_object_text
    match result.outcome:
        case Answered():
            said = _compat_success(result, result.text, kept)
            return {**said, "terminal_reason": "hook_stopped"} if result.halted else said
        case GaveUp(text=text):
            return _compat_success(result, text, None)
        case Declined(reason=reason):
            return _compat_success(result, reason, None)
        case OutOfAttempts(limit=limit):
            words = _spent_words(result, limit, stage)
            return _compat_error(
                result, "error_max_structured_output_retries", "structured_output_retry_exhausted", words
            )
        case Retracted():
            words = _retracted_words(result.outcome)
            return _compat_error(
                result, "error_max_structured_output_retries", "structured_output_retry_exhausted", words
            )
        case Stopped() as stopped:
            return _compat_stopped(result, stopped)
        case Failed() as failure:
            return _compat_failed(result, failure, stage, kept)
        case Cancelled():
            seen = result.stop_reason or "null"
            words = f"[ede_diagnostic] result_type=user last_content_type=n/a stop_reason={seen}"
            aborted = "aborted_tools" if result.interrupted_calls else "aborted_streaming"
            return _compat_error(result, "error_during_execution", aborted, words)
        case _:
            assert_never(result.outcome)


def _compat_stopped(result: TerminalResult, stopped: Stopped) -> Frame:
    limit, bound = stopped.limit, stopped.bound
    match limit:
        case Limit.TURNS:
            words = f"Reached maximum number of turns ({bound})"
            return {**_compat_error(result, "error_max_turns", "max_turns", words), "num_turns": int(bound) + 1}
        case Limit.BUDGET:
            words = f"Reached maximum budget (${bound})"
            return _compat_error(result, "error_max_budget_usd", "budget_exhausted", words)
        case Limit.DEADLINE | Limit.TOKENS | Limit.REPEATS | Limit.WINDOW:
            return _compat_error(result, *_LIMIT_WORDS[limit], result.reason)
        case Limit.PROMPT_HOOK:
            said = {**_compat_success(result, bound, None), "num_turns": 0, "terminal_reason": ""}
            del said["api_error_status"]
            return said
        case Limit.TOOL_HOOK | Limit.STOP_HOOK:
            return {**_compat_success(result, "", None), "terminal_reason": _LIMIT_WORDS[limit][1]}
        case _:
            assert_never(limit)


def _compat_success(result: TerminalResult, text: str, kept: str | None) -> Frame:
    return {
        "subtype": "success",
        "is_error": False,
        "result": text or kept or "",
        "stop_reason": result.stop_reason,
        "object": kept,
        "terminal_reason": "completed",
        "api_error_status": None,
    }


def _compat_error(result: TerminalResult, subtype: str, terminal: str, words: str) -> Frame:
    return {
        "subtype": subtype,
        "is_error": True,
        "errors": [words],
        "stop_reason": result.stop_reason,
        "terminal_reason": terminal,
    }


def _compat_failed(result: TerminalResult, failure: Failed, stage: Stage, kept: str | None) -> Frame:
    """The reference calls a provider's failure a success with `is_error`, and lets an object stand beside it."""
    model = result.last_model or stage.model
    terminal = "prompt_too_long" if failure.kind is FailureKind.TOO_LONG else "api_error"
    return {
        "subtype": "success",
        "is_error": True,
        "result": failure_text(failure, model=model, host=stage.host, max_tokens=stage.max_tokens),
        "stop_reason": "refusal" if failure.kind is FailureKind.REFUSAL else "stop_sequence",
        "object": None if result.kept_hidden else kept,
        "terminal_reason": "completed" if kept is not None else terminal,
        "api_error_status": failure.status,
    }


def _spent_words(result: TerminalResult, limit: int, stage: Stage) -> str:
    """Later versions say what was wrong with the last attempt."""
    words = f"Failed to provide valid structured output after {limit} attempts"
    last = result.attempts[-1] if result.attempts else None
    if stage.reference is Reference.RECORDED or last is None or last.verdict is not VerdictKind.REJECTED:
        return words
    listed = ", ".join(f"{p.path or 'root'}: {p.message}" for p in last.problems)
    return f"{words} \u2014 last StructuredOutput error: Output does not match required schema: {listed}"


def _retracted_words(outcome: Retracted) -> str:
    if outcome.exhausted:
        return (
            f"Failed to provide surviving structured output after {outcome.attempts} attempts ({outcome.retracted} "
            "retracted by a model fallback)"
        )
    return "Structured output was retracted by a model fallback and no retry produced a valid result"


def compat_text(result: TerminalResult, stage: Stage) -> str:
    """What the reference prints on stdout in text format."""
    said = _compat(result, stage)
    if "result" in said:
        return f"{said['result']}\n"
    match result.outcome:
        case Stopped(limit=Limit.TURNS, bound=bound):
            return f"Error: Reached max turns ({bound})"
        case Stopped(limit=Limit.BUDGET, bound=bound):
            return f"Error: Exceeded USD budget ({bound})"
        case OutOfAttempts(limit=limit) if stage.reference is Reference.LATER:
            return f"Error: {_spent_words(result, limit, stage)}"
        case OutOfAttempts() | Retracted():
            return "Error: Failed to provide valid structured output after maximum retries"
        case _:
            return "Execution error"


def error_frame(code: str, words: str, uuid: str) -> Frame:
    """The envelope when no run took place, or lastcall itself failed: nothing was sent, or it is unknown what was.

    `code` is `internal`, `cancelled`, or the slug of the error that kept the run from beginning.
    """
    outcome, terminal = _NO_RUN.get(code, ("usage", "usage"))
    unknown = code == "internal"
    return {
        "type": "result",
        "subtype": "error_during_execution",
        "is_error": True,
        "duration_ms": 0,
        "duration_api_ms": 0,
        "num_turns": 0,
        "stop_reason": None,
        "session_id": "",
        "total_cost_usd": None if unknown else 0,
        "usage": usage_value(Usage() if unknown else Usage(0, 0, 0, 0)),
        "modelUsage": {},
        "permission_denials": [],
        "errors": [words],
        "terminal_reason": terminal,
        "uuid": uuid,
        "lastcall": {"outcome": outcome, "code": code, "reason": words, "attempts": []},
    }


_NO_RUN = {"internal": ("failed", "internal_error"), "cancelled": ("cancelled", "aborted")}


# -- what lastcall knows --------------------------------------------------------------------------------------------


def details(result: TerminalResult) -> Frame:
    """The `lastcall` key: the outcome, the ledger, and everything a caller may have to look at."""
    facts: Frame = {
        "outcome": outcome_name(result.outcome),
        "reason": result.reason,
        **_outcome_fields(result),
        "attempts": [attempt_value(a) for a in result.attempts],
        "checks": [
            {"name": c.name, "passed": c.passed, "message": c.message, "took_ms": c.took_ms, "call_id": c.call_id}
            for c in result.checks
        ],
        "warnings": [{"code": w.code, "message": w.message, "path": w.path} for w in result.warnings],
        "answered_before": list(result.answered_before),
        "contract": None,
        "side_effects": [{"tool": s.tool, "call_id": s.call_id, "status": s.status} for s in result.side_effects],
        "channel": result.channel,
        "resume": result.session_id,
    }
    if result.contract is not None:
        c = result.contract
        facts["contract"] = {"digest": c.digest, "dialect": c.dialect, "wire": c.wire}
    if result.receipt is not None:
        facts["receipt"] = receipt_value(result.receipt)
    if result.source:
        facts["source"] = result.source
    if result.draft is not None and not result.ok:
        facts["draft"] = plain_value(result.draft)
    return facts


def receipt_value(receipt: Receipt) -> Frame:
    """The receipt as the envelope shows it."""
    journal = receipt.journal
    return {
        "lastcall": receipt.version,
        "contract": receipt.contract or None,
        "rules": receipt.rules or None,
        "object": receipt.object or None,
        "journal": {"sha256": journal.sha256, "bytes": journal.size} if journal is not None else None,
    }


def _outcome_fields(result: TerminalResult) -> Mapping[str, Any]:
    match result.outcome:
        case Declined(missing=missing):
            return {"missing": list(missing)}
        case GaveUp(text=text):
            return {"explanation": text}
        case Stopped(limit=limit, bound=bound):
            return {"limit": limit.value, "bound": bound}
        case Failed(kind=kind, status=status):
            return {"failure": kind.value, "status": status}
        case _:
            return {}


def attempt_value(attempt: Attempt) -> Frame:
    """One line of the ledger."""
    return {
        "n": attempt.n,
        "call_id": attempt.call_id,
        "model": attempt.model,
        "verdict": attempt.verdict.value,
        "problems": [_problem_value(p) for p in attempt.problems],
        **({"source": "revised", "base": attempt.base} if attempt.base else {}),
    }


def _problem_value(problem: Problem) -> Frame:
    return {"path": problem.path, "keyword": problem.keyword, "message": problem.message}
