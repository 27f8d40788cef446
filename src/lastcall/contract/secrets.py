"""Values that the schema marks secret, kept out of whatever is said about an object.

Must not go in here: where they stand (`annotations`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from lastcall.contract.json_text import write_json
from lastcall.nouns.attachment import Problem
from lastcall.nouns.json import JsonValue

MASK: Final = "[secret]"
_SHORTEST: Final = 4
"""Shorter values are hidden where they stand, not wherever their characters occur."""
_FOUND: Final = frozenset({"got", "hint"})
"""Figures of a problem that come from the value, not from the schema."""

Secrets = tuple[tuple[str, JsonValue], ...]
"""Pointers and values."""


def conceal(problems: tuple[Problem, ...], secrets: Secrets) -> tuple[Problem, ...]:
    """The problems, without what was found at secret places and without any text of a secret value."""
    words = sorted({text for _, value in secrets for text in _texts(value)}, key=len, reverse=True)
    paths = tuple(path for path, _ in secrets)
    return tuple(_concealed(problem, paths, words) for problem in problems)


def masked(value: Any, paths: frozenset[str], path: str = "") -> Any:
    """A copy of a value with `MASK` at these pointers. The value nests no deeper than an argument may."""
    if path in paths:
        return MASK
    if isinstance(value, dict):
        return {key: masked(member, paths, f"{path}/{_token(key)}") for key, member in value.items()}
    if isinstance(value, list):
        return [masked(item, paths, f"{path}/{index}") for index, item in enumerate(value)]
    return value


def _token(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _concealed(problem: Problem, paths: tuple[str, ...], words: list[str]) -> Problem:
    inside = any(problem.path == path or problem.path.startswith(f"{path}/") for path in paths)
    params = {key: _hidden(value, words) for key, value in problem.params.items() if not inside or key not in _FOUND}
    return replace(problem, message=_without(problem.message, words), params=params)


def _hidden(value: Any, words: list[str]) -> Any:
    return _without(value, words) if isinstance(value, str) else value


def _without(text: str, words: list[str]) -> str:
    for word in words:
        text = text.replace(word, MASK)
    return text


def _texts(value: JsonValue) -> Iterator[str]:
    """How a value, or a part of it, may stand in a sentence."""
    todo: list[JsonValue] = [value]
    while todo:
        node = todo.pop()
        if isinstance(node, dict):
            todo.extend(node.values())
        elif isinstance(node, list):
            todo.extend(node)
        elif node is not None and not isinstance(node, bool):
            text = node if isinstance(node, str) else write_json(node, numbers="exact")
            forms = {text, text.strip(), write_json(text, numbers="exact")[1:-1]}
            yield from (form for form in forms if len(form) >= _SHORTEST)
