"""Any cut of a journal loads, or says why not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastcall.core import records as r
from lastcall.errors import JournalCorrupt, JournalError, JournalTooNew
from lastcall.journal.load import load, load_bytes
from lastcall.wire.journal import JournalStep, encode_step

STEPS = [[r.Asked(1)], [r.Nudged(r.NudgeKind.ENFORCE, "é\n"), r.Resumed()], [], [r.LimitNoted(r.Limit.TURNS, hit=True)]]
LINES = [encode_step(records, at=float(n)) for n, records in enumerate(STEPS)]


def test_a_whole_journal_comes_back():
    loaded = load_bytes(b"".join(LINES), where="j")
    assert loaded.steps == tuple(JournalStep(float(n), tuple(records)) for n, records in enumerate(STEPS))
    assert loaded.records == tuple(record for records in STEPS for record in records)
    assert (loaded.whole_bytes, loaded.torn_bytes) == (len(b"".join(LINES)), 0)


def test_an_empty_journal_has_no_steps():
    assert load_bytes(b"", where="j").steps == ()


def test_every_cut_loads_the_lines_that_are_whole():
    content = b"".join(LINES)
    for cut in range(len(content) + 1):
        loaded = load_bytes(content[:cut], where="j")
        whole = content[:cut].count(b"\n")
        assert len(loaded.steps) == whole
        assert loaded.whole_bytes == len(b"".join(LINES[:whole]))
        assert loaded.torn_bytes == cut - loaded.whole_bytes


def test_zeros_that_a_crash_left_at_the_end_are_half_a_line():
    loaded = load_bytes(LINES[0] + b"\0" * 4_096, where="j")
    assert (len(loaded.steps), loaded.torn_bytes) == (1, 4_096)


@pytest.mark.parametrize("damage", [b"\n", b"{}\n", b"\0\0\n", b'{"v":1,"kind":"st\n', LINES[0][:-9] + LINES[1]])
def test_a_damaged_line_is_named_with_its_number(damage):
    with pytest.raises(JournalCorrupt) as caught:
        load_bytes(LINES[0] + LINES[1] + damage + LINES[2], where="some.jsonl")
    assert caught.value.where == "some.jsonl, line 3"
    assert "2 lines before it are whole" in caught.value.hint


def test_a_line_of_a_later_lastcall_is_refused_with_its_number():
    with pytest.raises(JournalTooNew) as caught:
        load_bytes(LINES[0] + b'{"v":3}\n', where="some.jsonl")
    assert caught.value.where == "some.jsonl, line 2"
    assert "newer lastcall" in caught.value.hint


def test_a_file_is_loaded_and_a_missing_one_told(tmp_path):
    path = tmp_path / "j.jsonl"
    path.write_bytes(LINES[0] + b'{"v"')
    loaded = load(str(path))
    assert (len(loaded.steps), loaded.torn_bytes) == (1, 4)
    assert path.read_bytes().endswith(b'{"v"'), "loading changes nothing"
    with pytest.raises(JournalError, match="No such file"):
        load(str(tmp_path / "none"))


@settings(max_examples=200)
@given(st.data())
def test_any_flipped_byte_is_found_or_harmless(data):
    content = bytearray(b"".join(LINES))
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] = data.draw(st.integers(0, 255))
    try:
        loaded = load_bytes(bytes(content), where="j")
    except (JournalCorrupt, JournalTooNew):
        return
    assert len(loaded.steps) in {len(STEPS), len(STEPS) - 1}
