"""What is wrong before anything is sent: exit 2, one sentence, and the report all the same."""

from __future__ import annotations

import json
import subprocess

import pytest

from cli.support import COMMAND, SCHEMA, environment, lastcall, script


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--json-schema", '{"type": 5}'], "schema"),
        (["--json-schema", SCHEMA, "--decline", "--no-decline"], "contradict"),
        (["--json-schema", SCHEMA, "--max-turns", "many"], "must be a number"),
        (["--json-schema", SCHEMA, "--resume", "not-there"], "No conversation found"),
        (["--json-schema", '{"not":' * 10_001 + "{}" + "}" * 10_001], "nests deeper than 10000 levels"),
    ],
    ids=["bad schema", "contradiction", "bad value", "no session", "a schema without a bottom"],
)
def test_the_report_is_written_though_nothing_was_sent(tmp_path, flags, words):
    report = tmp_path / "report.json"
    ran = lastcall(
        tmp_path, "-p", "hi", *flags, "--model", script(tmp_path, {"object": {"a": 1}}), "--report", str(report)
    )
    assert (ran.code, ran.out) == (2, b"")
    assert words in ran.err
    assert ran.err.count("\n") == 1
    frame = json.loads(report.read_text())
    assert words in frame["errors"][0]
    assert frame["lastcall"]["outcome"] == "usage"


def test_a_report_that_cannot_be_written_is_said_once(tmp_path):
    ran = lastcall(tmp_path, "-p", "hi", "--json-schema", "{", "--report", str(tmp_path / "no" / "report.json"))
    assert ran.code == 2
    assert ran.err.count("the report cannot be written") == 1


def test_a_working_directory_that_is_gone_is_a_usage_error(tmp_path):
    model = script(tmp_path, {"object": {"a": 1}})
    words = " ".join([*COMMAND, "-p", "hi", "--model", model, "--output-format", "json"])
    done = subprocess.run(
        ["sh", "-c", f"mkdir {tmp_path}/gone && cd {tmp_path}/gone && rmdir {tmp_path}/gone && exec {words}"],
        capture_output=True, stdin=subprocess.DEVNULL, env=environment(tmp_path), timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "the working directory cannot be used" in json.loads(done.stdout)["errors"][0]


def test_a_budget_of_tokens_stops_a_run_and_is_in_the_envelope(tmp_path):
    call = {"call": {"name": "Glob", "input": {"pattern": "*"}}}
    ran = lastcall(
        tmp_path, "-p", "hi", "--json-schema", SCHEMA, "--max-budget-tokens", "200", "--output-format", "json",
        "--model", script(tmp_path, call),
    )  # fmt: skip
    assert ran.code == 14
    assert ran.frame["lastcall"]["limit"] == "tokens"
    assert ran.frame["lastcall"]["bound"] == "200"
    assert ran.frame["subtype"] == "error_max_budget_tokens"
    assert "budget of 200 tokens" in ran.err


def test_a_pattern_that_swallowed_the_prompt_is_named(tmp_path):
    ran = lastcall(tmp_path, "-p", "--redact", "Do it", "--model", script(tmp_path, "hi"))
    assert ran.code == 2
    assert "--redact takes the word after it as its pattern. Write the prompt before it." in ran.err


def test_doctor_tries_whether_a_folder_can_be_written(tmp_path):
    ran = lastcall(tmp_path, "doctor", LASTCALL_STATE_DIR="/proc/nope")
    assert ran.code == 1
    assert "/proc/nope (NOT WRITABLE" in ran.text
