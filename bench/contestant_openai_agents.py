"""openai-agents, over Chat Completions. It does not ask again when an object is refused."""

from __future__ import annotations

from typing import Any, Literal

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI
from pydantic import BaseModel, ConfigDict, Field
from service import LOOKED_UP, PROMPT


class Incident(BaseModel):
    model_config = ConfigDict(extra="forbid")
    severity: Literal["low", "medium", "high"]
    title: str = Field(min_length=5, max_length=20)
    count: int = Field(ge=0)


@function_tool
def lookup(n: int) -> str:  # noqa: ARG001 -- every line is alike
    """Looks a line up."""
    return LOOKED_UP


class Contestant:
    def __init__(self, url: str, behaviour: str) -> None:
        if behaviour == "reject":
            raise SystemExit("does not ask again")
        set_tracing_disabled(disabled=True)
        self.client = AsyncOpenAI(base_url=url, api_key="k", timeout=60)
        model = OpenAIChatCompletionsModel("m", openai_client=self.client)
        tools = [lookup] if behaviour.startswith("turns") else []
        self.agent = Agent("a", model=model, output_type=Incident, tools=tools)

    async def run(self) -> Any:
        result = await Runner.run(self.agent, PROMPT, max_turns=1000)
        return result.final_output.model_dump()

    async def aclose(self) -> None:
        await self.client.close()
