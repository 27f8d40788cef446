"""`lastcall batch` from its command line to its records, in this process."""

from __future__ import annotations

import io
import json
import os
import signal
import threading
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from batch_tools import BAD, GOOD, SCHEMA, RowEndpoint, read_records, write_rows
from lastcall.batches.bounds import Halt, Why
from lastcall.batches.pacing import Pace
from lastcall.batches.tally import Tally
from lastcall.cli import batch_show, batch_signals
from lastcall.cli.batch_live import Live
from lastcall.cli.subcommands import run_subcommand
from lastcall.testing import FakeClock


class Desk:
    """A folder with rows, a schema and a script, and the command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.output = folder / "o.jsonl"
        (folder / "schema.json").write_text(json.dumps(SCHEMA))
        self.script({"object": GOOD})
        self.rows = str(write_rows(folder / "i.jsonl", 5))

    def script(self, *replies: Any) -> None:
        (self.folder / "script.json").write_text(json.dumps(replies))

    def run(self, *more: str, rows: str | None = None, output: str | None = None, prompt: str = "Label {{ text }}",
            contract: tuple[str, ...] | None = None) -> int:  # fmt: skip
        words = [rows or self.rows, "-o", output or str(self.output), "--prompt", prompt]
        words += contract if contract is not None else ("--json-schema", f"@{self.folder}/schema.json")
        return run_subcommand("batch", [*words, "--model", f"scripted:{self.folder}/script.json", *more])

    @property
    def outcomes(self) -> Counter[str]:
        return Counter(record["outcome"] for record in read_records(self.output))


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    for name in ("LASTCALL_MODEL", "ANTHROPIC_API_KEY", "CLAUDE_CODE_MAX_RETRIES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return Desk(tmp_path)


def test_every_row_gets_its_record_and_standard_output_stays_empty(
    desk: Desk, capfd: pytest.CaptureFixture[str]
) -> None:
    assert desk.run() == 0
    assert desk.outcomes == {"answered": 5}
    told = capfd.readouterr()
    assert told.out == ""
    assert "answered: 5" in told.err


def test_a_budget_of_tokens_is_for_all_sittings_together(desk: Desk, capfd: pytest.CaptureFixture[str]) -> None:
    desk.script({"object": GOOD, "usage": {"input_tokens": 90, "output_tokens": 10}})
    more = ("--max-budget-tokens", "300", "--concurrency", "1")
    assert desk.run(*more) == 14
    assert desk.outcomes == {"answered": 3}
    assert "The budget of 300 tokens does not reach for another row" in capfd.readouterr().err
    assert desk.run(*more) == 14
    assert desk.outcomes == {"answered": 3}
    assert desk.run("--max-budget-tokens", "400", "--concurrency", "1") == 14
    assert desk.outcomes == {"answered": 4}
    assert desk.run("--max-budget-tokens", "no") == 2
    assert "--max-budget-tokens" in capfd.readouterr().err


def test_secrets_are_in_no_record_but_in_the_object(desk: Desk) -> None:
    secret = "ghp_" + "a1B2" * 9
    desk.script({"object": {"label": "nonsense", "note": secret}}, {"object": {"label": "bug", "note": secret}})
    Path(desk.rows).write_text('{"id": 1, "text": "one"}\n', "utf-8")
    assert desk.run("--redact", "--max-repeats", "2", "--concurrency", "1") == 0
    [record] = read_records(desk.output)
    assert record["output"]["note"] == secret
    assert secret not in json.dumps({**record, "output": None})
    desk.script({"object": {"label": "bug-4711"}})
    assert desk.run("--redact", "47\\d\\d", "--max-attempts", "1", output=str(desk.folder / "p.jsonl")) == 1
    [record] = read_records(desk.folder / "p.jsonl")
    assert "4711" not in json.dumps(record)
    assert desk.run("--redact", "(", output=str(desk.folder / "q.jsonl")) == 2


def test_run_again_it_does_what_is_missing(desk: Desk, capfd: pytest.CaptureFixture[str]) -> None:
    desk.run()
    write_rows(Path(desk.rows), 7)
    assert desk.run("--json") == 0
    told = capfd.readouterr()
    assert "5 of 7 rows are done already" in told.err
    summary = json.loads(told.out)
    assert (summary["rows"], summary["done"], summary["done_before"], summary["without_record"]) == (7, 2, 5, 0)
    assert summary["outcomes_in_output"] == {"answered": 7}
    assert len({record["key"] for record in read_records(desk.output)}) == 7


def test_rows_that_failed_are_told_and_done_again_only_on_request(
    desk: Desk, capfd: pytest.CaptureFixture[str]
) -> None:
    desk.script({"object": BAD})
    assert desk.run("--max-attempts", "2") == 1
    assert "add --retry out_of_attempts" in capfd.readouterr().err
    desk.script({"object": GOOD})
    assert desk.run("--max-attempts", "2") == 1
    assert desk.outcomes == {"out_of_attempts": 5}
    assert desk.run("--max-attempts", "2", "--retry", "failed, out_of_attempts") == 0
    assert desk.outcomes == {"answered": 5}


def test_a_changed_prompt_or_contract_is_refused_unless_forced(desk: Desk, capfd: pytest.CaptureFixture[str]) -> None:
    desk.run()
    before = desk.output.read_bytes()
    assert desk.run(prompt="Name {{ text }}") == 2
    assert "the prompt changed" in capfd.readouterr().err
    assert desk.run(contract=("--json-schema", '{"type":"object","required":["label"]}')) == 2
    assert "the contract changed" in capfd.readouterr().err
    assert desk.output.read_bytes() == before
    assert desk.run("--force", prompt="Name {{ text }}") == 0


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 2)])
def test_on_a_terminal_it_asks(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], answer: str, code: int
) -> None:
    desk.run()
    asked: list[str] = []
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True, buffer=None))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("click.confirm", lambda question, err: asked.append(question) or answer == "y\n")
    assert desk.run("-q", prompt="Name {{ text }}") == code
    assert "Go on" in asked[0]


def test_records_as_parquet_are_a_view_of_the_checkpoint_beside_it(desk: Desk) -> None:
    import pyarrow.parquet as pq

    output = str(desk.folder / "o.parquet")
    assert desk.run(output=output) == 0
    assert pq.read_table(output).num_rows == 5
    write_rows(Path(desk.rows), 6)
    assert desk.run(output=output) == 0
    assert pq.read_table(output).num_rows == 6
    Path(f"{output}.records.jsonl").unlink()
    assert desk.run(output=output) == 2
    assert pq.read_table(output).num_rows == 6


def test_rows_with_one_key_are_told_and_each_has_its_record(desk: Desk, capfd: pytest.CaptureFixture[str]) -> None:
    (desk.folder / "i.csv").write_text("id,text\na,one\nb,two\na,three\n")
    assert desk.run("--key", "id", rows=str(desk.folder / "i.csv")) == 0
    assert "1 rows have the key of an earlier row (row 3 (a))" in capfd.readouterr().err
    assert sorted(record["key"] for record in read_records(desk.output)) == ["a", "a#2", "b"]


def test_records_of_rows_that_are_gone_are_told(desk: Desk, capfd: pytest.CaptureFixture[str]) -> None:
    desk.run()
    write_rows(Path(desk.rows), 3)
    assert desk.run() == 0
    assert "2 records in the output are of rows that the input does not have" in capfd.readouterr().err


def test_rows_come_from_standard_input_too(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = b'{"text":"a"}\n{"txt":"b"}\n'
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: False, buffer=io.BytesIO(rows)))
    assert desk.run(rows="-") == 1
    assert desk.outcomes == {"answered": 1, "bad_row": 1}


def test_each_row_may_bring_its_schema(desk: Desk) -> None:
    rows = [
        {"text": "a", "s": SCHEMA},
        {"text": "b", "s": json.dumps(SCHEMA)},
        {"text": "c", "s": {"type": "array"}},
        {"text": "d"},
    ]
    Path(desk.rows).write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert desk.run("--max-attempts", "1", contract=("--schema-column", "s")) == 1
    found = {record["row"]: record["outcome"] for record in read_records(desk.output)}
    assert found == {1: "answered", 2: "answered", 3: "out_of_attempts", 4: "bad_row"}


def test_the_template_may_stand_in_a_file(desk: Desk, capfd: pytest.CaptureFixture[str]) -> None:
    (desk.folder / "t.txt").write_text("Label {{ text }}\n")
    assert desk.run(prompt=f"@{desk.folder}/t.txt") == 0
    assert desk.run(prompt="@nowhere") == 2
    assert "the template cannot be read: No such file" in capfd.readouterr().err
    (desk.folder / "t.txt").write_bytes(b"caf\xe9 {{ text }}")
    assert desk.run(prompt=f"@{desk.folder}/t.txt") == 2
    assert "not UTF-8" in capfd.readouterr().err


def test_a_report_is_written_and_a_place_that_cannot_take_it_refused_before_anything_is_sent(desk: Desk) -> None:
    assert desk.run("--report", str(desk.folder / "no" / "r.html")) == 2
    assert not desk.output.exists()
    assert desk.run("--report", str(desk.folder / "r.html")) == 0
    assert "<!doctype html>" in (desk.folder / "r.html").read_text("utf-8")


def test_a_batch_that_a_limit_ends_says_how_to_go_on(desk: Desk, capfd: pytest.CaptureFixture[str]) -> None:
    write_rows(Path(desk.rows), 200)
    desk.script("prose")
    assert desk.run("--max-failures", "3", "--concurrency", "1") == 14
    told = capfd.readouterr().err
    assert "3 rows have failed" in told
    assert "197 rows have no record: they are done when the same command is run again" in told


def test_a_service_that_refuses_every_row_is_exit_code_15(desk: Desk) -> None:
    desk.script({"status": 401})
    assert desk.run("-q") == 15
    assert read_records(desk.output) == []


@pytest.mark.parametrize(
    ("more", "rows", "said"),
    [
        (("--retry", "wrong"), None, "no outcome 'wrong'"),
        (("--deadline", "soon"), None, "must be a time"),
        (("--max-budget-usd", "0"), None, "positive number"),
        (("--concurrency", "0"), None, "0 is not in the range"),
        (("--schema-column", "s"), None, "one of them"),
        (("--key", "nowhere"), "i.csv", "no column 'nowhere'"),
        (("--report", "i.jsonl"), None, "this is the input"),
        (("--input-format", "xml"), None, "xml"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_sent(
    desk: Desk, capfd: pytest.CaptureFixture[str], more: tuple[str, ...], rows: str | None, said: str
) -> None:
    (desk.folder / "i.csv").write_text("id,text\na,one\n")
    assert desk.run(*more, rows=rows) == 2
    assert said in capfd.readouterr().err
    assert not desk.output.exists()


def test_the_contract_the_output_and_standard_input_are_looked_at_first(
    desk: Desk, capfd: pytest.CaptureFixture[str]
) -> None:
    assert desk.run(contract=()) == 2
    assert "needs a contract" in capfd.readouterr().err
    assert desk.run(contract=("--json-schema", "-"), rows="-") == 2
    assert "standard input holds the rows" in capfd.readouterr().err
    assert desk.run(output="-") == 2
    assert "cannot go to standard output" in capfd.readouterr().err
    assert desk.run(output=desk.rows) == 2
    assert "this is the input" in capfd.readouterr().err


def test_rules_and_checks_are_part_of_the_contract(desk: Desk) -> None:
    assert desk.run("--check", "false", "--max-attempts", "1", "--check-timeout", "5s", "--no-decline") == 1
    assert desk.outcomes == {"out_of_attempts": 5}


_ACT = batch_signals._act


class Signalled:
    """Sends this process a signal when so many requests wait for their answer, and lets them wait until it was heard."""

    def __init__(
        self, endpoint: RowEndpoint, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, times: int
    ) -> None:
        self.heard = [threading.Event() for _ in range(times)]
        self._endpoint, self._number = endpoint, number
        acted = iter(self.heard)

        def act(*given: Any) -> None:
            _ACT(*given)
            next(acted).set()

        monkeypatch.setattr(batch_signals, "AGAIN_S", 0.0)
        monkeypatch.setattr(batch_signals, "_act", act)
        self._until = endpoint.asked.total() + 8
        self._sends = threading.Lock()
        endpoint.hold = self.hold

    def hold(self) -> None:
        if self._endpoint.asked.total() >= self._until and self._sends.acquire(blocking=False):
            for event in self.heard:
                os.kill(os.getpid(), self._number)
                assert event.wait(20)
        assert self.heard[-1].wait(20)


def test_the_first_ctrl_c_finishes_what_is_under_way_and_the_second_ends_it(
    desk: Desk, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rows(Path(desk.rows), 300)
    with RowEndpoint() as endpoint:
        for name, value in endpoint.environment.items():
            monkeypatch.setenv(name, value)
        more = ("--concurrency", "8", "--model", "claude-haiku-4-5")
        Signalled(endpoint, monkeypatch, signal.SIGINT, 1)
        assert desk.run(*more) == 130
        told = capfd.readouterr().err
        assert "8 rows under way are finished" in told
        assert "292 rows have no record" in told
        assert desk.outcomes == {"answered": 8}
        Signalled(endpoint, monkeypatch, signal.SIGTERM, 2)
        assert desk.run(*more) == 143
    assert desk.outcomes == {"answered": 8}
    assert "begun, without a record: 8" in capfd.readouterr().err


def test_a_fault_of_ours_is_one_sentence_and_the_records_so_far_stand(
    desk: Desk, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from lastcall.batches import work

    real, made = work.record_of, []

    def broken(*given: Any) -> Any:
        made.append(1)
        if len(made) > 2:
            raise ZeroDivisionError("oh sk-ant-hunter2-hunter2")
        return real(*given)

    monkeypatch.setattr(work, "record_of", broken)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-hunter2-hunter2")
    assert desk.run("--concurrency", "1") == 70
    told = capfd.readouterr().err
    assert "this is a fault of lastcall, please report it: ZeroDivisionError: oh" in told
    assert "hunter2" not in told
    assert desk.outcomes == {"answered": 2}
    monkeypatch.setenv("LASTCALL_LOG", "debug")
    with pytest.raises(ZeroDivisionError):
        desk.run("--concurrency", "1")


# -- what people see ------------------------------------------------------------------------------------------------


def tally() -> Tally:
    from decimal import Decimal

    from lastcall.batches.records import Record
    from lastcall.nouns.result import Usage

    found = Tally(total=100, started_at=10.0)
    found.skipped = 20
    for _ in range(18):
        found.add(Record("k", "answered", "", 1, Usage(1000, 50), Decimal("0.01"), b""))
    for outcome in ("declined", "out_of_attempts"):
        found.add(Record("k", outcome, "", 3, Usage(1000, 50), Decimal("0.01"), b""))
    found.running = 4
    return found


def test_the_figures_say_how_far_it_is() -> None:
    pace = Pace(64, clock=FakeClock())
    assert batch_show.figures(tally(), pace, 20.0) == [
        "20 of 80 rows done",
        "18 answered",
        "1 declined",
        "1 out of attempts",
        "1.20 attempts a row",
        "20.0k tokens in, 1.0k out",
        "$0.2000 ($0.80 at the end)",
        "4 running, at most 64 requests",
        "2.0 rows/s, 30.0 s left",
    ]
    pace.refused(0.0, 42.0)
    assert "the service asks to wait 42 s" in batch_show.figures(tally(), pace, 20.0)


def test_the_summary_says_what_it_came_to() -> None:
    counts = tally()
    counts.left, counts.unpriced = 2, 1
    assert dict(batch_show.summary(counts, 3_800.0)) == {
        "rows done": "20", "done before": "20", "answered": "18", "declined": "1", "out of attempts": "1",
        "begun, without a record": "2", "attempts a row": "1.20", "tokens in / out": "20000 / 1000",
        "cost": "$0.2000 and 1 rows of unknown price", "time": "1 h 03 min",
    }  # fmt: skip
    value = json.loads(batch_show.summary_value(counts, Counter(), Halt(Why.BUDGET, "enough")))
    assert (value["cost_usd"], value["stopped_by"], value["without_record"]) == (None, "budget", 60)


def test_on_a_terminal_there_is_a_bar_and_in_the_end_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    import anyio
    from rich.console import Console

    shown = io.StringIO()
    screen = Live(tally(), Pace(64), every_s=60)
    screen._live.stop()
    console = Console(file=shown, force_terminal=True, width=100, color_system=None)
    screen._console = screen._live.console = console
    screen._live.start()

    async def main() -> None:
        async with screen:
            screen.show()
            screen.note("lastcall: a [bold]note[/bold]")

    anyio.run(main)
    drawn = next(line for line in shown.getvalue().splitlines() if "20 of 80 rows done" in line)
    assert "\u2501" not in drawn  # the bar has a line of its own
    assert "a [bold]note[/bold]" in shown.getvalue()
    assert "tokens in / out" in shown.getvalue()


def test_plain_lines_are_told_every_few_seconds_and_nothing_when_quiet(capfd: pytest.CaptureFixture[str]) -> None:
    import anyio

    async def main(every_s: float | None) -> None:
        async with batch_show.Lines(tally(), Pace(64), every_s=every_s) as screen:
            screen.note("lastcall: note")
            await anyio.sleep(0.02)

    anyio.run(main, 0.001)
    told = capfd.readouterr().err
    assert "lastcall: 20 of 80 rows done; 18 answered" in told
    assert "lastcall: note" in told
    anyio.run(main, None)
    assert capfd.readouterr().err == ""
