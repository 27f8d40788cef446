"""What the model is told: precise, bounded, and of characters that travel."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastcall.contract import wording
from lastcall.contract.verdicts import CannotRead, Rejected, WrongInput
from lastcall.nouns.attachment import Problem
from lastcall.nouns.profile import Profile
from lastcall.nouns.request import Channel
from lastcall.nouns.tools import Unreadable, UnreadableCause

NATIVE, COMPAT = Profile.NATIVE, Profile.COMPAT
TOOL, TEXT = Channel.TOOL, Channel.NATIVE
COUNT = Problem("/count", "type", "must be integer", {"type": "integer", "got": "a string"})
TITLE = Problem("", "required", "must have required property 'title'", {"missingProperty": "title"})
FAULT = Unreadable('{"a": "x\ny"}', UnreadableCause.RAW_CONTROL, "a raw line break in a string", 1, 9, 8, 12)


def rejected(*problems: Problem, total: int | None = None) -> Rejected:
    return Rejected(problems, len(problems) if total is None else total)


# -- fixed sentences ------------------------------------------------------------------------------------------------


def test_the_nudge_names_what_there_is_to_call():
    assert wording.enforce(COMPAT, TOOL, forced=False, declines=False) == (
        "[structured-output-enforce] You MUST call the StructuredOutput tool to complete this request. Call this tool now."
    )
    plain = wording.enforce(NATIVE, TOOL, forced=False, declines=True)
    assert "StructuredOutput" in plain
    assert "DeclineOutput" not in plain
    assert "DeclineOutput" in wording.enforce(NATIVE, TOOL, forced=True, declines=True)
    assert wording.enforce(NATIVE, TOOL, forced=True, declines=False) == plain
    text = wording.enforce(NATIVE, TEXT, forced=True, declines=True)
    assert "JSON object" in text
    assert "Output " not in text


def test_a_cut_off_model_is_told_how_to_go_on():
    assert wording.go_on("max_tokens", COMPAT, TOOL).startswith("Output token limit hit. Resume directly")
    assert "Go on from there" in wording.go_on("max_tokens", NATIVE, TOOL)
    assert "whole JSON object" in wording.go_on("max_tokens", NATIVE, TEXT)
    assert "context is full" in wording.go_on("model_context_window_exceeded", NATIVE, TOOL)


def test_an_end_by_cut_off_replies_says_which_limit():
    assert "output token limit" in wording.output_limit("max_tokens")
    assert "context window" in wording.output_limit("model_context_window_exceeded")


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("max_tokens", "hit the output token limit"),
        ("refusal", "was ended by the model's safeguards"),
        ("model_context_window_exceeded", "ran out of context"),
        (None, "did not end"),
    ],
)
def test_a_call_of_a_cut_off_reply_is_told_why_it_was_not_executed(reason, words):
    assert f"the reply it stands in {words}, so" in wording.cut_off_call(reason)


def test_answers_to_calls_that_were_not_carried_out():
    assert "Check before doing it again" in wording.interrupted_call(restarts=True)
    assert "Check before" not in wording.interrupted_call(restarts=False)
    assert wording.held_back(2).startswith("Not taken: 2 of the calls sent together with it failed")
    assert wording.denied("Bash") == "Permission to use Bash has been denied."
    assert wording.bad_decline(Problem("", "type", "must be object")) == (
        "DeclineOutput was not understood: input: must be object."
    )
    assert "/reason: must" in wording.bad_decline(Problem("/reason", "required", "must be a string that says why"))


# -- rejections -----------------------------------------------------------------------------------------------------


def test_all_problems_are_listed_one_a_line():
    assert wording.rejection(rejected(TITLE, COUNT), NATIVE) == (
        "The output does not match the schema. Correct these and call StructuredOutput again:\n"
        "- root: must have required property 'title'\n"
        "- /count: must be integer (got a string)"
    )
    assert "answer with the whole JSON object again:" in wording.rejection(rejected(TITLE), NATIVE, TEXT)


def test_what_is_not_listed_is_counted():
    assert wording.rejection(rejected(TITLE, total=8), NATIVE).endswith("'title'\n+7 more")


def test_the_same_again_is_told_as_such_with_the_first_problem_alone():
    words = wording.rejection(rejected(TITLE, COUNT), NATIVE, repeats=2)
    assert words == (
        "Nothing changed: this is what was already rejected. The first problem alone: root: must have required property "
        "'title'. Change that value, or send another result."
    )
    assert wording.rejection(CannotRead(FAULT), NATIVE, repeats=2).startswith("Nothing changed: ")
    assert wording.rejection(Rejected((), 0), NATIVE, repeats=2).startswith("The output does not match")


def test_compat_speaks_in_the_references_form():
    assert wording.rejection(rejected(TITLE, COUNT), COMPAT, repeats=5) == (
        "Output does not match required schema: root: must have required property 'title', /count: must be integer"
    )
    assert wording.rejection(WrongInput("no"), COMPAT) == "<tool_use_error>InputValidationError: no</tool_use_error>"
    budget = Problem("", "budget", "Maximum call stack size exceeded.")
    assert wording.rejection(rejected(budget), COMPAT) == "Maximum call stack size exceeded."


def test_compat_keeps_head_and_tail_of_a_long_text():
    words = wording.rejection(rejected(*[COUNT] * 600), COMPAT)
    head = "Output does not match required schema: "
    whole = head + ", ".join(["/count: must be integer"] * 600)
    assert words == f"{whole[:5000]}\n\n... [{len(whole) - 10000} characters truncated] ...\n\n{whole[-5000:]}"


@pytest.mark.parametrize(
    ("keyword", "params", "words"),
    [
        ("enum", {"allowedValues": ["low", "high", Decimal("19.99"), None]}, ': "low", "high", 19.99, null'),
        ("enum", {"allowedValues": "odd"}, ': "odd"'),
        ("const", {"allowedValue": {"a": 1}}, ' {"a":1}'),
        ("const", {"allowedValue": "x" * 200}, ' "' + "x" * 118 + "…"),
        ("additionalProperties", {"additionalProperty": "more"}, ' ("more" is not allowed)'),
        ("unevaluatedProperties", {"unevaluatedProperty": "more"}, ' ("more" is not allowed)'),
        ("propertyNames", {"propertyName": "a b"}, ' ("a b")'),
        ("oneOf", {"passingSchemas": None}, " (none matches)"),
        ("oneOf", {"passingSchemas": [0, 2]}, " (branches 0, 2 all match)"),
        ("type", {"got": "a string", "hint": "send a number"}, " (got a string); send a number"),
        ("rule", {}, ""),
        ("const", {"allowedValue": {1, 2}}, " {1, 2}"),
    ],
)
def test_a_sentence_says_what_would_be_right(keyword, params, words):
    assert wording.sentence(Problem("/a", keyword, "is wrong", params)) == f"/a: is wrong{words}"


def test_long_lists_are_cut_and_counted():
    words = wording.sentence(Problem("/a", "enum", "is wrong", {"allowedValues": ["x" * 90] * 20}))
    assert words.endswith('", … 12 more')


def test_a_long_path_is_cut_in_the_middle():
    path = "/" + "a" * 300 + "/b"
    assert wording.sentence(Problem(path, "type", "is wrong")) == f"{path[:90]}…{path[-90:]}: is wrong"
    assert wording.sentence(Problem("/" + "a" * 199, "type", "x")) == "/" + "a" * 199 + ": x"


# -- unreadable -----------------------------------------------------------------------------------------------------


def test_unreadable_arguments_are_told_with_place_surroundings_and_advice():
    assert wording.rejection(CannotRead(FAULT), NATIVE) == (
        'The arguments are not valid JSON: a raw line break in a string at line 1, column 9, near `{"a": "x\\ny"}`. '
        "Write a line break inside a string as \\n, a tab as \\t."
    )
    assert wording.rejection(CannotRead(FAULT), NATIVE, TEXT).startswith("The reply is not valid JSON: ")


def test_nothing_at_all_has_no_place():
    empty = Unreadable("", UnreadableCause.EMPTY, "there is nothing", 1, 1, 0, 0)
    assert wording.unreadable(empty, NATIVE) == (
        "The arguments are not valid JSON: there is nothing. Send the whole JSON object."
    )


@pytest.mark.parametrize("cause", UnreadableCause)
def test_every_cause_has_its_sentence(cause):
    fault = Unreadable("{x", cause, "odd", 1, 2, 1, 2)
    words = wording.unreadable(fault, NATIVE)
    assert words.startswith("The arguments are not valid JSON: odd at line 1, column 2, near `{x`.")
    assert words == words.strip()


def test_compat_quotes_the_first_200_characters_and_counts_bytes():
    text = '{"a": "' + "é" * 300
    fault = Unreadable(text, UnreadableCause.TRUNCATED, "ends", 1, 1, 1, len(text))
    assert wording.unreadable(fault, COMPAT, tool="Read") == (
        "<tool_use_error>InputValidationError: Read was called with input that could not be parsed as JSON.\n"
        f"You sent (first 200 of 607 bytes): {text[:200]}\n"
        "Common causes: unescaped backslashes in file paths (use / or \\\\), unescaped control characters, or truncated "
        "output. Retry with valid JSON.</tool_use_error>"
    )


def test_the_ledger_tells_the_cause_and_the_place():
    assert wording.unreadable_problem(FAULT) == Problem(
        "", "unreadable", "a raw line break in a string", {"cause": "raw_control", "line": 1, "column": 9}
    )


# -- bounds ---------------------------------------------------------------------------------------------------------

WILD = st.text(st.characters() | st.characters(categories=["Cs"]), max_size=60)
LONG = st.builds(lambda text, n: text * n, WILD, st.sampled_from([1, 1, 7, 200]))
FIGURES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | LONG,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WILD, inner, max_size=3),
    max_leaves=8,
)
KEYWORDS = st.sampled_from(["enum", "const", "additionalProperties", "propertyNames", "oneOf", "type", "rule"])
PARAMS = st.fixed_dictionaries(
    {},
    optional={
        "allowedValues": st.lists(FIGURES, max_size=30) | FIGURES, "allowedValue": FIGURES, "additionalProperty": LONG,
        "propertyName": LONG, "passingSchemas": st.lists(st.integers(), max_size=3), "got": LONG, "hint": LONG,
    },
)  # fmt: skip
PROBLEMS = st.lists(st.builds(Problem, LONG, KEYWORDS, LONG, PARAMS), min_size=1, max_size=12)


def travels(words: str) -> int:
    """The size in bytes; half a surrogate pair raises."""
    return len(words.encode())


@settings(max_examples=50, deadline=None)
@given(PROBLEMS, st.integers(0, 10**9), st.sampled_from(Channel), st.integers(1, 3))
def test_at_most_4_kb_go_back_whatever_the_problems_are_and_the_first_is_among_them(problems, more, channel, repeats):
    verdict = Rejected(tuple(problems), len(problems) + more)
    words = wording.rejection(verdict, NATIVE, channel, repeats=repeats)
    assert travels(words) <= wording.FEEDBACK_BYTES
    assert wording.sentence(problems[0]) in words


@settings(max_examples=40, deadline=None)
@given(st.builds(Unreadable, LONG, st.sampled_from(UnreadableCause), LONG, *[st.integers(0, 10**6)] * 4))
def test_unreadable_arguments_are_told_within_the_bound_too(fault):
    assert travels(wording.rejection(CannotRead(fault), NATIVE, repeats=2)) <= wording.FEEDBACK_BYTES


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 4), st.integers(1, 3))
def test_a_long_line_is_cut_between_characters(extra, width):
    letter = {1: "a", 2: "é", 3: "€"}[width]
    words = wording.sentence(Problem("/a", "rule", "b" * extra + letter * 2000))
    assert words.endswith("…")
    assert 1490 < travels(words) <= 1500
    assert set(words) <= set("/a: …b" + letter)


def test_a_half_pair_becomes_a_character():
    broken: Any = Problem("/\ud800", "unicode", "holds half")
    assert wording.sentence(broken) == "/\ufffd: holds half"


def test_an_object_that_fits_its_schema_is_not_said_to_miss_it():
    beyond = Rejected((Problem("", "rule", "must be 2"), Problem("/a", "quote", "stands nowhere")), 2)
    assert wording.rejection(beyond, Profile.NATIVE).startswith(
        "The output fits the schema, but it was not accepted. Correct these"
    )
    mixed = Rejected((Problem("", "rule", "must be 2"), Problem("/a", "type", "must be string")), 2)
    assert wording.rejection(mixed, Profile.NATIVE).startswith("The output does not match the schema. Correct these")


def test_a_large_draft_names_the_shorter_way_and_small_ones_do_not():
    verdict = Rejected((Problem("/a", "type", "must be integer"),), 1)
    way = "call RevisedOutput with base 2"
    assert way in wording.rejection(verdict, Profile.NATIVE, kept=2)
    assert way in wording.rejection(verdict, Profile.NATIVE, kept=2, repeats=2)
    assert way in wording.held_back(1, kept=2)
    assert "RevisedOutput" not in wording.rejection(verdict, Profile.NATIVE) + wording.held_back(1)
    many = Rejected(tuple(Problem(f"/{n}", "type", "m" * 900) for n in range(50)), 50)
    words = wording.rejection(many, Profile.NATIVE, kept=2)
    assert len(words.encode()) <= 4096
    assert way in words


def test_what_is_wrong_with_a_revision_is_not_said_of_the_output():
    words = wording.rejection(Rejected((Problem("/base", "patch", "no"),), 1), Profile.NATIVE)
    assert words.startswith("The revision was not applied, and the draft is as it was.")
    assert words.endswith("- /base: no")
