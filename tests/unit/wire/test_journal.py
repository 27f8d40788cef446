"""One step, one line: what goes in comes out, and what cannot be read is told."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastcall.core import records as r
from lastcall.errors import JournalTooNew
from lastcall.nouns.attachment import Attachment, Problem
from lastcall.nouns.messages import OpaqueBlock, TextBlock, ThinkingBlock
from lastcall.nouns.result import Answered, Attempt, Stopped, Usage, VerdictKind
from lastcall.nouns.result import Limit as StopLimit
from lastcall.nouns.tools import Arguments, ResultKind, ToolCall, ToolResult, Unreadable, UnreadableCause
from lastcall.wire.journal import VERSION, Damaged, JournalStep, decode_line, encode_step

BROKEN = Unreadable('{"a": "x', UnreadableCause.TRUNCATED, "the text ends inside a string", 1, 9, 8, 8)


def test_a_step_is_one_line_of_a_known_form():
    line = encode_step([r.Warned(r.RunWarning("odd", "a\nb")), r.Resumed()], at=12.5)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert json.loads(line) == {
        "v": 2,
        "kind": "step",
        "at": 12.5,
        "records": [
            {"type": "Warned", "warning": {"type": "RunWarning", "code": "odd", "message": "a\nb", "path": ""}},
            {"type": "Resumed"},
        ],
    }


def test_a_line_of_the_first_version_is_read():
    line = b'{"v":1,"kind":"step","at":1.5,"records":[{"type":"Resumed"}]}\n'
    assert decode_line(line) == JournalStep(1.5, (r.Resumed(),))


def test_a_line_of_the_next_version_is_refused_by_name():
    with pytest.raises(JournalTooNew, match="format 3; this lastcall reads up to format 2"):
        decode_line(b'{"v":3,"kind":"step","at":1.5,"records":[{"type":"Resumed"}]}')


@pytest.mark.parametrize(
    "record",
    [
        r.Resumed(),
        r.Started(
            "run_1", (TextBlock("prompt"), OpaqueBlock("image", {"type": "image", "n": [1, None, True]})), "u", 1.5
        ),
        r.BlockSaid(1, "msg", ToolCall("c", "msg", "StructuredOutput", Arguments('{"a": 1}', ("/a",))), "u"),
        r.BlockSaid(1, "msg", ToolCall("c", "msg", "Read", BROKEN, made_id=True), "u"),
        r.BlockSaid(1, "msg", ThinkingBlock("hm", "sig"), "u"),
        r.ReplyClosed(2, "msg", None, Usage(1, None, 3, 4), cost_usd=Decimal("0.0000001234567890123456789"), cut=True),
        r.CallAnswered(ToolResult("c", ResultKind.OK, "x", display={"n": 10**40, "f": 1.5, "l": [], "s": "é😀"})),
        r.Attempted(
            Attempt(1, "c", "m", VerdictKind.REJECTED, (Problem("/a", "type", "must be", {"type": "x"}),), "{}")
        ),
        r.Ended(Answered(Attachment("c", "m", '{"a":1}'))),
        r.Ended(Stopped(StopLimit.BUDGET, "$1")),
    ],
)
def test_records_come_back_as_they_were(record):
    assert decode_line(encode_step([record], at=3.0)) == JournalStep(3.0, (record,))


def test_half_surrogate_pairs_of_a_model_survive():
    said = r.BlockSaid(1, "m", TextBlock("a\ud800b\udfffé"), "u")
    cost = r.ReplyClosed(1, "m", "end_turn", Usage(), cost_usd=Decimal("1.10"))
    line = encode_step([said, cost], at=1.25)
    assert line.decode().isprintable() or line.endswith(b"\n")
    assert decode_line(line) == JournalStep(1.25, (said, cost))


def test_numbers_of_thousands_of_digits_survive():
    answered = r.CallAnswered(ToolResult("c", ResultKind.OK, "x", display=10**5_000))
    assert decode_line(encode_step([answered], at=1.0)) == JournalStep(1.0, (answered,))


@pytest.mark.parametrize(
    "line",
    [
        b'{"v":99,"kind":"step","at":1,"records":[]}',
        b'{"v":3,"kind":"something"}',
        b'{"v":3,"odd":"\\ud800"}\n',
    ],
)
def test_a_later_format_is_refused_by_name(line):
    with pytest.raises(JournalTooNew, match=f"this lastcall reads up to format {VERSION}"):
        decode_line(line)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"", "no JSON"),
        (b"\0\0\0\0", "no JSON"),
        (b'{"v":1,"kind":"step"', "no JSON"),
        (b"\xff\xfe", "not UTF-8 from byte 0 on"),
        (b"[]", "holds no step"),
        (b"{}", "holds no step"),
        (b"null", "holds no step"),
        (b'{"v":"1"}', "holds no step"),
        (b'{"v":1,"kind":"note","at":1,"records":[]}', "unknown kind, 'note'"),
        (b'{"v":1,"kind":"note","s":"\\ud800"}', "holds no step"),
        (b'{"v":1,"kind":"step","at":1}', "holds no step"),
        (b'{"v":1,"kind":"step","at":1,"records":[{"type":"Unheard"}]}', "holds no step"),
        (b'{"v":1,"kind":"step","at":1,"records":[{"type":"Asked","number":"one"}]}', "holds no step"),
    ],
)
def test_what_is_no_step_is_told(line, why):
    found = decode_line(line)
    assert isinstance(found, Damaged)
    assert why in found.why


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
# half surrogate pairs included
HOSTILE = st.text(st.characters(exclude_categories=()))
RECORDS = st.one_of(
    st.builds(
        r.Started, HOSTILE, st.lists(st.builds(TextBlock, HOSTILE), max_size=2).map(tuple), HOSTILE, st.floats(0, 9e9)
    ),
    st.builds(r.CallAnswered, st.builds(ToolResult, HOSTILE, st.sampled_from(ResultKind), HOSTILE, display=JSON)),
    st.builds(
        r.BlockSaid, st.integers(), HOSTILE, st.builds(OpaqueBlock, HOSTILE, st.dictionaries(HOSTILE, JSON)), HOSTILE
    ),
    st.builds(
        r.ReplyClosed,
        st.integers(),
        HOSTILE,
        st.none() | HOSTILE,
        st.builds(Usage, st.none() | st.integers(0)),
        cost_usd=st.none() | st.decimals(allow_nan=False, allow_infinity=False, places=12),
    ),
)


@settings(max_examples=200)
@given(st.lists(RECORDS, max_size=4), st.floats(0, 9e9))
def test_any_records_come_back(records, at):
    line = encode_step(records, at=at)
    assert line.index(b"\n") == len(line) - 1
    assert decode_line(line) == JournalStep(at, tuple(records))


@settings(max_examples=100)
@given(st.lists(RECORDS, min_size=1, max_size=2), st.data())
def test_no_beginning_of_a_line_is_taken_for_a_step(records, data):
    line = encode_step(records, at=1.0).rstrip(b"\n")
    cut = data.draw(st.integers(0, len(line) - 1))
    assert isinstance(decode_line(line[:cut]), Damaged)


@settings(max_examples=300)
@given(st.binary(max_size=60))
def test_any_bytes_are_damaged_or_too_new(line):
    try:
        found = decode_line(line)
    except JournalTooNew:
        return
    assert isinstance(found, Damaged)
