"""A contract as the output tool of a pydantic-ai agent.

    agent = Agent(model, output_type=output_tool(contract), retries=5)

The agent's loop, models and tools stay pydantic-ai's; what the model sends is judged by the contract, rules included, and
what does not pass goes back in lastcall's words. A JSON Schema is checked too, which `StructuredDict` does not do.

Must not go in here: what is shared with other frameworks (`interop.judging`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from lastcall.api.contract import Contract
from lastcall.errors import BadConfig, MissingExtra
from lastcall.interop.judging import contract_of, finishing_tool, judged, refused_by_rules

T = TypeVar("T")


def output_tool(output: type[T] | Contract[T] | Mapping[str, Any], *, max_retries: int | None = None) -> Any:
    """The `ToolOutput[T]` for an agent's `output_type`; `max_retries` is pydantic-ai's.

    Raises `BadSchema`, `BadConfig` for a recursive schema (pydantic-ai cannot show one to a model), `MissingExtra`.
    """
    try:
        from pydantic_ai import ModelRetry, StructuredDict, ToolOutput  # noqa: PLC0415 -- optional
        from pydantic_ai.exceptions import UserError  # noqa: PLC0415
    except ImportError:
        raise MissingExtra(
            "This adapter needs pydantic-ai, which is not installed.",
            hint="Install it with: pip install 'lastcall[pydantic]' pydantic-ai-slim",
        ) from None
    contract = contract_of(output)
    tool = finishing_tool(contract)
    try:
        shown = StructuredDict(dict(tool.input_schema), name=tool.name)
    except UserError:
        hint = "Use lastcall.run with this type."
        raise BadConfig("pydantic-ai shows no recursive schema to a model", hint=hint, where="output") from None

    async def finish(value: dict[str, Any]) -> T:
        text, words = judged(contract, value)
        words = words or await refused_by_rules(contract, text)
        if words:
            raise ModelRetry(words)
        return contract.load(text)

    finish.__annotations__["value"] = shown
    return ToolOutput(finish, name=tool.name, description=tool.description, max_retries=max_retries)
