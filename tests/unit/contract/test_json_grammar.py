"""Faults of JSON texts: cause and place. Expected values were found by reading the texts, column by column."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastcall.contract.json_grammar import JsonFault, NumberFault, Read, fault_at, pointer_token, read_stepwise
from lastcall.nouns.tools import UnreadableCause as Cause


def read(text: str) -> Read | JsonFault:
    return read_stepwise(text, integer=int, fraction=Decimal)


FAULTS = [
    ("", Cause.EMPTY, 1, 1, "empty"),
    (" \n ", Cause.EMPTY, 2, 2, "empty"),
    ("\ufeff{}", Cause.SYNTAX, 1, 1, "byte order mark"),
    ("```json\n{}\n```", Cause.FENCED, 1, 1, "code fence"),
    ("{}\n```", Cause.TRAILING_TEXT, 2, 1, "code fence follows"),
    ('{"a":1} {"a":2}', Cause.TRAILING_TEXT, 1, 9, "second JSON value"),
    ('{"a":1} done', Cause.TRAILING_TEXT, 1, 9, "text follows"),
    ("[1]]", Cause.TRAILING_TEXT, 1, 4, "text follows"),
    ('"a"b"', Cause.UNESCAPED_QUOTE, 1, 3, "not escaped"),
    ('{"n":"the "retry" flag"}', Cause.UNESCAPED_QUOTE, 1, 11, "not escaped"),
    ('{"n":\n"5" tall"}', Cause.UNESCAPED_QUOTE, 2, 3, "not escaped"),
    ('{"a":"x" "b":1}', Cause.SYNTAX, 1, 10, "a comma or }"),
    ('{"a":"x"\n "b":1}', Cause.SYNTAX, 2, 2, "a comma or }"),
    ('["a" "b c"]', Cause.UNESCAPED_QUOTE, 1, 4, "or a comma is missing"),
    ('{"a":"Data\nlost"}', Cause.RAW_CONTROL, 1, 11, "written as \\n"),
    ('{"a":"\t"}', Cause.RAW_CONTROL, 1, 7, "written as \\t"),
    ('["\x01"]', Cause.RAW_CONTROL, 1, 3, "written as \\u0001"),
    (r'{"a":"C:\dir"}', Cause.BAD_ESCAPE, 1, 9, r"escape \d"),
    (r'["\u12G4"]', Cause.BAD_ESCAPE, 1, 3, "four hexadecimal digits"),
    (r'["\'"]', Cause.BAD_ESCAPE, 1, 3, r"escape \'"),
    (r'["\u12', Cause.TRUNCATED, 1, 7, "escape"),
    (r'["\u', Cause.TRUNCATED, 1, 5, "escape"),
    ('["\\', Cause.TRUNCATED, 1, 4, "inside a string"),
    ('{"a":"x', Cause.TRUNCATED, 1, 8, "inside a string"),
    ('{"a"', Cause.TRUNCATED, 1, 5, "1 bracket still open"),
    ('{"a":', Cause.TRUNCATED, 1, 6, "1 bracket still open"),
    ('[{"a":1', Cause.TRUNCATED, 1, 8, "2 brackets still open"),
    ("{", Cause.TRUNCATED, 1, 2, "1 bracket still open"),
    ("[1,", Cause.TRUNCATED, 1, 4, "1 bracket still open"),
    ('{"a":tru', Cause.TRUNCATED, 1, 9, "inside a literal"),
    ("-", Cause.TRUNCATED, 1, 2, "inside a number"),
    ("[1.", Cause.TRUNCATED, 1, 4, "inside a number"),
    ("[1.5e", Cause.TRUNCATED, 1, 6, "inside a number"),
    ("[1e+", Cause.TRUNCATED, 1, 5, "inside a number"),
    ("[NaN]", Cause.NOT_A_NUMBER, 1, 2, "NaN"),
    ("[-Infinity]", Cause.NOT_A_NUMBER, 1, 2, "-Infinity"),
    ("[01]", Cause.NOT_A_NUMBER, 1, 2, "01 is no JSON number"),
    ("[-]", Cause.NOT_A_NUMBER, 1, 2, "- is no JSON number"),
    ("[+1]", Cause.NOT_A_NUMBER, 1, 2, "+1"),
    ("[.5]", Cause.NOT_A_NUMBER, 1, 2, ".5"),
    ("[1.]", Cause.NOT_A_NUMBER, 1, 2, "1."),
    ("[0x10]", Cause.NOT_A_NUMBER, 1, 2, "0x10"),
    ("[1-2]", Cause.NOT_A_NUMBER, 1, 2, "1-2"),
    ("[\u0661]", Cause.NOT_A_NUMBER, 1, 2, "\u0661 is no JSON number"),
    ('{"a":None}', Cause.SYNTAX, 1, 6, "JSON writes null"),
    ('{"a":True}', Cause.SYNTAX, 1, 6, "JSON writes true"),
    ('{"a":undefined}', Cause.SYNTAX, 1, 6, "JSON writes null"),
    ("[truex]", Cause.SYNTAX, 1, 2, "truex is no JSON value"),
    ("nope", Cause.SYNTAX, 1, 1, "nope is no JSON value"),
    ('Here it is: {"a":1}', Cause.SYNTAX, 1, 1, "other text stands before"),
    ("NaN [", Cause.NOT_A_NUMBER, 1, 1, "NaN"),
    ("{a:1}", Cause.SYNTAX, 1, 2, "double quotes"),
    ("{-a:1}", Cause.SYNTAX, 1, 2, "not -"),
    ("{'a':1}", Cause.SYNTAX, 1, 2, "single quotes"),
    ("{\u201ca\u201d:1}", Cause.SYNTAX, 1, 2, "typographic"),
    ('{"a" 1}', Cause.SYNTAX, 1, 6, "a colon after the key"),
    ('{"a":1,}', Cause.SYNTAX, 1, 8, "trailing comma"),
    ("[1,\n]", Cause.SYNTAX, 2, 1, "trailing comma"),
    ("[1,,2]", Cause.SYNTAX, 1, 4, "a comma where a value"),
    ("[1 2]", Cause.SYNTAX, 1, 4, "a comma or ]"),
    ('{"a":1 // c\n}', Cause.SYNTAX, 1, 8, "comments"),
    ('["a" # c\n]', Cause.SYNTAX, 1, 6, "comments"),
    ("[1\u00a0]", Cause.SYNTAX, 1, 3, "U+00A0"),
    ("[\u3000]", Cause.SYNTAX, 1, 2, "U+3000"),
    ("[1}", Cause.SYNTAX, 1, 3, "a comma or ]"),
    ('{"a":1]', Cause.SYNTAX, 1, 7, "a comma or }"),
    ("[}", Cause.SYNTAX, 1, 2, "a value was expected"),
]


@pytest.mark.parametrize(("text", "cause", "line", "column", "words"), FAULTS, ids=[repr(f[0]) for f in FAULTS])
def test_a_fault_has_its_cause_and_its_place(text: str, cause: Cause, line: int, column: int, words: str) -> None:
    fault = read(text)
    assert isinstance(fault, JsonFault)
    assert (fault.cause, fault.line, fault.column) == (cause, line, column)
    assert words in fault.message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        (' {"a" : [ ] , "b":{}}\r\n', {"a": [], "b": {}}),
        ("[true,false,null,-0,10,2.50,1E3]", [True, False, None, 0, 10, Decimal("2.50"), Decimal("1E+3")]),
        (r'"\u00e9\n\/\ud83d\ude00"', "é\n/😀"),
        (r'["\ud800"]', ["\ud800"]),
        ('{"":{"":""}}', {"": {"": ""}}),
    ],
)
def test_json_is_read(text: str, value: object) -> None:
    assert read(text) == Read(value)


def test_keys_that_occur_twice_are_named_by_pointer_and_the_last_one_counts() -> None:
    text = '{"l":[0,{"a/b":1,"a/b":{"~":1,"~":2},"a/b":3}],"l":[{"x":1,"x":2}],"l":7}'
    assert read(text) == Read({"l": 7}, ("/l/1/a~1b", "/l/1/a~1b/~0", "/l", "/l/0/x"))


def test_a_number_that_the_caller_refuses_is_a_fault_at_the_number() -> None:
    def refuse(text: str) -> int:
        raise NumberFault(f"{text} is too much")

    fault = read_stepwise("[1.5,\n 77]", integer=refuse, fraction=float)
    assert fault == JsonFault(Cause.NOT_A_NUMBER, "77 is too much", 2, 2, 7)


def test_depth_costs_no_recursion() -> None:
    result = read("[" * 50_000 + "]" * 50_000)
    assert isinstance(result, Read)


def test_tokens_of_pointers_are_escaped() -> None:
    assert [pointer_token(t) for t in ("a/b", "m~n", "~1", 3, "")] == ["a~1b", "m~0n", "~01", "3", ""]


def test_the_end_of_the_text_is_a_place() -> None:
    assert fault_at("a\nb", 3, Cause.TRUNCATED, "m") == JsonFault(Cause.TRUNCATED, "m", 2, 2, 3)


def refuse_constant(text: str) -> None:
    raise ValueError(text)


PIECES = st.lists(
    st.sampled_from(
        ['"', '"a"', '"a":', "{", "}", "[", "]", ",", ":", "1", "-", "0.5", "e3", "true", "nul", "null", "NaN", "\\", "'",
         " ", "\n", "\t", "\u00a0", "\ufeff", "```", "/", "#", "\\u12", "é", "😀", "\x00", "None", '\\"', "١"]
    ),
    max_size=12,
)  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(PIECES)
def test_the_verdict_is_the_standard_librarys_and_every_fault_lies_in_the_text(pieces: list[str]) -> None:
    text = "".join(pieces)
    try:
        expected = json.loads(text, parse_constant=refuse_constant, parse_float=Decimal)
    except ValueError:
        fault = read(text)
        assert isinstance(fault, JsonFault)
        assert 0 <= fault.offset <= len(text)
        assert fault.line == text.count("\n", 0, fault.offset) + 1
        assert fault.column >= 1
        assert fault.message
    else:
        result = read(text)
        assert isinstance(result, Read)
        assert result.value == expected
