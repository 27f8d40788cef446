"""instructor, over Chat Completions. It has no tools of its own beside the object's."""

from __future__ import annotations

from typing import Any, Literal

import instructor
from openai import AsyncOpenAI
from pydantic import BaseModel, ConfigDict, Field
from service import PROMPT


class Incident(BaseModel):
    model_config = ConfigDict(extra="forbid")
    severity: Literal["low", "medium", "high"]
    title: str = Field(min_length=5, max_length=20)
    count: int = Field(ge=0)


class Contestant:
    def __init__(self, url: str, behaviour: str) -> None:
        if behaviour.startswith("turns"):
            raise SystemExit("no tools")
        self.plain = AsyncOpenAI(base_url=url, api_key="k", timeout=60)
        self.client = instructor.from_openai(self.plain)

    async def run(self) -> Any:
        messages: Any = [{"role": "user", "content": PROMPT}]
        found = await self.client.chat.completions.create(
            model="m", response_model=Incident, messages=messages, max_retries=5
        )
        return found.model_dump()

    async def aclose(self) -> None:
        await self.plain.close()
