"""What the model may write, as a grammar. That the engine takes these grammars is tested with the engine (tests/live)."""

from __future__ import annotations

import json

from lastcall.nouns.request import Choice
from lastcall.nouns.schema import OutputSchema
from lastcall.nouns.tools import define
from lastcall.providers.local_grammar import call_prefix, call_text, offer
from local_tools import FINISHING, READ, asks


def test_a_call_is_one_line_of_json_whatever_the_name_holds() -> None:
    name = 'mcp__a"b\\c__ü'
    assert json.loads(call_text(name, '{"x": 1}')) == {"tool": name, "input": {"x": 1}}
    assert call_text(name, "{}").startswith(call_prefix(name))


def test_without_tools_everything_is_allowed() -> None:
    offered = offer(asks(tools=()))
    assert (offered.text, offered.tools, offered.grammar) == (True, (), "")


def test_every_tool_on_offer_is_one_alternative() -> None:
    offered = offer(asks(tools=(READ, *FINISHING)))
    assert offered.tools == ("Read", "StructuredOutput", "DeclineOutput")
    assert offered.grammar.startswith("%llguidance {}\nstart: shape0 | shape1 | shape2\n")
    assert not offered.text


def test_where_no_tool_ends_the_run_text_is_an_alternative() -> None:
    offered = offer(asks(tools=(READ,)))
    assert offered.text
    assert r"shape1: /[^{](?s:.*)/" in offered.grammar


def test_a_forced_choice_leaves_the_finishing_tools_only() -> None:
    offered = offer(asks(tools=(READ, *FINISHING), choice=Choice.FINISH))
    assert offered.tools == ("StructuredOutput", "DeclineOutput")
    assert "Read" not in offered.grammar
    assert not offered.text


def test_what_the_engine_would_drop_a_grammar_for_is_not_in_it() -> None:
    tool = define(
        "T",
        "",
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "(?=x)y"}}, "not": {"required": ["b"]}},
    )
    grammar = offer(asks(tools=(tool,))).grammar
    assert "(?=x)" not in grammar
    assert '"not"' not in grammar
    assert '"lenient":true' in grammar


def test_the_loose_form_knows_only_that_an_input_is_an_object() -> None:
    strict, loose = (offer(asks(), loose=how) for how in (False, True))
    assert "INC-" in strict.grammar
    assert "INC-" not in loose.grammar
    assert loose.tools == strict.tools
    assert loose.loose


def test_a_schema_that_is_too_deep_for_the_engine_becomes_any_object() -> None:
    deep: dict[str, object] = {"type": "string"}
    for _ in range(300):
        deep = {"type": "object", "properties": {"a": deep}}
    grammar = offer(asks(tools=(define("T", "", deep, finishing=True),))).grammar
    assert "properties" not in grammar
    assert '"type":"object"' in grammar


def test_a_foreign_tools_schema_that_is_none_becomes_any_object() -> None:
    huge = {"type": "object", "enum": [[0] * 200_000]}
    assert '"enum"' not in offer(asks(tools=(define("T", "", huge, finishing=True),))).grammar


def test_the_native_format_is_the_whole_reply() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    request = asks(tools=(), native_format=OutputSchema(json.dumps(schema), "0", schema))
    assert offer(request).native
    assert offer(request).grammar.startswith('%llguidance {}\nstart: %json {"x-guidance"')
    assert '"n"' not in offer(request, loose=True).grammar
