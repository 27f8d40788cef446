"""A contract as the output tool of a real pydantic-ai agent, with a model that is a function."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

import lastcall
import needs
from lastcall.interop.pydantic_ai import output_tool

pytestmark = pytest.mark.slow  # its import takes seconds


class Invoice(BaseModel):
    vendor: str
    total: int


class Tree(BaseModel):
    children: list[Tree] = []


def played(output, *arguments, max_retries=4):
    """The agent's output after these calls of the output tool, the tool as shown, and what the model was told."""
    needs.package("pydantic_ai")
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    shown, told = [], []

    def answer(messages: list[Any], about: Any) -> Any:
        shown.append(about.output_tools[0])
        told.append([str(part.content) for part in messages[-1].parts])
        return ModelResponse(parts=[ToolCallPart(shown[0].name, arguments[len(told) - 1])])

    agent = Agent(FunctionModel(answer), output_type=output_tool(output, max_retries=max_retries))
    return agent.run_sync("Extract.").output, shown[0], told


def test_what_does_not_pass_goes_back_in_lastcalls_words_and_the_object_is_the_type():
    output, shown, told = played(Invoice, {"vendor": "Acme", "total": "3"}, {"vendor": "Acme", "total": 3})
    assert output == Invoice(vendor="Acme", total=3)
    assert shown.name == "StructuredOutput"
    assert shown.parameters_json_schema["required"] == ["vendor", "total"]
    assert "/total: must be integer (got string" in told[1][0]


def test_a_json_schema_is_checked_too():
    schema = {"type": "object", "properties": {"rows": {"type": "array"}}, "required": ["rows"]}
    output, _, told = played(schema, {"rows": "[]"}, {"rows": []})
    assert output == {"rows": []}
    assert "/rows: must be array" in told[1][0]


def test_rules_are_asked():
    contract = lastcall.Contract(Invoice, rules=[lambda invoice: invoice.total > 1 or "too small"])
    output, _, told = played(contract, {"vendor": "A", "total": 1}, {"vendor": "A", "total": 2})
    assert output.total == 2
    assert "too small" in told[1][0]


def test_attempts_are_the_frameworks_to_count():
    needs.package("pydantic_ai")
    from pydantic_ai.exceptions import UnexpectedModelBehavior

    with pytest.raises(UnexpectedModelBehavior):
        played(Invoice, *[{"vendor": 3}] * 9, max_retries=2)


def test_a_recursive_type_is_refused_in_one_sentence():
    needs.package("pydantic_ai")
    with pytest.raises(lastcall.UsageError, match="recursive"):
        output_tool(Tree)
