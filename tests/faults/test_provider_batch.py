"""The real command over a batch API, killed at any moment: nothing that was submitted is paid twice."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from batch_services import BatchServices
from batch_tools import BAD, GOOD, SCHEMA, read_records, write_rows


@pytest.mark.slow
@pytest.mark.parametrize("api", ["anthropic", "openai"])
def test_twelve_kills_of_a_batch_of_sixty_rows_pay_for_no_request_twice(tmp_path: Path, api: str) -> None:
    """Rows of which one in five needs a second round; batches of twenty; kills from the first second on."""
    rows, chance = 60, random.Random(3)
    write_rows(tmp_path / "i.jsonl", rows)
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    command = [
        sys.executable,
        "-m",
        "lastcall",
        "batch",
        f"{tmp_path}/i.jsonl",
        "-o",
        f"{tmp_path}/o.jsonl",
        "--key",
        "id",
    ]
    command += ["--prompt", "Label {{ text }}", "--json-schema", f"@{tmp_path}/schema.json"]
    command += ["--via", "provider-batch", "--concurrency", "20", "-q"]
    keep = {k: v for k, v in os.environ.items() if k in ("PATH", "PYTHONPATH", "VIRTUAL_ENV", "LANG")}
    with BatchServices(lambda row, before: BAD if row % 5 == 0 and before == 0 else GOOD, polls=2) as services:
        env = {**keep, "HOME": str(tmp_path), **getattr(services, api)}
        for _ in range(12):
            process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            until = len(services.calls) + chance.randrange(0, 6)
            while len(services.calls) < until and process.poll() is None:
                time.sleep(0.001)
            time.sleep(chance.random() * 0.05)
            process.kill()
            process.wait()
        last = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert (last.returncode, last.stdout, last.stderr) == (0, "", "")
    assert Counter(record["key"] for record in read_records(tmp_path / "o.jsonl")) == Counter(map(str, range(rows)))
    assert services.paid == Counter({row: 2 if row % 5 == 0 else 1 for row in range(rows)})
