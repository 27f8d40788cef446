"""The reference's official TypeScript client drives lastcall unchanged: the same promises, through `drive.mjs`.

The client is installed by npm (pinned in `typescript/package.json`, without its optional binaries) when it is not there.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "typescript"
SCHEMA = {
    "type": "object",
    "properties": {"title": {"type": "string", "minLength": 3}, "count": {"type": "integer", "minimum": 0}},
    "required": ["title", "count"],
    "additionalProperties": False,
}
GOOD = {"title": "Disk full", "count": 3}
OTHER = {"title": "Disk mended", "count": 0}
BAD = {"title": "Disk full", "count": -1}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed"),
    pytest.mark.timeout(600),
]


@pytest.fixture(scope="session", autouse=True)
def client():
    """The client's packages."""
    if not (HERE / "node_modules" / "@anthropic-ai" / "claude-agent-sdk" / "sdk.mjs").exists():
        command = ["npm", "ci", "--omit=optional", "--no-audit", "--no-fund"]
        done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=500, check=False)
        if done.returncode:
            pytest.skip(f"npm could not install the client: {done.stderr[-400:]}")


def call(call_id, value, name="StructuredOutput", **more):
    return {"content": [{"type": "tool_use", "id": call_id, "name": name, "input": value}], **more}


def text(words):
    return {"content": [{"type": "text", "text": words}]}


def drive(bench, *, options=None, prompt="Report it.", **asked):
    base = {
        "pathToClaudeCodeExecutable": bench.command,
        "cwd": str(bench.cwd),
        "model": "haiku",
        "tools": [],
        "settingSources": [],
        "outputFormat": {"type": "json_schema", "schema": SCHEMA},
    }
    order = {"options": {**base, **(options or {})}, "env": bench.env, "prompt": prompt, **asked}
    done = subprocess.run(
        ["node", "drive.mjs"],
        cwd=HERE,
        input=json.dumps(order),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def results_of(messages):
    return [m for m in messages if m["type"] == "result"]


def test_a_query_with_an_output_format_gives_the_object(bench):
    bench.script(call("toolu_1", BAD), call("toolu_2", GOOD))
    messages = drive(bench)
    (result,) = results_of(messages)
    assert result["structured_output"] == GOOD
    assert (result["subtype"], result["is_error"], result["num_turns"]) == ("success", False, 3)
    assert (messages[0]["type"], messages[0]["subtype"]) == ("system", "init")
    assert not [m for m in messages if m["type"] == "thrown"]


def test_giving_up_is_a_success_without_an_object(bench):
    bench.script(text("no"), text("never"))
    (result,) = results_of(drive(bench))
    assert (result["subtype"], result["result"]) == ("success", "never")
    assert "structured_output" not in result


def test_running_out_of_attempts_is_an_error_result(bench):
    bench.script(*(call(f"toolu_{n}", BAD) for n in range(5)))
    (result,) = results_of(drive(bench))
    assert result["subtype"] == "error_max_structured_output_retries"


def test_a_schema_that_is_none_gives_no_message_and_throws(bench):
    bench.script(text("never asked"))
    messages = drive(bench, options={"outputFormat": {"type": "json_schema", "schema": {"type": "banana"}}})
    assert [m["type"] for m in messages] == ["thrown"]
    assert bench.requests == []


def test_several_prompts_are_several_turns(bench):
    bench.script(call("toolu_1", GOOD), text("hm"), call("toolu_2", OTHER))
    results = results_of(drive(bench, prompts=["one", "two"]))
    assert [r["structured_output"] for r in results] == [GOOD, OTHER]
    assert results[0]["session_id"] == results[1]["session_id"]


def test_tools_in_the_clients_process_hooks_and_permissions_work(bench):
    bench.script(call("toolu_1", {"a": 2, "b": 3}, "mcp__calc__add"), call("toolu_2", GOOD), call("toolu_3", OTHER))
    decide = {"behavior": "allow", "updatedInput": {"a": 20, "b": 3}}
    messages = drive(bench, prompts=["go"], server=True, decide=decide, deny_first="not yet")
    (result,) = results_of(messages)
    assert result["structured_output"] == OTHER
    answers = [
        b for m in messages if m["type"] == "user" for b in m["message"]["content"] if b["type"] == "tool_result"
    ]
    assert answers[0]["content"] == [{"type": "text", "text": "23"}]
    assert answers[1]["content"] == "not yet"


def test_a_denied_call_is_told_to_the_model(bench):
    bench.script(call("toolu_1", {"a": 2, "b": 3}, "mcp__calc__add"), call("toolu_2", GOOD))
    decide = {"behavior": "deny", "message": "no sums today"}
    messages = drive(bench, prompts=["go"], server=True, decide=decide)
    (result,) = results_of(messages)
    assert result["structured_output"] == GOOD
    assert [d["tool_name"] for d in result["permission_denials"]] == ["mcp__calc__add"]
    assert "no sums today" in json.dumps(bench.requests[1]["messages"])


def test_partial_messages_are_raw_events(bench):
    bench.script(call("toolu_1", GOOD))
    messages = drive(bench, options={"includePartialMessages": True})
    kinds = [m["event"]["type"] for m in messages if m["type"] == "stream_event"]
    assert (kinds[0], kinds[-1]) == ("message_start", "message_stop")


def test_a_session_is_resumed(bench):
    bench.script(call("toolu_1", GOOD), call("toolu_2", OTHER))
    (first,) = results_of(drive(bench))
    (second,) = results_of(drive(bench, options={"resume": first["session_id"]}, prompt="And now?"))
    assert second["structured_output"] == OTHER
    assert second["session_id"] == first["session_id"]
    assert "Report it." in json.dumps(bench.requests[1]["messages"])
