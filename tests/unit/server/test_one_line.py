"""One line for everybody, and the same value."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from lastcall.server.one_line import one_line
from lastcall.wire.json import encode_value

TEXTS = st.text(
    max_size=20,
    alphabet=st.characters(exclude_categories=["Cs"]) | st.sampled_from('\x85\u2028\u2029\r\n\x0b\x0c\x1c"\\'),
)


@settings(max_examples=60)
@given(st.lists(TEXTS, max_size=3) | st.dictionaries(TEXTS, TEXTS, max_size=3))
def test_no_program_finds_a_second_line_and_the_value_is_the_same(value):
    text = one_line(encode_value(value).decode())
    assert len(text.splitlines()) == 1
    assert json.loads(text) == value
