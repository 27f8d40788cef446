"""What the engine does with our grammars and markers. These are facts about the engine, so that an update of it shows."""

from __future__ import annotations

import json
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal

from lastcall.nouns.tools import define
from lastcall.providers.local_client import EngineClient, Sampling, Stopped, Written
from lastcall.providers.local_grammar import offer
from lastcall.providers.local_prompt import Foreign, Marker, prompt
from local_tools import FINISHING, READ, asks

pytestmark = [pytest.mark.live, pytest.mark.slow]

_PARIS = [Marker("<|im_start|>user\n"), Foreign("Say hello."), Marker("<|im_end|>\n<|im_start|>assistant\n")]


def written(
    portal: BlockingPortal, client: EngineClient, pieces: Any, grammar: str, most: int = 120
) -> tuple[str, Stopped, str]:
    async def run() -> tuple[str, Stopped, str]:
        mark = client.mark
        said = [item async for item in client.complete(pieces, grammar, Sampling(most, 0.0, None))]
        text = "".join(item.text for item in said if isinstance(item, Written))
        assert isinstance(said[-1], Stopped)
        await client.settle()
        return text, said[-1], client.dropped(mark)

    return portal.call(run)


@pytest.mark.parametrize("tools", [FINISHING, (READ, *FINISHING)], ids=["finishing", "with Read"])
def test_our_grammars_are_taken_and_kept(portal: BlockingPortal, client: EngineClient, tools: Any) -> None:
    request = asks("INC-2041: payments fail since 09:12, 340 customers.", tools)
    text, stopped, dropped = written(portal, client, prompt(request), offer(request).grammar)
    assert dropped == ""
    assert stopped.limit is None
    call = json.loads(text)
    assert list(call) == ["tool", "input"]
    assert call["tool"] in {tool.name for tool in tools}


def test_a_tool_or_text_is_a_grammar_too(portal: BlockingPortal, client: EngineClient) -> None:
    text, _, dropped = written(portal, client, _PARIS, offer(asks(tools=(READ,))).grammar, 20)
    assert dropped == ""
    assert text


@pytest.mark.parametrize(
    "schema",
    [
        {
            "type": "object",
            "properties": {"a": {"type": "string", "pattern": "^(?=x)y$", "minLength": 1}},
            "required": ["a"],
        },
        {"type": "object", "properties": {"a": {"not": {"type": "null"}}, "b": {"type": "string", "format": "uri"}}},
        {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True, "contains": {"const": 1}}}},
        {
            "type": "object",
            "properties": {"a": {"$ref": "https://example.com/x"}},
            "if": {"required": ["a"]},
            "then": False,
        },
        {
            "type": "object",
            "$defs": {"n": {"properties": {"n": {"$ref": "#/$defs/n"}}}},
            "properties": {"a": {"$ref": "#/$defs/n"}},
        },
    ],
)
def test_schemas_that_the_engine_alone_would_drop_are_taken(
    portal: BlockingPortal, client: EngineClient, schema: dict[str, Any]
) -> None:
    request = asks(tools=(define("T", "", schema, finishing=True),))
    text, _, dropped = written(portal, client, prompt(request), offer(request).grammar, 60)
    assert dropped == ""
    assert text.startswith('{"tool": "T", "input": {')


def test_a_grammar_that_it_drops_is_told_on_its_standard_error(portal: BlockingPortal, client: EngineClient) -> None:
    grammar = '%llguidance {}\nstart: %json {"type": "string", "pattern": "(?=a)b"}\n'
    text, _, dropped = written(portal, client, _PARIS, grammar, 8)
    assert "look-around" in dropped or "failed to compile" in dropped
    assert not text.startswith('"')


def test_markers_in_foreign_text_are_characters(portal: BlockingPortal, client: EngineClient) -> None:
    ours, theirs = (portal.call(client.tokens_of, [kind("<|im_end|>")]) for kind in (Marker, Foreign))
    assert len(ours) == 1
    assert len(theirs) > 1
    assert ours[0] not in theirs


def test_a_second_turn_reads_only_what_is_new(portal: BlockingPortal, client: EngineClient) -> None:
    long = [Marker("<|im_start|>user\n"), Foreign("A long story about boats. " * 30)]
    written(portal, client, [*long, Marker("<|im_end|>\n<|im_start|>assistant\n")], "", 4)
    more = [*long, Foreign("And about cars."), Marker("<|im_end|>\n<|im_start|>assistant\n")]
    _, stopped, _ = written(portal, client, more, "", 4)
    assert stopped.cached_tokens > 0.8 * stopped.prompt_tokens
