"""The reference's words for text that is no JSON. The first five were recorded; the rest follow the engine's rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastcall.contract.jsc_words import UNPARSABLE, parse_error
from lastcall.contract.json_grammar import JsonFault
from lastcall.contract.json_text import read_json

EXPONENT = "Exponent symbols should be followed by an optional '+' or '-' and then by at least one number"

WORDS = [
    ("{not json", "Expected '}'"),
    ("nope", 'Unexpected identifier "nope"'),
    ("  ", "Unexpected EOF"),
    ("{'type':'object'}", "Single quotes (') are not allowed in JSON"),
    ("", "Unexpected EOF"),
    ('{"a":1,}', "Property name must be a string literal"),
    ('{"a":1,b:2}', "Property name must be a string literal"),
    ("[1,]", "Unexpected comma at the end of array expression"),
    ("[1,,2]", "Unexpected token ','"),
    ("[1", "Expected ']'"),
    ("[1 2]", "Expected ']'"),
    ('{"a":1', "Expected '}'"),
    ('{"a":1 "b":2}', "Expected '}'"),
    ('{"a" 1}', "Expected ':' before value in object property definition"),
    ('{"a":}', "Unexpected token '}'"),
    ('{"a":[1,2', "Expected ']'"),
    ('[{"a":[]},{}', "Expected ']'"),
    ('{"a":None}', 'Unexpected identifier "None"'),
    ('{"a":1,"b":2', "Expected '}'"),
    ("{} x", UNPARSABLE),
    ("{}{}", UNPARSABLE),
    ("{} '", "Single quotes (') are not allowed in JSON"),
    ("01", UNPARSABLE),
    ('"abc', "Unterminated string"),
    ('"a\nb"', "Unterminated string"),
    ('"a\\', "Unterminated string"),
    ('["\\x41"]', "Invalid escape character x"),
    ('["\\u12"', "\\u must be followed by 4 hex digits"),
    ('["\\u12zz"]', '"\\u12zz" is not a valid unicode escape'),
    ('["\\u0041\\n", ?]', "Unrecognized token '?'"),
    ("-", "Invalid number"),
    ("-x", "Invalid number"),
    ("1.", "Invalid digits after decimal point"),
    ("1e", EXPONENT),
    ("1.5e+", EXPONENT),
    ("[-0.5e-3, 10, true, null, #]", "Unrecognized token '#'"),
]


@pytest.mark.parametrize(("text", "words"), WORDS, ids=[repr(w[0]) for w in WORDS])
def test_words(text: str, words: str) -> None:
    assert parse_error(text) == words


@given(
    st.lists(
        st.sampled_from(['"a"', "{", "}", "[", "]", ",", ":", "1", "-", "true", "x", "'", '"', "\\", " "]), max_size=9
    )
)
def test_every_text_that_is_no_json_gets_words(pieces: list[str]) -> None:
    text = "".join(pieces)
    if isinstance(read_json(text, numbers="doubles"), JsonFault):
        assert parse_error(text)
