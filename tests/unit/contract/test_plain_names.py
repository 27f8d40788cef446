"""Names for services that take plain ones only: reversible, and unknown to whoever gave the schema."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from lastcall.contract import compile_contract, wording
from lastcall.contract.parse import schema_from_value
from lastcall.contract.plain_names import PLAIN, has_odd_names, plain_names, plain_tool
from lastcall.contract.verdicts import Accepted, Rejected
from lastcall.nouns.attachment import Problem
from lastcall.nouns.profile import Profile
from lastcall.nouns.tools import Arguments, Unreadable, UnreadableCause, define

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "Account Number": {"type": "string", "description": "as printed"}, "filter[id]": {"type": "integer"},
        "名前": True, "ok": {"type": "object", "properties": {"a b": {"type": "integer"}}, "required": ["a b"]},
        "again": {"$ref": "#/properties/ok/properties/a%20b"}, "other way": {"$ref": "#/properties/Account%20Number"},
        "no": {"not": {"required": ["a b"]}}, "never here": False,
    },
    "required": ["Account Number", "filter[id]"],
    "additionalProperties": False,
    "dependentRequired": {"名前": ["filter[id]"]},
    "dependentSchemas": {"other way": {"required": ["again"]}},
    "dependencies": {"名前": ["ok"], "ok": {"type": "object"}},
}  # fmt: skip


def names(schema: Any = SCHEMA) -> Any:
    found = plain_names(schema)
    assert found is not None
    return found


def contract(schema: Any = SCHEMA) -> Any:
    return compile_contract(schema_from_value(schema, profile=Profile.NATIVE)).with_plain_names()


def every_name(schema: Any) -> set[str]:
    """The names of properties anywhere, looked for without knowing where schemas are."""
    found: set[str] = set()
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key in ("properties", "dependentSchemas", "dependentRequired", "dependencies"):
                found |= value.keys()
            found |= every_name(value)
            if key == "required" or (isinstance(value, list) and key in schema.get("dependentRequired", {})):
                found |= set(value)
    return found.union(*map(every_name, schema)) if isinstance(schema, list) else found


def test_a_schema_of_plain_names_needs_nothing():
    plain = {"type": "object", "properties": {"a_b-c.d": {"required": ["x"]}, "k" * 64: True}}
    assert plain_names(plain) is None
    assert not has_odd_names(plain)
    for name in ("a b", "k" * 65, "", "é", "$top"):
        assert has_odd_names({"properties": {name: True}})
        assert has_odd_names({"items": {"required": [name]}})


def test_every_name_on_the_wire_is_plain_and_begins_with_its_word():
    schema = names().schema
    assert all(PLAIN.fullmatch(name) for name in every_name(schema))
    first, second, third, *_ = schema["properties"]
    assert re.fullmatch(r"Account_Number\.[0-9a-f]{4}", first)
    assert re.fullmatch(r"filter_id\.[0-9a-f]{4}", second)
    assert re.fullmatch(r"name\.[0-9a-f]{4}", third)
    assert schema["required"] == [first, second]
    assert schema["dependentRequired"] == {third: [second]}
    assert schema["dependencies"][third] == ["ok"]


def test_what_a_name_stands_for_is_told_in_the_description():
    shown = list(names().schema["properties"].values())
    assert shown[0]["description"] == "Account Number: as printed"
    assert shown[1]["description"] == "filter[id]"
    assert shown[2] == {"description": "名前"}
    assert names().schema["properties"]["ok"].keys() == {"type", "properties", "required"}


def test_references_go_where_they_went():
    schema = names().schema
    first, *_, other, _, _ = schema["properties"]
    assert schema["properties"][other] == {"$ref": f"#/properties/{first}"}
    (inner,) = schema["properties"]["ok"]["properties"]
    assert schema["properties"]["again"] == {"$ref": f"#/properties/ok/properties/{inner}"}
    tricky = {"$defs": {"a b": {}}, "properties": {"a b": {"$ref": "#/$defs/a%20b"}, "c": {"$ref": "#x"}}}
    shown = names(tricky).schema["properties"]
    assert [node["$ref"] for node in shown.values()] == ["#/$defs/a%20b", "#x"]


def test_values_in_the_schema_have_the_names_of_the_wire():
    schema = {"properties": {"a b": {"const": {"a b": 1}}, "c": {"enum": [{"a b": 1}, 2], "default": {"z": 1}}}}
    shown = names(schema).schema["properties"]
    (plain,) = [name for name in shown if name != "c"]
    assert shown[plain]["const"] == {plain: 1}
    assert shown["c"] == {"enum": [{plain: 1}, 2], "default": {"z": 1}}
    both = {"properties": {"a b": {"const": {"a b": 1, plain: 2}}}}
    assert names(both).schema["properties"][plain]["const"] == {"a b": 1, plain: 2}


def test_the_schema_given_is_not_changed():
    before = json.dumps(SCHEMA)
    names()
    assert json.dumps(SCHEMA) == before


def test_names_that_would_be_the_same_are_not():
    schema = {"properties": {"a b": True, "a[b": True, "a  b": True, "x" * 70: True, "x" * 71: True}}
    assert len(names(schema).schema["properties"]) == 5
    (first,) = names({"properties": {"a b": True}}).schema["properties"]
    taken = names({"properties": {"a b": True, first: True}}).schema["properties"]
    assert len(taken) == 2
    assert first in taken


def test_a_name_is_the_same_in_every_schema():
    assert set(names({"properties": {"a b": True}}).schema["properties"]) < set(
        names({"properties": {"a b": True, "c d": True, "e": True}}).schema["properties"]
    )


# -- the contract ---------------------------------------------------------------------------------------------------


def sent(value: Any, schema: Any = SCHEMA) -> Any:
    """What the model would send for a value: in the names of the wire."""
    of = contract(schema)
    return of, Arguments(of.in_wire_names(json.dumps(value)))


def test_an_object_comes_out_in_the_callers_names_in_its_order_and_with_its_digits():

    text = '{"名前":1.10,"filter[id]":5,"Account Number":"A-1","ok":{"a b":2}}'
    of = contract()
    arguments = Arguments(of.in_wire_names(text))
    assert "Account Number" not in arguments.text
    assert of.in_callers_names(arguments) == Arguments(text)
    verdict = of.judge(of.in_callers_names(arguments))
    assert isinstance(verdict, Accepted)
    assert verdict.text == text


def test_a_model_that_sends_the_callers_names_is_understood():
    verdict = contract().judge(contract().in_callers_names(Arguments('{"Account Number":"x","filter[id]":1}')))
    assert isinstance(verdict, Accepted)


def test_an_object_with_a_name_in_both_forms_is_not_made_into_one():
    of, arguments = sent({"Account Number": "x", "filter[id]": 1})
    both = arguments.text[:-1] + ',"Account Number":"y"}'
    assert of.in_callers_names(Arguments(both)) == Arguments(both)
    assert isinstance(of.judge(of.in_callers_names(Arguments(both))), Rejected)


def test_what_cannot_be_read_in_one_way_stays_as_it_is():
    of = contract()
    broken = Unreadable("{", UnreadableCause.TRUNCATED, "the text ends", 1, 2, 1, 1)
    assert of.in_callers_names(broken) is broken
    for text in ("{", '{"a":1,"a":2}'):
        assert of.in_callers_names(Arguments(text)) == Arguments(text)


def test_problems_are_told_in_the_names_that_the_model_sees():
    of, arguments = sent({"filter[id]": "q", "名前": 1, "zzz": 1, "ok": {}})
    verdict = of.judge(of.in_callers_names(arguments))
    assert isinstance(verdict, Rejected)
    assert {p.path for p in verdict.problems} >= {"/filter[id]", "/ok"}
    words = wording.rejection(Rejected(of.told(verdict.problems), verdict.total), Profile.NATIVE)
    assert "[id]" not in words
    assert "Account Number" not in words
    assert re.search(r"/filter_id\.[0-9a-f]{4}: must be integer", words)
    assert re.search(r"must have required property 'Account_Number\.[0-9a-f]{4}'", words)
    assert '"zzz" is not allowed' in words


def test_a_problem_keeps_what_is_no_name():
    told = names().told(
        Problem("/x~1y/0", "enum", "must be one of these", {"allowedValues": ["Account Number"], "limit": 3})
    )
    assert told == Problem("/x~1y/0", "enum", "must be one of these", {"allowedValues": ["Account Number"], "limit": 3})
    assert names().told(Problem("", "required", "m", {"missingProperty": "filter[id]", "hint": 7})).params["hint"] == 7


def test_compat_and_plain_contracts_stay_as_they_are():
    odd = {"type": "object", "properties": {"a b": {"type": "integer"}}}
    compat = compile_contract(schema_from_value(odd, profile=Profile.COMPAT), profile=Profile.COMPAT)
    assert compat.with_plain_names() is compat
    plain = compile_contract(schema_from_value({"type": "object"}, profile=Profile.NATIVE))
    assert plain.with_plain_names() is plain
    assert plain.in_wire_names("{}") == "{}"
    assert contract().with_plain_names().wire_schema == contract().wire_schema
    assert contract().digest == compile_contract(schema_from_value(SCHEMA, profile=Profile.NATIVE)).digest


def test_a_wrapped_root_has_plain_names_inside():
    of, arguments = sent(
        {"value": [{"a b": 1}]}, {"type": "array", "items": {"properties": {"a b": {"type": "integer"}}}}
    )
    verdict = of.judge(of.in_callers_names(arguments))
    assert isinstance(verdict, Accepted)
    assert verdict.text == '[{"a b":1}]'


KEYS = st.text(max_size=6) | st.sampled_from(["a b", "a/b", "a~b", "a_b", "filter[id]", "properties", "$ref", "ünï"])
VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=10,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(KEYS, min_size=1, max_size=6, unique=True), VALUES)
def test_any_names_and_any_value_come_back_as_they_were(keys, value):
    keys = [k for k in keys if not re.search("[\ud800-\udfff]", k)] or ["a b"]
    found = plain_names({"type": "object", "properties": dict.fromkeys(keys, True)})
    if found is None:
        return
    assert all(PLAIN.fullmatch(name) for name in found.schema["properties"])
    assert len(found.schema["properties"]) == len(keys)
    text = json.dumps({"w": value}, ensure_ascii=False, separators=(",", ":"))
    if re.search("[\ud800-\udfff]", text):
        return
    there = found.plain_text(text, max_depth=100)
    assert json.loads(found.callers_text(there, max_depth=100)) == json.loads(text)


# -- tools of others ------------------------------------------------------------------------------------------------


def test_a_tool_is_shown_with_plain_names_and_one_that_has_them_stays_the_same():
    tool = define("Look", "d", {"type": "object", "properties": {"a b": {"type": "string"}}}, read_only=True)
    shown = plain_tool(tool)
    (name,) = shown.input_schema["properties"]
    assert PLAIN.fullmatch(name)
    assert (shown.name, shown.description, shown.read_only) == ("Look", "d", True)
    plain = define("Read", "d", {"type": "object", "properties": {"a": {"type": "string"}}})
    assert plain_tool(plain) is plain


def test_arguments_come_back_as_a_value_unless_one_name_stands_in_both_forms():
    found = names({"type": "object", "properties": {"a b": True, "c": True}})
    (plain, _) = found.schema["properties"]
    assert found.callers_value({"c": 1, plain: {plain: [2]}}) == {"c": 1, "a b": {"a b": [2]}}
    assert found.callers_value({plain: 1, "a b": 2}) is None


def test_what_is_written_of_an_object_so_far_is_seen_in_the_callers_names():
    mapped = contract({"type": "object", "properties": {"a b": True}})
    (plain,) = mapped.wire_schema["properties"]
    assert mapped.in_callers_view({plain: [1]}) == {"a b": [1]}
    assert contract({"type": "object"}).in_callers_view({"x y": 1}) == {"x y": 1}


def test_tools_that_were_shown_before_do_not_keep_the_odd_names():
    odd = compile_contract(schema_from_value(SCHEMA, profile=Profile.NATIVE))
    before = odd.finishing_tools(declines=False)[0].input_schema
    assert odd.with_plain_names().finishing_tools(declines=False)[0].input_schema == contract().wire_schema != before
