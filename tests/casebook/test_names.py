"""Property names that a service refuses: known beforehand of one, learned of another, and never seen by the caller."""

from __future__ import annotations

import json
from typing import Any

import pytest

from casebook.casebook import play

SCHEMA = {
    "type": "object",
    "properties": {"Account Number": {"type": "string"}, "filter[id]": {"type": "integer"}},
    "required": ["Account Number", "filter[id]"],
    "additionalProperties": False,
}
USAGE = {"input_tokens": 9, "output_tokens": 9}


def called(body: Any, values: list[Any]) -> dict[str, Any]:
    """A finishing call with these values, under the names that the request shows."""
    tool = body["tools"][0]
    names = (tool.get("input_schema") or tool["function"]["parameters"])["properties"]
    arguments = json.dumps(dict(zip(names, values, strict=True)))
    if "function" in tool:
        call = {"id": "c1", "type": "function", "function": {"name": "StructuredOutput", "arguments": arguments}}
        choice = {"index": 0, "message": {"role": "assistant", "tool_calls": [call]}, "finish_reason": "tool_calls"}
        return {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 9}}
    call = {"type": "tool_use", "id": "toolu_1", "name": "StructuredOutput", "input": json.loads(arguments)}
    return {"content": [call], "stop_reason": "tool_use", "usage": USAGE}


def refuses(body: Any) -> dict[str, Any] | None:
    if '"Account Number":' not in json.dumps(body["tools"]):
        return None
    error = {"error": {"message": "properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'"}}
    return {"http": {"status": 400, "headers": {}, "body": json.dumps(error)}}


@pytest.mark.parametrize(("wire", "asked"), [("anthropic", 2), ("openai", 3)])
def test_the_caller_and_the_model_see_their_own_names(wire, asked, tmp_path):
    answers = iter([["A-1", "five"], ["A-1", 5]])
    seen = play(
        {"wire": wire, "schema": SCHEMA}, tmp_path, answer=lambda _, body: refuses(body) or called(body, next(answers))
    )
    assert seen.code == 0
    assert seen.frame["structured_output"] == {"Account Number": "A-1", "filter[id]": 5}
    assert [a["verdict"] for a in seen.facts["attempts"]] == ["rejected", "accepted"]
    assert [p["path"] for p in seen.facts["attempts"][0]["problems"]] == ["/filter[id]"]
    assert len(seen.requests) == asked
    told = json.dumps(seen.requests[-1]["messages"])
    assert "/filter_id." in told
    assert "filter[id]" not in told


def test_a_service_that_takes_any_name_gets_the_callers(tmp_path):
    seen = play({"wire": "openai", "schema": SCHEMA}, tmp_path, answer=lambda _, body: called(body, ["A-1", 5]))
    assert (seen.code, len(seen.requests)) == (0, 1)
    assert set(seen.requests[0]["tools"][0]["function"]["parameters"]["properties"]) == set(SCHEMA["properties"])
