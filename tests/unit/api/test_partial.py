"""Objects while they are written."""

from __future__ import annotations

import json
import time

import jiter
from hypothesis import given
from hypothesis import strategies as st

from lastcall.api.partial import NOTHING, PartialText, read_partial

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


@given(st.dictionaries(st.text(max_size=6), values, max_size=5), st.booleans(), st.integers(1, 7))
def test_every_partial_is_a_prefix_of_the_whole(value, ascii_only, size):
    text = json.dumps(value, ensure_ascii=ascii_only)
    try:
        whole = jiter.from_json(text.encode())
    except ValueError:  # lone surrogates
        return
    partial = PartialText()
    for start in range(0, len(text), size):
        found = partial.add(text[start : start + size])
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
    partial = PartialText()
    assert partial.add('{"a": "b') == {"a": "b"}
    assert partial.add('"') is NOTHING


def test_a_large_object_in_small_pieces_costs_less_than_three_readings():
    """200 kB in 16-character pieces; the readings are counted in characters, which no busy machine can disturb."""
    read = []

    class Counting(PartialText):
        def add(self, piece):
            before = self._next
            found = super().add(piece)
            if self._next != before:
                read.append(self._length)
            return found

    rows = [{"n": number, "name": "x" * 20, "ok": True} for number in range(3_600)]
    text = json.dumps({"rows": rows})
    assert len(text) > 190_000
    partial = Counting()
    for start in range(0, len(text), 16):
        partial.add(text[start : start + 16])
    assert sum(read) < 2 * len(text)


def test_the_time_of_a_large_object_in_small_pieces_is_a_small_multiple_of_one_reading():
    text = json.dumps({"rows": [{"n": number, "name": "x" * 20} for number in range(4_500)]})

    def once():
        began = time.perf_counter()
        json.loads(text)
        return time.perf_counter() - began

    def in_pieces():
        partial = PartialText()
        began = time.perf_counter()
        for start in range(0, len(text), 16):
            partial.add(text[start : start + 16])
        return time.perf_counter() - began

    assert min(in_pieces() for _ in range(3)) < 30 * min(once() for _ in range(3))  # a square would be thousands
