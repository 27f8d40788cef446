"""`lastcall.batch`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

import lastcall
from batch_tools import write_rows
from lastcall.testing import ScriptedModel


class Label(msgspec.Struct):
    label: str


def labels(*replies: Any) -> ScriptedModel:
    return ScriptedModel(*(replies or ({"object": {"label": "bug"}},)))


def given(count: int) -> list[dict[str, str]]:
    return [{"text": f"row {n}."} for n in range(count)]


def test_records_are_typed_and_every_row_has_one() -> None:
    rows = [*given(3), 7, {"txt": 1}, {"text": float("nan")}]
    made = {r.number: r for r in lastcall.batch(rows, prompt="Label {{ text }}", output=Label, model=labels())}
    assert [made[n].output for n in (1, 2, 3)] == [Label("bug")] * 3
    assert made[1].row == {"text": "row 0."}
    assert made[1].result is not None
    assert made[1].result.attempts[0].verdict.value == "accepted"
    assert [made[n].outcome for n in (4, 5, 6)] == ["bad_row"] * 3
    for n, said in ((4, "no mapping but int"), (5, "no 'text'"), (6, "nan")):
        assert said in made[n].reason
        assert not made[n].ok
        with pytest.raises(lastcall.UsageError, match=f"row {n}"):
            _ = made[n].output


def test_a_row_that_ended_without_an_object_says_so_when_its_object_is_asked_for() -> None:
    (record,) = lastcall.batch(given(1), prompt="{{ text }}", output=Label, model=labels("prose"))
    assert (record.outcome, record.ok) == ("gave_up", False)
    with pytest.raises(lastcall.NoAnswer):
        _ = record.output


def test_it_can_be_gone_through_asynchronously_and_given_asynchronously() -> None:
    async def rows() -> AsyncIterator[dict[str, str]]:
        for row in given(20):
            await anyio.lowlevel.checkpoint()
            yield row

    async def main() -> list[int]:
        async with lastcall.batch(rows(), prompt="{{ text }}", output=Label, model=labels()) as records:
            return [record.number async for record in records]

    assert sorted(anyio.run(main)) == list(range(1, 21))


def test_leaving_early_asks_no_more() -> None:
    model = labels()

    async def main() -> None:
        async with lastcall.batch(given(500), prompt="{{ text }}", output=Label, model=model, concurrency=4) as records:
            async for _ in records:
                break

    anyio.run(main)
    assert len(model.requests) < 20
    for _ in lastcall.batch(given(500), prompt="{{ text }}", output=Label, model=model, concurrency=4):
        break
    assert len(model.requests) < 40


def test_rows_are_taken_as_they_are_needed() -> None:
    taken: list[int] = []

    def rows() -> Any:
        for n, row in enumerate(given(10_000)):
            taken.append(n)
            yield row

    for _ in lastcall.batch(rows(), prompt="{{ text }}", output=Label, model=labels(), concurrency=4):
        break
    assert len(taken) < 40


def test_a_saved_batch_goes_on_where_it_was(tmp_path: Path) -> None:
    saved = tmp_path / "o.jsonl"
    model = labels()
    wish: dict[str, Any] = {"prompt": "{{ text }}", "output": Label, "model": model, "save_to": saved, "key": "text"}
    assert len(list(lastcall.batch(given(5), **wish))) == 5
    again = lastcall.batch(given(8), **wish)
    assert sorted(record.number for record in again) == [6, 7, 8]
    assert again.tally.skipped == 5
    assert len(model.requests) == 8
    assert len(saved.read_text().splitlines()) == 8
    with pytest.raises(lastcall.UsageError, match="the prompt changed"):
        list(lastcall.batch(given(8), **{**wish, "prompt": "! {{ text }}"}))
    assert list(lastcall.batch(given(8), **{**wish, "prompt": "! {{ text }}"}, force=True)) == []
    assert len(list(lastcall.batch(given(8), **wish, retry=["answered"], force=True))) == 8
    assert len(saved.read_text().splitlines()) == 8


def test_rows_that_are_left_are_an_error_after_the_last_record() -> None:
    got: list[Any] = []
    bounds = lastcall.Bounds(max_failures=3)
    batch = lastcall.batch(
        given(200), prompt="{{ text }}", output=Label, model=labels("p"), concurrency=2, bounds=bounds
    )
    with pytest.raises(lastcall.BatchStopped, match="rows have failed") as caught:
        got.extend(batch)
    assert caught.value.why == "failures"
    assert 3 <= len(got) <= 5


def test_a_file_is_read_as_the_command_reads_it(tmp_path: Path) -> None:
    batch = lastcall.batch(
        write_rows(tmp_path / "i.jsonl", 4), prompt="{{ text }}", output=Label, model=labels(), key="id"
    )
    assert sorted(record.key for record in batch) == ["0", "1", "2", "3"]
    assert batch.tally.total == 4
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "a.txt").write_text("hello")
    assert [r.key for r in lastcall.batch(str(tmp_path / "f"), prompt="{{ text }}", output=Label, model=labels())] == [
        "a.txt"
    ]


def test_rules_and_what_they_depend_on_are_asked_for_every_row() -> None:
    seen: list[Any] = []

    def rule(label: Label, deps: Any) -> str | None:
        seen.append(deps)
        return None if label.label == "praise" else "only praise"

    model = labels(lambda body: {"object": {"label": "bug" if len(body["messages"]) == 1 else "praise"}})
    records = list(lastcall.batch(given(3), prompt="{{ text }}", output=Label, model=model, rules=[rule], deps="d"))
    assert [len(r.result.attempts) for r in records if r.result] == [2, 2, 2]
    assert set(seen) == {"d"}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"prompt": "Label this"}, "names no column"),
        ({"prompt": "{{ text"}, "cannot be read"),
        ({"output": None}, "needs a contract"),
        ({"concurrency": 0}, "0 rows at once"),
        ({"rows": "nowhere.csv"}, "cannot be read"),
        ({"model": "no-such-model"}, "no model"),
        ({"output": {"type": "objekt"}}, "type"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_sent(changed: dict[str, Any], said: str) -> None:
    model = labels()
    wish: dict[str, Any] = {"rows": given(1), "prompt": "{{ text }}", "output": Label, "model": model, **changed}
    with pytest.raises(lastcall.UsageError, match=said):
        list(lastcall.batch(**wish))
    assert model.requests == ()


def test_it_says_how_it_is_to_be_used() -> None:
    async def main() -> None:
        batch = lastcall.batch(given(1), prompt="{{ text }}", output=Label, model=labels())
        with pytest.raises(lastcall.UsageError, match="async with"):
            list(batch)
        with pytest.raises(lastcall.UsageError, match="async with"):
            async for _ in batch:
                pass
        async with batch:
            pass
        with pytest.raises(lastcall.UsageError, match="once"):
            async with batch:
                pass

    anyio.run(main)


def test_an_error_of_the_callers_own_comes_through_as_it_is() -> None:
    async def main() -> None:
        async with lastcall.batch(given(5), prompt="{{ text }}", output=Label, model=labels()) as records:
            async for _ in records:
                raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        anyio.run(main)

    def rows() -> Any:
        yield {"text": "x"}
        raise KeyError("yours")

    with pytest.raises(KeyError, match="yours"):
        list(lastcall.batch(rows(), prompt="{{ text }}", output=Label, model=labels()))


def test_a_limit_of_each_run_is_its_records_affair() -> None:
    config = lastcall.RunConfig(max_budget_usd=Decimal("0.01"), max_attempts=1)
    model = labels({"object": {"label": 3}})
    (record,) = lastcall.batch(given(1), prompt="{{ text }}", output=Label, model=model, config=config)
    assert record.outcome == "out_of_attempts"
    assert json.loads(record.result.draft or "") == {"label": 3}  # type: ignore[union-attr]
