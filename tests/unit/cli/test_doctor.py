"""`lastcall doctor` as a command."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from lastcall.cli.doctor import doctor


@pytest.fixture
def run(monkeypatch, tmp_path):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_MODEL", "ANTHROPIC_BASE_URL", "LASTCALL_MODEL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    monkeypatch.setenv("LASTCALL_STATE_DIR", str(tmp_path))

    def call(*words):
        return CliRunner().invoke(doctor, list(words), standalone_mode=False)

    return call


def test_text_is_for_people(run):
    ran = run()
    assert ran.return_value == 0
    assert ran.output.startswith("lastcall ")
    assert "by default      sonnet: ANTHROPIC_API_KEY is set" in ran.output
    assert "sk-test" not in ran.output


def test_json_is_one_object(run):
    ran = run("--json")
    assert ran.return_value == 0
    found = json.loads(ran.output)
    assert found["ok"] is True
    assert found["default"] == {"model": "sonnet", "why": "ANTHROPIC_API_KEY is set"}
    assert {folder["purpose"] for folder in found["folders"]} == {"sessions", "cache", "models"}


def test_the_exit_code_says_whether_a_run_could_begin(run, monkeypatch):
    monkeypatch.setenv("LASTCALL_MODEL", "openai:gpt-5")
    ran = run()
    assert ran.return_value == 1
    assert "OPENAI_API_KEY" in ran.output
