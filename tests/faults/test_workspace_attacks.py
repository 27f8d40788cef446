"""Attacks on the workspace, each with the refusal that it has to meet. What a model may try, it will."""

from __future__ import annotations

import os
import threading
import time

import anyio
import msgspec
import pytest

from lastcall.nouns.ids import CallId, MessageId
from lastcall.nouns.profile import Profile
from lastcall.nouns.tools import Arguments, ToolCall
from lastcall.tools import ToolContext
from lastcall.tools.builtin import builtin_tools
from lastcall.tools.gates import permission_gate
from lastcall.tools.paths import Workspace
from lastcall.tools.permissions import Mode, Permissions, parse_rules
from lastcall.tools.running import Runner
from lastcall.tools.seen import FilesSeen

SECRET = "the-secret-word"


class Victim:
    """A workspace, a folder outside of it that holds a secret, and the tools as a run has them."""

    def __init__(self, base):
        self.work = base / "work"
        self.outside = base / "outside"
        self.work.mkdir()
        self.outside.mkdir()
        (self.outside / "secret.txt").write_text(SECRET)
        (self.work / "mine.txt").write_text("mine")

    def play(self, name, *, allow=(), deny=(), mode=Mode.DEFAULT, environment=None, **arguments):
        return anyio.run(
            lambda: self.call(name, allow, deny, mode, environment or {"PATH": os.environ["PATH"]}, arguments)
        )

    async def call(self, name, allow, deny, mode, environment, arguments):
        workspace = Workspace(str(self.work))
        rules = Permissions(
            allow=parse_rules(allow, where="a"), deny=parse_rules(deny, where="d"), mode=mode, cwd=workspace.cwd
        )
        context = ToolContext(
            workspace=workspace, seen=FilesSeen(), rules=rules, environment=environment, idempotency_key="k"
        )
        runner = Runner(builtin_tools(), permission_gate(rules, Profile.NATIVE), profile=Profile.NATIVE)
        text = msgspec.json.encode(arguments).decode()
        call = ToolCall(CallId("c1"), MessageId("m1"), name, Arguments(text))
        with anyio.fail_after(60):
            return await runner.run(call, context)

    @property
    def unharmed(self):
        return (
            sorted(os.listdir(self.outside)) == ["secret.txt"] and (self.outside / "secret.txt").read_text() == SECRET
        )


@pytest.fixture
def victim(tmp_path):
    return Victim(tmp_path)


PATHS = {
    "dots": "../outside/secret.txt",
    "dots behind a folder": "sub/../../outside/secret.txt",
    "absolute": "{outside}/secret.txt",
    "doubled slashes": "{work}//..//outside//secret.txt",
    "a link to the file": "file-link",
    "a link to the folder": "folder-link/secret.txt",
    "a link to a link": "link-link/secret.txt",
    "a link in a loop": "loop",
    "a link to the root": "root-link{outside}/secret.txt",
    "a relative link upwards": "up-link/outside/secret.txt",
    "the process's environment": "/proc/self/environ",
    "the root of a process": "/proc/self/root{outside}/secret.txt",
    "the working directory of a process": "/proc/self/cwd/../outside/secret.txt",
    "a link into /proc": "proc-link/environ",
    "a descriptor": "/dev/fd/0",
    "a device": "/dev/zero",
    "a terminal": "/dev/tty",
    "a FIFO": "pipe",
    "a password file": "/etc/passwd",
    "a NUL character": "mine.txt\0/../../outside/secret.txt",
    "a very long path": "a/" * 3000 + "x",
    "a home that is not given": "~root/.ssh/id_rsa",
}


@pytest.fixture
def trapped(victim):
    (victim.work / "sub").mkdir()
    (victim.work / "file-link").symlink_to(victim.outside / "secret.txt")
    (victim.work / "folder-link").symlink_to(victim.outside)
    (victim.work / "link-link").symlink_to("folder-link")
    (victim.work / "loop").symlink_to("loop")
    (victim.work / "root-link").symlink_to("/")
    (victim.work / "up-link").symlink_to("..")
    (victim.work / "proc-link").symlink_to("/proc/self")
    os.mkfifo(victim.work / "pipe")
    return victim


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS.keys())
def test_no_path_leads_to_a_file_outside(trapped, path):
    path = path.format(outside=trapped.outside, work=trapped.work)
    for name, arguments in (
        ("Read", {}),
        ("Edit", {"old_string": "secret", "new_string": "x"}),
        ("Grep", {"pattern": ".", "output_mode": "content"}),
    ):
        given = {"path": path} if name == "Grep" else {"file_path": path}
        answer = trapped.play(name, mode=Mode.BYPASS, **given, **arguments)
        assert answer.failed, (name, answer)
        assert SECRET not in answer.content
    assert trapped.unharmed


@pytest.mark.parametrize(
    "path", ["../outside/new", "folder-link/new", "up-link/outside/new", "{outside}/new", "root-link/tmp/lc"]
)
def test_nothing_is_made_outside(trapped, path):
    answer = trapped.play("Write", mode=Mode.BYPASS, file_path=path.format(outside=trapped.outside), content="x")
    assert answer.failed
    assert trapped.unharmed
    assert not os.path.exists("/tmp/lc")


def test_a_folder_swapped_for_a_link_again_and_again_never_leads_outside(victim):
    (victim.work / "real").mkdir()
    (victim.work / "real/secret.txt").write_text("harmless")
    door = victim.work / "door"
    stop = threading.Event()

    def swap():
        number = 0
        while not stop.is_set():
            number += 1
            fresh = victim.work / f"door-{number}"
            fresh.symlink_to(victim.outside if number % 2 else victim.work / "real")
            os.replace(fresh, door)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        while not door.is_symlink():
            time.sleep(0)
        for _ in range(150):
            answer = victim.play("Read", file_path="door/secret.txt")
            assert SECRET not in answer.content
            victim.play("Write", mode=Mode.BYPASS, file_path="door/new.txt", content="x")
    finally:
        stop.set()
        swapper.join()
    assert victim.unharmed


DENIED = {
    "a command behind an allowed one": "git log; cat {outside}/secret.txt",
    "a command after and": "git log && cat {outside}/secret.txt",
    "a pipe": "git log | sh",
    "a substitution": "git log $(cat {outside}/secret.txt)",
    "a backquoted one": "git log `cat {outside}/secret.txt`",
    "a redirection": "git log > {outside}/secret.txt",
    "a new line": "git log\ncat {outside}/secret.txt",
    "an assignment": "GIT_PAGER='cat {outside}/secret.txt' git log",
    "a longer word": "git logger",
    "the background": "git log & cat {outside}/secret.txt",
    "a group": "(git log; cat {outside}/secret.txt)",
    "a quote that hides the end": "git log '' ; cat {outside}/secret.txt ''",
}


@pytest.mark.parametrize("command", DENIED.values(), ids=DENIED.keys())
def test_a_rule_about_a_beginning_allows_nothing_else(victim, command):
    answer = victim.play("Bash", allow=["Bash(git log:*)"], command=command.format(outside=victim.outside))
    assert answer.kind.value == "denied"
    assert SECRET not in answer.content
    assert victim.unharmed


def test_a_command_does_not_find_the_provider_keys(victim):
    environment = {"PATH": os.environ["PATH"], "ANTHROPIC_API_KEY": "sk-ant-1", "OPENAI_API_KEY": "sk-2"}
    answer = victim.play("Bash", mode=Mode.BYPASS, environment=environment, command="env; set; cat /proc/self/environ")
    assert "sk-" not in answer.content


def test_a_directory_changed_by_one_command_is_not_the_next_ones(victim):
    victim.play("Bash", mode=Mode.BYPASS, command="cd ../outside")
    assert victim.play("Bash", mode=Mode.BYPASS, command="pwd").content == str(victim.work)


def test_a_flood_costs_no_more_than_the_cap(victim):
    answer = victim.play("Bash", mode=Mode.BYPASS, command="head -c 200000000 /dev/zero | tr '\\0' x")
    assert len(answer.content) < 101_000


def test_a_command_that_ignores_every_signal_is_ended(victim):
    began = time.monotonic()
    command = "trap '' TERM INT HUP; while :; do sleep 1; done"
    answer = victim.play("Bash", mode=Mode.BYPASS, command=command, timeout=200)
    assert answer.failed
    assert time.monotonic() - began < 20


def test_a_bomb_that_forks_is_ended_with_all_its_children(victim):
    # bounded by itself, so that a failure of this test harms nobody
    command = "bomb() { [ $1 -gt 0 ] && { bomb $(($1-1)) & bomb $(($1-1)) & }; sleep 63; }; bomb 5"
    answer = victim.play("Bash", mode=Mode.BYPASS, command=command, timeout=1500)
    assert answer.failed
    left = [pid for pid in os.listdir("/proc") if pid.isdigit() and _sleeps(pid)] if os.path.isdir("/proc") else []
    assert left == []


def _sleeps(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read() == b"sleep\x0063\x00"
    except OSError:
        return False


def test_a_hard_link_is_never_written_through(victim):
    os.link(victim.outside / "secret.txt", victim.work / "hard")
    answer = victim.play("Edit", mode=Mode.BYPASS, file_path="hard", old_string="secret", new_string="known")
    assert not answer.failed
    assert victim.unharmed


def test_a_file_with_a_forbidden_name_is_not_shown_by_any_tool(victim):
    (victim.work / ".env").write_text(f"KEY={SECRET}")
    (victim.work / "innocent").symlink_to(".env")
    deny = ["Read(.env)"]
    assert SECRET not in victim.play("Read", deny=deny, file_path=".env").content
    assert SECRET not in victim.play("Read", deny=deny, file_path="innocent").content
    assert SECRET not in victim.play("Read", deny=deny, file_path="./sub/../.env").content
    assert SECRET not in victim.play("Grep", deny=deny, pattern="KEY", output_mode="content").content
    assert ".env" not in victim.play("Glob", deny=deny, pattern="*").content


def test_plan_mode_changes_nothing_even_where_a_rule_allows_it(victim):
    answer = victim.play("Write", mode=Mode.PLAN, allow=["Write"], file_path="new.txt", content="x")
    assert answer.kind.value == "denied"
    assert sorted(os.listdir(victim.work)) == ["mine.txt"]
