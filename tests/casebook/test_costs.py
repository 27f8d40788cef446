"""What each mechanism costs when it is needed, and that it costs next to nothing when it is not.

Tokens are counted as a quarter of the bytes of a request, which is generous for JSON.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from casebook.casebook import Seen, play

SCHEMA = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "count": {"type": "integer"}},
    "required": ["title", "count"],
    "additionalProperties": False,
}
USAGE = {"input_tokens": 9, "output_tokens": 9}
LONG = "The disk of db-1 filled up because log rotation was off; writes failed from 02:10 until the volume grew."


def said(*blocks: Any, stop: str = "") -> dict[str, Any]:
    content = [
        {"type": "text", "text": b}
        if isinstance(b, str)
        else {"type": "tool_use", "id": f"toolu_{n}", "name": b[0], "input": b[1]}
        for n, b in enumerate(blocks)
    ]
    calls = any(not isinstance(b, str) for b in blocks)
    return {"content": content, "stop_reason": stop or ("tool_use" if calls else "end_turn"), "usage": USAGE}


def finish(value: Any) -> tuple[str, Any]:
    return "StructuredOutput", value


GOOD = said(finish({"title": "Disk", "count": 3}))
BAD = said(finish({"title": LONG, "count": "three"}))
DECLINE = said(("DeclineOutput", {"reason": "no log"}))
LARGE = said(finish({"title": LONG * 50, "count": "three"}))
FIX = {"base": 1, "patch": [{"op": "replace", "path": "/count", "value": 3}]}
REVISED = said(("RevisedOutput", FIX))


def cost(seen: Seen) -> tuple[int, int]:
    """Requests, and tokens of all of them together."""
    return len(seen.requests), sum(len(json.dumps(body)) for body in seen.requests) // 4


def run(root: Path, *replies: Any, argv: tuple[str, ...] = (), schema: Any = SCHEMA, **given: Any) -> Seen:
    return play({"wire": "anthropic", "schema": schema, "model_replies": list(replies), **given}, root, *argv)


def test_untriggered_they_cost_no_request_and_under_150_tokens(tmp_path):
    plain = run(tmp_path / "plain", GOOD, argv=("--no-decline",))
    full = run(tmp_path / "full", GOOD)
    note = len(json.dumps(full.requests[0].get("system", ""))) // 4
    requests, tokens = cost(full)
    assert (plain.code, full.code) == (0, 0)
    assert "RevisedOutput" not in json.dumps(full.requests)
    assert requests == cost(plain)[0] == 1
    assert tokens - cost(plain)[1] + note < 150


MECHANISMS: dict[str, tuple[list[Any], dict[str, Any], int, int]] = {
    # name: replies, more of the input, requests more than the happy path, at most so many tokens more
    "rejection with all problems": ([BAD, said(finish({"title": LONG, "count": 3}))], {}, 1, 700),
    "nudge": ([said("done"), GOOD], {}, 1, 600),
    "decline, challenged once": ([DECLINE, DECLINE], {}, 1, 650),
    "cut-off reply": ([{**GOOD, "stop_reason": "max_tokens"}, GOOD], {}, 1, 600),
    "degenerate guard": ([BAD, GOOD, said(finish({"title": LONG, "count": 3}))], {}, 2, 1400),
    "wrapped object": (
        [said(finish({"result": {"title": "Disk"}})), GOOD],
        {"schema": {"type": "object", "properties": SCHEMA["properties"]}}, 1, 600,
    ),
    "revision of a 5 KB draft": ([LARGE, REVISED], {}, 1, 2600),
    "identical-failure cut": ([BAD, BAD, BAD], {}, 2, 1500),
    "reserved last call": ([said("done"), GOOD], {"max_turns": 2}, 1, 600),
    "rule": (
        [said(finish({"title": "Disk", "count": 1})), GOOD], {"argv": ("--rule", "count > 2 // count is larger than 2")}, 1, 600,
    ),
    "check": ([said(finish({"title": "Disk", "count": 1})), GOOD], {"argv": ("--check", "grep -q 3")}, 1, 600),
    "quote": (
        [said(finish({"title": "Tape", "count": 3})), said(finish({"title": "go", "count": 3}))],
        {"schema": {**SCHEMA, "properties": {**SCHEMA["properties"], "title": {"type": "string", "x-lastcall": {"quote": "input"}}}}},
        1, 650,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MECHANISMS)
def test_each_mechanism_costs_what_the_documentation_says(name, tmp_path):
    replies, more, extra, most = MECHANISMS[name]
    happy = cost(run(tmp_path / "happy", GOOD))
    requests, tokens = cost(run(tmp_path / "seen", *replies, **more))
    assert requests - happy[0] == extra
    assert tokens - happy[1] <= most
    row = next(line for line in TABLE if line.startswith(f"| {name} |"))
    told_requests, told_tokens = (int(cell.replace(",", "")) for cell in row.split("|")[2:4])
    assert told_requests == extra
    assert abs(tokens - happy[1] - told_tokens) <= max(40, told_tokens // 20)


TABLE = (Path(__file__).parents[2] / "docs" / "tasks" / "trust-the-result.md").read_text("utf-8").splitlines()
