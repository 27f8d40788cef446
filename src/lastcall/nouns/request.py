"""One request to a model, free of any provider's wire format.

Made only by `core.request`; encoded by `wire.anthropic` and `wire.openai`. What belongs to the deployment and not to the
run (model name, output limit, thinking budget, temperature) is not in here: it is in the provider's `Deployment`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from lastcall.nouns.messages import Message
from lastcall.nouns.schema import OutputSchema, StrictSchema
from lastcall.nouns.tools import ToolDefinition


class Choice(StrEnum):
    """Whether the model must call a tool. `FINISH`: it must call one of the finishing tools."""

    AUTO = "auto"
    FINISH = "finish"


class Channel(StrEnum):
    """Through which part of the protocol the object comes."""

    TOOL = "tool"
    NATIVE = "native"


class Purpose(StrEnum):
    """What a request is for: the run's next turn, or a summary of turns that are left out."""

    TURN = "turn"
    SUMMARY = "summary"


class ModelRequest(Struct, frozen=True, tag=True):
    """What the model is asked.

    `number` counts the requests of a session from 1. With `choice` `FINISH`, only finishing tools are in `tools` if
    `reserved`, else all of them are and the provider restricts the choice where its protocol can.
    `native_format` is set when the channel is `NATIVE`: the schema for the provider's own JSON format. `headers` go along
    over HTTP; they hold no credentials.
    """

    number: int
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...]
    choice: Choice = Choice.AUTO
    reserved: bool = False
    native_format: OutputSchema | StrictSchema | None = None
    purpose: Purpose = Purpose.TURN
    headers: Mapping[str, str] = {}
