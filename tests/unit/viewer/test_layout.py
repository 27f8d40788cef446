from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastcall.nouns.attachment import Problem
from lastcall.viewer.layout import MOST_LINES, Line, compare, lay_out, mark

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def shown(lines):
    return [f"{line.side}{'  ' * line.depth}{line.text}" for line in lines]


def test_one_value_a_line_with_its_pointer():
    placed = lay_out('{"a": 1.10, "b": [true, {"c~/d": []}], "e": {}}')
    assert shown(placed.lines) == [
        "{",
        '  "a": 1.10,',
        '  "b": [',
        "    true,",
        "    {",
        '      "c~/d": []',
        "    }",
        "  ],",
        '  "e": {}',
        "}",
    ]
    assert placed.paths == ("", "/a", "/b", "/b/0", "/b/1", "/b/1/c~0~1d", None, None, "/e", None)


@pytest.mark.parametrize(
    "text", ["12345678901234567890.10", "1E400", '"\\ud800"', '{"a":1,"a":2}', "[]", "null", "-0.0"]
)
def test_texts_stay_as_they_were_written(text):
    assert "".join(line.text for line in lay_out(text).lines).replace('": ', '":') == text


@settings(max_examples=50)
@given(values)
def test_the_lines_together_are_the_value(value):
    text = json.dumps(value)
    placed = lay_out(text)
    assert json.loads("\n".join(line.text for line in placed.lines)) == value
    assert len(placed.lines) == len(placed.paths)


@settings(max_examples=60)
@given(st.text(max_size=60))
def test_what_is_no_json_stays_as_it_is(text):
    try:
        json.loads(text)
    except ValueError:
        assert "\n".join(line.text for line in lay_out(text).lines) == text


def test_long_texts_and_lines_are_cut_and_say_so():
    placed = lay_out(json.dumps(list(range(MOST_LINES + 10))))
    assert (len(placed.lines), placed.left_out) == (MOST_LINES, 12)
    [line] = lay_out(json.dumps("x" * 5_000)).lines
    assert line.text.endswith("\u2026 (3,002 more characters)")


def test_a_text_of_many_long_lines_is_cut_too():
    placed = lay_out(json.dumps(["x" * 1_990] * 1_000))
    assert len(placed.lines) < 110
    assert len(placed.lines) + placed.left_out == 1_002
    assert len(placed.paths) == len(placed.lines)


def marks(text, *problems):
    lines, loose = mark(lay_out(text), [Problem(*p) for p in problems])
    return [(line.text, line.marks) for line in lines if line.marks], loose


def test_a_problem_stands_at_its_value():
    found = marks(
        '{"a": {"b": 1}, "c": 2}',
        ("/a/b", "type", "must be string", {"got": "number"}),
        ("/c", "x", "one"),
        ("/c", "y", "two"),
    )
    assert found == ([('"b": 1', ("must be string (got number)",)), ('"c": 2', ("one", "two"))], ())


def test_a_missing_value_stands_at_what_should_hold_it_and_an_extra_one_at_itself():
    found = marks(
        '{"a": {"b": 1}}',
        ("/a/x/y", "required", "is missing"),
        ("/a", "additionalProperties", "no", {"additionalProperty": "b"}),
        ("", "r", "root"),
    )
    assert found == ([("{", ("root",)), ('"a": {', ("/a/x/y: is missing",)), ('"b": 1', ("no",))], ())


def test_of_a_key_given_twice_the_last_one_is_meant():
    assert marks('{"a": 1, "a": "x"}', ("/a", "type", "m"))[0] == [('"a": "x"', ("m",))]


def test_allowed_values_are_listed():
    assert marks('{"a": 1}', ("/a", "enum", "must be one of", {"allowedValues": [1, "b"]}))[0][0][1] == (
        'must be one of: 1, "b"',
    )


def test_a_problem_of_a_text_that_is_no_json_is_told_apart():
    assert marks("{", ("/a", "type", "m")) == ([], ("/a: m",))


def test_changes_are_marked_and_what_is_far_from_them_is_counted():
    old = {"a": 1, **{f"k{n}": n for n in range(20)}, "z": [1, 2]}
    new = {**old, "a": 2, "z": [1, 2, 3]}
    assert shown(compare(lay_out(json.dumps(old)), lay_out(json.dumps(new)))) == [
        "{", '-  "a": 1,', '+  "a": 2,', '  "k0": 0,', '  "k1": 1,', '  "k2": 2,', "~  17 unchanged lines",
        '  "z": [', "    1,", "    2,", "+    3", "  ]", "}",
    ]  # fmt: skip


def side(lines, wanted):
    return [(line.depth, line.text.removesuffix(",")) for line in lines if line.side in wanted]


@settings(max_examples=40)
@given(values, values)
def test_a_comparison_tells_both_texts(old, new):
    before, after = lay_out(json.dumps(old)), lay_out(json.dumps(new))
    told = compare(before, after)
    if not any(line.side == "~" for line in told):
        assert side(told, ("", "-")) == [(x.depth, x.text.removesuffix(",")) for x in before.lines]
        assert side(told, ("", "+")) == [(x.depth, x.text.removesuffix(",")) for x in after.lines]


def test_very_long_texts_are_compared_as_wholes():
    before, after = lay_out(json.dumps(list(range(2_500)))), lay_out(json.dumps(list(range(1, 2_500))))
    assert {line.side for line in compare(before, after)} == {"-", "+"}


def test_a_comma_is_no_change():
    told = compare(lay_out('{"a": 1}'), lay_out('{"a": 1, "b": 2}'))
    assert [line.side for line in told] == ["", "", "+", ""]
    assert Line(1, '"b": 2', side="+") in told
