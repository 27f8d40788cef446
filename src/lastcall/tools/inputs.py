"""Whether a call's arguments fit the tool's input schema.

Must not go in here: finishing calls (the contract judges those), permissions, running.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from lastcall.contract import ARGUMENT_DEPTH, wording
from lastcall.contract.budgets import BudgetExceeded
from lastcall.contract.coercion import coerce_top_level
from lastcall.contract.dialects import choose_dialect
from lastcall.contract.json_text import JsonFault, read_json
from lastcall.contract.parse import schema_from_value
from lastcall.contract.validator import Validator, compile_validator
from lastcall.errors import BadSchema
from lastcall.nouns.attachment import Problem
from lastcall.nouns.json import JsonObject, JsonValue
from lastcall.nouns.profile import Profile
from lastcall.nouns.tools import ToolCall, ToolDefinition, Unreadable

if TYPE_CHECKING:
    from lastcall.contract.plain_names import PlainNames


class BadInput(Struct, frozen=True):
    """Why a call is not run: the sentence for the model, and the short one that the stream shows."""

    content: str
    display: str


class InputSchemas:
    """The compiled input schemas of a run's tools, each compiled when it is first needed."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._compiled: dict[tuple[str, bool], Validator | None] = {}
        self._names: dict[str, PlainNames | None] = {}

    def read(
        self, call: ToolCall, definition: ToolDefinition, shown: ToolDefinition | None = None
    ) -> JsonObject | BadInput:
        """The call's arguments, checked; in compat, coerced at the top level first, as recorded.

        `shown` is the tool as the model sees it: the arguments are checked in its names, and come back in the tool's own.
        """
        if isinstance(call.arguments, Unreadable):
            size = len(call.arguments.text.encode("utf-8", "surrogatepass"))
            words = wording.unreadable(call.arguments, self._profile, tool=call.name)
            return BadInput(words, f"InputValidationError: JSON parse failed ({size} bytes)")
        compat = self._profile is Profile.COMPAT
        read = read_json(call.arguments.text, numbers="doubles" if compat else "exact")
        if isinstance(read, JsonFault):
            return _bad(definition.name, [read.message])
        if not isinstance(read.value, dict):
            return _bad(definition.name, [_type_issue(Problem("", "type", "", {"type": "object"}), read.value)])
        value = coerce_top_level(read.value, schema_from_value(definition.input_schema)) if compat else read.value
        names = self._names_of(definition)
        if names is None:
            return self.check(value, definition)
        is_plain = shown is not None and shown.input_schema != definition.input_schema
        said = self.check(value, shown, plain=True) if shown is not None and is_plain else value
        if isinstance(said, BadInput):
            return said
        own = names.callers_value(said)
        if own is None:
            return _bad(definition.name, ["One parameter was provided under two names"])
        return own if is_plain else self.check(own, definition)

    def in_own_names(self, call: ToolCall, definition: ToolDefinition) -> ToolCall:
        """A call in the names of the tool's own definition, whatever names the model was shown."""
        names = self._names_of(definition)
        if names is None or isinstance(call.arguments, Unreadable):
            return call
        text = names.callers_text(call.arguments.text, max_depth=ARGUMENT_DEPTH)
        return replace(call, arguments=replace(call.arguments, text=text))

    def _names_of(self, definition: ToolDefinition) -> PlainNames | None:
        """The names under which some models see the tool's parameters; `None` where those are its own."""
        if self._profile is Profile.COMPAT:
            return None
        if definition.name not in self._names:
            from lastcall.contract.plain_names import plain_names  # noqa: PLC0415 -- most tools have plain names

            self._names[definition.name] = plain_names(definition.input_schema)
        return self._names[definition.name]

    def check(self, arguments: JsonObject, definition: ToolDefinition, *, plain: bool = False) -> JsonObject | BadInput:
        """The arguments, if they fit. `plain`: the definition is the one with plain names."""
        validator = self._validator(definition, plain=plain)
        if validator is None:
            return arguments
        try:
            found = validator.problems(arguments)
        except BudgetExceeded as error:
            return _bad(definition.name, [error.message])
        if not found.total:
            return arguments
        issues = sorted(found.listed, key=_rank)
        return _bad(definition.name, [_issue(problem, arguments) for problem in issues])

    def _validator(self, definition: ToolDefinition, *, plain: bool) -> Validator | None:
        """The compiled schema; `None` for a schema (of a foreign tool) that is none: the tool must judge by itself."""
        key = (definition.name, plain)
        if key not in self._compiled:
            schema = definition.input_schema
            try:
                dialect = choose_dialect(schema, Profile.NATIVE)
                self._compiled[key] = compile_validator(schema, dialect, assert_formats=False)
            except BadSchema:
                self._compiled[key] = None
        return self._compiled[key]


_ISSUES_TOLD = 20


def _bad(tool: str, issues: list[str]) -> BadInput:
    told = issues[:_ISSUES_TOLD]
    if len(issues) > len(told):
        told.append(f"+{len(issues) - len(told)} more")
    word = "issue" if len(issues) == 1 else "issues"
    text = f"{tool} failed due to the following {word}:\n" + "\n".join(told)
    return BadInput(wording.wrong_input(text), f"InputValidationError: {text}")


def _rank(problem: Problem) -> int:
    """The reference tells missing parameters first, then unexpected ones, then wrong types."""
    return {"required": 0, "additionalProperties": 1, "type": 2}.get(problem.keyword, 3)


def _issue(problem: Problem, arguments: JsonObject) -> str:
    """One problem in the reference's words; where it has none, in ours."""
    match problem.keyword:
        case "required":
            return f"The required parameter `{_inside(problem, 'missingProperty')}` is missing"
        case "additionalProperties":
            return f"An unexpected parameter `{_inside(problem, 'additionalProperty')}` was provided"
        case "type":
            return _type_issue(problem, _value_at(arguments, problem.path))
        case _:
            return f"The parameter `{_dotted(problem.path)}`: {wording.sentence(problem)}"


def _type_issue(problem: Problem, value: JsonValue) -> str:
    expected = problem.params.get("type", "")
    words = expected if isinstance(expected, str) else ", ".join(map(str, expected))
    return (
        f"The parameter `{_dotted(problem.path)}` type is expected as `{words}` but provided as `{_type_name(value)}`"
    )


def _inside(problem: Problem, param: str) -> str:
    name = str(problem.params.get(param, ""))
    return f"{_dotted(problem.path)}.{name}" if problem.path else name


def _tokens(path: str) -> list[str]:
    return [token.replace("~1", "/").replace("~0", "~") for token in path.split("/")[1:]]


def _dotted(path: str) -> str:
    """A JSON Pointer in the reference's notation: `a.b[0]`."""
    out = ""
    for token in _tokens(path):
        out += f"[{token}]" if token.isdigit() else f".{token}" if out else token
    return out


def _value_at(arguments: JsonObject, path: str) -> JsonValue:
    value: JsonValue = arguments
    for token in _tokens(path):
        if isinstance(value, dict):
            value = value.get(token)
        elif isinstance(value, list):
            value = value[int(token)]
    return value


def _type_name(value: JsonValue) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    return "object" if isinstance(value, dict) else "number"
