"""The peers' own environment: made once, of pinned versions, never in lastcall's."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

PINS = Path(__file__).with_name("peers.txt")


def peers_python() -> str:
    """The interpreter of the environment, which is made (and filled from PyPI) if it is not there."""
    digest = hashlib.sha256(PINS.read_bytes() + sys.version.encode()).hexdigest()[:12]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    place = cache / "lastcall-bench" / f"peers-{digest}"
    python, done = place / "bin" / "python", place / "done"
    if not done.exists():
        print(f"making {place} (once)", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", PINS], check=True, stdout=sys.stderr)
        done.touch()
    return str(python)


def peer_versions() -> dict[str, str]:
    """What is pinned: name -> version."""
    pins = (line.split("==") for line in PINS.read_text().split())
    return {name.partition("[")[0].removesuffix("-slim"): version for name, version in pins}
