"""The memory of files that were read."""

from __future__ import annotations

from lastcall.nouns.ids import CallId
from lastcall.tools.seen import FilesSeen, FileState, Range

STATE = FileState(1, 2, 3, 4)
WHOLE = Range(1, None)


def test_only_the_very_same_part_in_the_very_same_state_counts_as_seen():
    seen = FilesSeen()
    seen.note("/a", WHOLE, STATE, CallId("c"))
    assert seen.has("/a", WHOLE, STATE)
    assert not seen.has("/b", WHOLE, STATE)
    assert not seen.has("/a", Range(1, 2_000), STATE)
    for other in (FileState(9, 2, 3, 4), FileState(1, 9, 3, 4), FileState(1, 2, 9, 4), FileState(1, 2, 3, 9)):
        assert not seen.has("/a", WHOLE, other)


def test_a_later_call_takes_over_what_an_earlier_one_held():
    seen = FilesSeen()
    seen.note("/a", WHOLE, STATE, CallId("first"))
    seen.note("/a", WHOLE, STATE, CallId("second"))
    seen.forget_call(CallId("first"))
    assert seen.has("/a", WHOLE, STATE)
    seen.forget_call(CallId("second"))
    assert not seen.has("/a", WHOLE, STATE)


def test_forgetting_a_file_forgets_all_of_its_parts():
    seen = FilesSeen()
    for part in (WHOLE, Range(5, 5)):
        seen.note("/a", part, STATE, CallId("c"))
        seen.note("/b", part, STATE, CallId("c"))
    seen.forget_file("/a")
    assert not seen.has("/a", WHOLE, STATE)
    assert not seen.has("/a", Range(5, 5), STATE)
    assert seen.has("/b", WHOLE, STATE)
    seen.clear()
    assert not seen.has("/b", WHOLE, STATE)
