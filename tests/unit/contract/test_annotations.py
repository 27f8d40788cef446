"""Quotes, evidence and secrets that a schema asks for."""

from __future__ import annotations

import json

import pytest

from lastcall.contract import compile_contract
from lastcall.contract.parse import schema_from_value
from lastcall.contract.seen import Sight, ToolSeen
from lastcall.contract.verdicts import Accepted, Rejected
from lastcall.errors import BadSchema
from lastcall.nouns.profile import Profile
from lastcall.nouns.tools import Arguments

QUOTE = {"type": "string", "x-lastcall": {"quote": "tools"}}
READ = ToolSeen("Read", '{"file_path":"app.log"}', "     1→ERROR disk full\n     2→at 02:10", ok=True)
RAN = ToolSeen("Bash", '{"command":"pytest -q"}', "3 passed", ok=True)
FAILED = ToolSeen("Bash", '{"command":"pytest -q"}', "1 failed", ok=False)
LISTED = ToolSeen("bash", '{"command":"ls"}', "a.py", ok=True)
EDIT = ToolSeen("Edit", '{"file_path":"src/a.py"}', "done", ok=True)


def contract_of(schema, profile=Profile.NATIVE):
    return compile_contract(schema_from_value(schema, profile=profile), profile=profile)


def problems(schema, value, *seen, prompt="go"):
    verdict = contract_of(schema).judge(Arguments(json.dumps(value)), Sight(prompt, seen))
    return [(p.path, p.keyword) for p in verdict.problems] if isinstance(verdict, Rejected) else []


def of(annotation, kind="string", **more):
    return {"properties": {"v": {"type": kind, "x-lastcall": annotation, **more}}}


# -- quotes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value", ["ERROR disk full", "disk", "ERROR disk full\nat 02:10", "ERROR disk full\r\nat 02:10"]
)
def test_a_quote_stands_word_for_word_in_what_a_tool_answered(value):
    assert problems(of({"quote": "tools"}), {"v": value}, READ) == []


@pytest.mark.parametrize("value", ["ERROR  disk full", "error disk full", "disk was full", "", "  "])
def test_what_stands_nowhere_is_no_quote(value):
    assert problems(of({"quote": "tools"}), {"v": value}, READ) == [("/v", "quote")]


def test_each_source_counts_only_where_it_is_named():
    schema = of({"quote": "input"})
    assert problems(schema, {"v": "the disk"}, READ, prompt="why is the disk full?") == []
    assert problems(schema, {"v": "ERROR disk full"}, READ, prompt="why?") == [("/v", "quote")]
    assert problems(of({"quote": "tools"}), {"v": "why"}, READ, prompt="why?") == [("/v", "quote")]
    both = of({"quote": ["input", "tools"]})
    assert problems(both, {"v": "why"}, READ, prompt="why?") == problems(both, {"v": "disk"}, READ) == []


def test_other_values_need_no_quote():
    schema = {"properties": {"v": {"x-lastcall": {"quote": "tools"}}}}
    assert problems(schema, {"v": None}) == problems(schema, {"v": 3}) == problems(schema, {}) == []


def test_quotes_are_looked_for_wherever_the_schema_leads():
    item = {
        "type": "object",
        "properties": {"q": {"$ref": "#/$defs/quote"}, "more": {"type": "array", "items": {"$ref": "#/$defs/item"}}},
    }
    schema = {
        "$defs": {"quote": {"allOf": [QUOTE]}, "item": item},
        "properties": {"a": {"$ref": "#/$defs/item"}},
        "additionalProperties": QUOTE,
    }
    value = {"a": {"q": "x", "more": [{"q": "disk"}, {"q": "y"}]}, "b/c": "z"}
    assert sorted(problems(schema, value, READ)) == [("/a/more/1/q", "quote"), ("/a/q", "quote"), ("/b~1c", "quote")]


def test_tuples_and_the_items_after_them():
    modern = {"properties": {"v": {"prefixItems": [{"type": "string"}], "items": QUOTE}}}
    assert problems(modern, {"v": ["x", "y", "disk"]}, READ) == [("/v/1", "quote")]
    old = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"v": {"items": [QUOTE], "additionalItems": QUOTE}},
    }
    assert problems(old, {"v": ["x", "y"]}, READ) == [("/v/1", "quote"), ("/v/0", "quote")]


def test_of_a_choice_the_branch_counts_that_the_value_fits():
    branches = [
        {"properties": {"kind": {"const": "quoted"}, "text": QUOTE}, "required": ["kind"]},
        {"properties": {"kind": {"const": "free"}, "text": {"type": "string"}}, "required": ["kind"]},
    ]
    for key in ("anyOf", "oneOf"):
        schema = {"properties": {"r": {key: branches}}}
        assert problems(schema, {"r": {"kind": "free", "text": "x"}}) == []
        assert problems(schema, {"r": {"kind": "quoted", "text": "x"}}) == [("/r/text", "quote")]
    condition = {
        "type": "object",
        "if": {"properties": {"kind": {"const": "quoted"}}},
        "then": {"properties": {"text": QUOTE}},
        "else": {"properties": {"other": QUOTE}},
    }
    schema = {"properties": {"r": condition}}
    assert problems(schema, {"r": {"kind": "quoted", "text": "x", "other": "x"}}) == [("/r/text", "quote")]
    assert problems(schema, {"r": {"kind": "free", "text": "x", "other": "x"}}) == [("/r/other", "quote")]


def test_a_member_that_a_pattern_names_is_none_of_the_rest():
    schema = {"patternProperties": {"^n_": {"type": "string"}}, "additionalProperties": QUOTE}
    assert problems(schema, {"n_a": "x", "b": "x"}) == [("/b", "quote")]


def test_a_recursive_schema_comes_to_an_end():
    around = {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}, {"$ref": "#/$defs/b"}]}, "b": {"properties": {"v": QUOTE}}},
    }
    assert problems({"properties": {"r": {"$ref": "#/$defs/a"}}, "$defs": around["$defs"]}, {"r": {"v": "x"}}) == [
        ("/r/v", "quote")
    ]
    nested = {"type": "object", "properties": {"v": QUOTE, "next": {"$ref": "#"}}}
    value = {"v": "x"}
    for _ in range(150):
        value = {"v": "disk", "next": value}
    assert [k for _, k in problems(nested, value, READ)] == ["quote"]


# -- evidence -----------------------------------------------------------------------------------------------------------


def test_true_needs_a_successful_call_of_the_tool():
    schema = of({"evidence": "bash"}, "boolean")
    assert problems(schema, {"v": True}) == problems(schema, {"v": True}, FAILED) == [("/v", "evidence")]
    assert problems(schema, {"v": True}, READ) == [("/v", "evidence")]
    assert problems(schema, {"v": True}, FAILED, LISTED) == problems(schema, {"v": False}) == []


def test_of_the_calls_that_match_the_latest_has_to_have_succeeded():
    schema = of({"evidence": {"tool": "Bash", "matches": "pytest"}}, "boolean")
    assert problems(schema, {"v": True}, LISTED) == problems(schema, {"v": True}, RAN, FAILED) == [("/v", "evidence")]
    assert problems(schema, {"v": True}, FAILED, RAN, LISTED) == []


def test_a_string_needs_a_call_whose_input_holds_it():
    schema = of({"evidence": ["Edit", "Write"]})
    assert problems(schema, {"v": "src/a.py"}, EDIT) == []
    assert problems(schema, {"v": "src/b.py"}, EDIT) == problems(schema, {"v": ""}, EDIT) == [("/v", "evidence")]
    failed = ToolSeen("Write", '{"file_path":"src/b.py"}', "denied", ok=False)
    assert problems(schema, {"v": "src/b.py"}, EDIT, failed) == [("/v", "evidence")]
    escaped = ToolSeen("Write", '{"file_path":"a\\"b"}', "done", ok=True)
    assert problems(schema, {"v": 'a"b'}, escaped) == []


def test_numbers_need_no_evidence():
    assert problems({"properties": {"v": {"x-lastcall": {"evidence": "Bash"}}}}, {"v": 3}) == []


# -- the verdict ----------------------------------------------------------------------------------------------------------


def test_the_verdict_is_among_the_checks_either_way():
    contract = contract_of(of({"quote": "tools"}))
    good = contract.judge(Arguments('{"v":"disk"}'), Sight("", (READ,)))
    assert isinstance(good, Accepted)
    assert [(c.name, c.passed) for c in good.checks] == [("x-lastcall", True)]
    bad = contract.judge(Arguments('{"v":"tape"}'), Sight("", (READ,)))
    assert isinstance(bad, Rejected)
    assert [(c.name, c.passed, bool(c.message)) for c in bad.checks] == [("x-lastcall", False, True)]


def test_without_annotations_nothing_is_asked():
    contract = contract_of({"properties": {"v": {"type": "string"}}})
    assert not contract.needs_sight
    assert not contract.has_secrets
    secret = contract_of(of({"secret": True}))
    assert (secret.needs_sight, secret.has_secrets) == (False, True)
    assert secret.judge(Arguments('{"v":"x"}')) == Accepted('{"v":"x"}')


@pytest.mark.parametrize(
    "annotation",
    [1, {"qoute": "input"}, {"quote": "prompt"}, {"quote": 1}, {"evidence": 1}, {"evidence": []}, {"evidence": [""]},
     {"evidence": {"tool": "Bash", "matches": 1}}, {"evidence": {"name": "Bash"}}, {"secret": "yes"}],
)  # fmt: skip
def test_an_annotation_that_means_nothing_is_refused(annotation):
    with pytest.raises(BadSchema) as caught:
        contract_of(of(annotation))
    assert caught.value.where == "/properties/v/x-lastcall"


@pytest.mark.parametrize(
    "schema",
    [
        {"patternProperties": {"a": QUOTE}}, {"properties": {"v": {"contains": QUOTE}}}, {"not": QUOTE}, {"if": QUOTE, "then": {}},
        {"$defs": {"unused": QUOTE}}, {"unevaluatedProperties": QUOTE}, {"dependentSchemas": {"a": QUOTE}},
    ],
)  # fmt: skip
def test_an_annotation_that_could_not_be_applied_is_refused_not_passed_over(schema):
    with pytest.raises(BadSchema, match="cannot be applied"):
        contract_of(schema)


# -- secrets --------------------------------------------------------------------------------------------------------------

LOGIN = {
    "properties": {
        "user": {"type": "string"},
        "token": {"type": "string", "maxLength": 3, "x-lastcall": {"secret": True}},
    },
    "additionalProperties": False,
}


def test_a_secret_value_is_in_no_problem_and_in_no_draft():
    contract = contract_of({**LOGIN, "properties": {**LOGIN["properties"], "n": {"type": "integer"}}})
    text = '{"user":"u","token":"hunter2-hunter2","n":"3"}'
    verdict = contract.judge(Arguments(text))
    assert isinstance(verdict, Rejected)
    shown = contract.concealed(text, verdict.problems)
    assert {p.path: "got" in p.params for p in shown} == {"/token": False, "/n": True}
    assert contract.masked(text) == '{"user":"u","token":"[secret]","n":"3"}'
    assert contract.masked("{") == ""
    assert contract.concealed("{", verdict.problems) == verdict.problems


def test_a_secret_is_hidden_also_in_a_wrapped_root_and_in_any_branch():
    contract = contract_of(
        {
            "type": "array",
            "items": {"anyOf": [{"type": "string", "maxLength": 3, "x-lastcall": {"secret": True}}, {"type": "null"}]},
        }
    )
    text = '{"value":["hunter2"]}'
    assert contract.wrapped
    verdict = contract.judge(Arguments(text))
    assert isinstance(verdict, Rejected)
    assert "hunter2" not in repr(contract.concealed(text, verdict.problems))
    assert contract.masked(text, wrapped=True) == '{"value":["[secret]"]}'
    assert contract.masked('["hunter2"]') == '["[secret]"]'
    plain = contract_of({"properties": {"a": {"type": "string"}}})
    assert plain.masked("anything") == "anything"
    assert plain.concealed("anything", ()) == ()


def test_compat_knows_no_annotations():
    contract = contract_of({"type": "object", "properties": {}}, Profile.COMPAT)
    assert not contract.needs_sight
