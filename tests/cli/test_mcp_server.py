"""`lastcall mcp`, asked by a client."""

from __future__ import annotations

import json
import sys

import anyio
import pytest

from cli.support import COMMAND, SCHEMA, environment, lastcall, script

pytest.importorskip("mcp")

from lastcall.cli.mcp_server import _output_schema
from lastcall.contract import compile_contract
from lastcall.contract.parse import parse_schema
from lastcall.nouns.profile import Profile
from lastcall.runtime.config import RunConfig


def asked(home, *flags, prompts=("count",)):
    """The listed tool, and the answers to each prompt."""
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters

    words = [*COMMAND[1:], "mcp", *flags]
    server = StdioServerParameters(command=sys.executable, args=words, env=environment(home), cwd=str(home))

    async def main():
        with anyio.fail_after(60):
            async with Client(server, mode="legacy") as client:
                (tool,) = (await client.list_tools()).tools
                return tool, [await client.call_tool("run", {"prompt": prompt}) for prompt in prompts]

    return anyio.run(main)


def test_the_contract_is_the_output_schema_and_the_object_the_structured_content(tmp_path):
    model = script(tmp_path, {"object": {"a": "no number"}}, {"object": {"a": 1}})
    tool, (answer, again) = asked(tmp_path, "--model", model, "--json-schema", SCHEMA, prompts=("one", "two"))
    assert (tool.name, tool.output_schema) == ("run", json.loads(SCHEMA))
    assert (answer.is_error, answer.structured_content) == (False, {"a": 1})
    assert again.structured_content == {"a": 1}


def test_a_run_without_an_object_is_a_failed_call_that_says_why(tmp_path):
    model = script(tmp_path, {"object": {"a": "no number"}})
    _, (answer,) = asked(tmp_path, "--model", model, "--json-schema", SCHEMA, "--max-turns", "1")
    assert answer.is_error
    assert "turn" in answer.content[0].text


def test_a_contract_that_the_protocol_cannot_carry_is_not_listed():
    contract = compile_contract(parse_schema('{"type":"array"}', profile=Profile.NATIVE), profile=Profile.NATIVE)
    assert _output_schema(RunConfig(contract=contract)) is None
    assert _output_schema(RunConfig()) is None


@pytest.mark.parametrize(
    ("flags", "words"),
    [(["a prompt"], "comes with each call"), (["--resume", "x"], "single run"), (["--json-schema", "{"], "JSON")],
)
def test_bad_usage_is_one_sentence_and_exit_2(tmp_path, flags, words):
    ran = lastcall(tmp_path, "mcp", *flags)
    assert (ran.code, ran.out) == (2, b"")
    assert words in ran.err
