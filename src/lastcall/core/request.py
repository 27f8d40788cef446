"""State to the request that goes to the model.

The request is always computed from the state, so that the pairing of calls and answers, the tools on offer and the forced
choice are true by construction; nothing is edited on the way.
"""

from __future__ import annotations

from lastcall.contract import Contract
from lastcall.core.revisions import offers_revision
from lastcall.core.state import RunState
from lastcall.core.summing import summary_request
from lastcall.nouns.request import Channel, Choice, ModelRequest
from lastcall.nouns.tools import ToolDefinition


def build_request(state: RunState) -> ModelRequest:
    """The request that is outstanding in `state`.

    In a reserved last call only the finishing tools are offered. On the native channel there are none: the provider's own
    JSON format carries the contract.
    """
    if state.summing is not None:
        return summary_request(state)
    contract, channel = state.contract, state.channel
    finishing: tuple[ToolDefinition, ...] = ()
    native_format = None
    if contract is not None and channel is Channel.TOOL:
        finishing = contract.finishing_tools(
            declines=state.policy.declines,
            revises=offers_revision(state),
            strict_rules=state.setting.strict_rules,
        )
    elif contract is not None:
        native_format = contract.wire_output
    return ModelRequest(
        number=state.asked,
        system=system_prompt(state.setting.system, contract, channel),
        messages=state.messages,
        tools=finishing if state.reserved else (*state.setting.tools, *finishing),
        choice=state.choice if finishing else Choice.AUTO,
        reserved=state.reserved,
        native_format=native_format,
    )


def system_prompt(system: str, contract: Contract | None, channel: Channel) -> str:
    """The caller's system prompt, and the one sentence that a contract adds."""
    addition = contract.system_addition(channel) if contract is not None else ""
    return "\n\n".join(part for part in (system, addition) if part)
