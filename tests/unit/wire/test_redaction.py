"""Secrets are taken out of texts, records and results; what things are called, and the object, stay."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastcall.core import records as r
from lastcall.nouns.attachment import Attachment, Problem
from lastcall.nouns.messages import OpaqueBlock, TextBlock, ThinkingBlock
from lastcall.nouns.result import (
    Answered,
    Attempt,
    CheckVerdict,
    GaveUp,
    RunWarning,
    TerminalResult,
    Usage,
    VerdictKind,
)
from lastcall.nouns.tools import Arguments, ResultKind, ToolCall, ToolResult, Unreadable, UnreadableCause
from lastcall.wire import redaction
from lastcall.wire.redaction import BadRedaction, Redactor, is_redacted
from machine_tools import contract_of

SECRET = "hunter2-hunter2"
GIVEN = Redactor([(SECRET, "environment")])
CUSTOM = Redactor(patterns=(r"ACME-\d+",))


def test_a_given_value_is_replaced_in_each_of_its_spellings():
    odd = 'pass "word"/é ü'
    redactor = Redactor([(odd, "environment")])
    for form in (odd, json.dumps(odd)[1:-1], json.dumps(odd, ensure_ascii=False)[1:-1]):
        assert redactor.text(f"a {form} b") == "a [redacted:environment] b"
    assert redactor.text("pass%20%22word%22%2F%C3%A9%20%C3%BC") == "[redacted:environment]"


def test_a_short_value_is_no_secret():
    assert Redactor([("1", "environment"), ("", "environment")]).idle
    assert not GIVEN.idle


def test_the_longest_value_wins():
    redactor = Redactor([("abcdefgh", "short"), ("abcdefghij", "long")])
    assert redactor.text("abcdefghij abcdefgh") == "[redacted:long] [redacted:short]"


def test_forms_are_replaced_only_where_they_are_asked_for():
    key = "sk-" + "ant-" + "a1" * 20
    assert Redactor().text(key) == key
    assert Redactor(known=True).text(key) == "[redacted:provider-key]"


# -- patterns of the caller's ---------------------------------------------------------------------------------------


def test_a_pattern_is_replaced_in_text():
    assert CUSTOM.text("see ACME-42, ACME-7") == "see [redacted:pattern], [redacted:pattern]"
    assert CUSTOM.text("see ACME") == "see ACME"


def test_in_json_it_is_replaced_string_by_string_and_bare_values_become_strings():
    redactor = Redactor(patterns=(r"\d{16}", r"a.b"))
    text = '{"card": 4111111111111111, "x": ["a\\"b", 4], "a\\nb": "ok é"}'
    hidden = json.loads(redactor.text(text))
    assert hidden == {"card": "[redacted:pattern]", "x": ["[redacted:pattern]", 4], "a\nb": "ok é"}


def test_json_without_a_match_is_left_as_it_was_written():
    text = '{ "a":\t1.50,  "b" : "\\u00e9" }'
    assert CUSTOM.text(text) is text


def test_what_only_looks_like_json_is_text():
    assert CUSTOM.text("{ACME-1 ") == "{[redacted:pattern] "


@pytest.mark.parametrize("pattern", ["(", "x*", "", "(?<n>a)|"])
def test_a_pattern_that_cannot_be_used_is_refused(pattern):
    with pytest.raises(BadRedaction):
        Redactor(patterns=(pattern,))


def test_a_match_whose_place_is_not_found_in_time_hides_the_whole_text(monkeypatch):
    monkeypatch.setattr(redaction, "_SPAN_SECONDS", 0.02)
    assert Redactor(patterns=("(a|aa)+$|zzz",)).text("a" * 60 + "! zzz") == "[redacted:pattern]"


# -- records --------------------------------------------------------------------------------------------------------


def test_what_is_said_in_a_record_is_hidden_and_what_it_is_called_is_not():
    call = ToolCall(SECRET, SECRET, SECRET, Arguments(json.dumps({"k": SECRET})))
    said = r.BlockSaid(1, SECRET, call, SECRET)
    (hidden,) = GIVEN.records((said,))
    assert hidden == r.BlockSaid(
        1, SECRET, ToolCall(SECRET, SECRET, SECRET, Arguments('{"k": "[redacted:environment]"}')), SECRET
    )


M = "[redacted:environment]"


@pytest.mark.parametrize(
    ("record", "hidden"),
    [
        (r.Started("run", (TextBlock(SECRET),), "u", 1.0), r.Started("run", (TextBlock(M),), "u", 1.0)),
        (
            r.CallAnswered(ToolResult("c", ResultKind.OK, SECRET, display={"a": [SECRET]}, reminder=SECRET)),
            r.CallAnswered(ToolResult("c", ResultKind.OK, M, display={"a": [M]}, reminder=M)),
        ),
        (
            r.BlockSaid(1, "m", ThinkingBlock(SECRET, f"sig {SECRET}"), "u"),
            r.BlockSaid(1, "m", ThinkingBlock(M, f"sig {SECRET}"), "u"),
        ),
        (
            r.BlockSaid(1, "m", OpaqueBlock("k", {"data": SECRET, "text": [{"t": SECRET, "n": 1}]}), "u"),
            r.BlockSaid(1, "m", OpaqueBlock("k", {"data": SECRET, "text": [{"t": M, "n": 1}]}), "u"),
        ),
        (
            r.Attempted(Attempt(1, "c", "m", VerdictKind.REJECTED, (Problem(f"/{SECRET}", "type", SECRET),), SECRET)),
            r.Attempted(Attempt(1, "c", "m", VerdictKind.REJECTED, (Problem(f"/{M}", "type", M),), M)),
        ),
        (
            r.Checked("c", (CheckVerdict(f"curl {SECRET}", False, SECRET),), passed=False),
            r.Checked("c", (CheckVerdict(f"curl {M}", False, M),), passed=False),
        ),
        (r.Ended(GaveUp(SECRET)), r.Ended(GaveUp(M))),
        (r.Noted((SECRET, "b")), r.Noted((M, "b"))),
        (r.SummarySaid(1, SECRET, SECRET), r.SummarySaid(1, M, SECRET)),
    ],
)
def test_each_record_is_hidden_where_it_holds_words(record, hidden):
    assert GIVEN.records((record,)) == (hidden,)


def test_what_holds_no_secret_is_the_same_object():
    records = (
        r.Started("run", (TextBlock("hi"),), "u", 1.0),
        r.BlockSaid(1, "m", OpaqueBlock("k", {"a": [1, {"b": None}]}), "u"),
        r.ReplyClosed(1, "m", "end_turn", Usage(1, 2), cost_usd=Decimal(1), stop_details={"a": "b"}),
        r.Asked(1),
    )
    assert all(a is b for a, b in zip(GIVEN.records(records), records, strict=True))
    frame = {"a": [1, "x"], "b": None}
    assert GIVEN.value(frame) is frame


def test_unreadable_arguments_are_hidden_too():
    broken = Unreadable(f'{{"a": "{SECRET}', UnreadableCause.TRUNCATED, "the text ends", 1, 1, 1, 1)
    (hidden,) = GIVEN.records((r.BlockSaid(1, "m", ToolCall("c", "m", "Bash", broken), "u"),))
    assert SECRET not in str(hidden)


# -- values that the schema marks -----------------------------------------------------------------------------------

MARKED = contract_of(
    {
        "type": "object",
        "properties": {"pin": {"type": "string", "x-lastcall": {"secret": True}}, "n": {"type": "integer"}},
    }
)


def test_what_the_schema_marks_secret_is_written_nowhere():
    redactor = Redactor(known=True, contract=MARKED)
    text = '{"pin":"1234","n":5}'
    for before in (
        r.BlockSaid(1, "m", ToolCall("c", "m", "StructuredOutput", Arguments(text)), "u"),
        r.Attempted(Attempt(1, "c", "m", VerdictKind.REJECTED, (), text)),
        r.Attached(Attachment("c", "m", text)),
        r.Ended(Answered(Attachment("c", "m", text))),
    ):
        (hidden,) = redactor.records((before,))
        assert "1234" not in str(hidden)
        assert '"n":5' in str(hidden)
    (other,) = redactor.records((r.BlockSaid(1, "m", ToolCall("c", "m", "Bash", Arguments(text)), "u"),))
    assert "1234" in str(other)
    (broken,) = redactor.records((r.BlockSaid(1, "m", ToolCall("c", "m", "StructuredOutput", Arguments("{")), "u"),))
    assert broken.block.arguments.text == "{}"
    (declined,) = redactor.records((r.Attempted(Attempt(1, "c", "m", VerdictKind.DECLINED)),))
    assert declined.attempt.draft == ""


# -- any text -------------------------------------------------------------------------------------------------------


@given(st.text(max_size=200), st.text(max_size=200))
def test_a_given_value_never_survives_and_the_rest_does(before, after):
    hidden = GIVEN.text(before + SECRET + after)
    assert hidden == f"{before}[redacted:environment]{after}" or SECRET in (before + after)
    assert SECRET not in hidden
    assert is_redacted(hidden)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=20), st.lists, max_leaves=10))
def test_a_value_without_secrets_is_never_changed(value):
    assert GIVEN.value(value) is value or GIVEN.value(value) == value
    assert not is_redacted(json.dumps(value)) or "[redacted:" in json.dumps(value)


def test_a_warning_keeps_its_code():
    (hidden,) = GIVEN.records((r.Warned(RunWarning(SECRET, SECRET)),))
    assert hidden.warning == RunWarning(SECRET, M)


# -- results --------------------------------------------------------------------------------------------------------


def result_of(outcome, object_text, text):
    return TerminalResult(
        outcome=outcome, run_id="run", session_id="s", object_text=object_text, output={"k": SECRET}, text=text,
        attempts=(Attempt(1, "c", "m", VerdictKind.REJECTED, (Problem("/k", "type", SECRET),), SECRET),),
        checks=(CheckVerdict("check", False, SECRET),), warnings=(RunWarning("code", SECRET),), answered_before=(),
        side_effects=(), contract=None, usage=Usage(), usage_by_model={"m": Usage()}, cost_usd=None, turns=1,
        stop_reason=None, permission_denials=({"tool_name": "Bash", "tool_input": {"data": SECRET, "id": SECRET}},),
        draft=f'{{"k":"{SECRET}"}}',
    )  # fmt: skip


def test_of_a_success_only_the_object_is_as_it_was():
    outcome = Answered(Attachment("c", "m", f'{{"k":"{SECRET}"}}'), "done")
    hidden = GIVEN.result(result_of(outcome, f'{{"k":"{SECRET}"}}', "done"))
    assert (hidden.outcome, hidden.object_text, hidden.output) == (outcome, f'{{"k":"{SECRET}"}}', {"k": SECRET})
    told = (hidden.attempts, hidden.checks, hidden.warnings, hidden.permission_denials, hidden.draft)
    assert SECRET not in str(told)
    assert hidden.permission_denials[0]["tool_input"] == {"data": M, "id": M}


def test_an_answer_in_prose_is_what_the_run_returns():
    assert GIVEN.result(result_of(Answered(None, SECRET), None, SECRET)).text == SECRET


def test_of_a_failure_nothing_is_as_it_was():
    hidden = GIVEN.result(result_of(GaveUp(SECRET), None, SECRET))
    assert (hidden.outcome, hidden.text, hidden.draft) == (GaveUp(M), M, f'{{"k":"{M}"}}')
