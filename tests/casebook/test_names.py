"""Property names that a service refuses: known beforehand of one, learned of another, and never seen by the caller."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from casebook.casebook import ScriptedTool, play
from lastcall.tools import Output

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


def uses_tool(body: Any, value: Any) -> dict[str, Any]:
    """A call of the ordinary tool `Look`, under the name that the request shows."""
    (tool,) = (t for t in body["tools"] if t.get("function", t)["name"] == "Look")
    (name,) = tool.get("function", tool).get("input_schema", tool.get("function", tool).get("parameters"))["properties"]
    if "function" in tool:
        call = {"id": "t1", "type": "function", "function": {"name": "Look", "arguments": json.dumps({name: value})}}
        choice = {"index": 0, "message": {"role": "assistant", "tool_calls": [call]}, "finish_reason": "tool_calls"}
        return {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 9}}
    call = {"type": "tool_use", "id": "toolu_t", "name": "Look", "input": {name: value}}
    return {"content": [call], "stop_reason": "tool_use", "usage": USAGE}


@pytest.mark.parametrize(("wire", "asked"), [("anthropic", 3), ("openai", 4)])
def test_tools_of_others_get_the_names_that_they_declared(wire, asked, tmp_path, monkeypatch):
    got = []

    async def run(self: Any, arguments: Any, context: Any) -> Output:
        got.append(arguments)
        return Output("found")

    monkeypatch.setattr(ScriptedTool, "run", run)
    look = {"type": "object", "properties": {"Account Number": {"type": "string"}}, "required": ["Account Number"]}
    tool = {"name": "Look", "description": "Looks.", "input_schema": look, "scripted_results": []}
    said = iter(["A-1", 7])

    def answer(_: int, body: Any) -> dict[str, Any]:
        value = next(said, None) if not refuses(body) else None
        return refuses(body) or (done() if value is None else uses_tool(body, value))

    def done() -> dict[str, Any]:
        return {"content": [{"type": "text", "text": "Done."}], "stop_reason": "end_turn", "usage": USAGE} | {
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "Done."}, "finish_reason": "stop"}]
        }

    seen = play({"wire": wire, "tools": [tool]}, tmp_path, answer=answer)
    assert (seen.code, len(seen.requests)) == (0, asked)
    assert got == [{"Account Number": "A-1"}]
    refusal = json.dumps(seen.requests[-1]["messages"])
    assert re.search(r"The parameter `Account_Number\.\w+` type is expected as `string`", refusal)
    assert "Account Number" not in refusal
