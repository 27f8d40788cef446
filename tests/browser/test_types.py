"""The page's scripts under the type checker of TypeScript, which reads their comments."""

from __future__ import annotations

import subprocess
from pathlib import Path

from needs import program

HERE = Path(__file__).parent


def test_the_scripts_are_well_typed():
    done = subprocess.run(
        [program("tsc"), "-p", str(HERE / "tsconfig.json")], capture_output=True, text=True, check=False, timeout=100
    )
    assert (done.stdout, done.returncode) == ("", 0)
