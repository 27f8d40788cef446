"""What a turn costs: CPU time of whole runs of 1, 10, 50 and 200 tool turns against the scripted provider.

    turns.py [--repeat 3] [--check]

The cost of starting (the run of one turn) is taken off. A constant cost per turn is an exponent of 1 from 50 to 200
turns; a history that is encoded anew each turn would be 2. With `--check` the exit code is 1 when it is over its bound.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from endpoint import ANSWER, SCHEMA

TURNS = (1, 10, 50, 200)
BOUND = 1.1


def script(turns: int) -> list[dict[str, object]]:
    def call(number: int, name: str, arguments: dict[str, object]) -> dict[str, object]:
        return {"content": [{"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": arguments}]}

    reads = [call(n, "Read", {"file_path": "log.txt", "offset": n, "limit": 20}) for n in range(1, turns + 1)]
    return [*reads, call(turns + 1, "StructuredOutput", ANSWER)]


def cpu_seconds(turns: int, folder: Path) -> float:
    replies = folder / f"{turns}.json"
    replies.write_text(json.dumps(script(turns)))
    command = [
        sys.executable,
        "-m",
        "lastcall",
        "-p",
        "Describe the incident.",
        "--json-schema",
        f"@{folder}/schema.json",
    ]
    command += ["--model", f"scripted:{replies}", "--output-format", "json"]
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
    environment = kept | {
        "HOME": str(folder),
        "LASTCALL_STATE_DIR": f"{folder}/state",
        "LASTCALL_CACHE_DIR": f"{folder}/cache",
    }
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        envelope = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode or json.loads(envelope).get("structured_output") != ANSWER:
        raise SystemExit(f"the run of {turns} turns did not end in its object:\n{envelope.decode()}")
    return used.ru_utime + used.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description="CPU time per turn.")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--check", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "schema.json").write_text(json.dumps(SCHEMA))
        (folder / "log.txt").write_text("".join(f"12:00:{n % 60:02} line {n} of the log\n" for n in range(300)))
        used = {turns: min(cpu_seconds(turns, folder) for _ in range(chosen.repeat)) for turns in TURNS}
    start = used[1]
    print(f"{'turns':>6} {'CPU':>10} {'a turn':>10}")
    for turns, total in used.items():
        each = f"{(total - start) / (turns - 1) * 1000:7.2f} ms" if turns > 1 else ""
        print(f"{turns:>6} {total:8.3f} s {each:>10}")
    exponent = math.log((used[200] - start) / (used[50] - start)) / math.log(199 / 49)
    verdict = "ok" if exponent <= BOUND else "OVER"
    print(f"growth from 50 to 200 turns: exponent {exponent:.2f} (bound {BOUND}) {verdict}")
    return 0 if exponent <= BOUND or not chosen.check else 1


if __name__ == "__main__":
    sys.exit(main())
