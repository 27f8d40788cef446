"""Reading the validation corpus, and asking the validator as the corpus was asked."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from lastcall.contract.dialects import DRAFT_2019_09, DRAFT_2020_12, REFERENCE, SchemaDialect
from lastcall.contract.validator import Problems, Validator, compile_validator

DATA: Final = Path(__file__).parent / "data" / "validation"
LENIENT: Final = replace(REFERENCE, name="reference without strict mode", strict=False)
"""What the corpus used where the reference refuses the schema in strict mode."""


def shared_folder() -> Path | None:
    """The folder of the suite's cases, which are not copied into the repository."""
    named = os.environ.get("LASTCALL_SHARED")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared"
    return folder / "validation" if (folder / "validation" / "suite-cases.jsonl").exists() else None


def lines(name: str, *, exact: bool, folder: Path = DATA) -> Iterator[dict[str, Any]]:
    """The lines of a corpus file, numbers as decimals (`exact`) or doubles."""
    path = folder / f"{name}.jsonl"
    text = (
        path.read_text("utf-8")
        if path.exists()
        else gzip.decompress((folder / f"{name}.jsonl.gz").read_bytes()).decode()
    )
    for line in text.split("\n"):
        if line:
            yield json.loads(line, parse_float=Decimal if exact else float)


def dialect_of(entry: dict[str, Any]) -> SchemaDialect:
    """The dialect that an entry of `schemas` is checked in."""
    if entry["dialect"] == "draft-07":
        return LENIENT if entry["strict_error"] else REFERENCE
    return {"2019-09": DRAFT_2019_09, "2020-12": DRAFT_2020_12}[entry["dialect"]]


def compiled(schema: Any, dialect: SchemaDialect) -> Validator:
    """The validator of a schema; of a boolean too, which lastcall takes only inside a schema."""
    if isinstance(schema, bool):
        schema = {"$ref": "#/$defs/it", "$defs": {"it": schema}}
    return compile_validator(schema, dialect, assert_formats=False)


def text_of(problems: Problems) -> str:
    """The problems as the reference joins them."""
    return ", ".join(f"{problem.path or 'root'}: {problem.message}" for problem in problems.listed)


def errors_of(problems: Problems) -> list[dict[str, Any]]:
    """The problems as the corpus lists them."""
    return [
        {"path": each.path, "keyword": each.keyword, "message": each.message, "params": each.params}
        for each in problems.listed
    ]


def findings(
    schemas: str, cases: str, folder: Path = DATA
) -> Iterator[tuple[dict[str, Any], dict[str, Any], Problems]]:
    """Every case with its schema's entry and what the validator says of it."""
    for exact in (False, True):
        entries = {entry["sid"]: entry for entry in lines(schemas, exact=exact, folder=folder)}
        validators: dict[str, Validator] = {}
        for case in lines(cases, exact=exact, folder=folder):
            entry = entries[case["sid"]]
            if (entry["dialect"] != "draft-07") is not exact:
                continue
            if case["sid"] not in validators:
                validators[case["sid"]] = compiled(entry["schema"], dialect_of(entry))
            yield entry, case, validators[case["sid"]].problems(case["instance"])
