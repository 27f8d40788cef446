"""What a server's answer becomes."""

from __future__ import annotations

import json
import re

import pytest

from lastcall.tools.permissions import Decision, Permissions, parse_rules
from lastcall.tools.remote import MAX_IMAGE_CHARS, MAX_TEXT_CHARS, RemoteTool, output_of, remote_name, remote_tools


def test_names_hold_only_what_models_take():
    assert remote_name("my server", "a.b/c") == "mcp__my_server__a_b_c"


def test_texts_are_cut_to_the_cap_all_together():
    found = output_of({"content": [{"type": "text", "text": "a" * MAX_TEXT_CHARS}, {"type": "text", "text": "b" * 5}]})
    blocks = json.loads(found.content)
    assert blocks[0]["text"] == "a" * MAX_TEXT_CHARS
    assert blocks[1]["text"] == "\n\n[… 5 characters left out …]"


@pytest.mark.parametrize(
    ("result", "content"),
    [
        ({}, ""),
        ({"content": []}, ""),
        ({"content": "x"}, ""),
        ({"structuredContent": {"a": 1}}, '[{"type": "text", "text": "{\\"a\\": 1}"}]'),
        ({"content": [{"type": "audio"}]}, '[{"type": "text", "text": "[audio: not shown]"}]'),
    ],
)
def test_any_answer_becomes_an_output(result, content):
    assert output_of(result).content == content


def test_a_failure_is_told_in_the_servers_words():
    failed = output_of({"isError": True, "content": [{"type": "text", "text": "no"}]})
    assert (failed.content, failed.failed) == ("no", True)
    assert output_of({"isError": True}).failed


def test_what_a_server_says_of_its_tools_effects_is_not_believed():
    tool = RemoteTool("s", {"name": "t", "annotations": {"readOnlyHint": True}, "inputSchema": 3}, None)
    assert not tool.definition.read_only
    assert tool.definition.input_schema == {"type": "object"}


def test_long_names_are_shortened_and_stay_apart():
    names = [remote_name("server", "t" * 100 + end) for end in ("a", "b")]
    assert [len(name) for name in names] == [64, 64]
    assert names[0] != names[1]
    assert all(name.startswith("mcp__server__ttt") for name in names)


def test_what_a_server_lists_wrongly_costs_that_tool_alone():
    listed = [
        {"name": "a.b"}, {"name": "a.b", "description": "again"}, {"name": ""}, {"name": 3}, {}, {"name": "list", "inputSchema": {"type": "array"}},
        {"name": "odd", "inputSchema": 3}, {"name": "open", "inputSchema": {"properties": {"x": {}}}},
    ]  # fmt: skip
    tools = remote_tools("s", listed, None)
    assert [t.definition.name for t in tools] == ["mcp__s__a_b", "mcp__s__open"]
    assert tools[1].definition.input_schema == {"type": "object", "properties": {"x": {}}}


def named(*names):
    return {tool._name: tool.definition.name for tool in remote_tools("s", [{"name": name} for name in names], None)}


def test_tools_of_one_name_for_the_model_are_told_apart_in_any_order():
    found = named("a.b", "a/b", "a_b", "c d")
    assert (found["a_b"], found["c d"]) == ("mcp__s__a_b", "mcp__s__c_d")
    assert all(re.fullmatch(r"mcp__s__a_b_[0-9a-f]{8}", found[name]) for name in ("a.b", "a/b"))
    assert len(set(found.values())) == 4
    assert named("c d", "a_b", "a/b", "a.b") == found
    assert {**named("a/b", "a.b"), "a_b": found["a_b"], "c d": found["c d"]} == found


def test_whoever_forbids_a_name_forbids_all_that_would_have_it_and_whoever_allows_it_does_not():
    (tool, _) = remote_tools("s", [{"name": "a.b"}, {"name": "a/b"}], None)
    rule = parse_rules(["mcp__s__a_b"], where="")
    denied = Permissions(deny=rule)
    assert denied.denies_tool(tool.definition.name)
    assert denied.decide(tool, {}).decision is Decision.DENY
    assert denied.denies_some(tool.definition.name)
    assert Permissions(allow=rule).decide(tool, {}).decision is Decision.ASK
    assert not denied.denies_tool("mcp__s__a_b_c")


PIXEL = "iVBORw0KGgo="


@pytest.mark.parametrize(
    ("kind", "data", "shown"),
    [
        ("image/png", PIXEL, None),
        ("image/svg+xml", PIXEL, "[image of type image/svg+xml: not shown]"),
        (None, PIXEL, "[image of type None: not shown]"),
        ("image/png", None, "[image of type image/png: not shown]"),
        ("image/png", "no base64!", "[image in broken base64: not shown]"),
        ("image/png", "A" * (MAX_IMAGE_CHARS + 4), "[image of 5,000,004 characters in base64: too large to be shown]"),
    ],
)
def test_an_image_that_a_service_would_refuse_is_not_passed_on(kind, data, shown):
    (block,) = json.loads(output_of({"content": [{"type": "image", "mimeType": kind, "data": data}]}).content)
    if shown is None:
        assert block == {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}
    else:
        assert block == {"type": "text", "text": shown}
