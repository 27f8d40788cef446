"""Secrets that are planted on every way through a run appear in nothing but the object that the run returns."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cli.support import lastcall, script

# made up; put together here so that no scanner takes them for real ones
TAIL = "Zm9vYmFyYmF6cXV4"
PLANTED = {
    "prompt": "sk-" + "ant-api03-prompt" + TAIL,
    "tool_output": "ghp" + "_" + "tool" + TAIL * 2,
    "model_text": "xoxb" + "-" + "model-" + TAIL,
    "tool_input": "AKIA" + "TOOLINPUTABCDEFG",
    "draft": "eyJ" + "draft" + TAIL + "." + TAIL + "." + TAIL,
    "hook": "glpat" + "-" + "hook" + TAIL,
    "check": "hf" + "_" + "check" + TAIL * 2,
    "environment": "an-odd-key-of-nobody-0815",
    "pattern": "ACME-424242",
    "system": "postgres://joe:" + "hunter22system" + "@db/x",
}
BARE = {**PLANTED, "system": "hunter22system"}
RETURNED = "sk-" + "proj-" + "returned" + TAIL
SCHEMA = json.dumps({
    "type": "object", "properties": {"token": {"type": "string", "pattern": "returned"}}, "required": ["token"],
})  # fmt: skip


@pytest.fixture
def planted(tmp_path):
    """A run that meets each secret on its own way, with and without `--redact`."""
    (tmp_path / "notes.txt").write_text(f"line one\ntoken: {PLANTED['tool_output']}\n{PLANTED['pattern']}\n")
    model = script(
        tmp_path,
        {"content": [
            {"type": "text", "text": f"I will use {PLANTED['model_text']} and {PLANTED['environment']}."},
            {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "notes.txt"}},
            {"type": "tool_use", "id": "t2", "name": "Read", "input": {"file_path": f"{PLANTED['tool_input']}.txt"}},
        ]},
        {"object": {"token": PLANTED["draft"]}},
        {"object": {"token": RETURNED}},
        {"object": {"token": RETURNED}},
    )  # fmt: skip
    hook = {"hooks": [{"type": "command", "command": f"echo '{PLANTED['hook']}'"}]}
    settings = {"hooks": {"UserPromptSubmit": [hook]}}
    flag = tmp_path / "seen"
    check = tmp_path / "check.sh"
    check.write_text(f"test -e {flag} && exit 0\ntouch {flag}\necho 'no: {PLANTED['check']}' >&2\nexit 1\n")

    def run(*flags, output="stream-json"):
        flag.unlink(missing_ok=True)
        return lastcall(
            tmp_path,
            "-p",
            f"Do it with {PLANTED['prompt']}.",
            "--json-schema",
            SCHEMA,
            "--model",
            model,
            "--system-prompt",
            PLANTED["system"],
            "--settings",
            json.dumps(settings),
            "--check",
            f"sh {check}",
            "--include-hook-events" if output == "stream-json" else "--no-decline",
            "--output-format",
            output,
            "--report",
            str(tmp_path / "report.json"),
            *flags,
            OPENAI_API_KEY=PLANTED["environment"],
        )

    return run


def without_object(frame):
    """A result frame without what the run returns."""
    return json.dumps({key: value for key, value in frame.items() if key not in ("structured_output", "result")})


def journals(home):
    return [path for path in Path(home).rglob("*.jsonl") if path.is_file()]


def found(text, names):
    return sorted(name for name in names if BARE[name] in text)


def test_planted_secrets_reach_nothing_but_the_object(planted, tmp_path):
    ran = planted("--redact", r"ACME-\d+")
    assert ran.code == 0, ran.err
    *frames, last = ran.frames
    assert last["structured_output"] == {"token": RETURNED}
    shown = "\n".join(map(json.dumps, frames)) + without_object(last)
    (journal,) = journals(tmp_path)
    written = journal.read_text()
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["structured_output"] == {"token": RETURNED}
    for text in (shown, written, ran.err, without_object(report)):
        assert found(text, BARE) == []
        assert RETURNED not in text
    kinds = set(re.findall(r"\[redacted:([a-z-]+)\]", written))
    assert kinds >= {"provider-key", "github", "slack", "aws", "jwt", "gitlab", "environment", "pattern"}
    session = last["session_id"]
    for words in (["sessions", "export", session], ["sessions", "show", session], ["replay", session]):
        ran = lastcall(tmp_path, *words)
        assert found(ran.text + ran.err, BARE) == []
        assert RETURNED not in ran.text


def test_without_the_flag_the_keys_of_the_environment_are_hidden_all_the_same(planted, tmp_path):
    ran = planted()
    assert ran.code == 0, ran.err
    (journal,) = journals(tmp_path)
    assert "[redacted:environment]" in journal.read_text()
    for text in (ran.text, journal.read_text(), ran.err, (tmp_path / "report.json").read_text()):
        assert found(text, ["environment"]) == []
    # nothing else was touched, so the test above is about the flag
    assert found(ran.text + journal.read_text(), BARE) == sorted(set(BARE) - {"environment", "system"})


def test_the_model_and_the_object_see_everything_as_it_is(planted):
    ran = planted("--redact", output="text")
    assert json.loads(ran.out) == {"token": RETURNED}


def test_a_resumed_session_says_that_its_journal_is_redacted(planted, tmp_path):
    session = planted("--redact").frames[-1]["session_id"]
    ran = lastcall(
        tmp_path, "-p", "And now?", "--resume", session[:8], "--json-schema", SCHEMA, "--redact",
        "--model", script(tmp_path, {"object": {"token": RETURNED}}, name="next.json"),
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert "redacted in its journal" in ran.err
    assert json.loads(ran.out) == {"token": RETURNED}


def test_an_error_of_the_service_is_hidden_too(tmp_path):
    words = f"the key {PLANTED['prompt']} of {PLANTED['system']} is unknown"
    model = script(tmp_path, {"status": 401, "error": {"type": "authentication_error", "message": words}})
    ran = lastcall(tmp_path, "-p", "hi", "--model", model, "--output-format", "json", "--redact")
    assert ran.code == 15
    assert found(ran.text + ran.err + journals(tmp_path)[0].read_text(), BARE) == []


@pytest.mark.parametrize("pattern", ["(", "x*"])
def test_a_pattern_that_cannot_be_used_is_a_usage_error(tmp_path, pattern):
    ran = lastcall(tmp_path, "-p", "hi", "--redact", pattern, "--model", script(tmp_path, "hi"))
    assert ran.code == 2
    assert "--redact: this pattern cannot be used" in ran.err
    assert journals(tmp_path) == []
