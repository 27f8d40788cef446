"""From a schema to a verdict."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from lastcall.contract import Contract, compile_contract
from lastcall.contract.budgets import PROBLEMS_LISTED, Budget, BudgetExceeded
from lastcall.contract.cel import cel_rule
from lastcall.contract.parse import schema_from_value
from lastcall.contract.seen import Sight
from lastcall.contract.verdicts import Accepted, CannotRead, Rejected, WrongInput
from lastcall.errors import BadSchema
from lastcall.nouns.attachment import Problem
from lastcall.nouns.profile import Profile, Reference
from lastcall.nouns.request import Channel
from lastcall.nouns.result import CheckVerdict, RunWarning
from lastcall.nouns.schema import NotStrict, StrictSchema
from lastcall.nouns.tools import Arguments, Unreadable, UnreadableCause

SCHEMA = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "count": {"type": "integer"}},
    "required": ["title", "count"],
    "additionalProperties": False,
}
ARRAY = {"type": "array", "items": {"type": "integer"}}


def contract(schema: Any = SCHEMA, profile: Profile = Profile.NATIVE, **choices: Any) -> Contract:
    return compile_contract(schema_from_value(schema, profile=profile), profile=profile, **choices)


def judge(text: str, schema: Any = SCHEMA, **choices: Any) -> Any:
    return contract(schema, **choices).judge(Arguments(text))


def compat(text: str, schema: Any = SCHEMA) -> Any:
    return judge(text, schema, profile=Profile.COMPAT)


def gist(verdict: Rejected) -> tuple[list[tuple[str, str, str]], int]:
    return [(p.path, p.keyword, p.message) for p in verdict.problems], verdict.total


# -- judging --------------------------------------------------------------------------------------------------------


def test_what_passes_is_kept_as_the_model_wrote_it_minified():
    assert judge('{ "title": "a", "count": 12345678901234567890 }') == Accepted(
        '{"title":"a","count":12345678901234567890}'
    )


def test_all_problems_are_told_at_once():
    assert gist(judge('{"count":"x","more":1}')) == (
        [
            ("", "required", "must have required property 'title'"),
            ("", "additionalProperties", "must NOT have additional properties"),
            ("/count", "type", "must be integer"),
        ],
        3,
    )


def test_values_are_never_coerced_natively_and_are_in_compat():
    assert gist(judge('{"title":"a","count":"3"}'))[1] == 1
    assert compat('{"title":"a","count":"3"}') == Accepted('{"title":"a","count":3}')
    assert gist(compat('{"title":1,"count":3}')) == ([("/title", "type", "must be string")], 1)


def test_what_cannot_be_read_is_told_with_its_place():
    verdict = judge('{"title": "a\n"}')
    assert isinstance(verdict, CannotRead)
    assert (verdict.fault.cause, verdict.fault.line, verdict.fault.column) == (UnreadableCause.RAW_CONTROL, 1, 13)
    fault = Unreadable("{", UnreadableCause.TRUNCATED, "ends", 1, 2, 1, 1)
    assert contract().judge(fault) == CannotRead(fault)
    assert contract().judge_text('{"title":"a","count":1}') == Accepted('{"title":"a","count":1}')


def test_arguments_nest_at_most_512_levels():
    deep = "[" * 513 + "]" * 513
    verdict = judge(deep, {"type": "array"})
    assert isinstance(verdict, CannotRead)
    assert verdict.fault.cause is UnreadableCause.TOO_DEEP


def test_a_repeated_key_and_half_a_character_are_problems_natively():
    assert gist(judge('{"title":"a","title":"b","count":1,"count":2}')) == (
        [
            ("/title", "duplicate_key", "the key occurs more than once in its object"),
            ("/count", "duplicate_key", "the key occurs more than once in its object"),
        ],
        2,
    )
    assert gist(judge('{"title":"\\ud800","count":1}')) == (
        [("/title", "unicode", "holds half of a surrogate pair, which is no character")],
        1,
    )


def test_slips_are_listed_up_to_a_bound_and_all_counted():
    many = PROBLEMS_LISTED + 7
    text = "{" + ",".join(f'"k{n}":1,"k{n}":2' for n in range(many)) + "}"
    verdict = judge(text, {"type": "object"})
    assert (len(verdict.problems), verdict.total) == (PROBLEMS_LISTED, many)


def test_an_input_that_is_no_object_is_refused():
    assert gist(judge("[]")) == ([("", "type", "must be object")], 1)
    assert compat("[]") == WrongInput(
        "StructuredOutput failed due to the following issue:\n"
        "The parameter `` type is expected as `object` but provided as `array`"
    )


def test_a_root_that_is_no_object_is_wrapped_on_the_wire_and_unwrapped_in_the_verdict():
    made = contract(ARRAY)
    assert made.wrapped
    assert made.wire_schema["properties"]["value"] == ARRAY
    assert made.judge(Arguments('{"value":[1,2]}')) == Accepted("[1,2]")
    assert gist(made.judge(Arguments('{"value":["x"]}'))) == ([("/value/0", "type", "must be integer")], 1)
    assert gist(made.judge(Arguments("{}"))) == ([("", "required", "must have required property 'value'")], 1)
    assert gist(made.judge(Arguments('{"value":[],"more":1}'))) == (
        [("", "additionalProperties", "must NOT have additional properties")],
        1,
    )


def test_suspicious_values_are_reported_or_refused_if_so_wished():
    text = '{"value":["[1]"]}'
    schema = {"type": "array"}
    assert judge(text, schema) == Accepted(
        '["[1]"]', (RunWarning("json_in_string", "the string is itself JSON", "/0"),)
    )
    assert gist(judge(text, schema, strict_values=True)) == (
        [("/value/0", "json_in_string", "the string is itself JSON")],
        1,
    )


class Sum:
    """A rule that spoils what it is given."""

    name = "sum"

    def problems(self, value: Any) -> tuple[Problem, ...]:
        wrong = value["count"] != 2
        value.clear()
        return (Problem("/count", "rule", "must be 2"),) if wrong else ()


def test_rules_are_asked_of_what_fits_and_cannot_change_it():
    passed, failed = CheckVerdict("sum", passed=True), CheckVerdict("sum", passed=False, message="must be 2")
    good, bad = (judge(f'{{"title":"a","count":{n}}}', rules=[Sum(), Sum()]) for n in (2, 3))
    assert good == Accepted('{"title":"a","count":2}', checks=(passed, passed))
    assert bad == replace(bad, checks=(failed, failed))
    assert gist(judge('{"title":"a","count":3}', rules=[Sum(), Sum()])) == ([("/count", "rule", "must be 2")] * 2, 2)
    assert gist(judge('{"title":"a"}', rules=[Sum()])) == ([("", "required", "must have required property 'count'")], 1)


def test_a_check_that_takes_too_much_is_no_acceptance(monkeypatch):
    made = contract()

    class Tired:
        def problems(self, value: Any) -> Any:
            raise BudgetExceeded(Budget.STEPS, "too much work")

    made._validator = Tired()
    assert gist(made.judge(Arguments("{}"))) == ([("", "budget", "too much work")], 1)
    assert made._fits({}) is False


def test_problems_can_be_asked_of_a_value():
    assert contract().problems_of({"title": "a", "count": 1}) is None
    assert gist(contract().problems_of({"title": "a"})) == (
        [("", "required", "must have required property 'count'")],
        1,
    )


# -- loading --------------------------------------------------------------------------------------------------------


def test_an_object_is_handed_out_fresh_and_exact():
    made = contract({"type": "object"})
    first = made.load('{"a":0.1}')
    assert first == {"a": Decimal("0.1")}
    assert made.load('{"a":0.1}') is not first
    assert contract({"type": "object"}, Profile.COMPAT).load('{"a":0.1}') == {"a": 0.1}


def test_a_loader_makes_the_callers_type():
    assert contract({"type": "object"}, loader=sorted).load('{"b":1,"a":2}') == ["a", "b"]
    assert contract({"type": "object"}).load("{") is None


def test_only_compat_shows_coerced_arguments():
    assert contract().as_seen('{"count":"3"}') is None
    made = contract(profile=Profile.COMPAT)
    assert made.as_seen('{"count":"3"}') == '{"count":3}'
    assert (made.as_seen("[]"), made.as_seen("{")) == (None, None)


# -- what the model is shown ------------------------------------------------------------------------------------------


def test_the_finishing_tools_carry_the_wire_schema_and_its_strict_form():
    finish, decline = contract().finishing_tools(declines=True, strict_rules="openai")
    assert (finish.name, finish.input_schema, finish.strict_schema) == ("StructuredOutput", SCHEMA, SCHEMA)
    assert decline.name == "DeclineOutput"
    (only,) = contract().finishing_tools(declines=False)
    assert only.strict_schema is None


def test_the_strict_form_is_made_once_or_there_is_a_reason_for_none():
    made = contract()
    assert isinstance(made.strict("openai"), StrictSchema)
    assert made.strict("openai") is made.strict("openai")
    loose = contract({"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "string"}})
    assert isinstance(loose.strict("openai"), NotStrict)
    assert loose.finishing_tools(declines=False, strict_rules="openai")[0].strict_schema is None


def test_the_schema_goes_on_the_wire_as_it_is_in_compat_and_with_an_object_root_natively():
    made = contract({"type": "object"}, Profile.COMPAT)
    assert made.wire_output is made.schema
    wrapped = contract(ARRAY).wire_output
    assert wrapped.value["type"] == "object"
    assert wrapped.text.startswith("{")


def test_a_contract_tells_what_it_is():
    made = contract()
    assert (made.dialect, made.warnings, made.has_checks) == ("2020-12", (), False)
    assert made.digest == made.schema.digest
    assert contract(checks=(object(),)).has_checks


def test_the_system_prompt_names_the_finishing_tool_or_shows_the_schema():
    assert contract(profile=Profile.COMPAT).system_addition(Channel.TOOL) == ""
    assert "StructuredOutput" in contract().system_addition(Channel.TOOL)
    words = contract().system_addition(Channel.NATIVE)
    assert words.endswith(contract().schema.text)
    assert "StructuredOutput" not in words


def test_a_schema_that_is_none_is_refused():
    with pytest.raises(BadSchema):
        contract({"type": "objekt"})


def test_formats_are_asserted_natively_unless_told_otherwise():
    schema = {"type": "object", "properties": {"at": {"type": "string", "format": "date"}}}
    assert gist(judge('{"at":"soon"}', schema))[1] == 1
    assert judge('{"at":"soon"}', schema, assert_formats=False) == Accepted('{"at":"soon"}')
    assert compat('{"at":"soon"}', schema) == Accepted('{"at":"soon"}')


# -- what is beside the schema ------------------------------------------------------------------------------------------


def marked(annotation: Any, schema_type: str = "object") -> Any:
    inner = {"type": "string", "maxLength": 9, "x-lastcall": annotation}
    value = (
        {"type": "array", "items": inner} if schema_type == "array" else {"type": "object", "properties": {"v": inner}}
    )
    return compile_contract(schema_from_value(value, profile=Profile.NATIVE))


def test_a_quote_is_looked_for_in_what_the_run_has_seen():
    contract = marked({"quote": "input"})
    assert (contract.needs_sight, contract.has_secrets) == (True, False)
    assert isinstance(contract.judge(Arguments('{"v":"disk"}'), Sight("the disk")), Accepted)
    rejected = contract.judge(Arguments('{"v":"tape"}'), Sight("the disk"))
    assert isinstance(rejected, Rejected)
    assert [(p.path, p.keyword) for p in rejected.problems] == [("/v", "quote")]
    assert [c.passed for c in rejected.checks] == [False]


def test_secrets_are_hidden_with_and_without_the_wrapper():
    contract = marked({"secret": True}, "array")
    problem = Problem("/value/0", "maxLength", "must be shorter, not hunter2", {"got": "12"})
    assert contract.concealed('{"value":["hunter2"]}', (problem,)) == (
        Problem("/value/0", "maxLength", "must be shorter, not [secret]"),
    )
    assert contract.concealed("{", (problem,)) == (problem,)
    assert contract.masked('{"value":["hunter2"]}', wrapped=True) == '{"value":["[secret]"]}'
    assert contract.masked('["hunter2"]') == '["[secret]"]'
    assert contract.masked("[") == ""
    plain = compile_contract(schema_from_value({"type": "object"}, profile=Profile.NATIVE))
    assert (plain.has_secrets, plain.masked("x"), plain.concealed("x", (problem,))) == (False, "x", (problem,))


def test_the_model_is_told_of_rules_beforehand():
    rules = [cel_rule("a > 1"), cel_rule("b > 1 // b is large"), Sum()]
    contract = compile_contract(schema_from_value({"type": "object"}, profile=Profile.NATIVE), rules=rules)
    description = contract.finishing_tools(declines=False)[0].description
    assert description.endswith("The result also has to satisfy: a > 1; b is large.")


def test_what_is_beside_the_schema_has_names_in_order():
    contract = compile_contract(
        schema_from_value({"type": "object"}, profile=Profile.NATIVE), rules=[Sum()], checks=[Sum()]
    )
    assert contract.beside == ("sum", "sum")


# -- names that a service takes, the revision, the reference's later words ----------------------------------------------

ODD = {"type": "object", "properties": {"a b": {"type": "integer"}}, "required": ["a b"], "additionalProperties": False}


def test_a_contract_of_plain_names_judges_in_the_callers():
    plain = contract(ODD).with_plain_names()
    (name,) = plain.wire_schema["properties"]
    assert name.startswith("a_b.")
    sent = plain.in_callers_names(Arguments(f'{{"{name}":"x"}}', ("/y",)))
    assert sent == Arguments('{"a b":"x"}', ("/y",))
    verdict = plain.judge(sent)
    assert isinstance(verdict, Rejected)
    assert [p.path for p in verdict.problems] == ["/a b"]
    assert [p.path for p in plain.told(verdict.problems)] == [f"/{name}"]
    assert plain.in_wire_names('{"a b":1}') == f'{{"{name}":1}}'
    assert plain.in_callers_view({name: 1}) == {"a b": 1}
    unreadable = Unreadable("{", UnreadableCause.TRUNCATED, "it ends", 1, 2, 1, 1)
    assert plain.in_callers_names(unreadable) is unreadable
    assert plain.with_plain_names() is plain
    assert contract(ODD).finishing_tools(declines=False)[0].input_schema == ODD


def test_a_contract_whose_names_are_plain_or_the_references_stays_as_it_is():
    for same in (contract(), contract(ODD, Profile.COMPAT)):
        assert same.with_plain_names() is same
        assert same.in_callers_names(Arguments("{}")) == Arguments("{}")
        assert (same.in_wire_names("{}"), same.in_callers_view({"x": 1}), same.told(())) == ("{}", {"x": 1}, ())


def test_a_kept_draft_brings_the_tool_that_revises_it():
    names = [tool.name for tool in contract().finishing_tools(declines=True, revises=True)]
    assert names == ["StructuredOutput", "DeclineOutput", "RevisedOutput"]


def test_the_later_reference_has_words_of_its_own():
    schema = {"type": "object", "properties": {"level": {"enum": ["low", "high"]}}}
    later = contract(schema, Profile.COMPAT, reference=Reference.LATER)
    verdicts = later.judge(Arguments('{"level":"mid"}')), compat('{"level":"mid"}', schema)
    told = [verdict.problems[0].message for verdict in verdicts if isinstance(verdict, Rejected)]
    words = "must be equal to one of the allowed values"
    assert told == [f'{words}: ["low","high"]', words]


def test_the_finishing_tools_of_a_form_are_made_once():
    made = contract()
    assert made.finishing_tools(declines=True) is made.finishing_tools(declines=True)
    assert len(made.finishing_tools(declines=False)) == 1
    strict = made.finishing_tools(declines=True, strict_rules="openai")
    assert [tool.strict_schema is None for tool in (strict[0], made.finishing_tools(declines=True)[0])] == [False, True]
