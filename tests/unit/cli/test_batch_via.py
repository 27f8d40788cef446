"""`lastcall batch --via provider-batch` from its command line to its records, in this process."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from batch_services import BatchServices
from batch_tools import BAD, GOOD, SCHEMA, read_records, write_rows
from lastcall.cli.subcommands import run_subcommand


def words(folder: Path, *more: str, rows: int = 4) -> list[str]:
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    write_rows(folder / "i.jsonl", rows)
    argv = [f"{folder}/i.jsonl", "-o", f"{folder}/o.jsonl", "--prompt", "Label {{ text }}"]
    return [*argv, "--json-schema", f"@{folder}/schema.json", *more]


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LASTCALL_MODEL", "ANTHROPIC_API_KEY", "ANTHROPIC_MODEL", "CLAUDE_CODE_MAX_RETRIES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_the_rows_are_done_in_rounds_and_standard_output_stays_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with BatchServices(lambda row, before: BAD if row == 2 and before == 0 else GOOD) as services:
        for name, value in services.anthropic.items():
            monkeypatch.setenv(name, value)
        assert run_subcommand("batch", words(tmp_path, "--via", "provider-batch")) == 0
    out, err = capfd.readouterr()
    assert out == ""
    assert "batch msgbatch_0 with 4 requests is submitted" in err
    assert "batch msgbatch_1 with 1 requests is submitted" in err
    records = read_records(tmp_path / "o.jsonl")
    assert Counter(record["outcome"] for record in records) == {"answered": 4}
    assert services.paid == Counter({0: 1, 1: 1, 2: 2, 3: 1})
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("o.")) == ["o.jsonl"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--via", "provider-batch", "--model", "scripted:{folder}/s.json"), "has no batch API"),
        (("--via", "provider-batch", "--model", "haiku", "--fallback-model", "sonnet"), "takes no fallback"),
        (("--concurrency", "501", "--model", "haiku"), "501 requests at once are too many"),
    ],
)
def test_what_a_batch_api_cannot_do_is_refused_before_anything_is_sent(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    more: tuple[str, ...],
    said: str,
) -> None:
    (tmp_path / "s.json").write_text('[{"object": {}}]')
    with BatchServices(lambda _row, _before: GOOD) as services:
        for name, value in services.anthropic.items():
            monkeypatch.setenv(name, value)
        assert run_subcommand("batch", words(tmp_path, *(word.format(folder=tmp_path) for word in more))) == 2
        assert services.calls == []
    out, err = capfd.readouterr()
    assert (out, said in err) == ("", True)
    assert not (tmp_path / "o.jsonl").exists()
