"""What a correction costs: large objects with slips, corrected by revisions and by writing everything again.

    python bench/revisions.py [--sizes 5,20,80] [--runs 20] [--slips 0.005]
    python bench/revisions.py --model local:standard [--sizes 5] [--runs 3]

Without `--model` a scripted model answers that slips as models do: each amount that it writes is, with the probability
`--slips`, a string instead of a number, wherever and however often it writes it. Its patches slip too. Tokens are a quarter
of the bytes that go out and come in. With `--model` a real one is asked for the same report, and its own figures are
counted; both ways are played with the same prompts.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import sys
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

import lastcall
from lastcall.testing import ScriptedModel

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": {"type": "string"}, "text": {"type": "string"}, "amount": {"type": "integer"}},
                "required": ["id", "text", "amount"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["lines"],
    "additionalProperties": False,
}
_SLIP = re.compile(r"^- (/lines/\d+/amount): must be integer", re.MULTILINE)
_BASE = re.compile(r"call RevisedOutput with base (\d+)")


class Cost(Struct, frozen=True):
    """One run: whether it ended in its object, and what it took."""

    ok: bool
    requests: int
    tokens_in: int
    tokens_out: int


def lines_of(kilobytes: int) -> list[dict[str, Any]]:
    """The lines of a report of this size."""
    text = "paper, ink and postage as agreed"
    one = {"id": "L00000", "text": text, "amount": 1000}
    count = kilobytes * 1000 // (len(json.dumps(one, separators=(",", ":"))) + 1)
    return [{"id": f"L{n:05}", "text": text, "amount": 1000 + n} for n in range(count)]


class SlippingModel:
    """Writes the report, with slips; corrects what it is told, by a patch where one is on offer."""

    def __init__(self, lines: list[dict[str, Any]], slips: float, seed: int) -> None:
        self._lines, self._slips, self._random = lines, slips, random.Random(seed)
        self.written = 0

    def reply(self, body: Mapping[str, Any]) -> Any:
        told = _last_answer(body)
        base, places = _BASE.search(told), _SLIP.findall(told)
        if base and places and any(tool["name"] == "RevisedOutput" for tool in body["tools"]):
            patch = [{"op": "replace", "path": place, "value": self._amount(self._at(place))} for place in places]
            return self._call("RevisedOutput", {"base": int(base[1]), "patch": patch})
        wrote = [{**line, "amount": self._amount(line["amount"])} for line in self._lines]
        return self._call("StructuredOutput", {"lines": wrote})

    def _amount(self, amount: int) -> int | str:
        return str(amount) if self._random.random() < self._slips else amount

    def _at(self, place: str) -> int:
        return int(self._lines[int(place.split("/")[2])]["amount"])

    def _call(self, name: str, arguments: Any) -> dict[str, Any]:
        self.written += len(json.dumps(arguments, separators=(",", ":"))) // 4
        return {"call": {"name": name, "input": arguments}}


def _last_answer(body: Mapping[str, Any]) -> str:
    content = body["messages"][-1]["content"]
    return "" if isinstance(content, str) else "\n".join(str(block.get("content", "")) for block in content)


def scripted(kilobytes: int, slips: float, seed: int, *, revises: bool) -> Cost:
    """One run with the scripted model."""
    person = SlippingModel(lines_of(kilobytes), slips, seed)
    model = ScriptedModel(person.reply)
    result = lastcall.run(
        "Write the report.", output=SCHEMA, model=model, config=lastcall.RunConfig(revises=revises, environment={})
    )
    sent = sum(len(json.dumps(request, separators=(",", ":"))) // 4 for request in model.requests)
    return Cost(result.ok, len(model.requests), sent, person.written)


def real(name: str, kilobytes: int, seed: int, *, revises: bool) -> Cost:
    """One run with a real model; the prompt holds the lines, and amounts as text that has to become numbers."""
    lines = lines_of(kilobytes)
    random.Random(seed).shuffle(lines)
    table = "\n".join(f"{line['id']}; {line['text']}; {line['amount']} EUR" for line in lines)
    result = lastcall.run(
        f"Give these lines as the result, in their order:\n{table}",
        output=SCHEMA,
        model=name,
        config=lastcall.RunConfig(revises=revises),
    )
    usage = result.usage
    return Cost(result.ok, result.turns, usage.input_tokens or 0, usage.output_tokens or 0)


def row(kilobytes: int, way: str, costs: list[Cost]) -> str:
    """A line of the table: success, and the means."""
    means = [statistics.mean(getattr(cost, name) for cost in costs) for name in ("requests", "tokens_in", "tokens_out")]
    done = sum(cost.ok for cost in costs)
    return f"| {kilobytes} KB | {way} | {done}/{len(costs)} | {means[0]:.1f} | {means[1]:,.0f} | {means[2]:,.0f} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a real model, as --model of the command; without: the scripted one")
    parser.add_argument("--sizes", default="5,20,80", help="kilobytes, with commas")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--slips", type=float, default=0.005, help="how often an amount is written wrong")
    args = parser.parse_args()
    print("| object | corrected by | ended in its object | requests | tokens in | tokens out |")
    print("|---|---|---|---|---|---|")
    for kilobytes in map(int, args.sizes.split(",")):
        for way, revises in (("writing it again", False), ("a patch", True)):
            costs = [
                real(args.model, kilobytes, seed, revises=revises)
                if args.model
                else scripted(kilobytes, args.slips, seed, revises=revises)
                for seed in range(args.runs)
            ]
            print(row(kilobytes, way, costs), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
