"""The real command in a subprocess, in a home and a working directory of its own."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

COMMAND = [sys.executable, "-m", "lastcall"]
SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"a": {"type": "number"}, "why": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    }
)


@dataclass
class Ran:
    code: int
    out: bytes
    err: str

    @property
    def text(self):
        return self.out.decode("utf-8")

    @property
    def frame(self):
        """stdout is exactly one JSON document and a line feed."""
        assert self.out.endswith(b"\n")
        assert self.out.count(b"\n") == 1
        return json.loads(self.out)

    @property
    def frames(self):
        assert self.out.endswith(b"\n")
        return [json.loads(line) for line in self.out.splitlines()]


def environment(home, **more):
    keep = {k: v for k, v in os.environ.items() if k in ("PATH", "SYSTEMROOT", "PYTHONPATH", "VIRTUAL_ENV", "LANG")}
    return {**keep, "HOME": str(home), "XDG_STATE_HOME": f"{home}/state", "XDG_CACHE_HOME": f"{home}/cache", **more}


def lastcall(home, *argv, stdin=None, cwd=None, **env):
    """Run the command; `stdin` is text or bytes, `None` for nothing at all."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run(
        [*COMMAND, *argv],
        input=data,
        stdin=subprocess.DEVNULL if data is None else None,
        capture_output=True,
        cwd=cwd or home,
        env=environment(home, **env),
        timeout=60,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))


def script(home, *replies, name="script.json"):
    """A script file for `--model scripted:FILE`; its model name."""
    path = Path(home) / name
    path.write_text(json.dumps(list(replies)), encoding="utf-8")
    return f"scripted:{path}"
