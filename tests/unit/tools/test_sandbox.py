"""Commands behind walls, where bubblewrap is installed and works; a refusal where not."""

from __future__ import annotations

import os
import socket

import pytest

from lastcall.errors import BadConfig
from lastcall.tools.bash import Bash
from lastcall.tools.sandbox import Sandbox, open_sandbox

HERE = {"PATH": os.environ["PATH"]}


@pytest.fixture
def inside(context, wait, tmp_path):
    """Run a command in a sandbox whose workspace is `tmp_path / "work"`."""
    work = tmp_path / "work"
    work.mkdir()
    try:
        sandbox = open_sandbox([str(work)], HERE)
    except BadConfig as error:
        pytest.skip(error.message)
    from lastcall.tools.paths import Workspace

    def run(command, **arguments):
        made = context(environment=HERE, idempotency_key="k", workspace=Workspace(str(work)))
        return wait(Bash(sandbox).run, {"command": command, **arguments}, made)

    return run


def test_the_workspace_can_be_changed_and_nothing_else(inside, tmp_path):
    (tmp_path / "outside.txt").write_text("precious")
    assert inside("echo x > a.txt; cat a.txt; pwd").content == f"x\n{tmp_path}/work"
    assert (tmp_path / "work/a.txt").read_text() == "x\n"
    inside(f"echo x >> {tmp_path}/outside.txt")  # lands in a /tmp of its own
    assert (tmp_path / "outside.txt").read_text() == "precious"
    assert "Read-only file system" in inside("echo x >> /etc/passwd").content
    assert "Read-only file system" in inside("touch /usr/lastcall-test").content


def test_there_is_no_network(inside):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        port = server.getsockname()[1]
        assert inside(f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached").failed


def test_other_processes_and_their_environments_are_out_of_sight(inside):
    assert int(inside("ls /proc | grep -c '^[0-9]'").content) < 10
    assert inside(f"cat /proc/{os.getpid()}/environ").content == (
        f"Exit code 1\ncat: /proc/{os.getpid()}/environ: No such file or directory"
    )


def test_a_command_that_never_ends_is_ended_with_all_that_it_started(inside):
    assert "did not end within" in inside("setsid sleep 64 & sleep 64", timeout=300).content
    left = [pid for pid in os.listdir("/proc") if pid.isdigit() and _command(pid) == b"sleep\x0064\x00"]
    assert left == []


def _command(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""


def test_exit_codes_and_the_idempotency_key_come_through(inside):
    assert inside("echo $LASTCALL_IDEMPOTENCY_KEY; exit 3").content == "Exit code 3\nk"


def test_without_bubblewrap_it_is_refused(tmp_path):
    with pytest.raises(BadConfig, match="no bubblewrap"):
        open_sandbox([str(tmp_path)], {"PATH": str(tmp_path)})


def test_a_bubblewrap_that_does_not_work_is_refused_with_its_reason(tmp_path):
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'No permissions to create new namespace' >&2\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(BadConfig, match="No permissions to create new namespace"):
        open_sandbox([str(tmp_path)], {"PATH": str(tmp_path)})


def test_every_root_is_writable_and_nothing_follows_the_command_line():
    words = Sandbox("bwrap", ("/a", "/b")).around(["sh", "-c", "x"], "/a")
    assert words[-4:] == ["--", "sh", "-c", "x"]
    assert words.count("--bind") == 2
