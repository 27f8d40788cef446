"""What servers send where the protocol says something else; in use: test_openai_reply.py."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastcall.nouns.result import Usage
from lastcall.wire.openai_quirks import ExactArguments, are_snapshots, content_texts, counts, first_choice


@pytest.mark.parametrize(
    ("pieces", "are"),
    [
        (["{", '{"a"', '{"a":1}'], True),
        (['{"a":1}', '{"a":1}'], True),
        (['{"a"', ":1}"], False),
        (['{"a":1}'], False),
        ([], False),
        (["{", '{"a":1}', "{"], False),
    ],
)
def test_snapshots_repeat_everything_before_them(pieces: list[str], are: bool) -> None:
    assert are_snapshots(pieces) is are


@pytest.mark.parametrize(
    ("choices", "position"),
    [
        ([{"index": 1}, {"index": 0}], 1),
        ([{}], 0),
        ([None, {"index": None}], 1),
        ([{"index": 2}], None),
        ([], None),
        (None, None),
    ],
)
def test_the_choice_that_was_asked_for_is_the_first(choices: Any, position: int | None) -> None:
    found = first_choice({"choices": choices})
    assert found == ((0, None) if position is None else (position, choices[position]))


def test_arguments_are_text_or_the_exact_text_of_a_value() -> None:
    data = b'{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":{"a": 1.0}}}],"function_call":{"arguments":[1 ,2]}}}]}'
    exact = ExactArguments(data, 0, "delta")
    assert exact.of_call(0, '{"x":1}') == '{"x":1}'
    assert exact.of_call(0, None) == exact.of_legacy(None) == ""
    assert exact.of_call(0, {"a": 1.0}) == '{"a": 1.0}'
    assert exact.of_legacy([1, 2]) == "[1 ,2]"
    assert exact.of_legacy("{}") == "{}"
    elsewhere = ExactArguments(json.dumps({"choices": [{"message": {}}]}).encode(), 0, "message")
    assert (elsewhere.of_call(0, [1]), elsewhere.of_legacy([1])) == ("[1]", "[1]")
    assert ExactArguments(b"no json", 0, "delta").of_call(0, [1]) == "[1]"


def test_a_content_is_its_texts_whatever_its_form() -> None:
    assert content_texts("x") == ("x", "")
    assert content_texts(None) == ("", "")
    assert content_texts([{"type": "refusal", "refusal": "no"}, {"thinking": "hm"}, 3]) == ("no", "hm")


def test_only_known_counts_are_told() -> None:
    assert counts(Usage(1, None, None, 0)) == {"input_tokens": 1, "cache_read_input_tokens": 0}
