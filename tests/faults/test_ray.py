"""Batches on Ray, on this machine: a worker that dies, a command that is killed, rows that are the same as anywhere else."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import needs
from batch_tools import BAD, GOOD, SCHEMA, RowEndpoint, write_rows

pytestmark = pytest.mark.slow
KILLS = int(os.environ.get("LASTCALL_RAY_KILLS", "4"))
"""How many times the command is killed; each takes some ten seconds, half of them Ray's to start."""


@pytest.fixture(autouse=True)
def ray() -> None:
    needs.package("ray")


def words(folder: Path, *more: str) -> list[str]:
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    argv = [sys.executable, "-m", "lastcall", "batch", f"{folder}/i.jsonl", "-o", f"{folder}/out", "--key", "id"]
    argv += ["--prompt", "Label {{ text }}", "--json-schema", f"@{folder}/schema.json"]
    return [*argv, "--engine", "ray", "--workers", "2", *more]


def environment(folder: Path, endpoint: RowEndpoint) -> dict[str, str]:
    keep = {k: v for k, v in os.environ.items() if k in ("PATH", "PYTHONPATH", "VIRTUAL_ENV", "LANG")}
    return {**keep, "HOME": str(folder), **endpoint.environment}


def records(folder: Path) -> list[dict[str, Any]]:
    parts = sorted((folder / "out").glob("part-*.jsonl"))
    return [json.loads(line) for part in parts for line in part.read_bytes().splitlines()]


def keys(folder: Path) -> Counter[int]:
    return Counter(int(record["key"]) for record in records(folder))


def workers_of(driver: int) -> list[int]:
    """The processes on this machine that run rows for a command."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            title = (entry / "cmdline").read_bytes()
            session = (entry / "environ").read_bytes()
        except OSError:
            continue
        if title.startswith(b"ray::") and b"MapWorker" in title and f"BATCH_UNDER_TEST={driver}".encode() in session:
            found.append(int(entry.name))
    return found


def test_a_worker_that_is_killed_in_the_middle_of_2000_rows_costs_nothing_but_what_it_had_under_way(
    tmp_path: Path,
) -> None:
    rows = 2000
    write_rows(tmp_path / "i.jsonl", rows)
    with RowEndpoint(
        latency_s=0.05, reply=lambda row, before, at: BAD if row % 10 == 0 and before == 0 else GOOD
    ) as endpoint:
        env = environment(tmp_path, endpoint) | {"BATCH_UNDER_TEST": "1"}
        process = subprocess.Popen(
            words(tmp_path, "--concurrency", "32", "--json"),
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while endpoint.asked.total() < rows // 3 and process.poll() is None:
            time.sleep(0.02)
        victims = workers_of(1)
        assert victims
        before = Counter(endpoint.asked)
        os.kill(victims[0], signal.SIGKILL)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert keys(tmp_path) == Counter(range(rows))
    assert {record["outcome"] for record in records(tmp_path)} == {"answered"}
    assert json.loads(out)["outcomes"] == {"answered": rows}
    needed = Counter({row: 2 if row % 10 == 0 else 1 for row in range(rows)})
    twice = endpoint.asked - needed
    assert twice.total() <= 2 * 32  # the requests of the rows that were under way, at most two a row
    assert before.total() < rows


def test_a_command_that_is_killed_again_and_again_leaves_one_record_a_row_and_pays_twice_only_what_was_under_way(
    tmp_path: Path,
) -> None:
    rows, chance = 500, random.Random(11)
    latency_s = KILLS / 30  # what a killed command leaves behind ends within seconds; until then it goes on and is kept
    write_rows(tmp_path / "i.jsonl", rows)
    under_way: Counter[int] = Counter()
    with RowEndpoint(latency_s=latency_s) as endpoint:
        command, env = words(tmp_path, "--concurrency", "4", "-q"), environment(tmp_path, endpoint)
        for number in range(KILLS):
            before = Counter(endpoint.asked)
            until = before.total() + (chance.randrange(1, 2 + 60 // KILLS) if number % 6 else 0)
            process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            while endpoint.asked.total() < until and process.poll() is None:
                time.sleep(0.002)
            time.sleep(chance.random() * (0.3 if number % 6 else 6.0))  # now and then while it starts
            process.kill()
            process.communicate()
            settled(endpoint)
            done = keys(tmp_path)
            assert done.total() == len(done)
            under_way += Counter(row for row in (endpoint.asked - before) if row not in done)
        killed_with = len(keys(tmp_path))
        last = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=120)
    assert (last.returncode, last.stderr, last.stdout) == (0, "", "")
    assert 0 < killed_with < rows  # the kills came while there was work
    assert keys(tmp_path) == Counter(range(rows))
    assert endpoint.asked == Counter(range(rows)) + under_way


def settled(endpoint: RowEndpoint) -> None:
    """Until the processes that a killed command leaves behind ask for nothing more."""
    last, quiet_since = endpoint.asked.total(), time.monotonic()
    while time.monotonic() - quiet_since < 2.5:
        time.sleep(0.05)
        if endpoint.asked.total() != last:
            last, quiet_since = endpoint.asked.total(), time.monotonic()


def test_rows_keys_and_records_are_those_of_this_process(tmp_path: Path) -> None:
    """Bad rows, rows of one key, exact numbers: all but what took time is the same on both engines."""
    lines = ['{"id": 1, "text": "row 1.", "n": 1.50}', "no json", '{"id": 1, "text": "row 3."}', '{"text": "row 4."}']
    (tmp_path / "i.jsonl").write_text("\n".join(lines) + "\n")
    with RowEndpoint() as endpoint:
        env = environment(tmp_path, endpoint)
        there = subprocess.run(words(tmp_path, "-q"), env=env, capture_output=True, text=True, check=False, timeout=120)
        here = [word for word in words(tmp_path, "-q") if word not in ("--engine", "ray", "--workers", "2")]
        here[here.index(f"{tmp_path}/out")] = f"{tmp_path}/o.jsonl"
        local = subprocess.run(here, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert (
        (there.returncode, there.stderr, there.stdout) == (local.returncode, local.stderr, local.stdout) == (1, "", "")
    )
    took = ("duration_ms",)
    wanted = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    found = records(tmp_path)
    for record in (*wanted, *found):
        for name in took:
            del record[name]
    assert sorted(found, key=lambda record: record["row"]) == sorted(wanted, key=lambda record: record["row"])


def test_a_budget_is_the_whole_clusters_and_the_first_ctrl_c_finishes_what_is_under_way(tmp_path: Path) -> None:
    write_rows(tmp_path / "i.jsonl", 300)
    with RowEndpoint(latency_s=0.05) as endpoint:
        env = environment(tmp_path, endpoint)
        budget = words(
            tmp_path, "-q", "--max-budget-tokens", "2400", "--concurrency", "16"
        )  # of rows that take 120 each
        spent = subprocess.run(budget, env=env, capture_output=True, text=True, check=False, timeout=120)
        assert (spent.returncode, spent.stdout) == (14, "")
        assert "does not reach for another row" in spent.stderr
        assert len(keys(tmp_path)) == endpoint.asked.total() == 20
        endpoint.hold = lambda: time.sleep(0.4)
        process = subprocess.Popen(
            words(tmp_path, "--concurrency", "8"), env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        while endpoint.asked.total() < 60 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out) == (130, "")
        assert "are done when the same command is run again" in err
        assert len(keys(tmp_path)) == endpoint.asked.total() < 300  # nothing was lost, and nothing begun
