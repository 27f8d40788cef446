"""The floor: what a person writes who needs nothing but the object. No retries, no journal, no limits, no protocol."""

from __future__ import annotations

import json
from typing import Any

import httpx2
from service import LOOKED_UP, LOOKUP, PROMPT, SCHEMA, TEXTS_SCHEMA

HEADERS = {"x-api-key": "sk-test", "anthropic-version": "2023-06-01"}
TOOL = {"name": LOOKUP, "description": "Looks a line up.", "input_schema": {"type": "object", "properties": {"n": {}}}}
PROPERTIES: Any = SCHEMA["properties"]


def fits(value: dict[str, Any]) -> bool:
    """The contract of the benchmark, by hand."""
    return (
        value.keys() == PROPERTIES.keys()
        and value["severity"] in PROPERTIES["severity"]["enum"]
        and isinstance(value["title"], str)
        and 5 <= len(value["title"]) <= 20
        and isinstance(value["count"], int)
        and value["count"] >= 0
    )


class Contestant:
    """`run` makes one run and returns its object."""

    def __init__(self, url: str, behaviour: str) -> None:
        limits = httpx2.Limits(max_connections=None)
        self.client = httpx2.AsyncClient(timeout=60, headers=HEADERS, limits=limits)
        self.url = f"{url}/v1/messages"
        self.streams = behaviour.startswith("stream")
        schema = TEXTS_SCHEMA if self.streams else SCHEMA
        finish = {"name": "StructuredOutput", "description": "Hand over the result.", "input_schema": schema}
        self.tools = [TOOL, finish] if behaviour.startswith("turns") else [finish]

    async def run(self) -> Any:
        messages: list[dict[str, Any]] = [{"role": "user", "content": PROMPT}]
        while True:
            body = {"model": "claude-haiku-4-5", "max_tokens": 1024, "messages": messages, "tools": self.tools}
            if self.streams:
                return await self.streamed(body)
            reply = (await self.client.post(self.url, json=body)).json()
            call = next(block for block in reply["content"] if block["type"] == "tool_use")
            if call["name"] != LOOKUP and fits(call["input"]):
                return call["input"]
            said = LOOKED_UP if call["name"] == LOOKUP else "severity must be low, medium or high"
            answer = {"type": "tool_result", "tool_use_id": call["id"], "content": said}
            messages += [
                {"role": "assistant", "content": reply["content"]},
                {"role": "user", "content": [answer]},
            ]

    async def streamed(self, body: dict[str, Any]) -> Any:
        """The object of a stream: its pieces put together, then read once."""
        pieces = []
        async with self.client.stream("POST", self.url, json={**body, "stream": True}) as reply:
            async for line in reply.aiter_lines():
                if line.startswith("data: "):
                    event = json.loads(line[6:])
                    if event["type"] == "content_block_delta":
                        pieces.append(event["delta"]["partial_json"])
        return json.loads("".join(pieces))

    async def aclose(self) -> None:
        await self.client.aclose()
