"""Checks that need the world: what they hear, what they say, and that none of them outlives its time."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import anyio
import pytest

from lastcall.errors import BadRule
from lastcall.nouns.attachment import Problem
from lastcall.runtime.checks import SAID_BYTES, CommandCheck, command_check

ENV = {"PATH": os.environ.get("PATH", "/usr/bin:/bin")}


def command(text, cwd=".", **more):
    return command_check(text, cwd=str(cwd), environment=ENV, **more)


def run(check, text='{"a":1}'):
    return anyio.run(check.run, text)


def test_a_command_gets_the_object_on_its_standard_input_and_accepts_by_zero(tmp_path):
    verdict, problems = run(command("sh -c 'cat > got'", tmp_path))
    assert (verdict.passed, verdict.message, problems) == (True, "", ())
    assert (tmp_path / "got").read_text() == '{"a":1}\n'


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("sh -c 'echo no such user >&2; echo out; exit 3'", "no such user"),
        ("sh -c 'echo only this; exit 1'", "only this"),
        ("false", "exit code 1"),
        ("sh -c 'kill -9 $$'", "exit code -9"),
    ],
)
def test_another_code_rejects_with_what_the_command_said(line, words):
    verdict, problems = run(command(line))
    assert (verdict.name, verdict.passed, verdict.message) == (line, False, words)
    assert problems == (Problem("", "check", f"{line}: {words}"),)


def test_no_shell_reads_the_line():
    verdict, _ = run(command("test ';' = \"$HOME\""))
    assert not verdict.passed
    verdict, _ = run(command("echo a; exit 1"))
    assert verdict.passed


def test_long_words_are_cut_and_a_command_that_floods_is_read_to_its_end():
    verdict, _ = run(command(f"{sys.executable} -c \"import sys; sys.stderr.write('ä' * 2_000_000); sys.exit(1)\""))
    assert len(verdict.message.encode()) <= SAID_BYTES
    assert verdict.message.endswith("…")


def test_a_command_that_does_not_read_a_large_object_is_no_fault():
    verdict, _ = run(command("true"), '{"a":"' + "x" * 1_000_000 + '"}')
    assert verdict.passed


def test_a_command_that_takes_too_long_is_ended_with_all_it_started(tmp_path):
    began = time.monotonic()
    verdict, _ = run(command("sh -c 'sleep 30 & echo $! > pid; wait'", tmp_path, timeout_s=0.3))
    assert time.monotonic() - began < 10
    assert verdict.message == "the check did not finish within 0.3 s, so the object was not taken"
    state = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/stat")
    assert not state.exists() or state.read_text().split()[2] == "Z"


def test_what_a_command_leaves_running_is_not_waited_for():
    began = time.monotonic()
    verdict, _ = run(command("sh -c 'sleep 30 &'"))
    assert verdict.passed
    assert time.monotonic() - began < 10


def test_a_command_that_cannot_be_started_accepts_nothing(tmp_path):
    verdict, problems = run(CommandCheck("gone", (str(tmp_path / "gone"),), str(tmp_path), ENV))
    assert not verdict.passed
    assert "could not be started" in problems[0].message


@pytest.mark.parametrize(
    ("line", "why"),
    [("", "empty"), ("'open", "split"), ("no-such-program x", "no program"), ("./nothing", "no program")],
)
def test_what_is_no_command_is_refused_before_the_run(line, why):
    with pytest.raises(BadRule, match=why):
        command(line)


def test_a_program_beside_the_caller_is_found_there(tmp_path):
    script = tmp_path / "judge"
    script.write_text("#!/bin/sh\nexit 0\n")
    script.chmod(0o755)
    assert run(command("./judge", tmp_path))[0].passed
