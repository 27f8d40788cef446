"""What is asked of every row, and whether the rows fit it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from batch_tools import SCHEMA, contract, plan
from lastcall.batches.plan import SchemaColumn, check_columns, inspect, make_plan, problem_of
from lastcall.batches.reading import open_source
from lastcall.batches.rows import BadInput, BadRow, Row, Source
from lastcall.batches.template import CannotRender, PromptTemplate
from lastcall.contract import Contract, compile_contract
from lastcall.contract.parse import parse_schema
from lastcall.nouns.profile import Profile
from lastcall.runtime.config import RunConfig


def table(text: str) -> Source:
    return open_source("-", format_="csv", stdin=io.BytesIO(text.encode()))


def lines(tmp_path: Path, *rows: Any) -> Source:
    path = tmp_path / "i.jsonl"
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows), "utf-8")
    return open_source(str(path))


def compiled(given: Any) -> Contract:
    return compile_contract(parse_schema(given, profile=Profile.NATIVE), profile=Profile.NATIVE)


def with_column() -> Any:
    column = SchemaColumn("schema", compiled)
    return make_plan(PromptTemplate("{{ text }}"), column, RunConfig(), "m")


def test_the_digests_tell_another_prompt_contract_or_model() -> None:
    template, schema = PromptTemplate("{{ text }}"), contract()
    first = make_plan(template, schema, RunConfig(), "m").made_by
    assert first.contract == schema.digest
    others = [
        make_plan(PromptTemplate("{{ text }}!"), schema, RunConfig(), "m"),
        make_plan(template, schema, RunConfig(system_prompt="x"), "m"),
        make_plan(template, contract({**SCHEMA, "required": []}), RunConfig(), "m"),
        make_plan(template, schema, RunConfig(), "n"),
        with_column(),
    ]
    assert len({first, *(other.made_by for other in others)}) == 6
    assert make_plan(PromptTemplate("{{ text }}"), contract(), RunConfig(), "m").made_by == first


def test_rules_beside_the_schema_are_part_of_the_contract() -> None:
    import lastcall

    def polite(found: Any) -> bool:
        return True

    ruled = lastcall.Contract(SCHEMA, rules=[polite]).compiled
    plain = make_plan(PromptTemplate("{{ text }}"), contract(), RunConfig(), "m").made_by
    assert make_plan(PromptTemplate("{{ text }}"), ruled, RunConfig(), "m").made_by.contract != plain.contract


@pytest.mark.parametrize(
    ("text", "key", "said"),
    [("a,b\n", None, "'text', which is no column; the columns are: a, b"), ("text\n", "id", "no column 'id'")],
)
def test_columns_that_are_not_there_are_refused_with_those_that_are(text: str, key: str | None, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        check_columns(table(text), plan(), key)


def test_a_schema_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(BadInput, match="'schema'") as caught:
        check_columns(table("text\n"), with_column(), None)
    assert caught.value.where == "--schema-column"


def test_columns_that_fit_pass_and_rows_that_may_differ_are_not_judged_by_columns(tmp_path: Path) -> None:
    check_columns(table("id,text\n"), plan(), "id")
    check_columns(lines(tmp_path, {"x": 1}), plan(), "id")


def test_a_column_of_bytes_is_refused_where_the_template_asks_for_it(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": [b"x"], "more": ["y"]}), path)
    with pytest.raises(BadInput, match="'text' holds bytes"):
        check_columns(open_source(str(path)), plan(), None)
    check_columns(open_source(str(path)), plan("{{ more }}"), None)


def test_the_whole_input_is_looked_at_before_anything_is_sent(tmp_path: Path) -> None:
    rows = [{"text": "a"}, "{broken\n", {"txt": "b"}, {"text": "c"}]
    found = inspect(lines(tmp_path, *rows), plan(), None)
    assert (found.total, found.bad) == (4, 2)
    assert found.first_bad.startswith("row 2: line 2 is no JSON")


def test_rows_past_those_that_are_tried_are_still_read(tmp_path: Path) -> None:
    rows = [{"text": "a"}] * 1000
    found = inspect(lines(tmp_path, *rows, "{broken\n", {"txt": 1}), plan(), None)
    assert (found.total, found.bad, found.first_bad[:9]) == (1002, 1, "row 1001:")


def test_an_input_none_of_whose_rows_can_be_used_is_refused_with_the_first_reason(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no row can be used; row 1: the row has no 'text'"):
        inspect(lines(tmp_path, {"txt": 1}, {"txt": 2}), plan(), None)
    with pytest.raises(BadInput, match="no rows"):
        inspect(lines(tmp_path, "\n", "  \n"), plan(), None)


def test_each_row_may_bring_its_contract() -> None:
    subject = with_column()
    row = Row(1, {"text": "x", "schema": json.dumps(SCHEMA)})
    assert subject.contract_of(row).digest == contract(json.loads(json.dumps(SCHEMA))).digest
    assert subject.contract_of(row) is subject.contract_of(Row(2, dict(row.values)))


@pytest.mark.parametrize(
    ("schema", "said"),
    [(None, "no schema"), ("", "no schema"), ("{", "cannot be used"), ('{"type":"objekt"}', "cannot be used")],
)
def test_a_row_without_a_usable_contract_cannot_be_used(schema: Any, said: str) -> None:
    row = Row(1, {"text": "x", "schema": schema})
    assert said in problem_of(row, with_column())
    with pytest.raises(CannotRender, match="'schema'"):
        with_column().contract_of(row)


def test_contracts_of_rows_are_kept_only_so_many() -> None:
    made: list[str] = []

    def compile_(given: Any) -> Contract:
        made.append(given)
        return contract()

    column = SchemaColumn("s", compile_)
    for n in range(101):
        column.of(Row(n, {"s": str(n)}))
    column.of(Row(1, {"s": "100"}))
    assert len(made) == 101
    column.of(Row(1, {"s": "0"}))
    assert made[-1] == "0"
    assert len(column._kept) == 100


def test_what_is_wrong_with_a_row_is_one_sentence() -> None:
    assert problem_of(BadRow(1, "no"), plan()) == "no"
    assert problem_of(Row(1, {}), plan()) == "the row has no 'text'"
    assert problem_of(Row(1, {"text": "x"}), plan()) == ""
