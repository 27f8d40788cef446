"""`make demo`, with a script in place of the model: the screen tells the whole story."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "examples" / "incident" / "demo.py"
GOOD = {"ticket": "INC-2041", "area": "payments", "customers": 340, "start": "09:12"}


def call(name, arguments):
    return {"content": [{"type": "tool_use", "name": name, "input": arguments}]}


def play(tmp_path, *replies):
    script = tmp_path / "script.json"
    script.write_text(json.dumps(replies))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "LASTCALL_STATE_DIR": str(tmp_path / "state")}
    command = [sys.executable, str(DEMO), "--model", f"scripted:{script}"]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_the_screen_shows_text_contract_attempts_object_and_outcome(tmp_path):
    bad = call("StructuredOutput", GOOD | {"ticket": "2041"})
    ran = play(tmp_path, call("Read", {"file_path": "app.log"}), bad, call("StructuredOutput", GOOD))
    assert ran.returncode == 0, ran.stderr
    sections = [line[3:] for line in ran.stdout.splitlines() if line.startswith("== ")]
    assert [words.split(" (")[0] for words in sections] == [
        "The incident",
        "The contract",
        "The run",
        "Attempts",
        "The verified object",
        "The envelope says",
    ]
    assert "opened INC-2041" in ran.stdout
    assert "1: rejected" in ran.stdout
    assert "/ticket: must match pattern" in ran.stdout
    assert "2: accepted" in ran.stdout
    assert '"customers": 340' in ran.stdout
    assert "outcome: answered" in ran.stdout
    assert "exit code: 0" in ran.stdout
    assert list(tmp_path.iterdir()) == [tmp_path / "script.json"], "the demo leaves nothing behind"


def test_a_run_without_an_object_says_so(tmp_path):
    ran = play(tmp_path, {"content": [{"type": "text", "text": "I would rather not."}]})
    assert ran.returncode == 11
    assert "== No object" in ran.stdout
    assert "outcome: gave_up" in ran.stdout
