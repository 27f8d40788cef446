"""What later versions of the reference add to its problems' words: a table by keyword, not another engine.

Version 2.1.235 names the rule alone; from 2.1.296 on the allowed values, the count that was found and the name that is too
much stand beside it. Compat only.

Must not go in here: whether something is a problem.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from lastcall.contract.diagnosis import value_at
from lastcall.contract.json_text import write_json
from lastcall.nouns.attachment import Problem
from lastcall.nouns.json import JsonValue

_SHOWN: Final = 300
_TEXT_COUNTS: Final = frozenset({"minLength", "maxLength"})
_LIST_COUNTS: Final = frozenset({"minItems", "maxItems"})
_OBJECT_COUNTS: Final = frozenset({"minProperties", "maxProperties"})


def in_later_words(problems: tuple[Problem, ...], value: JsonValue) -> tuple[Problem, ...]:
    """The same problems of `value` in the words of version 2.1.332."""
    return tuple(replace(problem, message=problem.message + _added(problem, value)) for problem in problems)


def _added(problem: Problem, root: JsonValue) -> str:
    params = problem.params
    match problem.keyword:
        case "enum":
            return f": {_json(params.get('allowedValues'))}"
        case "const":
            return f": {_json(params.get('allowedValue'))}"
        case "additionalProperties":
            return f" ('{params.get('additionalProperty')}' is not allowed)"
        case _:
            count = _count(problem, root)
            return "" if count is None else f" (got {count})"


def _count(problem: Problem, root: JsonValue) -> int | None:
    """How many there were. A property's name has a length too, but the place is its object's: nothing is added there."""
    value = value_at(root, problem.path)
    if problem.keyword in _TEXT_COUNTS and isinstance(value, str):
        return len(value)
    if problem.keyword in _LIST_COUNTS and isinstance(value, list):
        return len(value)
    return len(value) if problem.keyword in _OBJECT_COUNTS and isinstance(value, dict) else None


def _json(value: JsonValue) -> str:
    text = write_json(list(value) if isinstance(value, tuple) else value, numbers="doubles")
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
