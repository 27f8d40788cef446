"""Valid values that look wrong. They are reported, never altered (`--strict-values` makes problems of them).

Two questions: does a value carry the marks of a slip on the way (a string that is itself JSON, tool markup in a string,
one undeclared wrapper key, control characters), and did an object lose what a rejected draft held (a stub that only
satisfies the schema).

Must not go in here: what the schema says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from lastcall.contract.json_text import JsonFault, pointer_token, read_json
from lastcall.contract.positions import each_subschema
from lastcall.nouns.attachment import Problem
from lastcall.nouns.json import JsonObject, JsonValue
from lastcall.nouns.result import RunWarning

_MARKUP = re.compile(
    r"</?(?:antml:)?(?:parameter|invoke|function_calls?|tool_call|tool_use|item)\b[^<>]*>", re.IGNORECASE
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_STUBS: Final = frozenset({
    "", "-", "--", "...", "…", "?", "n/a", "tbd", "todo", "test", "testing", "string", "placeholder", "example", "sample",
    "foo", "bar", "lorem ipsum", "xxx", "x", "dummy", "to be determined", "to be done", "to be filled",
})  # fmt: skip
_FORM: Final = re.compile(r"(?:insert|enter|add|put|your)\b.{0,40}\bhere|.{0,40}\bgoes here")
_WRAPPERS: Final = frozenset(
    {"output", "result", "data", "response", "answer", "json", "object", "value", "item", "input"}
)
WRAPPED: Final = "wrapped_object"
"""The code of a wrapper around what is the object beyond doubt."""
_MOST: Final = 20
"""Findings about one value."""
_OUSTING: Final = frozenset({
    "type", "enum", "const", "pattern", "format", "maxLength", "maxItems", "uniqueItems", "additionalProperties",
    "unevaluatedProperties", "false schema", "quote",
})  # fmt: skip
"""Problems that a value is mended of by going away or by being another."""
_LOST: Final = 0.2
"""An object that keeps less than this share of a rejected draft's text is degenerate."""
_ENOUGH: Final = 80
"""Characters of text that a draft must hold before their loss means anything."""


def strings(value: JsonValue) -> Iterator[tuple[str, str]]:
    """Every string in a value with its JSON Pointer, in document order, without recursion."""
    stack: list[tuple[str, JsonValue]] = [("", value)]
    while stack:
        path, node = stack.pop()
        if isinstance(node, str):
            yield path, node
        elif isinstance(node, dict):
            stack.extend((f"{path}/{pointer_token(k)}", v) for k, v in reversed(node.items()))
        elif isinstance(node, list):
            stack.extend((f"{path}/{i}", node[i]) for i in range(len(node) - 1, -1, -1))


def warnings_of(
    value: JsonValue, schema: JsonObject, fits: Callable[[JsonValue], bool] = lambda _: False
) -> tuple[RunWarning, ...]:
    """What looks wrong in a valid value, at most twenty findings. `fits` asks the schema about another value."""
    found: list[RunWarning] = list(_wrapping(value, schema, fits))
    for path, text in strings(value):
        if len(found) >= _MOST:
            break
        found.extend(RunWarning(code, message, path) for code, message in _marks(text))
    return tuple(found[:_MOST])


def _wrapping(value: JsonValue, schema: JsonObject, fits: Callable[[JsonValue], bool]) -> Iterator[RunWarning]:
    """One undeclared key around an object. Certain where what is in it has declared properties and fits by itself."""
    if not isinstance(value, dict) or len(value) != 1:
        return
    ((key, inner),) = value.items()
    properties = schema.get("properties")
    declared = properties if isinstance(properties, dict) else {}
    if key in declared or not isinstance(inner, dict):
        return
    certain = not declared.keys().isdisjoint(inner) and fits(inner)
    if certain or key.lower() in _WRAPPERS:
        code = WRAPPED if certain else "wrapper_key"
        yield RunWarning(code, f"the object is wrapped in one undeclared key, {key[:60]!r}", f"/{pointer_token(key)}")


def _marks(text: str) -> Iterator[tuple[str, str]]:
    if text.startswith(("{", "[")) and text.rstrip().endswith(("}", "]")) and _is_json(text):
        yield "json_in_string", "the string is itself JSON"
    if _MARKUP.search(text):
        yield "markup", "the string contains what looks like tool-call markup"
    control = _CONTROL.search(text)
    if control:
        yield "control_character", f"the string contains the control character U+{ord(control.group()):04X}"


def _is_json(text: str) -> bool:
    read = read_json(text, numbers="exact")
    return not isinstance(read, JsonFault) and isinstance(read.value, dict | list) and bool(read.value)


def degenerate(
    text: str,
    rejected: tuple[str, ...],
    told: tuple[tuple[Problem, ...], ...] = (),
    schema: JsonObject | None = None,
) -> Problem | None:
    """Why an object is taken for a stub: it lost most of the text of a rejected draft, or is filled with placeholders.

    A word that a draft held too is no placeholder: the model means it; nor is one that the schema lists. `told` are the
    problems of the drafts, one tuple each: a value that had to be shorter, or another, or away, is no loss.
    """
    drafts = [_strings_of(draft) for draft in rejected]
    now = list(_strings_of(text).items())
    meant = {s for draft in drafts for s in draft.values()} | _listed(schema)
    kept = _weight(s for _, s in now)
    owed = zip(drafts, told or ((),) * len(drafts), strict=True)
    before = max((_weight(_unfaulted(draft, problems)) for draft, problems in owed), default=0)
    stubs = [(path, s) for path, s in now if s not in meant and _is_stub(s)]
    if stubs and len(stubs) * 2 >= len(now):
        path, stub = stubs[0]
        return Problem(path, "degenerate", "holds a placeholder that no rejected draft held", {"got": f'"{stub}"'})
    if before >= _ENOUGH and kept < before * _LOST:
        return Problem(
            "",
            "degenerate",
            f"lost most of what the rejected draft held ({kept} of {before} characters of text are left)",
        )
    return None


def _listed(schema: JsonObject | None) -> set[str]:
    """The strings among the values that a schema allows by name."""
    if schema is None:
        return set()
    values = (v for _, node in each_subschema(schema) for v in (*_items(node.get("enum")), node.get("const")))
    return {value for value in values if isinstance(value, str)}


def _items(value: JsonValue) -> Iterable[JsonValue]:
    return value if isinstance(value, list) else ()


def _is_stub(text: str) -> bool:
    """Whether a whole string is a placeholder, also one in brackets or in the words of a form."""
    plain = text.strip().strip(".").lower()
    return plain in _STUBS or plain.strip("<>[](){} ") in _STUBS or _FORM.fullmatch(plain) is not None


def _unfaulted(draft: dict[str, str], problems: tuple[Problem, ...]) -> Iterator[str]:
    """The strings of a draft that no problem wanted away."""
    faulty = {_place(p) for p in problems if p.keyword in _OUSTING}
    for path, text in draft.items():
        above = (path[:at] for at, character in enumerate(path) if character == "/")
        if path not in faulty and faulty.isdisjoint(above):
            yield text


def _place(problem: Problem) -> str:
    name = problem.params.get("additionalProperty", problem.params.get("unevaluatedProperty"))
    return problem.path if not isinstance(name, str) else f"{problem.path}/{pointer_token(name)}"


def _weight(texts: Iterable[str]) -> int:
    """How much a value says: the characters of its different words. A filler that is repeated says nothing more."""
    return sum(len(word) for word in {word for text in texts for word in text.split()})


def _strings_of(text: str) -> dict[str, str]:
    read = read_json(text, numbers="exact")
    return {} if isinstance(read, JsonFault) else dict(strings(read.value))
