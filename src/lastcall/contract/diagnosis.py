"""What a problem's place holds, and what slip it looks like: the figures that make a sentence helpful.

Checking says what is wrong (`validator`); this adds to a problem's `params` what was found there (`got`: a kind or a count,
never a long value) and, where the value looks like a known slip, `hint`: the fix in one clause. It changes no verdict.

Must not go in here: sentences as a whole (`wording`), values at length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from msgspec.structs import replace

from lastcall.contract.json_text import JsonFault, read_json
from lastcall.nouns.attachment import Problem
from lastcall.nouns.json import JsonValue

_NUMBER_KEYWORDS: Final = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
MISSING: Final = object()
"""What `value_at` gives for a place that is not there."""
_DIGITS: Final = 40


def diagnosed(
    problems: tuple[Problem, ...], value: JsonValue, fits: Callable[[JsonValue], bool]
) -> tuple[Problem, ...]:
    """The same problems, with what was found and the slip it looks like. `fits` asks the schema about another value."""
    out = tuple(_diagnose(problem, value) for problem in problems)
    wrapper = _wrapper(value, fits)
    if wrapper is not None and out:
        hint = f'the result is wrapped in the one key "{wrapper}"; send what is in it as the whole input'
        out = (_with(out[0], hint=hint), *out[1:])
    return out


def _diagnose(problem: Problem, root: JsonValue) -> Problem:
    value = value_at(root, problem.path)
    if value is MISSING:
        return problem
    keyword = problem.keyword
    if keyword == "type":
        return _with(problem, got=_kind(value), hint=_type_hint(value, problem.params))
    if keyword in ("minLength", "maxLength") and isinstance(value, str):
        return _with(problem, got=f"{len(value)}")
    if keyword in ("minItems", "maxItems", "minProperties", "maxProperties") and isinstance(value, list | dict):
        return _with(problem, got=f"{len(value)}")
    if keyword in _NUMBER_KEYWORDS and isinstance(value, int | float | Decimal):
        return _with(problem, got=_number(value))
    if keyword == "enum" and isinstance(value, str):
        return _with(problem, hint=_spelling(value, problem.params.get("allowedValues")))
    if keyword == "required" and isinstance(value, dict):
        return _with(problem, hint=_swallowed(value, problem))
    return problem


def _with(problem: Problem, **more: str | None) -> Problem:
    given = {key: text for key, text in more.items() if text is not None}
    return replace(problem, params={**problem.params, **given}) if given else problem


# -- what was found -------------------------------------------------------------------------------------------------


def value_at(root: Any, path: str) -> Any:
    """What stands at a JSON Pointer."""
    value = root
    for token in path.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            return MISSING
    return value


def _kind(value: JsonValue) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float() | Decimal():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _number(value: float | Decimal) -> str:
    if isinstance(value, int) and value.bit_length() > 4 * _DIGITS:
        return "an integer of many digits"
    text = str(value)
    return text if len(text) <= _DIGITS else f"{text[:_DIGITS]}…"


# -- what slip it looks like ----------------------------------------------------------------------------------------


def _type_hint(value: JsonValue, params: Mapping[str, Any]) -> str | None:
    wanted = params.get("type")
    names = set(wanted) if isinstance(wanted, list | tuple) else {wanted}
    if isinstance(value, str):
        return _inside_string(value, names)
    if isinstance(value, dict) and len(value) == 1 and "array" in names:
        ((key, inner),) = value.items()
        if isinstance(inner, list):
            return f'send the array itself, without the key "{key[:60]}" around it'
    if value is None:
        return "leave the property out if there is no value and it is not required"
    return None


def _inside_string(text: str, names: set[Any]) -> str | None:
    read = read_json(text, numbers="exact")
    if isinstance(read, JsonFault):
        return None
    kind = _kind(read.value)
    if kind in names or (kind == "integer" and "number" in names):
        article = "an" if kind[0] in "aio" else "a"
        return f"the string holds the JSON text of {article} {kind}; send the {kind} itself, not in quotes"
    return None


def _spelling(value: str, allowed: object) -> str | None:
    if not isinstance(allowed, list | tuple):
        return None
    same = [a for a in allowed if isinstance(a, str) and a.casefold() == value.strip().casefold()]
    return f'"{same[0]}" is spelt just so' if same and len(same[0]) <= 100 else None


def _swallowed(value: dict[str, JsonValue], problem: Problem) -> str | None:
    """A property that stands as markup inside a neighbouring string."""
    name = str(problem.params.get("missingProperty", ""))
    if not name or len(name) > 200:
        return None
    tag = re.compile(rf'<\s*(?:{re.escape(name)}\b|[\w:]+\s[^<>]{{0,60}}"{re.escape(name)}")')
    for key, text in value.items():
        if isinstance(text, str) and tag.search(text):
            return (
                f"{problem.path}/{key} contains what looks like this property written as markup; send it as a property"
            )
    return None


def _wrapper(value: JsonValue, fits: Callable[[JsonValue], bool]) -> str | None:
    if not isinstance(value, dict) or len(value) != 1:
        return None
    ((key, inner),) = value.items()
    return key if len(key) <= 60 and isinstance(inner, dict) and inner and fits(inner) else None
