"""What goes out: one record a row, in every case.

A record is one line of JSON with these keys: `key` and `row` (its number in the input), `outcome` and `reason`, `output`
(the verified object, else `null`), `attempts` (each with its verdict and problems), `usage`, `cost_usd`, `warnings`,
`turns`, `duration_ms`, `model`, and `made_by`: digests of the prompt and the contract, and the model that was asked.
What only some outcomes have stands beside them: `missing`, `failure`, `draft`, `text`.

Must not go in here: files (`batches.output`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Final

import msgspec
from msgspec import Struct

from lastcall.batches.rows import BadRow, Row
from lastcall.nouns.result import Declined, Failed, Stopped, TerminalResult, Usage, outcome_name
from lastcall.wire.envelope import attempt_value
from lastcall.wire.frames import plain_value, usage_value
from lastcall.wire.json import encode_value

BAD_ROW: Final = "bad_row"
"""The outcome of a row that could not be used; nothing was sent for it."""
OUTCOMES: Final = (
    "answered",
    "declined",
    "gave_up",
    "out_of_attempts",
    "retracted",
    "stopped",
    "failed",
    BAD_ROW,
)
"""Every outcome that a record can have, in the order in which people are told of them."""
GOOD: Final = frozenset({"answered", "declined"})
"""The outcomes that are no failure: an object, or an honest no."""
_PROBLEMS_KEPT: Final = 20


class MadeBy(Struct, frozen=True):
    """What a record came from. `prompt` and `contract` are SHA-256 in hex, `model` the model's full name."""

    prompt: str
    contract: str
    model: str

    def changes_since(self, others: Iterable[MadeBy]) -> list[str]:
        """What differs from at least one of the others, in words."""
        listed = list(others)
        differing = {
            "the prompt": any(other.prompt != self.prompt for other in listed),
            "the contract": any(other.contract != self.contract for other in listed),
            f"the model (now {self.model})": any(other.model != self.model for other in listed),
        }
        return [what for what, differs in differing.items() if differs]


class Record(Struct, frozen=True):
    """A record as the batch itself needs it; `line` is the whole of it, as it is written."""

    key: str
    outcome: str
    reason: str
    attempts: int
    usage: Usage
    cost_usd: Decimal | None
    line: bytes


class StoredProblem(Struct, frozen=True):
    """A problem of an attempt, as stored."""

    path: str = ""
    keyword: str = ""
    message: str = ""


class StoredAttempt(Struct, frozen=True):
    """An attempt, as stored."""

    verdict: str = ""
    problems: list[StoredProblem] = []


class StoredUsage(Struct, frozen=True):
    """Tokens, as stored."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None

    @property
    def total(self) -> int:
        """All tokens that were told."""
        cached = (self.cache_creation_input_tokens or 0) + (self.cache_read_input_tokens or 0)
        return (self.input_tokens or 0) + (self.output_tokens or 0) + cached


class Stored(Struct, frozen=True):
    """A record read back. Only what counts and reports need; `output` is not read."""

    key: str
    row: int
    outcome: str
    made_by: MadeBy
    reason: str = ""
    attempts: list[StoredAttempt] = []
    usage: StoredUsage = StoredUsage()
    cost_usd: float | None = None
    duration_ms: int = 0
    model: str = ""


_DECODER: Final = msgspec.json.Decoder(Stored)


def read_record(line: bytes) -> Stored | None:
    """The record in a line; `None` for anything else."""
    try:
        return _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def record_of(row: Row, result: TerminalResult, made_by: MadeBy) -> Record:
    """The record of a row whose run ended so."""
    outcome = outcome_name(result.outcome)
    value: dict[str, Any] = {
        "key": row.key,
        "row": row.number,
        "outcome": outcome,
        "reason": result.reason,
        "output": None if result.object_text is None else plain_value(result.object_text),
        "attempts": [_attempt(attempt_value(attempt)) for attempt in result.attempts],
        "usage": usage_value(result.usage),
        "cost_usd": result.cost_usd,
        "warnings": [{"code": w.code, "message": w.message, "path": w.path} for w in result.warnings],
        "turns": result.turns,
        "duration_ms": result.duration_ms,
        "model": result.last_model or made_by.model,
        **_of_outcome(result),
        "made_by": made_by,
    }
    line = encode_value(value) + b"\n"
    return Record(row.key, outcome, result.reason, len(result.attempts), result.usage, result.cost_usd, line)


def record_of_bad(row: BadRow | Row, problem: str, made_by: MadeBy) -> Record:
    """The record of a row that could not be used."""
    usage, reason = Usage(0, 0, 0, 0), f"Nothing was sent: {problem}."
    value: dict[str, Any] = {
        "key": row.key,
        "row": row.number,
        "outcome": BAD_ROW,
        "reason": reason,
        "output": None,
        "attempts": [],
        "usage": usage_value(usage),
        "cost_usd": 0,
        "warnings": [],
        "turns": 0,
        "duration_ms": 0,
        "model": "",
        "made_by": made_by,
    }
    return Record(row.key, BAD_ROW, reason, 0, usage, Decimal(0), encode_value(value) + b"\n")


def _attempt(value: dict[str, Any]) -> dict[str, Any]:
    """One line of the ledger, its problems counted where they are too many to keep."""
    problems = value["problems"]
    shown = {key: value[key] for key in ("n", "verdict")} | {"problems": problems[:_PROBLEMS_KEPT]}
    return shown | {"more_problems": len(problems) - _PROBLEMS_KEPT} if len(problems) > _PROBLEMS_KEPT else shown


def _of_outcome(result: TerminalResult) -> Mapping[str, Any]:
    facts: dict[str, Any] = {}
    match result.outcome:
        case Declined(missing=missing):
            facts["missing"] = list(missing)
        case Failed(kind=kind, status=status):
            facts |= {"failure": kind.value, "status": status}
        case Stopped(limit=limit):
            facts["limit"] = limit.value
        case _:
            pass  # the reason says it all
    if result.object_text is None and result.text:
        facts["text"] = result.text
    if result.draft is not None and not result.ok:
        facts["draft"] = plain_value(result.draft)
    return facts
