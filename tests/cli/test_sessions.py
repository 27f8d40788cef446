"""`lastcall sessions` and `lastcall replay`."""

from __future__ import annotations

import fcntl
import json
import os
import time
from pathlib import Path

import pytest

from cli.support import SCHEMA, lastcall, script

BAD = {"object": {"a": "no number"}}
GOOD = {"object": {"a": 1, "why": "the log says so"}}


@pytest.fixture
def home(tmp_path):
    """A finished session `done` and an unfinished one, `open`."""
    flags = ["--json-schema", SCHEMA, "--output-format", "json"]
    call = {"call": {"name": "Read", "input": {"file_path": "note.txt"}}}
    (tmp_path / "note.txt").write_text("evil \x1b[31mred")
    model = script(tmp_path, call, BAD, GOOD, name="done.json")
    assert lastcall(tmp_path, "-p", "count\nthis", "--model", model, "--session-id", "done", *flags).code == 0
    model = script(tmp_path, BAD, name="open.json")
    stopped = ["--session-id", "open", "--max-turns", "1"]
    assert lastcall(tmp_path, "-p", "more", "--model", model, *stopped, *flags).code == 14
    return tmp_path


def journal(home, session):
    return next(Path(home).rglob(f"{session}.jsonl"))


def test_sessions_are_listed_the_latest_first(home):
    os.utime(journal(home, "done"), (1, 1))
    rows = [json.loads(line) for line in lastcall(home, "sessions", "list", "--json").text.splitlines()]
    assert [(row["session_id"], row["state"], row["prompt"]) for row in rows] == [
        ("open", "stopped", "more"),
        ("done", "answered", "count\nthis"),
    ]
    text = lastcall(home, "sessions", "list").text
    assert text.count("\n") == 2
    assert "count this" in text
    elsewhere = home / "elsewhere"
    elsewhere.mkdir()
    assert lastcall(home, "sessions", "list", cwd=elsewhere).text == ""
    assert lastcall(home, "sessions", "list", "--all", cwd=elsewhere).text.count("\n") == 2


def test_a_session_is_shown_step_by_step_without_what_terminals_obey(home):
    shown = lastcall(home, "sessions", "show", "done").text
    parts = ("prompt    count this", "call      Read", "answer    ok", "\\x1b[31mred", "attempt   1: rejected", "ended")
    for part in parts:
        assert part in shown
    assert "\x1b" not in shown
    records = [json.loads(line) for line in lastcall(home, "sessions", "show", "done", "--json").text.splitlines()]
    assert records[0]["record"]["type"] == "Opened"


def test_an_unfinished_session_goes_on(home):
    model = script(home, GOOD)
    ran = lastcall(home, "sessions", "resume", "open", "--model", model, "--output-format", "json")
    assert ran.code == 0
    assert ran.frame["structured_output"] == {"a": 1, "why": "the log says so"}


def test_an_export_is_the_journal_itself_without_half_a_line(home):
    path = journal(home, "done")
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"v":1,"ki')
    assert lastcall(home, "sessions", "export", "done").out == whole


def test_sessions_are_removed_by_name_or_by_age_but_not_while_they_are_used(home):
    with journal(home, "open").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        ran = lastcall(home, "sessions", "rm", "open")
        assert ran.code != 0
        assert journal(home, "open").exists()
    assert lastcall(home, "sessions", "rm", "open").text == "removed open\n"
    old = time.time() - 40 * 86_400
    os.utime(journal(home, "done"), (old, old))
    assert lastcall(home, "sessions", "rm", "--older-than", "41").text == ""
    assert lastcall(home, "sessions", "rm", "--older-than", "30").text == "removed done\n"
    assert list(home.rglob("*.jsonl")) == []


def test_a_damaged_journal_is_listed_named_and_can_be_removed(home):
    path = journal(home, "done")
    path.write_bytes(b"garbage\n" + path.read_bytes())
    rows = [json.loads(line) for line in lastcall(home, "sessions", "list", "--json").text.splitlines()]
    assert {row["session_id"]: row["state"] for row in rows}["done"] == "unreadable"
    shown = lastcall(home, "sessions", "show", "done")
    assert shown.code != 0
    assert "line 1" in shown.err
    assert lastcall(home, "sessions", "rm", "done").code == 0


@pytest.mark.parametrize("words", [["show", "nobody"], ["show", "../x"], ["rm"], ["rm", "x", "--older-than", "1"]])
def test_bad_usage_is_one_sentence(home, words):
    ran = lastcall(home, "sessions", *words)
    assert (ran.code, ran.out) == (2, b"")
    assert ran.err.count("\n") <= 2


def test_the_beginning_of_an_id_is_enough_where_it_is_the_only_one(home):
    assert "count this" in lastcall(home, "sessions", "show", "do").text


# -- replay ---------------------------------------------------------------------------------------------------------


def test_under_the_same_contract_a_session_ends_the_same(home):
    for session in ("done", "open"):
        ran = lastcall(home, "replay", session)
        assert (ran.code, ran.text.startswith("run 1: the same:")) == (0, True), ran


def test_under_a_stricter_contract_it_is_told_what_would_be_refused(home):
    stricter = json.dumps({**json.loads(SCHEMA), "required": ["a", "why", "b"], "additionalProperties": True})
    ran = lastcall(home, "replay", "done", "--json-schema", stricter)
    assert ran.code == 1
    assert "the model would be asked again" in ran.text
    assert "attempt 2: was accepted, would be rejected" in ran.text
    assert "'b'" in ran.text


def test_under_a_looser_contract_it_would_end_earlier(home):
    (run,) = json.loads(lastcall(home, "replay", "done", "--json-schema", '{"type":"object"}', "--json").text)
    assert (run["same"], run["now"], [a["now"] for a in run["attempts"]]) == (False, "answered", ["accepted"])
    (run,) = json.loads(lastcall(home, "replay", "open", "--json-schema", '{"type":"object"}', "--json").text)
    assert (run["before"], run["now"]) == ("stopped", "answered")
