"""`--mcp-config`: servers named on the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cli.support import lastcall, script

pytest.importorskip("mcp")

PLAIN = str(Path(__file__).parents[1] / "unit" / "tools" / "mcp_plain.py")
ADD = {"call": {"name": "mcp__calc__add", "input": {"a": 2, "b": 3}}}
CONFIG = {"mcpServers": {"calc": {"command": sys.executable, "args": ["-I", PLAIN]}}}


def test_a_tool_of_a_server_runs_where_it_is_allowed(tmp_path):
    (tmp_path / "mcp.json").write_text(json.dumps(CONFIG))
    model = script(tmp_path, ADD, "done")
    flags = ["--model", model, "--mcp-config", "mcp.json", "--output-format", "stream-json"]
    denied = lastcall(tmp_path, "-p", "add", *flags)
    assert denied.frames[-1]["permission_denials"][0]["tool_name"] == "mcp__calc__add"
    allowed = lastcall(tmp_path, "-p", "add", *flags, "--allowedTools", "mcp__calc")
    assert allowed.frames[0]["mcp_servers"] == [{"name": "calc", "status": "connected"}]
    assert allowed.frames[2]["tool_use_result"] == [{"type": "text", "text": "[2, 3, 5]"}]
    effects = allowed.frames[-1]["lastcall"]["side_effects"]
    assert [(e["tool"], e["status"]) for e in effects] == [("mcp__calc__add", "ok")]


def test_a_client_that_speaks_frames_gets_them_too(tmp_path):
    line = json.dumps({"type": "user", "message": {"role": "user", "content": "add"}}) + "\n"
    ran = lastcall(
        tmp_path, "-p", "--model", script(tmp_path, ADD, "done"), "--mcp-config", json.dumps(CONFIG),
        "--allowedTools", "mcp__calc__add", "--input-format", "stream-json", "--output-format", "stream-json",
        "--verbose", stdin=line,
    )  # fmt: skip
    assert [f["tool_use_result"][0]["text"] for f in ran.frames if "tool_use_result" in f] == ["[2, 3, 5]"]


@pytest.mark.parametrize(
    ("given", "words"),
    [("nowhere.json", "cannot be read"), ("{", "no JSON"), ("{}", "no object mcpServers")],
)
def test_a_bad_configuration_is_one_sentence_and_exit_2(tmp_path, given, words):
    ran = lastcall(tmp_path, "-p", "x", "--model", script(tmp_path, "y"), "--mcp-config", given)
    assert (ran.code, ran.out) == (2, b"")
    assert words in ran.err


def test_a_refusal_after_the_servers_were_started_is_still_one_sentence(tmp_path):
    given = ["--mcp-config", json.dumps(CONFIG), "--resume", "nobody"]
    ran = lastcall(tmp_path, "-p", "x", "--model", script(tmp_path, "y"), *given)
    assert (ran.code, ran.out) == (2, b"")
    assert "No conversation found" in ran.err


def test_a_server_that_dies_in_a_call_is_told_to_the_model_and_started_anew(tmp_path):
    model = script(tmp_path, {"call": {"name": "mcp__calc__die", "input": {}}}, ADD, "done")
    flags = ["--mcp-config", json.dumps(CONFIG), "--allowedTools", "mcp__calc", "--output-format", "stream-json"]
    ran = lastcall(tmp_path, "-p", "add", "--model", model, *flags)
    assert ran.code == 0
    told = [f["tool_use_result"] for f in ran.frames if "tool_use_result" in f]
    assert "Whether it took effect is unknown" in told[0]
    assert told[1] == [{"type": "text", "text": "[2, 3, 5]"}]


def test_a_server_whose_every_tool_is_forbidden_is_not_started(tmp_path):
    touched = tmp_path / "started"
    config = {"mcpServers": {"calc": {"command": "touch", "args": [str(touched)]}}}
    flags = ["--mcp-config", json.dumps(config), "--disallowedTools", "mcp__calc", "--output-format", "stream-json"]
    ran = lastcall(tmp_path, "-p", "x", "--model", script(tmp_path, "y"), *flags)
    assert ran.code == 0
    assert ran.frames[0]["mcp_servers"] == [{"name": "calc", "status": "disabled"}]
    assert not touched.exists()
