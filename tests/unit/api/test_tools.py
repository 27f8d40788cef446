"""Functions as tools."""

from __future__ import annotations

import datetime as dt
import re
import threading
from typing import Annotated, Literal

import pydantic
import pytest

import lastcall
from lastcall.providers.scripted import scripted_provider
from lastcall.testing import ScriptedModel
from lastcall.wire.dialect import SCRIPTED, Feature


def answers(tool, arguments, **given):
    """What the model is told when it calls `tool`."""
    model = scripted_provider([{"call": {"name": tool.__name__, "input": arguments}}, "Done."])
    lastcall.run("x", model=model, tools=[tool], **given)
    [block] = model.requests[1]["messages"][-1]["content"]
    return block["content"], block.get("is_error", False)


class Address(pydantic.BaseModel):
    city: str


def test_the_schema_comes_from_the_signature_and_the_description_from_the_docstring():
    @lastcall.tool
    def search(query: Annotated[str, pydantic.Field(description="words")], limit: int = 3) -> str:
        """Find pages.

        The newest first.
        """
        return query * limit

    assert search.definition.name == "search"
    assert search.definition.description == "Find pages.\n\nThe newest first."
    assert search.definition.input_schema == {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "words"}, "limit": {"type": "integer", "default": 3}},
        "required": ["query"],
        "additionalProperties": False,
    }
    assert search("a") == "aaa"


def test_arguments_arrive_as_their_types_and_results_go_back_as_json():
    @lastcall.tool
    def lookup(when: dt.date, address: Address, /, *, kind: Literal["a", "b"] = "a") -> dict[str, object]:
        return {"day": when.day, "city": address.city, "kind": kind, "when": when}

    told, failed = answers(lookup, {"when": "2026-11-30", "address": {"city": "Bern"}})
    assert (told, failed) == ('{"day":30,"city":"Bern","kind":"a","when":"2026-11-30"}', False)


def test_names_that_a_model_of_pydantic_could_not_have_are_taken():
    @lastcall.tool
    def odd(_x: int, model_config: str, schema: str, p0: int) -> str:
        return f"{_x}{model_config}{schema}{p0}"

    assert answers(odd, {"_x": 1, "model_config": "m", "schema": "s", "p0": 2}) == ("1ms2", False)


def test_arguments_that_do_not_fit_are_told_to_the_model():
    def half(n: Annotated[int, pydantic.AfterValidator(lambda n: n if n % 2 == 0 else 1 / 0)]) -> int:
        return n // 2

    told, failed = answers(half, {"n": "two"})
    assert failed
    assert "n" in told

    def even(day: dt.date) -> str:
        return str(day)

    told, failed = answers(even, {"day": "soon"})
    assert failed
    assert "day" in told


def test_an_exception_is_told_to_the_model_and_the_run_goes_on():
    def broken() -> str:
        raise LookupError("no such vendor")

    assert answers(broken, {}) == ("broken failed: LookupError: no such vendor", True)


def test_an_asynchronous_tool_runs_in_the_loop_and_another_in_a_thread():
    async def here() -> str:
        return threading.current_thread().name

    def there() -> str:
        return threading.current_thread().name

    assert answers(here, {})[0] == threading.current_thread().name
    assert answers(there, {})[0] != threading.current_thread().name


def test_the_context_holds_the_call_its_idempotency_key_and_the_runs_dependencies():
    seen = []

    def remember(context: lastcall.ToolContext) -> None:
        """Keep it."""
        seen.append(context)

    answers(remember, {}, deps=["shelf"])
    [context] = seen
    assert context.deps == ["shelf"]
    assert context.idempotency_key.endswith(f":{context.call_id}")


def test_a_name_a_description_and_read_only_can_be_given():
    @lastcall.tool(name="find", description="Finds.", read_only=True)
    def anything(x: int) -> int:
        return x

    assert (anything.definition.name, anything.definition.description, anything.definition.read_only) == (
        "find",
        "Finds.",
        True,
    )
    assert repr(anything) == "<tool find>"


def test_types_that_are_local_to_a_function_are_found():
    class Local(pydantic.BaseModel):
        n: int

    @lastcall.tool
    def take(value: Local) -> int:
        return value.n

    assert answers(take, {"value": {"n": 4}}) == ("4", False)


def no_types(x):
    return x


def many(*x: int):
    return x


def named(**x: int):
    return x


def callable_parameter(x: threading.Lock):
    return x


@pytest.mark.parametrize("function", [no_types, many, named, callable_parameter, lambda: 1])
def test_a_signature_that_no_schema_describes_is_refused_when_the_tool_is_made(function):
    with pytest.raises(lastcall.UsageError, match="tool"):
        lastcall.tool(function)


def test_a_tool_cannot_take_the_name_of_a_finishing_tool():
    with pytest.raises(lastcall.UsageError, match="StructuredOutput"):
        lastcall.tool(name="StructuredOutput")(lambda: 1)


def test_a_tool_that_is_denied_is_not_offered():
    def gone() -> str:
        return ""

    model = scripted_provider(["Done."])
    lastcall.run("x", model=model, tools=[gone], config=lastcall.RunConfig(disallowed_tools=("gone",)))
    assert model.requests[0].get("tools", []) == []


def test_parameters_that_a_service_cannot_name_are_the_functions_own_for_it_and_for_hooks():
    got, asked, answered = [], [], []

    def measure(größe: int) -> int:  # noqa: PLC2401 -- what people write
        got.append(größe)
        return größe

    @lastcall.hook("before_tool")
    def before(question):
        asked.append(dict(question.arguments))

    @lastcall.hook("after_tool")
    def after(question):
        answered.append(dict(question.arguments))

    def reply(body):
        (tool,) = body["tools"]
        (name,) = tool["input_schema"]["properties"]
        assert re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name)
        return {"call": {"name": "measure", "input": {name: 3}}}

    model = ScriptedModel(reply, "Done.", dialect=SCRIPTED.without(Feature.FREE_NAMES))
    result = lastcall.run("x", model=model, tools=[measure], hooks=[before, after])
    assert result.ok
    assert (got, asked, answered) == ([3], [{"größe": 3}], [{"größe": 3}])
