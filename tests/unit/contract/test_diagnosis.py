"""What a rejected value's place holds, and what slip it looks like; no verdict is changed by it."""

from decimal import Decimal

import pytest

from lastcall.contract import compile_contract, wording
from lastcall.contract.diagnosis import diagnosed
from lastcall.contract.parse import schema_from_value
from lastcall.contract.verdicts import Accepted, Rejected
from lastcall.nouns.attachment import Problem
from lastcall.nouns.profile import Profile
from lastcall.nouns.tools import Arguments

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 2},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 2},
        "n": {"type": "integer", "minimum": 3},
        "note": {"type": "string"},
        "level": {"enum": ["low", "high"]},
        "box": {"type": "object", "maxProperties": 1},
    },
    "required": ["n"],
    "additionalProperties": False,
}


def told(text, schema=SCHEMA):
    verdict = compile_contract(schema_from_value(schema)).judge(Arguments(text))
    assert isinstance(verdict, Rejected)
    return wording.rejection(verdict, Profile.NATIVE)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"n":3,"name":"a😀b"}', "/name: must NOT have more than 2 characters (got 3)"),
        ('{"n":3,"tags":["a"]}', "/tags: must NOT have fewer than 2 items (got 1)"),
        ('{"n":3,"box":{"a":1,"b":2}}', "/box: must NOT have more than 1 properties (got 2)"),
        ('{"n":-1}', "/n: must be >= 3 (got -1)"),
        ('{"n":1.5}', "/n: must be integer (got number)"),
        ('{"n":true}', "/n: must be integer (got boolean)"),
        (
            '{"n":"4"}',
            "(got string); the string holds the JSON text of an integer; send the integer itself, not in quotes",
        ),
        ('{"n":3,"tags":"[\\"a\\",\\"b\\"]"}', "(got string); the string holds the JSON text of an array"),
        ('{"n":3,"tags":{"item":["a","b"]}}', '(got object); send the array itself, without the key "item" around it'),
        ('{"n":3,"note":null}', "/note: must be string (got null); leave the property out"),
        ('{"n":3,"level":"High"}', '"low", "high"; "high" is spelt just so'),
        ('{"output":{"n":4}}', 'wrapped in the one key "output"; send what is in it as the whole input'),
        (
            '{"note":"x</note><parameter name=\\"n\\">4"}',
            "/note contains what looks like this property written as markup",
        ),
        ('{"note":"so far <n>4</n>"}', "/note contains what looks like this property written as markup"),
    ],
)
def test_the_sentence_says_what_was_found_and_how_to_mend_it(text, words):
    assert words in told(text)


def test_values_are_never_echoed_at_length():
    assert "7" * 50 not in told('{"n":-%s}' % ("7" * 100))
    assert "an integer of many digits" in told('{"n":-%s}' % ("7" * 1000))
    assert "z" * 100 not in told('{"n":3,"name":"%s"}' % ("z" * 500))
    assert "…" in diagnosed((Problem("", "minimum", "m"),), Decimal("-0." + "1" * 60), lambda _: False)[0].params["got"]


def test_a_place_that_is_not_there_is_left_alone():
    problems = (
        Problem("/a/0/b", "type", "m", {"type": "string"}),
        Problem("/x/1", "type", "m"),
        Problem("", "type", "m"),
    )
    assert diagnosed(problems, {"a": [1]}, lambda _: False)[:2] == problems[:2]


@pytest.mark.parametrize(
    ("problem", "value"),
    [
        (Problem("", "minLength", "m"), 3),
        (Problem("", "minItems", "m"), "x"),
        (Problem("", "minimum", "m"), "x"),
        (Problem("", "enum", "m", {"allowedValues": 3}), "x"),
        (Problem("", "enum", "m", {"allowedValues": ["X" * 101]}), "x" * 101),
        (Problem("", "enum", "m", {"allowedValues": ["b"]}), "a"),
        (Problem("", "enum", "m"), 4),
        (Problem("", "required", "m"), [1]),
        (Problem("", "required", "m", {"missingProperty": "p" * 201}), {"a": "b"}),
        (Problem("", "required", "m", {"missingProperty": "p"}), {"a": 1, "b": "no markup"}),
        (Problem("", "rule", "m"), {"a": 1}),
    ],
)
def test_what_cannot_be_told_is_not_told(problem, value):
    assert diagnosed((problem,), value, lambda _: False) == (problem,)


def test_a_string_that_is_no_json_or_another_kind_gets_no_hint():
    for value in ("abc", "true"):
        (found,) = diagnosed((Problem("", "type", "m", {"type": ["array", "object"]}),), value, lambda _: False)
        assert found.params["got"] == "string"
        assert "hint" not in found.params
    (found,) = diagnosed((Problem("", "type", "m", {"type": "array"}),), {"a": 1}, lambda _: False)
    assert "hint" not in found.params
    (found,) = diagnosed((Problem("", "type", "m", {"type": "string"}),), {"a": [1], "b": 2}, lambda _: False)
    assert found.params["got"] == "object"
    (found,) = diagnosed((Problem("", "type", "m", {"type": "number"}),), "4", lambda _: False)
    assert "integer itself" in found.params["hint"]
    (found,) = diagnosed((Problem("", "type", "m", {"type": "string"}),), [1], lambda _: False)
    assert found.params["got"] == "array"


def test_asking_about_a_wrapper_never_fails_the_judgement():
    recursive = {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}, "required": ["y"]}},
    }
    contract = compile_contract(schema_from_value(recursive))
    deep = '{"x":' * 150 + '{"y":1}' + "}" * 150
    assert isinstance(contract.judge(Arguments(deep)), Rejected)
    assert isinstance(contract.judge(Arguments('{"y":1}')), Accepted)
