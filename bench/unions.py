"""A union of several models: one finishing tool that takes the union, or a finishing tool for each member?

    unions.py                          bytes of the request and of the answer, for 2 to 6 members
    unions.py --model local:standard   and how often the first call fits and is of the right member

What is measured is one request and one reply: the first attempt. Both ways get the same prompt and the same system prompt,
and a forced choice where the service can; the schemas are the members' own, as lastcall puts them on the wire.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any, Literal

import anyio
from pydantic import BaseModel, Field

import lastcall
from lastcall.contract.verdicts import Accepted
from lastcall.core.events import BlockEnded, RequestFailed
from lastcall.nouns.messages import TextBlock, UserMessage
from lastcall.nouns.request import Choice, ModelRequest
from lastcall.nouns.tools import Arguments, ToolCall, ToolDefinition, define
from lastcall.providers import Provider
from lastcall.runtime.session import open_provider
from lastcall.testing import ScriptedModel


class Customer(BaseModel):
    """Who wrote."""

    name: str = Field(description="as signed")
    number: str | None = Field(None, pattern="^C-[0-9]{4}$")


class Refund(BaseModel):
    """The customer wants money back."""

    kind: Literal["refund"]
    customer: Customer
    order: str = Field(pattern="^[A-Z]{2}[0-9]{4}$")
    amount: float = Field(gt=0)


class Defect(BaseModel):
    """Something is broken."""

    kind: Literal["defect"]
    customer: Customer
    product: str
    severity: Literal["low", "high"]


class Question(BaseModel):
    """The customer wants to know something."""

    kind: Literal["question"]
    customer: Customer
    topic: Literal["price", "delivery", "use"]


class Cancellation(BaseModel):
    """The customer ends a contract."""

    kind: Literal["cancellation"]
    customer: Customer
    contract: str = Field(pattern="^K-[0-9]+$")


class Praise(BaseModel):
    """The customer is happy."""

    kind: Literal["praise"]
    customer: Customer
    about: str


class Address(BaseModel):
    """The customer has moved."""

    kind: Literal["address"]
    customer: Customer
    street: str
    city: str


MEMBERS: tuple[type[BaseModel], ...] = (Refund, Defect, Question, Cancellation, Praise, Address)
LETTERS = (
    ("Order AB1234 never came. I want my 40.50 francs back. Ann Meier, C-1001", "Refund"),
    ("The kettle leaks badly and burnt my hand. Bob Kunz", "Defect"),
    ("How long does delivery to Bern take? Regards, Eva Roth", "Question"),
    ("I hereby end contract K-778. Max Frei, customer C-2002", "Cancellation"),
    ("Your lamp is wonderful, thank you! Lea Sutter", "Praise"),
    ("I have moved: Seeweg 4, Thun. Please note it. Tim Graf", "Address"),
    ("You charged me twice for ZX9876, please return 12 francs. Urs Egli", "Refund"),
    ("There is a small scratch on the table I received. Mia Vogt, C-3003", "Defect"),
    ("What does the blue model cost? Jan Hess", "Question"),
)
SYSTEM = "Sort the customer's letter. Finish by calling a tool with the result."


def union_tools(members: Sequence[type[BaseModel]]) -> tuple[ToolDefinition, ...]:
    contract = lastcall.Contract(reduce(or_, members))
    return contract.compiled.finishing_tools(declines=False)


def several_tools(members: Sequence[type[BaseModel]]) -> tuple[ToolDefinition, ...]:
    made = []
    for member in members:
        (finish,) = lastcall.Contract(member).compiled.finishing_tools(declines=False)
        words = f"{member.__doc__} {finish.description}"
        made.append(define(f"Finish{member.__name__}", words, dict(finish.input_schema)))
    return tuple(made)


ARMS = {"one union": union_tools, "several": several_tools}


def request_of(tools: tuple[ToolDefinition, ...], letter: str) -> ModelRequest:
    return ModelRequest(1, SYSTEM, (UserMessage((TextBlock(letter),)),), tools, Choice.FINISH, reserved=True)


async def first_call(provider: Provider, request: ModelRequest) -> ToolCall | None:
    found = None
    async for event in provider.stream(request):
        if isinstance(event, BlockEnded) and isinstance(event.block, ToolCall) and found is None:
            found = event.block
        if isinstance(event, RequestFailed):
            raise SystemExit(f"the request failed: {event.failure.detail}")
    return found


def judged(arm: str, members: Sequence[type[BaseModel]], call: ToolCall | None) -> str:
    """The name of the member that the call is a valid object of, else `""`."""
    if call is None or not isinstance(call.arguments, Arguments):
        return ""
    named = [member for member in members if call.name == f"Finish{member.__name__}"]
    if arm == "several" and not named:
        return ""
    contract: lastcall.Contract[Any] = lastcall.Contract(named[0] if named else reduce(or_, members))
    verdict = contract.compiled.judge(call.arguments)
    return type(contract.load(verdict.text)).__name__ if isinstance(verdict, Accepted) else ""


async def sizes() -> None:
    print("members  way        request  of it tools  answer   (bytes)")
    for count in range(2, len(MEMBERS) + 1):
        members = MEMBERS[:count]
        for arm, tools_of in ARMS.items():
            tools = tools_of(members)
            model = ScriptedModel("x")
            await first_call(model, request_of(tools, LETTERS[0][0]))
            body = model.requests[0]
            whole, of_tools = (len(json.dumps(part, separators=(",", ":"))) for part in (body, body["tools"]))
            value: Any = {"kind": "refund", "customer": {"name": "Ann Meier"}, "order": "AB1234", "amount": 40.5}
            wrapper = next(iter(tools[0].input_schema["properties"])) if arm == "one union" else ""
            answer = json.dumps({wrapper: value} if wrapper else value, separators=(",", ":"))
            print(f"{count:7}  {arm:9} {whole:8} {of_tools:12} {len(answer) + len(tools[0].name):7}")


async def quality(model: str, repeats: int) -> None:
    provider = open_provider(lastcall.RunConfig(model=model))
    print("members  way        fits  right member   of")
    try:
        for count in (2, 4, 6):
            members = MEMBERS[:count]
            letters = [(text, name) for text, name in LETTERS if name in {m.__name__ for m in members}] * repeats
            for arm, tools_of in ARMS.items():
                tools = tools_of(members)
                found = [
                    judged(arm, members, await first_call(provider, request_of(tools, text))) for text, _ in letters
                ]
                right = sum(name == wanted for name, (_, wanted) in zip(found, letters, strict=True))
                print(f"{count:7}  {arm:9} {sum(map(bool, found)):5} {right:13} {len(letters):4}", flush=True)
    finally:
        await provider.aclose()


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="measure first attempts of this model too")
    parser.add_argument("--repeats", type=int, default=1, help="ask about each letter so often")
    args = parser.parse_args()
    await sizes()
    if args.model:
        await quality(args.model, args.repeats)


if __name__ == "__main__":
    anyio.run(main)
