"""A contract as the structured output of a real LangChain agent, with a scripted chat model."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

import lastcall
import needs
from lastcall.interop.langchain import tool_strategy

pytestmark = pytest.mark.slow  # its import takes seconds


class Invoice(BaseModel):
    vendor: str
    total: int


class Tree(BaseModel):
    children: list[Tree] = []


def played(output, *arguments):
    """The agent's structured response after these calls, the tool as bound, and all messages' texts."""
    needs.package("langchain")
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    bound: list[Any] = []

    class Scripted(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **_: Any) -> Any:
            bound.extend(tools)
            return self

    calls = [[{"name": "StructuredOutput", "args": given, "id": f"c{n}"}] for n, given in enumerate(arguments)]
    model = Scripted(messages=iter([AIMessage("", tool_calls=call) for call in calls]))
    state = create_agent(model, [], response_format=tool_strategy(output)).invoke({"messages": [("user", "Extract.")]})
    return state["structured_response"], bound[0], [message.content for message in state["messages"]]


def test_what_does_not_pass_goes_back_in_lastcalls_words_and_the_object_is_the_type():
    output, bound, told = played(Invoice, {"vendor": "Acme", "total": "3"}, {"vendor": "Acme", "total": 3})
    assert output == Invoice(vendor="Acme", total=3)
    assert bound.name == "StructuredOutput"
    assert bound.args_schema["required"] == ["vendor", "total"]
    assert told[2].startswith("The output does not match the schema.")
    assert "/total: must be integer (got string" in told[2]


def test_a_json_schema_is_checked_too():
    schema = {"type": "object", "properties": {"rows": {"type": "array"}}, "required": ["rows"]}
    output, _, told = played(schema, {"rows": "[]"}, {"rows": []})
    assert output == {"rows": []}
    assert "/rows: must be array" in told[2]


def test_a_recursive_type_goes_through():
    output, _, _ = played(Tree, {"children": [{"children": []}]})
    assert output == Tree(children=[Tree()])


def test_rules_in_python_are_refused_in_one_sentence():
    needs.package("langchain")
    with pytest.raises(lastcall.UsageError, match="rules in Python"):
        tool_strategy(lastcall.Contract(Invoice, rules=[lambda invoice: True]))
