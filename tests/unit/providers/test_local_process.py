"""The engine's process: start, end, and what is told of it. The engine's library is a scripted one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from lastcall.errors import ModelUnavailable
from lastcall.providers.local_process import EngineProcess, how_it_ended, start_engine, wishes
from local_tools import SCRIPTED


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", str(SCRIPTED))
    file = tmp_path / "script.json"
    monkeypatch.setenv("SCRIPTED_ENGINE", str(file))
    file.write_text('{"replies": []}')
    return file


def started() -> EngineProcess:
    return anyio.run(start_engine, wishes(Path("m"), alias="local:tiny", context=8, slots=1, threads=1))


@pytest.mark.usefixtures("script")
def test_an_engine_serves_on_loopback_and_is_gone_after_a_kill() -> None:
    engine = started()
    assert engine.url.startswith("http://127.0.0.1:")
    assert engine.running
    assert os.getsid(engine.pid) != os.getsid(0)  # a terminal's Ctrl-C does not reach it
    engine.kill()
    engine.kill()
    assert not engine.running


@pytest.mark.usefixtures("script")
def test_each_engine_has_a_key_of_its_own_that_stands_on_no_command_line() -> None:
    first, second = (wishes(Path("m"), alias="a", context=8, slots=1, threads=1) for _ in range(2))
    assert first.key != second.key
    engine = started()
    assert engine.key not in Path(f"/proc/{engine.pid}/cmdline").read_text()
    assert engine.key not in Path(f"/proc/{engine.pid}/environ").read_text()
    engine.kill()


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"load_error": "Failed to init server"}, "ended with code 1: RuntimeError: Failed to init server"),
        ({"load_exit": 7}, "ended with code 7"),
        ({"load_signal": int(signal.SIGILL)}, "does not run on this processor"),
        ({"load_signal": int(signal.SIGKILL)}, "memory ran out"),
    ],
)
def test_an_engine_that_does_not_start_says_why(script: Path, how: dict[str, object], words: str) -> None:
    script.write_text(json.dumps({"replies": [], **how}))
    with pytest.raises(ModelUnavailable, match=words) as failed:
        started()
    assert "lastcall models verify" in failed.value.hint


def test_how_a_process_ended_is_one_sentence_with_its_last_complaint() -> None:
    assert how_it_ended(3, "", ["first", "last", " "]).endswith("code 3: last.")
    assert how_it_ended(0xC000001D, "", []).endswith("(it needs AVX2, FMA, F16C and BMI2).")


PARENT = """
import sys, time
from pathlib import Path
import anyio
from lastcall.providers.local_process import start_engine, wishes
engine = anyio.run(start_engine, wishes(Path("m"), alias="a", context=8, slots=1, threads=1))
print(engine.pid, flush=True)
time.sleep(60)
"""


def gone(pid: int, seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        os.sched_yield()
    return False


@pytest.mark.usefixtures("script")
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks at processes")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_no_engine_outlives_its_parent_however_that_ends(end: signal.Signals) -> None:
    source = str(Path(__file__).parents[3] / "src")
    environment = os.environ | {"PYTHONPATH": f"{source}{os.pathsep}{SCRIPTED}"}
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.send_signal(end)
        parent.wait(10)
    assert gone(pid)


@pytest.mark.usefixtures("script")
def test_a_cancel_while_the_engine_loads_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pids: list[int] = []
    real = EngineProcess.read_address

    def noting(self: EngineProcess) -> str:
        pids.append(self.pid)
        return real(self)

    monkeypatch.setattr(EngineProcess, "read_address", noting)

    async def run() -> None:
        with anyio.move_on_after(0.05) as scope:
            await start_engine(wishes(Path("m"), alias="a", context=8, slots=1, threads=1))
        assert scope.cancelled_caught

    anyio.run(run)
    assert all(gone(pid) for pid in pids)
