"""`lastcall probe`: what stdout shows, what the file keeps, what the exit codes say."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys

import pytest

from lastcall.cli import probe as subject
from lastcall.cli.subcommands import run_subcommand
from lastcall.probe.sheet import read_sheet

RIGHT = {"object": {"ticket": "T-17", "priority": "high"}}
WRONG = {"object": {"ticket": "T-17", "priority": "urgent"}}
FILE = "keywords-enum-scripted-s.json.probe.jsonl"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("LASTCALL_MODEL", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def call(*words, script=(WRONG, RIGHT)):
        """Exit code, stdout, stderr."""
        (tmp_path / "s.json").write_text(json.dumps(list(script)))
        code = run_subcommand("probe", list(words))
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


ENUM = ("--model", "scripted:s.json", "--families", "enum", "--concurrency", "1", "--trials", "1")


def test_a_probe_shows_a_table_keeps_its_trials_and_goes_on_with_the_same_command(run, tmp_path):
    code, out, err = run(*ENUM)
    assert code == 0
    first, *_, last = [line.split() for line in out.splitlines() if line.startswith(("enum/", "all "))]
    assert first == ["enum/conflict/as-it-is", "1", "1", "2.0", "40", first[5], "enum", "1"]
    assert last[:4] == ["all", "4", "3", "1"]
    assert err.splitlines()[0] == f"lastcall: trials are kept in {FILE}"
    assert err.splitlines()[1].startswith("[1/4] enum/conflict/as-it-is round 1: repaired after 2 attempts, ")
    assert stat.S_IMODE(os.stat(tmp_path / FILE).st_mode) == 0o600
    code, again, err = run(*ENUM)
    assert (code, again) == (0, out)
    assert err == f"lastcall: trials are kept in {FILE}; 4 are there already\n"


def test_the_counts_as_json_are_all_that_stdout_shows(run):
    code, out, err = run(*ENUM, "--json", "--quiet", "--output", "p.jsonl")
    found = json.loads(out)
    assert (code, err, out.count("\n")) == (0, "", 1)
    assert (found["model"], found["suite"], found["stop"]) == ("scripted:s.json", "keywords (enum)", "done")
    assert found["total"]["endings"] == {"repaired": 1, "accepted_first": 3}
    assert found["cases"][0]["rejected_by"] == {"enum": 1}


def test_show_and_compare_read_the_files(run, tmp_path):
    run(*ENUM, "--output", "a.jsonl")
    run(*ENUM, "--output", "b.jsonl", script=["I will not."])
    code, out, err = run("show", "a.jsonl", "--html", "a.html")
    assert (code, err) == (0, "")
    assert "repaired: a later call brought it" in out
    assert "<title>Probe of scripted:s.json</title>" in (tmp_path / "a.html").read_text("utf-8")
    assert stat.S_IMODE(os.stat("a.html").st_mode) == 0o600
    code, out, _ = run("compare", "a.jsonl", "b.jsonl", "--html", "c.html")
    assert code == 0
    assert next(line for line in out.splitlines() if line.startswith("all")).split() == [
        "all", "3/4", "0/4", "0.143", "4/4", "0/4", "0.029", "*",
    ]  # fmt: skip
    assert "How the trials ended" in (tmp_path / "c.html").read_text("utf-8")
    code, out, _ = run("compare", "a.jsonl", "b.jsonl", "--json")
    assert json.loads(out)["total"]["b"]["endings"] == {"gave_up": 4}


def test_the_cases_are_listed_without_asking_anybody(run, tmp_path):
    code, out, _ = run("--suite", "seven-constraints", "--list")
    assert code == 0
    assert out.count("(conflicts, as it is)") == 7
    assert out.count("(conflicts, may correct)") == 4
    assert not list(tmp_path.glob("*.jsonl"))


def test_a_service_that_refuses_is_an_exit_code_and_a_sentence(run):
    refusal = {"status": 401, "error": {"type": "authentication_error", "message": "no such key"}}
    code, out, err = run(*ENUM, script=[refusal])
    assert code == 15
    assert [line.split() for line in out.splitlines() if line.startswith("all")] == [["all", "0"]]
    assert "did not count, and are in no row (limits of the probe, the network): 1" in out
    assert "no such key" in err.splitlines()[-1]
    code, _, err = run(
        *ENUM, "--output", "q", script=[{"status": 529, "error": {"type": "overloaded_error", "message": "x"}}]
    )
    assert code == 16
    assert "(does not count: " in err


def test_a_deadline_that_is_over_before_the_first_trial_is_an_exit_code(run):
    code, _, err = run(*ENUM, "--deadline", "0.0000001s")
    assert code == 14
    assert f"the deadline came first; the same command goes on from {FILE}" in err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--suite", "nine"], "no suite 'nine'"),
        (["--families", "enum,foo"], "no family 'foo'"),
        (["--deadline", "soon"], "no time such as 90s"),
        (["--deadline", "0s"], "no time such as 90s"),
        (["--max-budget-usd", "-1"], "no amount of US dollars"),
        (["--max-budget-usd", "nan"], "no amount of US dollars"),
        (["--trials", "0"], "--trials"),
        (["--html", "no/such/p.html"], "--html no/such/p.html"),
        (["--output", "no/such/p.jsonl"], "--output no/such/p.jsonl"),
        (["--model", "scripted:none.json"], "script cannot be read"),
        (["--model", "nonsense"], "there is no model 'nonsense'"),
        (["show", "none.jsonl"], "none.jsonl: the probe cannot be read"),
    ],
)
def test_what_cannot_be_used_is_one_sentence_and_nothing_on_stdout(run, words, why):
    options = [] if words[0] == "show" else ["--model", "scripted:s.json"]
    code, out, err = run(*options, *words)
    assert (code, out) == (2, "")
    assert why in err
    assert "Traceback" not in err


def test_the_embedded_model_is_tried_one_by_one_and_warm(run, monkeypatch):
    """At temperature 0 all rounds would be alike, and one engine writes one reply at a time."""
    planned = []

    def note(sheet, plan, bounds, *_, **__):
        planned.append((plan.model, plan.temperature, bounds.concurrency))
        return 0

    monkeypatch.setattr(subject, "_sit", note)
    run("--model", "local:small", "--output", "a")
    run("--model", "local", "--temperature", "0", "--output", "b")
    run("--model", "haiku", "--output", "c")
    assert planned == [("local:small", 0.7, 1), ("local", 0.0, 1), ("haiku", None, 4)]


def test_a_probe_that_is_killed_goes_on_and_ends_with_every_trial_once(run, tmp_path):
    slow = [{**RIGHT, "delay_ms": 60}]
    (tmp_path / "s.json").write_text(json.dumps(slow))
    command = [sys.executable, "-m", "lastcall", "probe", *ENUM, "--trials", "3"]
    keep = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    with subprocess.Popen(command, cwd=tmp_path, env=keep, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as killed:
        for _ in range(4):
            killed.stderr.readline()
        killed.send_signal(signal.SIGKILL)
    before = read_sheet(str(tmp_path / FILE)).trials
    assert 3 <= len(before) < 12
    code, _, _ = run(*ENUM, "--trials", "3", script=[RIGHT])
    after = read_sheet(str(tmp_path / FILE)).trials
    assert code == 0
    assert after[: len(before)] == before
    assert len({(t.case, t.round) for t in after}) == len(after) == 12
