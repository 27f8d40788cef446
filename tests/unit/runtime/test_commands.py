"""A command is run to its end, within a time and a size, and leaves nothing behind."""

from __future__ import annotations

import os
import time

import anyio
import pytest

from lastcall.runtime.commands import Finished, NotStarted, TimedOut, run_command


def run(*argv: str, stdin: bytes = b"", cwd: str = "/", timeout_s: float = 20.0, cap_bytes: int = 1_000) -> object:
    async def go() -> object:
        return await run_command(
            argv, stdin, cwd=cwd, environment={"PATH": os.environ["PATH"]}, timeout_s=timeout_s, cap_bytes=cap_bytes
        )

    return anyio.run(go)


def sh(script: str, **more: object) -> object:
    return run("/bin/sh", "-c", script, **more)  # type: ignore[arg-type]


def test_text_goes_in_and_code_and_both_outputs_come_out():
    assert sh("cat; echo no >&2; exit 3", stdin=b"hello") == Finished(3, "hello", "no\n")


def test_only_the_beginning_of_much_output_is_kept_and_all_of_it_is_read():
    ran = sh("yes x | head -c 300000; echo end >&2", cap_bytes=10)
    assert ran == Finished(0, "x\nx\nx\nx\nx\n", "end\n")


def test_a_command_that_does_not_read_its_input_is_not_waited_for():
    assert sh("exec 0<&-; echo ok", stdin=b"x" * 500_000) == Finished(0, "ok\n", "")


def test_what_is_no_text_comes_out_as_text():
    assert sh(r"printf '\377'") == Finished(0, "�", "")


def test_time_is_bounded_with_everything_that_the_command_started(tmp_path):
    began = time.monotonic()
    assert sh(f"(sleep 30; touch {tmp_path}/late) & sleep 30", timeout_s=0.2) == TimedOut(0.2)
    assert time.monotonic() - began < 15
    assert not (tmp_path / "late").exists()


def test_what_it_leaves_running_is_not_waited_for():
    began = time.monotonic()
    assert sh("sleep 30 & echo ok") == Finished(0, "ok\n", "")
    assert time.monotonic() - began < 15


@pytest.mark.parametrize(
    ("argv", "why"), [(("/no/such/program",), "No such file or directory"), (("/bin/echo", "a\0b"), "null byte")]
)
def test_what_cannot_be_started_says_why(argv, why):
    ran = run(*argv)
    assert isinstance(ran, NotStarted)
    assert why in ran.why


def test_a_cancelled_command_ends(tmp_path):
    async def go() -> None:
        with anyio.move_on_after(0.3):
            await run_command(
                ("/bin/sh", "-c", f"echo $$ > {tmp_path}/pid; sleep 60"),
                b"",
                cwd="/",
                environment={"PATH": os.environ["PATH"]},
                timeout_s=60,
                cap_bytes=10,
            )

    anyio.run(go)
    pid = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
