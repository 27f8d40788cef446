"""Objects while they are written."""

from __future__ import annotations

import itertools
import json
import time

import jiter
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastcall.api.partial import NOTHING, PartialText, read_partial


def feed(partial, piece):
    """One more piece, as the watcher gives it: the value, or `NOTHING`."""
    partial.pieces.append(piece)
    return partial.look() if len(partial.pieces) >= partial.due else NOTHING


def patient():
    """A clock by which a reading takes no time: there is always time for one."""
    return lambda: 0.0


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


def is_prefix(part, whole):
    """Whether a value is a beginning of another: fewer members, shorter strings, nothing that is different."""
    if isinstance(part, dict) and isinstance(whole, dict):
        names = list(part)
        if names != list(whole)[: len(names)]:
            return False
        full = all(part[name] == whole[name] for name in names[:-1])
        return full and all(is_prefix(part[name], whole[name]) for name in names[-1:])
    if isinstance(part, list) and isinstance(whole, list):
        if len(part) > len(whole):
            return False
        return part[:-1] == whole[: max(len(part) - 1, 0)] and all(
            is_prefix(a, b) for a, b in list(zip(part, whole, strict=False))[-1:]
        )
    if isinstance(part, str) and isinstance(whole, str):
        return whole.startswith(part)
    return type(part) is type(whole) and part == whole


@settings(max_examples=60)
@given(st.dictionaries(st.text(max_size=6), values, max_size=5), st.booleans(), st.integers(1, 7))
def test_every_partial_is_a_prefix_of_the_whole(value, ascii_only, size):
    text = json.dumps(value, ensure_ascii=ascii_only)
    try:
        whole = jiter.from_json(text.encode())
    except ValueError:  # lone surrogates
        return
    partial = PartialText(patient())
    for start in range(0, len(text), size):
        found = feed(partial, text[start : start + size])
        assert found is NOTHING or is_prefix(found, whole)


def test_numbers_and_literals_that_may_go_on_are_not_shown():
    assert read_partial('{"a": 1, "b": 12') == {"a": 1}
    assert read_partial('{"a": 1, "b": 1.5e') == {"a": 1}
    assert read_partial('{"a": tru') == {}
    assert read_partial("[1, 2, 3") == [1, 2]
    assert read_partial("[1, 2, 3,") == [1, 2, 3]


def test_strings_are_shown_as_far_as_they_are_written():
    assert read_partial('{"a": "hal') == {"a": "hal"}
    assert read_partial('{"a": "x\\') == {"a": "x"}
    assert read_partial('{"a": "x\\ud83d') in ({"a": "x"}, NOTHING, {})


def test_what_shows_nothing_is_nothing():
    assert read_partial("") is NOTHING
    assert read_partial("nonsense") is NOTHING
    partial = PartialText(patient())
    assert feed(partial, '{"a": "b') == {"a": "b"}
    assert feed(partial, '"') is NOTHING


def test_a_slow_text_is_read_with_every_piece():
    partial = PartialText(patient())
    text = json.dumps({"rows": [{"n": number} for number in range(60)]})
    shown = [feed(partial, text[start : start + 8]) for start in range(0, len(text), 8)]
    assert sum(value is not NOTHING for value in shown) > 60


def test_a_text_that_is_there_at_once_is_read_while_it_is_short_and_then_whenever_it_is_eight_times_as_long():
    """The clock stands still: no time has passed that a reading could take its share of."""
    partial = PartialText(lambda: 0.0)
    partial._again = 1.0
    lengths = []
    for number in range(1, 5_001):
        if feed(partial, "[" if number == 1 else "0,") is not NOTHING:
            lengths.append(partial._length)
            partial._again = 1.0
    assert lengths[:257] == list(range(1, 514, 2))  # short, and read with every piece
    growths = [b / a for a, b in itertools.pairwise(lengths[256:])]
    assert len(growths) == 1
    assert min(growths) >= 8  # so all readings together are less than 8/7 of the last one
    assert lengths[-1] * 8 > 9_999


@pytest.mark.parametrize(("pause", "gap"), [(1.0, 5), (4.0, 2), (6.0, 1)])
def test_readings_in_between_take_at_most_one_part_in_fifty_of_the_time(pause, gap):
    """A look at the clock takes a tenth of a second, so a reading does: it may be done again after five."""
    now = [0.0]

    def clock():
        now[0] += 0.1
        return now[0]

    partial = PartialText(clock)
    feed(partial, "[" + "0," * 300)
    read = []
    for number in range(200):
        now[0] += pause
        if feed(partial, "0,") is not NOTHING:
            read.append(number)
    assert {later - earlier for earlier, later in itertools.pairwise(read)} == {gap}


@pytest.mark.parametrize("size", [200_000, 262_400])  # the second is just past a reading: the dearest length
@pytest.mark.parametrize("kind", ["rows", "numbers", "nested"])
def test_a_large_object_in_small_pieces_costs_less_than_three_readings(kind, size):
    row = {"rows": {"n": 12, "name": "x" * 20, "ok": True}, "numbers": 12.5, "nested": [[12, {"k": [1]}]]}[kind]
    text = json.dumps({"rows": [row] * ((size - 12) // (len(json.dumps(row)) + 2))})
    assert len(text) > size - 100
    pieces = [text[start : start + 16] for start in range(0, len(text), 16)]
    whole = text.encode()

    def took(work):
        began = time.process_time()
        work()
        return time.process_time() - began

    def in_pieces():
        partial = PartialText()
        for piece in pieces:
            held = partial.pieces
            held.append(piece)
            if len(held) >= partial.due:
                partial.look()

    rounds = [(took(in_pieces), took(lambda: jiter.from_json(whole))) for _ in range(9)]
    assert min(ours for ours, _ in rounds) < 3 * min(once for _, once in rounds)
