"""`--resume` without a prompt: an unfinished run is continued under its own contract."""

from __future__ import annotations

import json

import pytest

from cli.support import SCHEMA, lastcall, script

BAD = {"object": {"a": "no number"}}
GOOD = {"object": {"a": 1}}
ID = "run-1"


@pytest.fixture
def begun(tmp_path):
    """A run that ran out of turns after a rejected attempt."""
    model = script(tmp_path, BAD, name="first.json")
    flags = ["--json-schema", SCHEMA, "--max-turns", "1", "--session-id", ID, "--output-format", "json"]
    ran = lastcall(tmp_path, "-p", "count", "--model", model, *flags)
    assert ran.code == 14
    return tmp_path


def test_it_goes_on_with_its_contract_and_its_attempts(begun):
    model = script(begun, BAD, GOOD)
    ran = lastcall(begun, "-p", "--resume", ID, "--model", model, "--output-format", "json", "--max-turns", "5")
    assert ran.code == 0
    assert ran.frame["structured_output"] == {"a": 1}
    assert [a["verdict"] for a in ran.frame["lastcall"]["attempts"]] == ["rejected", "rejected", "accepted"]
    assert ran.frame["session_id"] == ID


def test_continue_means_the_latest_one(begun):
    ran = lastcall(begun, "-p", "--continue", "--model", script(begun, GOOD), "--output-format", "stream-json")
    assert next(f["type"] for f in ran.frames) == "system"
    assert ran.frames[-1]["structured_output"] == {"a": 1}


def test_a_session_that_is_done_needs_a_prompt(begun):
    model = script(begun, GOOD)
    assert lastcall(begun, "-p", "--resume", ID, "--model", model).code == 0
    again = lastcall(begun, "-p", "--resume", ID, "--model", model)
    assert again.code == 2
    assert "came to its end" in again.err
    assert lastcall(begun, "-p", "and now?", "--resume", ID, "--model", script(begun, "fine")).text == "fine\n"


def test_with_a_prompt_the_unfinished_run_is_over(begun):
    ran = lastcall(
        begun, "-p", "count again", "--resume", ID, "--model", script(begun, GOOD), "--json-schema", SCHEMA,
        "--output-format", "json",
    )  # fmt: skip
    assert [a["verdict"] for a in ran.frame["lastcall"]["attempts"]] == ["accepted"]


def test_rules_and_checks_that_are_text_are_part_of_the_contract_that_it_goes_on_with(tmp_path):
    pytest.importorskip("celpy")
    beside = ["--rule", "a > 1 // more than one", "--check", "grep -q 3", "--check-timeout", "20s", "--strict-values"]
    first = ["-p", "x", "--model", script(tmp_path, BAD), "--json-schema", SCHEMA, "--max-turns", "1", *beside]
    assert lastcall(tmp_path, *first, "--session-id", ID).code == 14
    objects = [{"object": {"a": n}} for n in (1, 2, 3)]
    ran = lastcall(tmp_path, "-p", "--resume", ID, "--model", script(tmp_path, *objects), "--output-format", "json")
    assert ran.frame["structured_output"] == {"a": 3}
    told = [a["problems"][0]["message"] for a in ran.frame["lastcall"]["attempts"][1:3]]
    assert told == ["more than one", "grep -q 3: exit code 1"]
    replayed = lastcall(tmp_path, "replay", ID)
    assert "cannot be made again" in replayed.err + replayed.text
    assert "grep -q 3" in replayed.err + replayed.text


def test_a_contract_with_rules_that_are_code_has_to_be_given_again(tmp_path):
    pytest.importorskip("pydantic")
    (tmp_path / "shapes.py").write_text("from pydantic import BaseModel\nclass A(BaseModel):\n    a: int\n")
    first = ["-p", "x", "--model", script(tmp_path, BAD), "--json-schema", "shapes:A", "--max-turns", "1"]
    assert lastcall(tmp_path, *first, "--session-id", ID).code == 14
    model = script(tmp_path, GOOD)
    refused = lastcall(tmp_path, "-p", "--resume", ID, "--model", model)
    assert (refused.code, refused.out) == (2, b"")
    assert "rules that its journal does not hold" in refused.err
    ran = lastcall(tmp_path, "-p", "--resume", ID, "--model", model, "--json-schema", "shapes:A")
    assert json.loads(ran.text) == {"a": 1}
