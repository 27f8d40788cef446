"""`lastcall verify` on what `lastcall -p` wrote."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace

import pytest

from cli.support import SCHEMA, lastcall, script
from lastcall.cli.subcommands import run_subcommand

GOOD = {"object": {"a": 3, "why": "because"}}


@pytest.fixture
def ran(tmp_path):
    done = lastcall(
        tmp_path, "-p", "do it", "--model", script(tmp_path, GOOD), "--tools", "", "--json-schema", SCHEMA,
        "--output-format", "json", LASTCALL_STATE_DIR=str(tmp_path / "state"),
    )  # fmt: skip
    (journal,) = (tmp_path / "state").rglob("*.jsonl")
    envelope = tmp_path / "envelope.json"
    envelope.write_bytes(done.out)
    return SimpleNamespace(envelope=envelope, journal=str(journal), text=done.text)


def test_what_was_written_passes_with_and_without_its_journal(ran, capsysbinary):
    assert run_subcommand("verify", [str(ran.envelope), "--journal", ran.journal]) == 0
    out = capsysbinary.readouterr().out.decode()
    assert [line.split()[0] for line in out.splitlines()] == ["ok"] * 6
    assert run_subcommand("verify", [str(ran.envelope), "--json-schema", SCHEMA, "--json"]) == 0
    found = json.loads(capsysbinary.readouterr().out)
    assert {f["name"]: f["passed"] for f in found}["contract"] is True


def test_another_object_another_schema_or_another_rule_fails(ran, tmp_path):
    changed = tmp_path / "changed.json"
    changed.write_text(ran.text.replace("because", "perhaps"))
    assert run_subcommand("verify", [str(changed)]) == 1
    assert run_subcommand("verify", [str(ran.envelope), "--json-schema", '{"type":"object"}']) == 1
    assert run_subcommand("verify", [str(ran.envelope), "--json-schema", SCHEMA, "--rule", "a > 3"]) == 1


def test_streams_arrays_and_standard_input_are_read_too(ran, tmp_path, monkeypatch):
    stream, array = tmp_path / "stream", tmp_path / "array"
    stream.write_text('{"type":"system"}\n' + ran.text)
    array.write_text(f'[{{"type":"system"}},{ran.text}]')
    assert run_subcommand("verify", [str(stream)]) == run_subcommand("verify", [str(array)]) == 0
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(ran.text.encode())))
    assert run_subcommand("verify", ["-"]) == 0


def test_what_is_no_envelope_is_refused(tmp_path, capsys):
    other = tmp_path / "other"
    other.write_text("{}")
    assert run_subcommand("verify", [str(other)]) == 2
    assert run_subcommand("verify", [str(tmp_path / "nothing")]) == 2
    assert "no envelope" in capsys.readouterr().err
