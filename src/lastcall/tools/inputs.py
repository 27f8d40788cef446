"""Whether a call's arguments fit the tool's input schema.

Must not go in here: finishing calls (the contract judges those), permissions, running.
"""

from __future__ import annotations

from msgspec import Struct

from lastcall.contract import wording
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


class BadInput(Struct, frozen=True):
    """Why a call is not run: the sentence for the model, and the short one that the stream shows."""

    content: str
    display: str


class InputSchemas:
    """The compiled input schemas of a run's tools, each compiled when it is first needed."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._compiled: dict[str, Validator | None] = {}

    def read(self, call: ToolCall, definition: ToolDefinition) -> JsonObject | BadInput:
        """The call's arguments, checked; in compat, coerced at the top level first, as recorded."""
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
        return self.check(value, definition)

    def check(self, arguments: JsonObject, definition: ToolDefinition) -> JsonObject | BadInput:
        """The arguments, if they fit."""
        validator = self._validator(definition)
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

    def _validator(self, definition: ToolDefinition) -> Validator | None:
        """The compiled schema; `None` for a schema (of a foreign tool) that is none: the tool must judge by itself."""
        if definition.name not in self._compiled:
            schema = definition.input_schema
            try:
                dialect = choose_dialect(schema, Profile.NATIVE)
                self._compiled[definition.name] = compile_validator(schema, dialect, assert_formats=False)
            except BadSchema:
                self._compiled[definition.name] = None
        return self._compiled[definition.name]


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
