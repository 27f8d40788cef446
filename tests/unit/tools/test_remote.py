"""What a server's answer becomes."""

from __future__ import annotations

import json

import pytest

from lastcall.tools.remote import MAX_TEXT_CHARS, RemoteTool, output_of, remote_name


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
