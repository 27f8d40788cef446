"""The request is computed from the state, all of it."""

from __future__ import annotations

from lastcall.core.policy import compat, native
from lastcall.core.request import build_request, system_prompt
from lastcall.core.state import RunState, Setting, Summing
from lastcall.nouns.messages import TextBlock, UserMessage
from lastcall.nouns.request import Channel, Choice, ModelRequest, Purpose
from lastcall.nouns.schema import OutputSchema
from machine_tools import BASH, COMPAT_CONTRACT, CONTRACT, READ, contract_of

HISTORY = (UserMessage((TextBlock("go"),)),)


def state(setting: Setting, **more: object) -> RunState:
    return RunState(setting=setting, messages=HISTORY, asked=3, **more)


def test_the_callers_tools_come_first_and_then_the_finishing_ones():
    setting = Setting(native(), CONTRACT, (READ, BASH), "Be brief.")
    request = build_request(state(setting, choice=Choice.FINISH))
    assert request == ModelRequest(
        number=3,
        system="Be brief.\n\n" + CONTRACT.system_addition(Channel.TOOL),
        messages=HISTORY,
        tools=(READ, BASH, *CONTRACT.finishing_tools(declines=True)),
        choice=Choice.FINISH,
    )


def test_compat_offers_no_decline_and_adds_no_words():
    request = build_request(state(Setting(compat(), COMPAT_CONTRACT, (READ,), "Be brief.")))
    assert ([t.name for t in request.tools], request.system) == (["Read", "StructuredOutput"], "Be brief.")


def test_a_reserved_request_offers_the_finishing_tools_alone():
    request = build_request(state(Setting(native(), CONTRACT, (READ,)), reserved=True))
    assert request.tools == CONTRACT.finishing_tools(declines=True)
    assert request.reserved


def test_the_strict_form_goes_along_where_the_deployment_has_rules_for_it():
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    request = build_request(state(Setting(native(), contract_of(schema), strict_rules="openai")))
    assert request.tools[0].strict_schema == schema


def test_without_a_contract_there_are_the_callers_tools_and_a_free_choice():
    request = build_request(state(Setting(native(), None, (READ,)), choice=Choice.FINISH))
    assert request == ModelRequest(3, "", HISTORY, (READ,))


def test_in_the_json_format_the_schema_goes_along_and_no_finishing_tool():
    contract = contract_of({"type": "array", "items": {"type": "string"}})
    setting = Setting(native(), contract, channel=Channel.NATIVE)
    request = build_request(state(setting, choice=Choice.FINISH, reserved=True))
    assert (request.tools, request.choice) == ((), Choice.AUTO)
    assert isinstance(request.native_format, OutputSchema)
    assert request.native_format.value["required"] == ["value"]
    assert request.system == contract.system_addition(Channel.NATIVE)


def test_the_system_prompt_is_what_there_is_of_it():
    assert system_prompt("", None, Channel.TOOL) == ""
    assert system_prompt("a", None, Channel.TOOL) == "a"
    assert system_prompt("", CONTRACT, Channel.TOOL) == CONTRACT.system_addition(Channel.TOOL)


def test_a_summary_that_is_waited_for_is_the_request():
    request = build_request(state(Setting(native(), CONTRACT, (READ,)), summing=Summing(500)))
    assert (request.purpose, request.tools, request.number) == (Purpose.SUMMARY, (), 3)
