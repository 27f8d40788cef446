from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from lastcall.viewer.schema_tree import MOST_NODES, contract_facts


def rows(schema):
    return [(n.depth, n.role, n.name, n.type, n.required) for n in contract_facts(json.dumps(schema)).nodes]


def keywords(schema, path):
    [node] = [n for n in contract_facts(json.dumps(schema)).nodes if n.path == path]
    return {k.word: k for k in node.keywords}


SCHEMA = {
    "title": "T",
    "type": "object",
    "required": ["a/b"],
    "properties": {
        "a/b": {"type": ["string", "null"], "minLength": 2, "x-note": 1},
        "list": {"type": "array", "items": {"oneOf": [{"type": "null"}, {"$ref": "#/$defs/n"}]}},
    },
    "additionalProperties": {"type": "integer"},
    "$defs": {"n": {"type": "number", "multipleOf": 0.01, "description": "money"}},
}


def test_every_place_is_a_row_in_the_order_of_the_text():
    assert rows(SCHEMA) == [
        (0, "root", "", "object", False),
        (1, "property", "a/b", "string or null", True),
        (1, "property", "list", "array", False),
        (2, "each item", "", "", False),
        (3, "exactly one of", "1", "null", False),
        (3, "exactly one of", "2", "", False),
        (1, "other keys", "", "integer", False),
        (1, "definition", "n", "number", False),
    ]


def test_a_keyword_says_what_enforces_it():
    found = keywords(SCHEMA, "/properties/a~1b")
    assert (found["minLength"].value, found["minLength"].checked, found["minLength"].decoders) == (
        "2",
        True,
        ("embedded",),
    )
    assert (found["x-note"].checked, found["x-note"].decoders, found["x-note"].note) == (False, (), "unknown keyword")
    assert keywords(SCHEMA, "/$defs/n")["multipleOf"].value == "0.01"
    assert set(keywords(SCHEMA, "/$defs/n")) == {"type", "multipleOf"}


def test_kinds_of_decoders_without_a_strict_form_are_named():
    assert any(words.startswith("OpenAI: ") for words in contract_facts(json.dumps(SCHEMA)).without)


def test_a_root_that_is_no_object_is_said_to_be_wrapped():
    assert contract_facts('{"type": "array", "items": {"type": "integer"}}').wrapped
    assert not contract_facts('{"type": "object"}').wrapped


def test_a_schema_that_is_none_is_told_and_raises_nothing():
    assert "JSON" in contract_facts("{").fault
    assert contract_facts('{"type": "nonsense"}').fault
    assert contract_facts("{}", profile="no such").fault
    assert contract_facts("[]", rules=("a",)).rules == ("a",)


def test_a_huge_schema_is_cut():
    huge = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(MOST_NODES + 50)}}
    assert len(contract_facts(json.dumps(huge)).nodes) == MOST_NODES


words = st.sampled_from(["properties", "items", "allOf", "not", "$defs", "if", "then", "type", "required", "enum", "x"])
schemas = st.recursive(
    st.booleans() | st.dictionaries(words, st.sampled_from(["string", 1, None, ["a"]]), max_size=2),
    lambda inner: st.dictionaries(
        words, inner | st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2), max_size=3
    ),
    max_leaves=8,
)


@settings(max_examples=40)
@given(schemas)
def test_no_schema_raises(schema):
    facts = contract_facts(json.dumps(schema))
    assert facts.fault or facts.nodes[0].path == ""
