"""Records, read and written, and what they tell together."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest

from batch_tools import MADE_BY
from lastcall.batches.findings import WORST, Findings, Sample
from lastcall.batches.parquet import checkpoint_of, demand_ours, write_parquet
from lastcall.batches.records import OUTCOMES, Stored, read_record, record_of_bad
from lastcall.batches.report import report_page, write_report_page
from lastcall.batches.rows import BadRow, Row
from lastcall.errors import BadConfig, JournalError, MissingExtra


def stored(
    row: int, outcome: str = "answered", problems: list[tuple[str, str, str]] | None = None, **more: Any
) -> Stored:
    rejected = (
        [{"verdict": "rejected", "problems": [{"path": p, "keyword": k, "message": m} for p, k, m in problems]}]
        if problems
        else []
    )
    value = {
        "key": f"k{row}", "row": row, "outcome": outcome, "made_by": msgspec.to_builtins(MADE_BY), "reason": "why",
        "attempts": [*rejected, {"verdict": "accepted", "problems": []}], "usage": {"input_tokens": 10, "output_tokens": 2},
        "cost_usd": 0.5, "duration_ms": 1500, "model": "m", "output": {"any": ["thing"]}, **more,
    }  # fmt: skip
    record = read_record(json.dumps(value).encode())
    assert record is not None
    return record


@pytest.mark.parametrize(
    "line", [b"", b"{", b"[]", b'{"key":"a"}', b'{"key":1,"row":1,"outcome":"x","made_by":{}}', b"\xff", b"[" * 100_000]
)
def test_what_is_no_record_is_none(line: bytes) -> None:
    assert read_record(line) is None


def test_the_record_of_a_row_that_cannot_be_used_has_what_every_record_has() -> None:
    made = json.loads(record_of_bad(Row(7, {}, "k"), "the row has no 'text'", MADE_BY).line)
    assert made == {
        "key": "k", "row": 7, "outcome": "bad_row", "reason": "Nothing was sent: the row has no 'text'.", "output": None,
        "attempts": [], "cost_usd": 0, "warnings": [], "turns": 0, "duration_ms": 0, "model": "",
        "usage": {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
        "made_by": msgspec.to_builtins(MADE_BY),
    }  # fmt: skip
    assert json.loads(record_of_bad(BadRow(3, "x"), "x", MADE_BY).line)["key"] == "#3"


# -- findings -------------------------------------------------------------------------------------------------------


def test_findings_count_outcomes_attempts_problems_cost_and_time() -> None:
    found = Findings([
        stored(1),
        stored(2, problems=[("/lines/0/sum", "minimum", "too small"), ("/lines/12/sum", "minimum", "too small")]),
        stored(3, "declined", cost_usd=None),
        stored(4, "bad_row", attempts=[], usage={}),
        stored(5, "failed", [("", "required", "must have a")]),
    ])  # fmt: skip
    assert found.rows == 5
    assert dict(found.outcomes) == {"answered": 2, "declined": 1, "bad_row": 1, "failed": 1}
    assert dict(found.attempts) == {1: 2, 2: 2}
    assert dict(found.keywords) == {"minimum": 2, "required": 1}
    assert dict(found.fields) == {"/lines/*/sum": 2, "(the whole)": 1}
    assert (found.tokens_in, found.tokens_out, found.cost_usd, found.unpriced) == (40, 8, 1.5, 1)
    assert found.seconds.values == [1.5] * 4
    assert [record.row for record in found.worst] == [5, 4, 2, 3]


def test_only_the_worst_rows_are_kept() -> None:
    many = [stored(n, problems=[("/a", "type", "x")] * (n % 50 + 1)) for n in range(1, 500)]
    worst = Findings(many).worst
    assert len(worst) == WORST
    assert {record.row % 50 for record in worst} == {49, 48}  # ten rows of each


def test_a_sample_of_many_values_is_even_and_bounded() -> None:
    sample = Sample(100)
    for n in range(10_000):
        sample.add(float(n))
    assert len(sample.values) < 100
    assert not sample.is_whole
    steps = {later - earlier for earlier, later in zip(sample.values, sample.values[1:], strict=False)}
    assert len(steps) == 1
    assert Sample().is_whole


# -- the report -----------------------------------------------------------------------------------------------------


class Outline(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.addresses: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_report_shows_the_figures_and_holds_everything_in_itself() -> None:
    records = [stored(1), stored(2, problems=[("/total", "minimum", "must be >= 0")]), stored(3, "failed", attempts=[])]
    page = Outline(report_page(Findings(records), title="/somewhere/else/labels.jsonl"))
    for words in (
        "Outcomes",
        "Attempts",
        "minimum",
        "/total",
        "must be >= 0",
        "The worst rows",
        "Time of a row",
        "labels.jsonl",
    ):
        assert words in page.text
    assert "/somewhere" not in page.text
    assert page.tags.count("figure") == 6
    assert all(address.startswith("#") for address in page.addresses)


def test_what_rows_and_models_wrote_cannot_break_out_of_the_report() -> None:
    hostile = "</td><script>alert(1)</script>"
    record = stored(1, "failed", [(f"/{hostile}", hostile, hostile)], key=hostile, model=hostile, reason=hostile)
    page = report_page(Findings([record]), title=hostile)
    assert "<script>alert" not in page
    assert Outline(page).tags.count("script") == 1


def test_a_report_about_nothing_is_a_page_too() -> None:
    assert "No row had any trouble" in report_page(Findings([]), title="x")


def test_the_report_takes_the_place_of_an_older_one_and_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    path.write_text("old")
    write_report_page(str(path), [stored(1)], title="x")
    assert path.read_text("utf-8").startswith("<!doctype html>")
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(BadConfig, match="cannot be written"):
        write_report_page(str(tmp_path / "no" / "r.html"), [], title="x")
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.html"]


# -- Parquet --------------------------------------------------------------------------------------------------------


def test_a_parquet_output_is_the_records_as_columns(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    output = str(tmp_path / "o.parquet")
    usage = {"input_tokens": 5, "output_tokens": None}
    value = {"key": "k", "row": 2, "outcome": "answered", "reason": "r", "output": {"a": [1.5, None]}, "attempts": [{"n": 1}],
             "usage": usage, "cost_usd": 0, "warnings": [], "turns": 2, "duration_ms": 7, "model": "m",
             "made_by": msgspec.to_builtins(MADE_BY)}  # fmt: skip
    other = {**value, "key": "l", "output": None, "cost_usd": None}
    lines = [json.dumps(one, separators=(",", ":")).encode() + b"\n" for one in (value, other)]
    assert write_parquet(iter(lines), output) == 2
    first, second = pq.read_table(output).to_pylist()
    assert first == {
        "key": "k", "row": 2, "outcome": "answered", "reason": "r", "output": '{"a":[1.5,null]}', "attempts": '[{"n":1}]',
        "warnings": "[]", "model": "m", "turns": 2, "duration_ms": 7, "cost_usd": 0.0, "input_tokens": 5,
        "output_tokens": None, "cache_creation_input_tokens": None, "cache_read_input_tokens": None,
        "prompt_digest": "p" * 64, "contract_digest": "c" * 64, "asked_model": "scripted",
    }  # fmt: skip
    assert (second["output"], second["cost_usd"]) == (None, None)
    assert Path(output).stat().st_mode & 0o777 == 0o600


def test_a_parquet_file_that_cannot_be_written_says_where_the_records_are(tmp_path: Path) -> None:
    output = str(tmp_path / "no" / "o.parquet")
    with pytest.raises(JournalError, match=r"safe in .*o\.parquet\.records\.jsonl"):
        write_parquet(iter([]), output)


def test_a_parquet_file_without_its_records_is_somebody_elses(tmp_path: Path) -> None:
    output = tmp_path / "o.parquet"
    demand_ours(str(output))
    output.write_bytes(b"PAR1")
    with pytest.raises(BadConfig, match="not the records it was made from"):
        demand_ours(str(output))
    Path(checkpoint_of(str(output))).write_bytes(b"")
    demand_ours(str(output))


def test_parquet_output_without_its_package_is_refused_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtra, match="pyarrow"):
        demand_ours(str(tmp_path / "o.parquet"))


def test_every_outcome_of_a_run_but_a_cancelled_one_has_its_place() -> None:
    from lastcall.nouns import result

    names = {"answered", "declined", "gave_up", "out_of_attempts", "retracted", "stopped", "failed", "cancelled"}
    assert {kind.__name__ for kind in result.Outcome.__args__} == {n.title().replace("_", "") for n in names}
    assert set(OUTCOMES) == names - {"cancelled"} | {"bad_row"}
