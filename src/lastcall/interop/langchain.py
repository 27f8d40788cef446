"""A contract as the structured output of a LangChain agent.

    agent = create_agent(model, tools, response_format=tool_strategy(contract))

LangChain validates in one synchronous step, so rules in Python have no place there; what the type or the schema demands is
checked, raw schemas too, which LangChain itself hands over as they come. How often the model may try again is LangChain's
`recursion_limit`; it has no limit of attempts.

Must not go in here: what is shared with other frameworks (`interop.judging`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from lastcall.api.contract import Contract
from lastcall.errors import BadConfig, MissingExtra
from lastcall.interop.judging import contract_of, finishing_tool, judged

T = TypeVar("T")


class Refused(ValueError):  # noqa: N818 -- named for what happened
    """The object does not pass; the words are for the model."""


def tool_strategy(output: type[T] | Contract[T] | Mapping[str, Any]) -> Any:
    """The `ToolStrategy` for `create_agent(response_format=...)`; the agent's `structured_response` is the object.

    Raises `BadSchema`, `BadConfig` for a contract with rules in Python, `MissingExtra`.
    """
    try:
        from langchain.agents.structured_output import ToolStrategy  # noqa: PLC0415 -- optional
    except ImportError:
        raise MissingExtra(
            "This adapter needs LangChain, which is not installed.",
            hint="Install it with: pip install 'lastcall[pydantic]' langchain",
        ) from None
    return ToolStrategy(schema=_model(contract_of(output)), handle_errors=_words)


def _model(contract: Contract[Any]) -> Any:
    """A Pydantic model that shows the contract's schema, and whose validation is the contract's verdict."""
    from pydantic import BaseModel  # noqa: PLC0415 -- an extra, and heavy
    from pydantic_core import core_schema  # noqa: PLC0415

    if contract.compiled.checks:
        hint = "Put them into the type's own validators, or use lastcall.run."
        raise BadConfig("LangChain has no place for rules in Python", hint=hint, where="output")
    tool = finishing_tool(contract)

    def judge(value: Any) -> Any:
        text, words = judged(contract, value)
        if words:
            raise Refused(words)
        return contract.load(text)

    class StructuredOutput(BaseModel):
        @classmethod
        def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
            return core_schema.no_info_plain_validator_function(judge)

        @classmethod
        def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:  # noqa: ARG003 -- Pydantic's protocol
            return dict(tool.input_schema)

    StructuredOutput.__name__ = tool.name
    StructuredOutput.__doc__ = tool.description
    return StructuredOutput


def _words(error: Exception) -> str:
    """What the model is told: lastcall's words where it was lastcall that refused, else LangChain's."""
    inner: BaseException | None = error
    while inner is not None:
        for detail in getattr(inner, "errors", list)() if hasattr(inner, "error_count") else ():
            refused = detail.get("ctx", {}).get("error")
            if isinstance(refused, Refused):
                return str(refused)
        inner = getattr(inner, "source", None) or inner.__cause__
    return str(error)
