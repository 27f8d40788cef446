"""What docs/performance.md promises and a test can hold without a stopwatch."""

from __future__ import annotations

import json
from pathlib import Path

import anyio

import lastcall
from lastcall.testing import ScriptedModel

ROOT = Path(__file__).parents[2]
SCHEMA = {
    "type": "object",
    "properties": {"severity": {"enum": ["low", "high"]}, "count": {"type": "integer", "minimum": 0}},
    "required": ["severity", "count"],
    "additionalProperties": False,
}
TOKENS = 250
BYTES_A_TOKEN = 4


def test_an_object_at_the_first_call_costs_at_most_250_tokens_more_than_its_prompt_and_schema():
    model = ScriptedModel({"object": {"severity": "high", "count": 3}})

    async def one():
        return await lastcall.arun("Describe the incident.", output=lastcall.Contract(SCHEMA), model=model)

    assert anyio.run(one).ok
    (sent,) = model.requests
    bare = {
        "model": sent["model"],
        "max_tokens": sent["max_tokens"],
        "messages": [{"role": "user", "content": "Describe the incident."}],
        "tools": [{"name": "StructuredOutput", "description": "Hand over the result.", "input_schema": SCHEMA}],
    }
    more = len(json.dumps(sent)) - len(json.dumps(bare))
    assert 0 < more <= TOKENS * BYTES_A_TOKEN


def test_the_page_has_the_place_where_the_benchmark_writes_its_table():
    page = (ROOT / "docs" / "performance.md").read_text("utf-8")
    assert page.count("<!-- table: bench/run.py -->") == page.count("<!-- end -->") == 1
    assert page.index("<!-- table: bench/run.py -->") < page.index("<!-- end -->")
