"""What the adapters share: the finishing tool of a contract, and the verdict on arguments that somebody else parsed.

Arguments come as plain values, so numbers are what the framework's JSON reader made of them.

Must not go in here: any framework.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from lastcall.api.contract import Contract
from lastcall.contract import wording
from lastcall.contract.json_text import write_json
from lastcall.contract.verdicts import Accepted
from lastcall.errors import BadConfig
from lastcall.nouns.profile import Profile
from lastcall.nouns.tools import Arguments, ToolDefinition

T = TypeVar("T")


def contract_of(output: type[T] | Contract[T] | Mapping[str, Any]) -> Contract[T]:
    """The contract that an `output` means. Raises `BadSchema`, and `BadConfig` for one that needs a run of lastcall."""
    contract: Contract[T] = output if isinstance(output, Contract) else Contract(output)
    if contract.compiled.needs_sight:
        raise BadConfig(
            "quotes and evidence can only be demanded in a run of lastcall",
            hint="Use lastcall.run, or take x-lastcall out of the schema.",
            where="output",
        )
    return contract


def finishing_tool(contract: Contract[Any]) -> ToolDefinition:
    """The tool whose call hands over the object."""
    (finish,) = contract.compiled.finishing_tools(declines=False)
    return finish


def judged(contract: Contract[Any], arguments: Any) -> tuple[str, str]:
    """The object's JSON if it passes schema and type, else `""`; and then the words for the model."""
    verdict = contract.compiled.judge(Arguments(write_json(arguments, numbers="exact")))
    if isinstance(verdict, Accepted):
        return verdict.text, ""
    return "", wording.rejection(verdict, Profile.NATIVE)


async def refused_by_rules(contract: Contract[Any], object_text: str) -> str:
    """The words for the model if a rule in Python refuses the object, else `""`."""
    refusals = [problem.message for check in contract.compiled.checks for problem in (await check.run(object_text))[1]]
    return "\n".join(["The object is not taken:", *(f"- {words}" for words in refusals)]) if refusals else ""
