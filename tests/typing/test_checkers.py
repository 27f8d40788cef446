"""Type checkers see of the public API what its users are promised."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def run(*words: str) -> None:
    environment = {**os.environ, "PYTHONPATH": "", "MYPYPATH": str(ROOT / "src")}
    ran = subprocess.run([sys.executable, "-m", *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.slow
def test_mypy_strict_infers_what_is_promised_and_finds_the_mistakes() -> None:
    run("mypy", "--strict", "--warn-unused-ignores", str(HERE / "public_api.py"), str(HERE / "mistakes.py"))


@pytest.mark.slow
def test_pyright_strict_infers_what_is_promised_and_finds_the_mistakes() -> None:
    pytest.importorskip("pyright")
    run("pyright", "-p", str(HERE), "--pythonpath", sys.executable)
