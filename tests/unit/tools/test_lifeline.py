"""A command does not go on when the process that started it was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from lastcall.tools.leftovers import marked
from lastcall.tools.lifeline import Lifeline

needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are found through /proc")

PARENT = """
import anyio, os, sys
from lastcall.tools import ToolContext
from lastcall.tools.bash import Bash
from lastcall.tools.paths import Workspace
from lastcall.tools.permissions import Permissions
from lastcall.tools.seen import FilesSeen

context = ToolContext(
    workspace=Workspace(sys.argv[1]), seen=FilesSeen(), rules=Permissions(cwd=sys.argv[1]), environment=dict(os.environ)
)
anyio.run(Bash().run, {"command": sys.argv[2]}, context)
"""


@needs_proc
@pytest.mark.parametrize(
    "command",
    [
        "touch began; sleep 100",
        "(sleep 100 & sleep 100) & touch began; wait",
        "trap '' TERM HUP INT; touch began; sleep 100 | cat",
    ],
)
def test_a_killed_parent_takes_the_whole_group_with_it(tmp_path, command):
    mark = f"test-{time.monotonic_ns()}"
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path), command],
        env={**os.environ, "MARK": mark},
        stdin=subprocess.DEVNULL,
    )
    until = time.monotonic() + 20
    while not (tmp_path / "began").exists():
        assert time.monotonic() < until
        time.sleep(0.01)
    assert len(list(marked(f"MARK={mark}"))) >= 3  # the parent, the shell, what it started, the sentry
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    while left := list(marked(f"MARK={mark}")):
        assert time.monotonic() < until, left
        time.sleep(0.01)


def test_a_command_has_no_input_and_the_number_and_code_of_its_shell():
    with Lifeline() as lifeline:
        done = subprocess.Popen(
            lifeline.tie(["/bin/sh", "-c", 'cat; echo $$ "$1"; exit 7', "sh", "a 'b' $c"]),
            stdin=lifeline.end,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        lifeline.started()
        out, _ = done.communicate(timeout=20)
    assert out == f"{done.pid} a 'b' $c\n".encode()
    assert done.returncode == 7


def test_what_is_not_started_holds_no_descriptor():
    before = len(os.listdir("/dev/fd"))
    with Lifeline():
        pass
    assert len(os.listdir("/dev/fd")) == before
