"""`--salvage` through the command: off it changes nothing, on it saves a turn, and what it took is marked."""

from __future__ import annotations

import pytest

from casebook.casebook import play

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
USAGE = {"input_tokens": 9, "output_tokens": 9}
PROSE = {
    "content": [{"type": "text", "text": 'Done.\n```json\n{"a": 3}\n```'}],
    "stop_reason": "end_turn",
    "usage": USAGE,
}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "StructuredOutput", "input": {"a": 3}}
SENT = {"content": [CALL], "stop_reason": "tool_use", "usage": USAGE}
GIVEN = {"wire": "anthropic", "schema": SCHEMA, "model_replies": [PROSE, SENT]}


def test_without_the_flag_prose_is_no_object(tmp_path):
    seen = play(GIVEN, tmp_path)
    assert (seen.code, len(seen.requests), "source" in seen.facts) == (0, 2, False)


def test_with_the_flag_it_is_taken_marked_and_warned_of(tmp_path):
    seen = play(GIVEN, tmp_path, "--salvage")
    assert (seen.code, len(seen.requests), seen.frame["structured_output"]) == (0, 1, {"a": 3})
    assert (seen.facts["source"], seen.facts["attempts"]) == ("salvaged_text", [])
    assert [w["code"] for w in seen.facts["warnings"]] == ["salvaged"]
    assert "found in a reply of prose" in seen.err


@pytest.mark.parametrize("more", [["--check", "true"], ["--profile", "compat"]])
def test_what_cannot_be_is_refused_before_anything_is_sent(more, tmp_path):
    seen = play(GIVEN, tmp_path, "--salvage", *more)
    assert seen.code in (1, 2)
    assert seen.requests == []
