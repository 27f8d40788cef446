"""What the tests of both client libraries share: a scripted endpoint, and where lastcall is."""

import os
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "conformance"))
from scripted_api import ScriptedAPI

COMMAND = shutil.which("lastcall", path=str(Path(sys.executable).parent)) or shutil.which("lastcall")


class Bench:
    """A scripted endpoint, and the environment in which lastcall finds it."""

    def __init__(self, root):
        self.cwd, self.home = root / "cwd", root / "home"
        self.cwd.mkdir()
        self.home.mkdir()
        self.command = COMMAND
        self.api = None

    def script(self, *replies, **by_model):
        """Replies in order; those of models whose name holds a keyword apart."""
        self.api = ScriptedAPI({**by_model, "*": list(replies)} if by_model else list(replies))
        self.api.start()

    @property
    def env(self):
        return {
            "LASTCALL_PROFILE": "compat",
            "LASTCALL_STATE_DIR": str(self.home / "state"),
            "LASTCALL_CACHE_DIR": str(self.home / "cache"),
            "HOME": str(self.home),
            "ANTHROPIC_API_KEY": "sk-test",
            "ANTHROPIC_BASE_URL": self.api.base_url,
            "PATH": os.environ.get("PATH", ""),
        }

    @property
    def requests(self):
        return [r["body"] for r in self.api.requests]


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path)
    yield made
    if made.api is not None:
        made.api.stop()
