"""`Bash`: one command, its output, and nothing left behind."""

from __future__ import annotations

import os
import re
import time

import anyio
import pytest

from lastcall.tools.bash import MAX_OUTPUT_CHARS, Bash
from lastcall.tools.leftovers import marked

PLACE = {"PATH": os.environ["PATH"]}


@pytest.fixture
def bash(context, wait):
    def run(command, environment=PLACE, key="session:call", profile=None, **arguments):
        fields = {} if profile is None else {"profile": profile}
        made = context(environment=environment, idempotency_key=key, **fields)
        return wait(Bash().run, {"command": command, **arguments}, made)

    return run


def test_an_exit_code_is_told_with_the_output_as_recorded(bash):
    done = bash("echo hi; echo err >&2; exit 3")
    assert (done.content, done.failed, done.display) == ("Exit code 3\nhi\nerr", True, "Error: Exit code 3\nhi\nerr")


def test_silence_is_an_empty_output_as_recorded(bash, tmp_path, compat):
    done = bash("echo ran > ran.txt", profile=compat)
    assert (done.content, done.failed, done.says_no_error) == ("", False, True)
    assert done.display == {
        "stdout": "",
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": False,
    }
    assert (tmp_path / "ran.txt").read_text() == "ran\n"


def test_each_call_begins_in_the_working_directory(bash, tmp_path):
    assert bash("cd /; pwd").content == "/"
    assert bash("pwd").content == str(tmp_path)


def test_there_is_no_input(bash):
    assert bash("cat; echo end").content == "end"


def test_head_and_tail_of_long_output_are_kept(bash):
    done = bash("echo first; yes | head -c 3000000; echo last")
    assert done.content.startswith("first\ny\n")
    assert done.content.endswith("y\nlast")
    assert len(done.content) < MAX_OUTPUT_CHARS + 100
    left_out = int(re.search(r"… ([\d,]+) bytes left out", done.content).group(1).replace(",", ""))
    assert left_out == len("first\n") + 3_000_000 + len("last\n") - MAX_OUTPUT_CHARS


def test_output_that_is_no_utf_8_is_shown_all_the_same(bash):
    assert bash(r"printf '\377a'").content == "\ufffda"


def test_a_command_that_never_ends_is_ended_with_what_it_said(bash):
    began = time.monotonic()
    done = bash("echo begun; sleep 60", timeout=300)
    assert done.failed
    assert "did not end within 0.3 seconds" in done.content
    assert "begun" in done.content
    assert time.monotonic() - began < 10


def test_a_signal_is_told_by_name(bash):
    assert "signal 9 (SIGKILL)" in bash("kill -9 $$").content


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="daemons are found through /proc")
@pytest.mark.parametrize(
    "leaves",
    [
        "sleep 61 &",
        "nohup sleep 61 >/dev/null 2>&1 &",
        "(setsid sleep 61 &)",
        "setsid bash -c 'trap \"\" TERM HUP; sleep 61; sleep 61' >/dev/null 2>&1 &",
        "for i in 1 2 3 4 5 6 7 8; do (setsid bash -c 'sleep 61 & sleep 61' &) ; done",
    ],
)
def test_nothing_goes_on_after_a_command(bash, leaves):
    key = f"test:{time.monotonic_ns()}"
    began = time.monotonic()
    assert bash(f"{leaves}\necho done", key=key).content.endswith("done")
    assert time.monotonic() - began < 30
    end = time.monotonic() + 5  # a killed process is listed until its parent has heard of it
    while list(marked(f"LASTCALL_IDEMPOTENCY_KEY={key}")) and time.monotonic() < end:
        time.sleep(0.02)
    assert list(marked(f"LASTCALL_IDEMPOTENCY_KEY={key}")) == []


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="daemons are found through /proc")
def test_a_cancelled_call_leaves_nothing_behind(context, tmp_path):
    key = f"test:{time.monotonic_ns()}"
    made = context(environment=PLACE, idempotency_key=key)

    async def main():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Bash().run, {"command": "setsid sleep 61 & touch begun; sleep 61"}, made)
            with anyio.fail_after(20):
                while not (tmp_path / "begun").exists():
                    await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()

    anyio.run(main)
    assert list(marked(f"LASTCALL_IDEMPOTENCY_KEY={key}")) == []


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="daemons are found through /proc")
@pytest.mark.parametrize("turns", range(8))
def test_a_call_that_is_cancelled_while_it_starts_leaves_nothing_behind(context, turns):
    key = f"test:{time.monotonic_ns()}"
    made = context(environment=PLACE, idempotency_key=key)

    async def main():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Bash().run, {"command": "setsid sleep 61 & sleep 61"}, made)
            for _ in range(turns):
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()

    anyio.run(main)
    time.sleep(0.05)  # what was left would have begun by now
    assert list(marked(f"LASTCALL_IDEMPOTENCY_KEY={key}")) == []


def test_a_command_knows_its_idempotency_key_and_no_provider_key(bash):
    environment = {**PLACE, "ANTHROPIC_API_KEY": "sk-1", "OPENAI_API_KEY": "sk-2", "GIT_TOKEN": "mine"}
    shown = bash("env", environment=environment, key="s:c").content.split("\n")
    assert "LASTCALL_IDEMPOTENCY_KEY=s:c" in shown
    assert "GIT_TOKEN=mine" in shown
    assert not [line for line in shown if "sk-" in line]


def test_a_nul_character_is_refused(bash):
    assert bash("echo a\0b").failed
