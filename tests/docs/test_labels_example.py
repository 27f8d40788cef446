"""The example of a batch: its texts, contract, prompt and score fit each other. What a model makes of it: tests/live."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

from lastcall.cli.subcommands import run_subcommand

EXAMPLE = Path(__file__).parents[2] / "examples" / "labels"
ROWS = [json.loads(line) for line in (EXAMPLE / "texts.jsonl").read_text("utf-8").splitlines()]


def test_there_are_two_hundred_different_texts_of_every_kind_language_and_severity():
    assert len({row["text"] for row in ROWS}) == len({row["id"] for row in ROWS}) == 200
    schema = json.loads((EXAMPLE / "label.json").read_text("utf-8"))
    for field, told in schema["properties"].items():
        counted = Counter(row["label"][field] for row in ROWS)
        assert set(counted) == set(told["enum"])
        assert min(counted.values()) >= 15


def test_the_command_runs_and_the_score_counts_what_is_right(tmp_path, monkeypatch):
    wrong = {"t001": {"kind": "review"}, "t002": {"severity": "high"}}
    replies = [{"object": {**row["label"], **wrong.get(row["id"], {})}} for row in ROWS]
    (tmp_path / "script.json").write_text(json.dumps(replies), "utf-8")
    monkeypatch.chdir(EXAMPLE)
    words = [
        "texts.jsonl",
        "-o",
        f"{tmp_path}/labels.jsonl",
        "--key",
        "id",
        "--prompt",
        "@prompt.txt",
        "--concurrency",
        "1",
    ]
    words += [
        "--json-schema",
        "@label.json",
        "--model",
        f"scripted:{tmp_path}/script.json",
        "--report",
        f"{tmp_path}/l.html",
    ]
    assert run_subcommand("batch", [*words, "-q"]) == 0
    score = [sys.executable, "score.py", "texts.jsonl", f"{tmp_path}/labels.jsonl"]
    said = subprocess.run(score, capture_output=True, text=True, check=True).stdout.splitlines()
    assert said[0].startswith("t001: kind review instead of bug report")
    assert said[-5:] == [
        "200 answered", "kind      199 of 200 right", "language  200 of 200 right", "severity  199 of 200 right",
        "all three 198 of 200 right",
    ]  # fmt: skip
