"""`lastcall batch --engine ray`: what is refused before Ray is started. The rest is in `tests/faults/test_ray.py`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import needs
from batch_tools import GOOD, SCHEMA, RowEndpoint, write_rows
from lastcall.cli.batch_ray import workers_of
from lastcall.cli.subcommands import run_subcommand
from lastcall.errors import BadConfig


def words(folder: Path, *more: str, output: str = "out") -> list[str]:
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    write_rows(folder / "i.jsonl", 3)
    argv = [f"{folder}/i.jsonl", "-o", f"{folder}/{output}", "--prompt", "Label {{ text }}", "--engine", "ray"]
    return [*argv, "--json-schema", f"@{folder}/schema.json", *more]


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LASTCALL_MODEL", "ANTHROPIC_API_KEY", "ANTHROPIC_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.parametrize(
    ("more", "output", "said"),
    [
        (("--via", "provider-batch"), "out", "needs no cluster"),
        ((), "o.jsonl", "has the name of a file"),
        ((), "o.parquet", "has the name of a file"),
        (("--workers", "many"), "out", "'many' is no number of workers"),
        (("--prompt", "Label {{ nothing }}"), "out", "no row can be used"),
    ],
)
def test_what_a_cluster_cannot_do_is_refused_before_anything_is_started(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    more: tuple[str, ...],
    output: str,
    said: str,
) -> None:
    needs.package("pyarrow")
    with RowEndpoint(reply=lambda row, before, at: GOOD) as endpoint:
        for name, value in endpoint.environment.items():
            monkeypatch.setenv(name, value)
        assert run_subcommand("batch", words(tmp_path, *more, output=output)) == 2
        assert endpoint.asked.total() == 0
    out, err = capfd.readouterr()
    assert (out, said in err) == ("", True)
    assert not (tmp_path / output).exists()


def test_without_the_extra_it_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    needs.package("pyarrow")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    monkeypatch.setitem(sys.modules, "ray", None)
    assert run_subcommand("batch", words(tmp_path, "--model", "haiku")) == 2
    out, err = capfd.readouterr()
    assert (out, "pip install 'lastcall[ray]'" in err) == ("", True)


@pytest.mark.parametrize(("given", "found"), [("1", (1, 1)), ("2:32", (2, 32)), ("08:8", (8, 8))])
def test_workers_are_a_number_or_a_span(given: str, found: tuple[int, int]) -> None:
    assert workers_of(given) == found


@pytest.mark.parametrize("given", ["", "0", "-1", "2:", ":2", "3:2", "a:b", "1:2:3", "1.5"])
def test_anything_else_is_no_number_of_workers(given: str) -> None:
    with pytest.raises(BadConfig, match="is no number of workers"):
        workers_of(given)
