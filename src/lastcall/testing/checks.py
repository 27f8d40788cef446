"""Whether a third party's provider, tool or journal keeps the promises of its protocol.

Each check raises `AssertionError` with one sentence about the first promise that is broken, and returns nothing.

Must not go in here: the protocols (`providers.Provider`, `tools.Tool`, `journal.store.Journal`).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any, cast

import anyio
import msgspec

from lastcall.contract import compile_contract
from lastcall.contract.finishing_tools import DECLINE, FINISH
from lastcall.contract.parse import schema_from_value
from lastcall.contract.sample import sample
from lastcall.core import events as e
from lastcall.core.records import Noted
from lastcall.errors import BadSchema, JournalError
from lastcall.journal.store import Journal
from lastcall.nouns.ids import CallId
from lastcall.nouns.json import JsonObject
from lastcall.nouns.messages import TextBlock, UserMessage
from lastcall.nouns.request import ModelRequest
from lastcall.providers import Deployment, Provider
from lastcall.tools import Output, Tool, ToolContext
from lastcall.tools.paths import Workspace
from lastcall.tools.seen import FilesSeen
from lastcall.wire.dialect import Dialect

_TERMINAL = e.ReplyEnded | e.RequestFailed
_NUMBER = 7
_LATE = Noted(("late",))


def _demand(kept: object, words: str) -> None:
    if not kept:
        raise AssertionError(words)


# -- providers ------------------------------------------------------------------------------------------------------


async def check_provider(make: Callable[[], Provider]) -> None:
    """Ask a fresh provider of `make` for a reply to "Hello.", and another one for a reply that is not waited for."""
    provider = make()
    _demand(isinstance(provider.deployment, Deployment), "`deployment` is no Deployment")
    _demand(isinstance(provider.dialect, Dialect), "`dialect` is no Dialect")
    request = ModelRequest(_NUMBER, "", (UserMessage((TextBlock("Hello."),)),), ())
    heard = [event async for event in provider.stream(request)]
    await provider.aclose()
    await provider.aclose()
    _check_reply(heard)
    provider = make()
    stream = cast("AsyncGenerator[e.ProviderEvent]", provider.stream(request))
    with anyio.move_on_after(30) as waiting:
        await anext(stream, None)
        await stream.aclose()
    await provider.aclose()
    _demand(not waiting.cancelled_caught, "closing the iterator does not end the request")


def _check_reply(heard: list[Any]) -> None:
    _demand(heard, "the stream holds no event")
    for event in heard:
        _demand(isinstance(event, e.ProviderEvent), f"{type(event).__name__} is no event of a provider")
        _demand(
            event.request == _NUMBER, f"{type(event).__name__} names request {event.request}, not the one asked for"
        )
    ends = [event for event in heard if isinstance(event, _TERMINAL)]
    _demand(len(ends) == 1 and heard[-1] is ends[0], "the last event, and no other, is ReplyEnded or RequestFailed")
    begun: set[str] = set()
    uuids: list[str] = []
    for event in heard:
        if isinstance(event, e.ReplyStarted):
            _demand(event.message_id, "a reply has no message id")
            begun.add(event.message_id)
        elif isinstance(event, e.BlockEnded | e.ReplyEnded):
            _demand(event.message_id in begun, f"{type(event).__name__} comes before its ReplyStarted")
        if isinstance(event, e.BlockEnded):
            uuids.append(event.uuid)
    _demand(len(set(uuids)) == len(uuids), "two blocks have the same uuid")


# -- tools ----------------------------------------------------------------------------------------------------------


async def check_tool(tool: Tool, arguments: JsonObject | None = None, *, cwd: str = ".") -> Output:
    """Run the tool once, with `arguments` or with some that its schema allows; what it gave back.

    The call may do what the tool does: give arguments that are safe, and a directory that may be changed.
    """
    definition = tool.definition
    _demand(definition is tool.definition or definition == tool.definition, "`definition` changes from look to look")
    _demand(definition.name not in (FINISH, DECLINE), f"{definition.name} is the name of a finishing tool")
    _demand(definition.description.strip(), f"{definition.name} has no description, so no model knows what it is for")
    _demand(not definition.finishing, f"{definition.name} calls itself a finishing tool")
    try:
        schema = schema_from_value(definition.input_schema)
        contract = compile_contract(schema)
        given = sample(schema) if arguments is None else arguments
    except BadSchema as error:
        raise AssertionError(f"the input schema of {definition.name} cannot be used: {error}") from None
    _demand(schema.value.get("type") == "object", f"the input schema of {definition.name} is not of type object")
    rejected = contract.problems_of(given)
    _demand(rejected is None, f"the arguments do not fit the input schema of {definition.name}")
    assert isinstance(given, dict)
    before = msgspec.json.encode(given)
    context = ToolContext(
        workspace=Workspace(cwd), seen=FilesSeen(), rules=_NoRules(), call_id=CallId("check"), idempotency_key="check"
    )
    tool.subject(given)
    output = await tool.run(given, context)
    _demand(isinstance(output, Output), f"{definition.name} gave back {type(output).__name__}, not an Output")
    _demand(isinstance(output.content, str), f"the content of {definition.name} is no text")
    _demand(msgspec.json.encode(given) == before, f"{definition.name} changes its arguments")
    return output


class _NoRules:
    def denies_path(self, tool: str, real_path: str) -> bool:  # noqa: ARG002 -- `PathRules`
        """No file is out of bounds."""
        return False

    def denies_some(self, tool: str) -> bool:  # noqa: ARG002 -- `PathRules`
        """There are no rules."""
        return False


# -- journals -------------------------------------------------------------------------------------------------------


def check_journal(journal: Journal, read: Callable[[], list[Any]] | None = None) -> None:
    """Write a few steps and close the journal. `read` gives back the records that are in it then."""
    written = [Noted((f"step {number}",)) for number in range(3)]
    for number, record in enumerate(written):
        journal.append((record,), at=float(number), durable=number == 1)
    if read is not None:
        _demand(list(read())[-len(written) :] == written, "the journal does not hold what was written, in its order")
    journal.close()
    journal.close()
    if read is not None:
        _demand(list(read())[-len(written) :] == written, "closing the journal lost a step")
        try:
            journal.append((_LATE,), at=9.0, durable=True)
        except JournalError:
            return
        _demand(read()[-1] == _LATE, "a closed journal takes a step without keeping it")
