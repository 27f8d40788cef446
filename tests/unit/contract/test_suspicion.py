"""Valid values that look wrong."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastcall.contract.suspicion import degenerate, strings, warnings_of
from lastcall.nouns.attachment import Problem
from lastcall.nouns.result import RunWarning

SCHEMA = {"type": "object", "properties": {"data": {}}}
JSON, MARKUP = "the string is itself JSON", "the string contains what looks like tool-call markup"


def codes(value: object, schema: object = None) -> list[tuple[str, str]]:
    return [(w.code, w.path) for w in warnings_of(value, schema or {})]


def test_strings_come_with_their_pointers_in_document_order():
    value = {"a": ["x", {"b/c": "y"}], "~": "z", "n": 1}
    assert list(strings(value)) == [("/a/0", "x"), ("/a/1/b~1c", "y"), ("/~0", "z")]
    assert list(strings("x")) == [("", "x")]


@pytest.mark.parametrize("text", ['{"a":1}', "[1]", '[{"a": "b"}] '])
def test_a_string_that_is_itself_json_is_told(text):
    assert warnings_of({"a": text}, {}) == (RunWarning("json_in_string", JSON, "/a"),)


@pytest.mark.parametrize("text", ["", "{}", "[]", "{a}", "[1", "1", "[see page 3]", "{} and more"])
def test_brackets_alone_are_no_json(text):
    assert warnings_of({"a": text}, {}) == ()


@pytest.mark.parametrize("text", ["</parameter>", '<invoke name="x">', "a <function_calls> b", "</tool_call>"])
def test_tool_markup_is_told(text):
    assert warnings_of({"a": text}, {}) == (RunWarning("markup", MARKUP, "/a"),)


@pytest.mark.parametrize("text", ["<b>bold</b>", "<items>", "a < b > c", "<parameterised"])
def test_other_markup_is_nobodys_business(text):
    assert warnings_of({"a": text}, {}) == ()


def test_control_characters_are_told_by_their_number():
    assert warnings_of("a\x00b", {}) == (
        RunWarning("control_character", "the string contains the control character U+0000", ""),
    )
    assert warnings_of("a\tb\nc\rd", {}) == ()


def test_one_undeclared_wrapper_around_an_object_is_told():
    assert warnings_of({"Data": {"a": 1}}, {}) == (
        RunWarning("wrapper_key", "the object is wrapped in one undeclared key, 'Data'", "/Data"),
    )
    assert codes({"data": {"a": 1}}, SCHEMA) == []
    assert codes({"data": 1}) == []
    assert codes({"invoice": {"a": 1}}) == []
    assert codes({"data": {}, "more": 1}) == []


def test_a_value_may_have_several_marks_and_twenty_findings_are_enough():
    assert [c for c, _ in codes('["<invoke>\x01"]')] == ["markup", "control_character"]
    assert len(warnings_of(["[1]</invoke>\x01" for _ in range(30)], {})) == 20
    assert len(warnings_of(["[1]"] * 30, {})) == 20


def test_open_tags_without_end_take_no_time():
    began = time.perf_counter()
    assert warnings_of("<item " * 100_000, {}) == ()
    assert time.perf_counter() - began < 2


def test_a_wrapper_around_what_fits_is_certain_whatever_its_name():
    schema = {"properties": {"notes": {}, "tags": {}}}
    value = {"$PARAMETER_NAME": {"notes": "n"}}
    message = "the object is wrapped in one undeclared key, '$PARAMETER_NAME'"
    assert warnings_of(value, schema, lambda v: v == {"notes": "n"}) == (
        RunWarning("wrapped_object", message, "/$PARAMETER_NAME"),
    )
    assert warnings_of(value, schema, lambda _: False) == ()
    assert warnings_of({"by_user": {"u1": 3}}, schema, lambda _: True) == ()
    assert codes(value) == []


# -- degenerate -----------------------------------------------------------------------------------------------------

LONG = '{"title":"' + "x" * 100 + '"}'


def test_an_object_that_kept_a_fifth_of_a_drafts_text_is_no_stub():
    assert degenerate('{"title":"' + "y" * 20 + '"}', (LONG,)) is None
    assert degenerate('{"title":"' + "y" * 19 + '"}', (LONG,)) == Problem(
        "", "degenerate", "lost most of what the rejected draft held (19 of 100 characters of text are left)"
    )


def test_short_drafts_may_be_lost():
    assert degenerate('{"title":"y"}', ('{"title":"' + "x" * 79 + '"}',)) is None


def test_the_longest_draft_counts_and_unreadable_ones_do_not():
    assert degenerate('{"title":"yy"}', ('{"a":"b"}', LONG, "{")) is not None
    assert degenerate('{"title":"yy"}', ("{",)) is None
    assert degenerate('{"title":"yy"}', ()) is None


@pytest.mark.parametrize("stub", ["", "...", "N/A", "n/a.", " TBD ", "string", "test", "Placeholder"])
def test_placeholders_in_half_of_the_strings_are_told(stub):
    problem = degenerate(f'{{"title":"{stub}","other":"real words"}}', ('{"title":"Disk"}',))
    assert problem is not None
    assert (problem.path, problem.keyword) == ("/title", "degenerate")
    assert degenerate(f'{{"title":"{stub}","b":"real","c":"words"}}', ('{"title":"Disk"}',)) is None


def test_a_word_that_a_draft_held_too_is_meant():
    assert degenerate('{"env":"test","count":3}', ('{"env":"test","count":"3"}',)) is None


def test_what_cannot_be_read_is_no_stub():
    assert degenerate("{", (LONG,)) is not None, "all of its text is lost"
    assert degenerate("{", ()) is None


@given(st.text(max_size=30), st.lists(st.text(max_size=30), max_size=3))
def test_nothing_is_too_odd_to_be_looked_at(text, drafts):
    degenerate(text, tuple(drafts))
    warnings_of({"a": text, "b": list(drafts)}, {"properties": []})


def test_words_that_repeat_weigh_once():
    assert degenerate('{"body":"short"}', ('{"body":"' + "lorem " * 1000 + '"}',)) is None


@pytest.mark.parametrize(
    ("problem", "stays"),
    [
        (Problem("/notes", "type", "must be integer"), False),
        (Problem("/notes/0", "maxLength", "must be shorter"), False),
        (Problem("/notes", "maxItems", "fewer"), False),
        (Problem("", "additionalProperties", "no", {"additionalProperty": "notes"}), False),
        (Problem("", "unevaluatedProperties", "no", {"unevaluatedProperty": "notes"}), False),
        (Problem("/note", "type", "must be integer"), True),
        (Problem("", "required", "must have more", {"missingProperty": "x"}), True),
        (Problem("/notes", "minItems", "more"), True),
    ],
)
def test_what_a_problem_wanted_away_is_no_loss(problem, stays):
    draft = '{"notes":["' + " ".join(f"word{n}" for n in range(40)) + '"]}'
    assert (degenerate('{"notes":[]}', (draft,), ((problem,),)) is not None) == stays


@pytest.mark.parametrize(
    "stub", ["<string>", "[placeholder]", "Your text here", "insert summary here.", "text goes here", "()"]
)
def test_placeholders_in_brackets_and_words_of_forms_are_stubs(stub):
    problem = degenerate(f'{{"a":"{stub}"}}', ('{"a":1}',))
    assert problem is not None
    assert problem.params == {"got": f'"{stub}"'}


@pytest.mark.parametrize(
    "text", ["(none)", "unknown", "<b>", "[redacted]", "your disk is full", "insert failed", "here"]
)
def test_short_words_that_say_something_are_none(text):
    assert degenerate(f'{{"a":"{text}"}}', ('{"a":1}',)) is None


def test_a_word_that_the_schema_lists_is_meant():
    schema = {"properties": {"a": {"enum": ["test", 1]}, "b": {"items": {"const": "todo"}}, "c": {"enum": "odd"}}}
    for word in ("test", "todo"):
        assert degenerate(f'{{"a":"{word}"}}', ('{"a":1}',), ((),), schema) is None
    assert degenerate('{"a":"n/a"}', ('{"a":1}',), ((),), schema) is not None
