"""The public API as a user's code, for type checkers; nothing here is run.

Each `assert_type` is a promise: what the checker infers for code that is written so.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Unpack, assert_type

from pydantic import BaseModel

import lastcall
from lastcall.nouns.result import Attempt, Outcome
from lastcall.testing import ScriptedModel


class Invoice(BaseModel):
    vendor: str
    total: int


@dataclass
class Point:
    x: int


@lastcall.tool
def lookup(vendor: str, limit: int = 3) -> dict[str, str]:
    """The vendor's record."""
    return {vendor: str(limit)}


@lastcall.tool(name="find", read_only=True)
async def find(word: str, context: lastcall.ToolContext) -> list[str]:
    """Find it."""
    return [word, context.idempotency_key]


def positive(invoice: Invoice) -> bool:
    return invoice.total > 0


async def known(invoice: Invoice, deps: dict[str, str]) -> str | None:
    return deps.get(invoice.vendor)


def blocking() -> None:
    result = lastcall.run("x", output=Invoice, model="anthropic:claude-haiku-4-5", tools=[lookup, find, "Read"])
    assert_type(result, lastcall.TerminalResult[Invoice])
    assert_type(result.output, Invoice)
    assert_type(result.unwrap(), Invoice)
    assert_type(result.outcome, Outcome)
    assert_type(result.attempts, tuple[Attempt, ...])
    assert_type(result.cost_usd, Decimal | None)
    assert_type(lastcall.run("x").output, str)
    assert_type(lastcall.run("x", output=Point).output, Point)
    assert_type(lastcall.run("x", output=int).output, int)
    assert_type(lastcall.run("x", output=list[Invoice]).output, list[Invoice])
    assert_type(lastcall.run("x", output={"type": "object"}).output, Any)
    assert_type(lastcall.run("x", output=Invoice, rules=[positive, known], deps={"a": "b"}).output, Invoice)
    assert_type(lookup("a"), dict[str, str])


def contracts() -> None:
    contract = lastcall.Contract(Invoice, rules=[positive])
    assert_type(contract, lastcall.Contract[Invoice])
    assert_type(contract.load("{}"), Invoice)
    assert_type(lastcall.run("x", output=contract).output, Invoice)
    union = lastcall.Contract[Invoice | Point](Invoice | Point)
    assert_type(lastcall.run("x", output=union).output, Invoice | Point)


def wrapped(**options: Unpack[lastcall.RunOptions]) -> Invoice:
    result: lastcall.TerminalResult[Invoice] = lastcall.run("x", output=Invoice, **options)
    return result.output


async def asynchronous() -> None:
    assert_type(await lastcall.arun("x", output=Invoice), lastcall.TerminalResult[Invoice])
    assert_type((await lastcall.arun("x")).output, str)
    async with lastcall.stream("x", output=Invoice) as run:
        async for event in run:
            match event:
                case lastcall.ObjectAttached():
                    assert_type(event.output, Invoice)
                case lastcall.RunEnded():
                    assert_type(event.result.output, Invoice)
                case lastcall.PartialObject():
                    assert_type(event.sketch(), Invoice)
                case lastcall.TextPiece(text):
                    assert_type(text, str)
                case _:
                    pass
        assert_type(run.result.output, Invoice)
    config = lastcall.RunConfig(max_attempts=3, deadline_s=90, allowed_tools=("Bash(git *)",))
    async with lastcall.Session(Invoice, model=ScriptedModel("x"), config=config) as session:
        assert_type((await session.run("x")).output, Invoice)
    async with lastcall.Session() as prose:
        assert_type((await prose.run("x")).output, str)


@lastcall.hook("before_tool", matcher="lookup")
def only_known(question: lastcall.HookQuestion) -> str | None:
    return None if question.tool else "no"


@lastcall.hook("before_request")
async def brief(question: lastcall.RequestQuestion) -> lastcall.RequestAnswer | None:
    assert_type(question.number, int)
    return lastcall.RequestAnswer(system="Be brief.", model="anthropic:claude-haiku-4-5", headers={"x-a": "1"})


@lastcall.hook("after_request")
def counted(seen: lastcall.ReplySeen) -> None:
    assert_type(seen.usage.input_tokens, int | None)


@lastcall.hook("rejected")
def advise(question: lastcall.RejectionQuestion) -> str | None:
    assert_type(question.attempt, Attempt)
    return question.attempt.problems[0].message


@lastcall.hook("ended")
async def note(end: lastcall.EndSeen[Any]) -> None:
    assert_type(end.result.outcome, Outcome)


def hooked() -> None:
    hooks = [only_known, brief, counted, advise, note]
    assert_type(lastcall.run("x", output=Invoice, hooks=hooks).output, Invoice)


def failing() -> None:
    try:
        lastcall.run("x", output=Invoice).unwrap()
    except lastcall.NoAnswer as error:
        assert_type(error.result.reason, str)
        assert_type(error.result.ledger(), str)


async def batches() -> None:
    for record in lastcall.batch([{"text": "x"}], prompt="{{ text }}", output=Invoice, key="text"):
        assert_type(record, lastcall.BatchRecord[Invoice])
        assert_type(record.output, Invoice)
        assert_type(record.result, lastcall.TerminalResult[Invoice] | None)
    async with lastcall.batch(
        "rows.csv", prompt="{{ text }}", output=lastcall.Contract(Point), save_to="out.jsonl"
    ) as records:
        async for made in records:
            assert_type(made.output, Point)
    for plain in lastcall.batch("rows.csv", prompt="{{ text }}", output={"type": "object"}):
        assert_type(plain.output, Any)
