"""The engine's own process, run by itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from local_tools import SCRIPTED

SOURCE = str(Path(__file__).parents[3] / "src")
WISHES = {"model": "m", "alias": "a", "key": "k", "context": 16, "slots": 2, "threads": 3, "batch": 4}


def process(script: dict[str, object], tmp_path: Path) -> subprocess.Popen[bytes]:
    file = tmp_path / "script.json"
    file.write_text(json.dumps(script))
    environment = os.environ | {"PYTHONPATH": f"{SOURCE}{os.pathsep}{SCRIPTED}", "SCRIPTED_ENGINE": str(file)}
    pipe = subprocess.PIPE
    engine = subprocess.Popen(
        [sys.executable, "-m", "lastcall.providers.local_engine"], stdin=pipe, stdout=pipe, stderr=pipe, env=environment
    )
    assert engine.stdin is not None
    engine.stdin.write(json.dumps(WISHES).encode() + b"\n")
    engine.stdin.flush()
    return engine


def test_standard_output_holds_one_line_whatever_libraries_print(tmp_path: Path) -> None:
    engine = process({"replies": [], "load_error": "no such model"}, tmp_path)
    assert engine.stdout is not None
    assert engine.stdout.read() == b'{"error": "RuntimeError: no such model"}\n'
    assert engine.wait(20) == 1
    engine.communicate()


def test_it_serves_and_ends_by_itself_and_quietly_when_its_input_ends(tmp_path: Path) -> None:
    engine = process({"replies": []}, tmp_path)
    assert engine.stdout is not None
    assert engine.stdout.readline().startswith(b'{"url": "http://127.0.0.1:')
    out, told = engine.communicate(timeout=20)
    assert engine.returncode == 0
    assert out == b""
    assert told == b"a library's chatter on standard output\n"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("api_keys", ["k"]), ("n_ctx", 16), ("n_parallel", 2), ("cache_ram_mib", 0), ("ui", False),
        ("endpoint_slots", False), ("n_gpu_layers", 0), ("verbosity", 1),
    ],
)  # fmt: skip
def test_the_engine_is_locked_down(name: str, value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTED))
    monkeypatch.delitem(sys.modules, "xllamacpp", raising=False)
    import xllamacpp

    from lastcall.providers import local_engine

    monkeypatch.setattr(xllamacpp, "Server", lambda params: params)
    params = local_engine._serve(WISHES)
    assert getattr(params, name) == value
    assert params.cpuparams.n_threads == params.cpuparams_batch.n_threads == 3
    monkeypatch.delitem(sys.modules, "xllamacpp", raising=False)
