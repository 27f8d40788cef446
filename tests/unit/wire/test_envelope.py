"""The last frame of a run: natively it never contradicts itself, in compat it says what was recorded."""

from __future__ import annotations

from decimal import Decimal

import pytest
from msgspec.structs import replace

from lastcall.nouns.attachment import Attachment, Problem
from lastcall.nouns.profile import Profile, Reference
from lastcall.nouns.result import (
    Answered,
    Attempt,
    Cancelled,
    CheckVerdict,
    ContractFacts,
    Declined,
    Failed,
    FailureKind,
    GaveUp,
    JournalSeal,
    Limit,
    OutOfAttempts,
    Receipt,
    Retracted,
    RunWarning,
    SideEffect,
    Signal,
    Stopped,
    TerminalResult,
    Usage,
    VerdictKind,
)
from lastcall.wire.envelope import compat_text, error_frame, result_frame
from lastcall.wire.frames import Stage

NATIVE = Stage("s", Profile.NATIVE, "m")
COMPAT = Stage("s", Profile.COMPAT, "m", host="h:1")
OBJECT = Answered(Attachment("c1", "m1", '{"a":1}'), "")
OVERLOADED = Failed(FailureKind.OVERLOADED, "Overloaded", 529)
REJECTED = Attempt(1, "c1", "m", VerdictKind.REJECTED, (Problem("/a", "type", "must be integer"),), '{"a":"1"}')
OUTCOMES = [
    OBJECT,
    Answered(None, "hi"),
    Declined("no log", ("log",)),
    GaveUp("no"),
    OutOfAttempts(5),
    OutOfAttempts(5, repeated=True),
    Retracted(2, 1, exhausted=True),
    Retracted(1, 1, exhausted=False),
    *(Stopped(limit, "3") for limit in Limit),
    *(Failed(kind, "x") for kind in FailureKind),
    Cancelled(Signal.INTERRUPT),
    Cancelled(Signal.TERMINATE),
]


def result_of(outcome, **more):
    text = outcome.attachment.text if isinstance(outcome, Answered) and outcome.attachment else None
    fields = {
        "outcome": outcome, "run_id": "r", "session_id": "s", "object_text": text, "output": None,
        "text": outcome.text if isinstance(outcome, Answered) else "", "attempts": (), "checks": (), "warnings": (),
        "answered_before": (), "side_effects": (), "contract": None, "usage": Usage(100, 20, 0, 0),
        "usage_by_model": {}, "cost_usd": Decimal("0.5"), "turns": 2, "stop_reason": "tool_use", "permission_denials": (),
        "draft": None,
    }  # fmt: skip
    return TerminalResult(**{**fields, **more})


def native(outcome, **more):
    return result_frame(result_of(outcome, **more), NATIVE, "u")


def compat(outcome, stage=COMPAT, **more):
    return result_frame(result_of(outcome, **more), stage, "u")


# -- native -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", OUTCOMES, ids=repr)
def test_natively_status_and_content_agree_for_every_outcome(outcome):
    frame = native(outcome)
    good = isinstance(outcome, Answered)
    assert (frame["is_error"], frame["subtype"] == "success") == (not good, good)
    assert ("structured_output" in frame) == (outcome is OBJECT)
    assert ("result" in frame, "errors" in frame) == (good, not good)
    assert frame["lastcall"]["outcome"] == ("answered" if good else frame["lastcall"]["outcome"])
    assert frame["lastcall"]["reason"]


@pytest.mark.parametrize(
    ("outcome", "subtype", "terminal"),
    [
        (Declined("x"), "error_declined", "declined"),
        (GaveUp("x"), "error_gave_up", "gave_up"),
        (OutOfAttempts(5), "error_max_structured_output_retries", "structured_output_retry_exhausted"),
        (Retracted(1, 1, exhausted=True), "error_retracted", "structured_output_retracted"),
        (Stopped(Limit.TURNS, "3"), "error_max_turns", "max_turns"),
        (Stopped(Limit.TOKENS, "9"), "error_max_budget_tokens", "budget_exhausted"),
        (Stopped(Limit.REPEATS, "9"), "error_repeats", "repeating"),
        (Stopped(Limit.WINDOW, "x"), "error_context_window", "context_window_full"),
        (Stopped(Limit.PROMPT_HOOK, "x"), "error_prompt_blocked", "prompt_blocked"),
        (Stopped(Limit.STOP_HOOK, "x"), "error_hook_stopped", "stop_hook_prevented"),
        (Failed(FailureKind.TOO_LONG, "x"), "error_during_execution", "prompt_too_long"),
        (Failed(FailureKind.INTERNAL, "x"), "error_during_execution", "internal_error"),
        (Failed(FailureKind.NETWORK, "x"), "error_during_execution", "api_error"),
        (Cancelled(Signal.INTERRUPT), "error_during_execution", "aborted"),
    ],
)
def test_natively_each_outcome_has_its_words(outcome, subtype, terminal):
    frame = native(outcome)
    assert (frame["subtype"], frame["terminal_reason"]) == (subtype, terminal)


def test_natively_the_result_is_the_object_as_text_and_unknown_is_not_zero():
    frame = native(OBJECT, usage=Usage(), cost_usd=None)
    assert (frame["result"], frame["structured_output"]) == ('{"a":1}', {"a": 1})
    assert (frame["usage"]["input_tokens"], frame["total_cost_usd"]) == (None, None)
    assert native(OVERLOADED)["api_error_status"] == 529


def test_the_details_hold_the_ledger_and_everything_to_look_at():
    frame = native(
        OutOfAttempts(5),
        attempts=(REJECTED,),
        checks=(CheckVerdict("c", False, "no", 3),),
        warnings=(RunWarning("w", "odd", "/a"),),
        answered_before=("c0",),
        side_effects=(SideEffect("Bash", "c2", "ok"),),
        contract=ContractFacts("d", "draft-07", "plain"),
        source="salvaged_text",
        draft='{"a":"1"}',
        usage_by_model={"m": Usage(1, 2, 3, 4)},
        permission_denials=({"tool_name": "Bash"},),
    )
    facts = frame["lastcall"]
    problem = {"path": "/a", "keyword": "type", "message": "must be integer"}
    assert facts["attempts"] == [{"n": 1, "call_id": "c1", "model": "m", "verdict": "rejected", "problems": [problem]}]
    assert {"name": "c", "passed": False, "message": "no", "took_ms": 3}.items() <= facts["checks"][0].items()
    assert facts["warnings"] == [{"code": "w", "message": "odd", "path": "/a"}]
    assert (facts["answered_before"], facts["source"], facts["draft"]) == (["c0"], "salvaged_text", {"a": "1"})
    assert facts["side_effects"] == [{"tool": "Bash", "call_id": "c2", "status": "ok"}]
    assert facts["contract"] == {"digest": "d", "dialect": "draft-07", "wire": "plain"}
    assert frame["modelUsage"]["m"] == {
        "inputTokens": 1, "outputTokens": 2, "cacheCreationInputTokens": 3, "cacheReadInputTokens": 4,
    }  # fmt: skip
    assert frame["permission_denials"] == [{"tool_name": "Bash"}]
    assert "draft" not in native(OBJECT, draft="{}")["lastcall"]


def test_each_outcome_adds_what_is_its_own():
    assert native(Declined("x", ("log",)))["lastcall"]["missing"] == ["log"]
    assert native(GaveUp("sorry"))["lastcall"]["explanation"] == "sorry"
    assert native(Stopped(Limit.TURNS, "3"))["lastcall"]["limit"] == "turns"
    assert native(OVERLOADED)["lastcall"]["failure"] == "overloaded"


# -- compat -----------------------------------------------------------------------------------------------------------


def core_of(frame):
    keys = (
        "subtype",
        "is_error",
        "num_turns",
        "result",
        "structured_output",
        "errors",
        "terminal_reason",
        "stop_reason",
    )
    return {k: frame[k] for k in keys if k in frame}


def success(**more):
    base = {
        "subtype": "success",
        "is_error": False,
        "num_turns": 2,
        "terminal_reason": "completed",
        "stop_reason": "tool_use",
    }
    return {**base, **more}


def error(subtype, terminal, words, **more):
    base = {"subtype": subtype, "is_error": True, "num_turns": 2, "stop_reason": "tool_use"}
    return {**base, "errors": [words], "terminal_reason": terminal, **more}


SPENT = ("error_max_structured_output_retries", "structured_output_retry_exhausted")
DIAGNOSTIC = "[ede_diagnostic] result_type=user last_content_type=n/a stop_reason="


@pytest.mark.parametrize(
    ("outcome", "more", "expected"),
    [
        (OBJECT, {}, success(result='{"a":1}', structured_output={"a": 1})),
        (OBJECT, {"text": "done"}, success(result="done", structured_output={"a": 1})),
        (OBJECT, {"halted": True}, success(result='{"a":1}', structured_output={"a": 1}, terminal_reason="hook_stopped")),
        (Answered(None, "hi"), {}, success(result="hi")),
        (GaveUp("no"), {}, success(result="no")),
        (Declined("cannot"), {}, success(result="cannot")),
        (OutOfAttempts(5), {}, error(*SPENT, "Failed to provide valid structured output after 5 attempts")),
        (
            Retracted(5, 2, exhausted=True), {},
            error(*SPENT, "Failed to provide surviving structured output after 5 attempts (2 retracted by a model fallback)"),
        ),
        (
            Retracted(1, 1, exhausted=False), {},
            error(*SPENT, "Structured output was retracted by a model fallback and no retry produced a valid result"),
        ),
        (Stopped(Limit.TURNS, "6"), {}, error("error_max_turns", "max_turns", "Reached maximum number of turns (6)", num_turns=7)),
        (Stopped(Limit.BUDGET, "0.1"), {}, error("error_max_budget_usd", "budget_exhausted", "Reached maximum budget ($0.1)")),
        (
            Stopped(Limit.DEADLINE, "9s"), {},
            error("error_deadline", "deadline_passed", "The deadline of 9s passed without an object."),
        ),
        (Stopped(Limit.TOOL_HOOK, "x"), {}, success(result="", terminal_reason="hook_stopped")),
        (Stopped(Limit.STOP_HOOK, "x"), {}, success(result="", terminal_reason="stop_hook_prevented")),
        (
            Stopped(Limit.PROMPT_HOOK, "blocked"), {"stop_reason": None},
            {"subtype": "success", "is_error": False, "num_turns": 0, "result": "blocked", "stop_reason": None},
        ),
        (Cancelled(Signal.INTERRUPT), {}, error("error_during_execution", "aborted_streaming", DIAGNOSTIC + "tool_use")),
        (
            Cancelled(Signal.TERMINATE), {"interrupted_calls": True, "stop_reason": None},
            error("error_during_execution", "aborted_tools", DIAGNOSTIC + "null", stop_reason=None),
        ),
    ],
)  # fmt: skip
def test_compat_says_what_was_recorded(outcome, more, expected):
    assert core_of(compat(outcome, **more)) == expected


def test_in_compat_a_failure_is_a_success_with_is_error_and_an_object_may_stand_beside_it():
    broken = Failed(FailureKind.OVERLOADED, "Overloaded", mid_reply=True)
    words = "API Error: Server error mid-response. The response above may be incomplete."
    alone = success(is_error=True, result=words, stop_reason="stop_sequence", terminal_reason="api_error")
    assert core_of(compat(broken)) == alone
    beside = {**alone, "structured_output": {"a": 1}, "terminal_reason": "completed"}
    assert core_of(compat(broken, kept_object_text='{"a":1}')) == beside
    hidden = {**alone, "terminal_reason": "completed"}
    assert core_of(compat(broken, kept_object_text='{"a":1}', kept_hidden=True)) == hidden
    assert compat(OVERLOADED)["api_error_status"] == 529
    assert compat(Failed(FailureKind.TOO_LONG, "x", 400))["terminal_reason"] == "prompt_too_long"
    assert compat(Failed(FailureKind.REFUSAL, "x"))["stop_reason"] == "refusal"


def test_in_compat_unknown_tokens_count_as_none():
    assert compat(OBJECT, usage=Usage())["usage"]["input_tokens"] == 0


def test_the_later_version_says_what_was_wrong_with_the_last_attempt():
    later = replace(COMPAT, reference=Reference.LATER)
    words = (
        "Failed to provide valid structured output after 5 attempts \u2014 last StructuredOutput error: Output does not match "
        "required schema: /a: must be integer"
    )
    assert compat(OutOfAttempts(5), later, attempts=(REJECTED,))["errors"] == [words]
    assert compat_text(result_of(OutOfAttempts(5), attempts=(REJECTED,)), later) == f"Error: {words}"
    plain = "Failed to provide valid structured output after 5 attempts"
    assert compat(OutOfAttempts(5), later)["errors"] == [plain]
    unread = replace(REJECTED, verdict=VerdictKind.UNREADABLE)
    assert compat(OutOfAttempts(5), later, attempts=(unread,))["errors"] == [plain]


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (OBJECT, '{"a":1}\n'),
        (GaveUp("no"), "no\n"),
        (Stopped(Limit.TURNS, "3"), "Error: Reached max turns (3)"),
        (Stopped(Limit.BUDGET, "0.1"), "Error: Exceeded USD budget (0.1)"),
        (OutOfAttempts(5), "Error: Failed to provide valid structured output after maximum retries"),
        (Retracted(1, 1, exhausted=True), "Error: Failed to provide valid structured output after maximum retries"),
        (Cancelled(Signal.INTERRUPT), "Execution error"),
    ],
)
def test_text_in_compat_is_what_the_reference_prints(outcome, text):
    assert compat_text(result_of(outcome), COMPAT) == text


# -- no run -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "outcome", "terminal", "cost"),
    [
        ("bad_schema", "usage", "usage", 0),
        ("internal", "failed", "internal_error", None),
        ("cancelled", "cancelled", "aborted", 0),
    ],
)
def test_when_no_run_took_place_the_envelope_says_why(code, outcome, terminal, cost):
    frame = error_frame(code, "why", "u")
    assert (frame["is_error"], frame["errors"], frame["terminal_reason"]) == (True, ["why"], terminal)
    assert (frame["lastcall"]["outcome"], frame["lastcall"]["code"], frame["total_cost_usd"]) == (outcome, code, cost)
    assert frame["usage"]["input_tokens"] == cost


def test_contract_and_receipt_are_told_where_there_are_any():
    facts = ContractFacts("d" * 64, "2020-12", "tool")
    receipt = Receipt("1.0", "c" * 64, "", "o" * 64, JournalSeal("j" * 64, 120))
    told = native(OBJECT, contract=facts, receipt=receipt)["lastcall"]
    assert told["contract"] == {"digest": "d" * 64, "dialect": "2020-12", "wire": "tool"}
    assert told["receipt"] == {
        "lastcall": "1.0", "contract": "c" * 64, "rules": None, "object": "o" * 64,
        "journal": {"sha256": "j" * 64, "bytes": 120},
    }  # fmt: skip
    told = native(OBJECT, receipt=Receipt("1.0", "", "r" * 64, ""))["lastcall"]["receipt"]
    assert told == {"lastcall": "1.0", "contract": None, "rules": "r" * 64, "object": None, "journal": None}
