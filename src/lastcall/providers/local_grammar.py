"""What the embedded model may write in one turn, as a grammar.

A call is one line, `{"tool": "NAME", "input": {...}}`, and the grammar has one alternative a tool, each with the tool's
own schema in the form that the engine takes (`contract.strict`, rules `grammar`). Where no tool ends the run, plain text
is another alternative; it cannot begin with a brace, so the first character tells which of the two it is.

Must not go in here: the prompt (`.local_prompt`), the contract's judgement.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from lastcall.contract.parse import schema_from_value
from lastcall.contract.strict import to_strict
from lastcall.errors import BadSchema
from lastcall.nouns.json import JsonObject
from lastcall.nouns.request import Choice, ModelRequest
from lastcall.nouns.schema import StrictSchema
from lastcall.nouns.tools import ToolDefinition

_RULES: Final = "grammar"
_ANY_OBJECT: Final[JsonObject] = {"type": "object"}
_END: Final = "}"


class Offer(Struct, frozen=True):
    """What a reply may be: calls of `tools`, or text (`text`), or one object by a schema of its own (`native`).

    `grammar` is `""` where everything is allowed. `loose` says that the tools' schemas are not in it.
    """

    tools: tuple[str, ...] = ()
    text: bool = False
    native: bool = False
    grammar: str = ""
    loose: bool = False


def offer(request: ModelRequest, *, loose: bool = False) -> Offer:
    """What a reply to `request` may be. `loose`: every input is just an object, for schemas that the engine refuses."""
    if request.native_format is not None:
        shape = _ANY_OBJECT if loose else request.native_format.value
        return Offer(native=True, grammar=_headed(f"start: {_json(shape)}\n"), loose=loose)
    tools = offered_tools(request)
    if not tools:
        return Offer(text=True)
    text = not any(tool.finishing for tool in tools)
    return Offer(tuple(tool.name for tool in tools), text, grammar=_calls(tools, text=text, loose=loose), loose=loose)


def offered_tools(request: ModelRequest) -> tuple[ToolDefinition, ...]:
    """The tools that may be called: the finishing ones alone when the choice is forced."""
    if request.choice is Choice.FINISH:
        return tuple(tool for tool in request.tools if tool.finishing)
    return request.tools


def call_prefix(name: str) -> str:
    """How a call of a tool begins; the input and a closing brace follow."""
    return f'{{"tool": {_quoted(name)}, "input": '


def call_text(name: str, arguments: str) -> str:
    """A whole call as the model writes it."""
    return f"{call_prefix(name)}{arguments}{_END}"


def _calls(tools: Iterable[ToolDefinition], *, text: bool, loose: bool) -> str:
    shapes = [
        f"{_quoted(call_prefix(tool.name))} {_json(_ANY_OBJECT if loose else tool.input_schema)} {_quoted(_END)}"
        for tool in tools
    ]
    if text:
        shapes.append(r"/[^{](?s:.*)/")
    names = [f"shape{number}" for number in range(len(shapes))]
    rules = [f"start: {' | '.join(names)}", *(f"{name}: {shape}" for name, shape in zip(names, shapes, strict=True))]
    return _headed("\n".join(rules) + "\n")


def _headed(rules: str) -> str:
    return f"%llguidance {{}}\n{rules}"


def _json(schema: JsonObject) -> str:
    return f"%json {_engine_schema(schema)}"


def _engine_schema(schema: JsonObject) -> str:
    """The schema's form for the engine; any object where there is none."""
    try:
        strict = to_strict(schema_from_value(schema), _RULES)
    except BadSchema:  # a foreign tool's schema may be anything
        return _engine_schema(_ANY_OBJECT)
    return strict.text if isinstance(strict, StrictSchema) else _engine_schema(_ANY_OBJECT)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
