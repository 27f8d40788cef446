"""What is asked of every row: the prompt's template, the contract, and how runs are made; and whether the rows fit it.

Must not go in here: running anything (`batches.running`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from itertools import islice
from typing import Any, Final

from msgspec import Struct

from lastcall.batches.keys import Naming
from lastcall.batches.records import MadeBy
from lastcall.batches.rows import AnyRow, BadInput, BadRow, Row, Source
from lastcall.batches.template import CannotRender, PromptTemplate
from lastcall.contract import Contract
from lastcall.contract.receipt import rules_digest
from lastcall.errors import UsageError
from lastcall.runtime.config import RunConfig

_RENDERED: Final = 1000
"""Rows that are tried with the template before anything is sent."""
_COMPILED_KEPT: Final = 100


class SchemaColumn:
    """A contract for each row, from the JSON Schema in one of its columns (text, or the schema itself).

    `compile_` makes a contract of what the column holds; those used last are kept.
    """

    def __init__(self, column: str, compile_: Callable[[Any], Contract]) -> None:
        self.column = column
        self._compile = compile_
        self._kept: dict[str, Contract] = {}

    def of(self, row: Row) -> Contract:
        """The row's contract. Raises `CannotRender` for a row that has none."""
        given = row.values.get(self.column)
        if given is None or given == "":
            raise CannotRender(f"the row has no schema in column {self.column!r}")
        name = given if isinstance(given, str) else repr(given)
        contract = self._kept.pop(name, None)
        if contract is None:
            try:
                contract = self._compile(given)
            except UsageError as error:
                raise CannotRender(f"the schema in column {self.column!r} cannot be used: {error.message}") from None
        self._kept[name] = contract
        if len(self._kept) > _COMPILED_KEPT:
            del self._kept[next(iter(self._kept))]
        return contract


class Plan(Struct, frozen=True):
    """What is asked of every row. `made_by` stands in each record."""

    template: PromptTemplate
    contract: Contract | SchemaColumn
    config: RunConfig
    made_by: MadeBy

    def contract_of(self, row: Row) -> Contract:
        """The contract that the row's object has to pass. Raises `CannotRender`."""
        return self.contract.of(row) if isinstance(self.contract, SchemaColumn) else self.contract


def make_plan(template: PromptTemplate, contract: Contract | SchemaColumn, config: RunConfig, model: str) -> Plan:
    """The plan; `model` is the full name of what will be asked."""
    prompt = hashlib.sha256(f"{template.digest}\0{config.system_prompt}".encode("utf-8", "surrogatepass")).hexdigest()
    return Plan(template, contract, config, MadeBy(prompt, _contract_digest(contract), model))


def _contract_digest(contract: Contract | SchemaColumn) -> str:
    if isinstance(contract, SchemaColumn):
        told = f"column {contract.column}"
    elif contract.beside:
        told = f"{contract.digest} {rules_digest(contract.beside)}"
    else:
        return contract.digest
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()


# -- do the rows fit? -----------------------------------------------------------------------------------------------


class Inspection(Struct, frozen=True):
    """What a look at the whole input told: rows, those that cannot be used and the first of them."""

    total: int
    bad: int = 0
    first_bad: str = ""


def check_columns(source: Source, plan: Plan, key_column: str | None) -> None:
    """Refuses what the columns alone show to be impossible, before anything is sent. Raises `BadInput`."""
    columns = source.columns
    if columns is None:
        return
    has = f"the columns are: {', '.join(columns[:20])}{', ...' if len(columns) > 20 else ''}"
    missing = plan.template.missing(columns)
    if missing:
        named = ", ".join(repr(name) for name in missing[:5])
        raise BadInput(
            f"the template names {named}, which is no column; {has}", hint="Correct it.", where=plan.template.where
        )
    asked = {"--key": key_column, "--schema-column": _schema_column(plan)}
    for flag, column in asked.items():
        if column is not None and column not in columns:
            raise BadInput(f"there is no column {column!r}; {has}", hint="Correct it.", where=flag)
    bytes_asked = sorted(source.not_text & plan.template.names)
    if bytes_asked:
        hint = "Write it as a column of strings."
        raise BadInput(f"the column {bytes_asked[0]!r} holds bytes, not text", hint=hint, where=source.name)


def _schema_column(plan: Plan) -> str | None:
    return plan.contract.column if isinstance(plan.contract, SchemaColumn) else None


def inspect(source: Source, plan: Plan, key_column: str | None) -> Inspection:
    """A look at every row before anything is sent: whether they can be told apart and read; the first with the template.

    Raises `BadInput` where the input cannot be read to its end, or none of the rows can be used.
    """
    total, bad, first_bad = 0, 0, ""
    rows = source.rows()
    for row in Naming(key_column).named(islice(rows, _RENDERED)):
        total += 1
        problem = problem_of(row, plan)
        bad += bool(problem)
        first_bad = first_bad or (f"row {row.number}: {problem}" if problem else "")
    for row in rows:
        total += 1
        problem = row.problem if isinstance(row, BadRow) else ""
        bad += bool(problem)
        first_bad = first_bad or (f"row {row.number}: {problem}" if problem else "")
    if total == 0:
        raise BadInput("the input has no rows", hint="There is nothing to do.", where=source.name)
    if bad == total:
        raise BadInput(f"no row can be used; {first_bad}", hint="Correct the input or the template.", where=source.name)
    return Inspection(total, bad, first_bad)


def problem_of(row: AnyRow, plan: Plan) -> str:
    """Why a row cannot be used; `""` if it can."""
    if isinstance(row, BadRow):
        return row.problem
    try:
        plan.template.render(row.values)
        plan.contract_of(row)
    except CannotRender as error:
        return str(error)
    return ""
