"""`lastcall -p` with the small model: to the end, interrupted, and killed. No process stays behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from incident_tools import DATA, NOTE, rows

pytestmark = [
    pytest.mark.live,
    pytest.mark.slow,
    pytest.mark.usefixtures("small_weights"),
    pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks at processes"),
]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    prompt = NOTE + rows("notes")[0]["text"]
    schema = f"@{DATA / 'schema.json'}"
    words = [sys.executable, "-m", "lastcall", "-p", prompt, "--json-schema", schema, "--model", "local:small"]
    words += ["--tools", "", "--output-format", "json", "--no-session-persistence"]
    command = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path)
    yield command
    command.kill()
    command.communicate()


def engines_of(pid: int) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and b"lastcall.providers.local_engine" in (folder / "cmdline").read_bytes():
                parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
                found += [int(folder.name)] if int(parent) == pid else []
        except OSError:
            continue
    return found


def wait_for_engine(command: subprocess.Popen[bytes]) -> int:
    end = time.monotonic() + 60
    while time.monotonic() < end and command.poll() is None:
        if engines := engines_of(command.pid):
            return engines[0]
    raise AssertionError(command.communicate())


def gone(pid: int, seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not Path(f"/proc/{pid}/cmdline").exists() or not Path(f"/proc/{pid}/cmdline").read_bytes():
            return True
    return False


def test_a_run_ends_in_a_verified_object_on_a_clean_standard_output(running: subprocess.Popen[bytes]) -> None:
    engine = wait_for_engine(running)
    out, _ = running.communicate(timeout=100)
    envelope = json.loads(out)
    assert running.returncode == 0
    assert set(envelope["structured_output"]) == {"ticket", "area", "customers", "start"}
    assert envelope["usage"]["output_tokens"] > 0
    assert gone(engine)


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_stops_it_at_once_and_leaves_no_process(
    running: subprocess.Popen[bytes], sent: signal.Signals, code: int
) -> None:
    engine = wait_for_engine(running)
    began = time.monotonic()
    running.send_signal(sent)
    out, _ = running.communicate(timeout=20)
    assert time.monotonic() - began < 5
    assert running.returncode == code
    assert json.loads(out)["lastcall"]["outcome"] == "cancelled"
    assert gone(engine)


def test_a_command_that_is_killed_leaves_no_process(running: subprocess.Popen[bytes]) -> None:
    engine = wait_for_engine(running)
    running.kill()
    assert gone(engine)
