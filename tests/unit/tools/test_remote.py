"""Tools of MCP servers as tools of a run."""

import json

import anyio
import pytest

from lastcall.nouns.ids import CallId
from lastcall.tools import Output
from lastcall.tools.remote import RemoteTool, output_of, remote_name


def test_names_hold_only_what_every_service_takes():
    assert remote_name("my server", "do.it") == "mcp__my_server__do_it"


def test_the_model_sees_what_the_server_lists_and_no_effect_is_believed():
    schema = {"type": "object", "properties": {"a": {"type": "number"}}}
    listed = {"name": "add", "description": "adds", "inputSchema": schema, "annotations": {"readOnlyHint": True}}
    tool = RemoteTool("calc", listed, None)
    definition = tool.definition
    assert (definition.name, definition.description, definition.input_schema) == ("mcp__calc__add", "adds", schema)
    assert not definition.read_only
    assert not tool.edits_files
    assert tool.subject({}) is None
    assert RemoteTool("calc", {"name": "x", "description": 7}, None).definition.input_schema == {"type": "object"}


def test_a_call_goes_to_the_server_under_its_own_name():
    seen = []

    async def call(name, arguments, call_id):
        seen.append((name, arguments, call_id))
        return {"content": [{"type": "text", "text": "5"}]}

    class Context:
        call_id = CallId("toolu_1")

    output = anyio.run(RemoteTool("calc", {"name": "add.up"}, call).run, {"a": 1}, Context())
    assert seen == [("add.up", {"a": 1}, "toolu_1")]
    assert json.loads(output.content) == [{"type": "text", "text": "5"}]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "text", "text": "x"}, {"type": "text", "text": "x"}),
        (
            {"type": "image", "mimeType": "image/png", "data": "aaaa"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aaaa"}},
        ),
        ({"type": "resource", "resource": {"uri": "f:x", "text": "body"}}, {"type": "text", "text": "body"}),
        ({"type": "resource", "resource": {"uri": "f:x"}}, {"type": "text", "text": "[resource f:x: not shown]"}),
        ({"type": "resource"}, {"type": "text", "text": "[resource : not shown]"}),
        ({"type": "resource_link", "name": "n", "uri": "f:x"}, {"type": "text", "text": "[resource n: f:x]"}),
        ({"type": "audio"}, {"type": "text", "text": "[audio: not shown]"}),
    ],
)
def test_blocks_are_in_the_messages_apis_form(block, expected):
    output = output_of({"content": [block, "no block"]})
    assert json.loads(output.content) == [expected]
    assert output.display == [expected]
    assert output.blocks
    assert not output.failed


def test_a_failure_is_told_in_words():
    failed = output_of({"isError": True, "content": [{"type": "text", "text": "no"}, {"type": "text", "text": "luck"}]})
    assert (failed.failed, failed.content) == (True, "no\nluck")
    assert output_of({"isError": True}).content


def test_a_structured_result_without_content_is_its_json():
    assert json.loads(output_of({"structuredContent": {"sum": 5}}).content) == [{"type": "text", "text": '{"sum": 5}'}]
    assert output_of({}) == Output("")
