"""Property names in the characters that every service takes, and back.

Some services refuse a tool whose schema has property names with spaces, brackets or letters beyond ASCII. For those the
schema on the wire has other names: the same word in plain characters and a few digits that only this name gives
(`Account Number` is `Account_Number.5d0e`), so that no name of anything else is ever taken for one. What the model sends is
turned back before it is judged, and what it is told of problems is in the names that it sees.

Must not go in here: which services need it (`wire.dialect`), the contract itself, which knows the caller's names alone.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace

from lastcall.contract.json_text import JsonFault, pointer_token, read_json, write_json
from lastcall.contract.positions import each_subschema, fresh
from lastcall.nouns.attachment import Problem
from lastcall.nouns.json import JsonObject, JsonValue
from lastcall.nouns.tools import ToolDefinition

PLAIN: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
"""Names that the strictest service takes (the Messages API's own rule)."""

_NOT_PLAIN: Final = re.compile(r"[^a-zA-Z0-9_-]+")
_WORD: Final = 48
"""Characters of the word in a plain name."""
_MAPS: Final = frozenset(
    {"properties", "dependentSchemas", "dependencies", "patternProperties", "$defs", "definitions"}
)
_NAMED: Final = frozenset({"properties", "dependentSchemas", "dependencies"})
"""Of these, the ones whose keys are names of properties."""
_FIGURES: Final = frozenset(
    {"missingProperty", "additionalProperty", "unevaluatedProperty", "propertyName", "property", "hint"}
)
"""Figures of a problem that may name a property."""


class PlainNames:
    """The names of one schema. `schema` is the schema with plain ones; made only by `plain_names`."""

    def __init__(self, schema: JsonObject, names: Mapping[str, str]) -> None:
        self._plain = dict(names)
        self._callers = {plain: name for name, plain in names.items()}
        self.schema = _renamed_schema(schema, self._plain)

    def callers_text(self, text: str, *, max_depth: int) -> str:
        """The JSON text of arguments in the caller's names; one that cannot be read, or not in one way, stays as it is."""
        return _renamed_text(text, self._callers, max_depth)

    def callers_value(self, value: JsonValue) -> Any:
        """A value in the caller's names; `None` for one that holds a name in both forms."""
        try:
            return _renamed(value, self._callers)
        except _Ambiguous:
            return None

    def plain_text(self, text: str, *, max_depth: int) -> str:
        """The JSON text of a draft in plain names."""
        return _renamed_text(text, self._plain, max_depth)

    def told(self, problem: Problem) -> Problem:
        """A problem in the names that the model sees."""
        params = {k: self._in_words(v) if k in _FIGURES else v for k, v in problem.params.items()}
        path = re.sub(r"[^/]+", lambda token: self._token(token.group()), problem.path)
        return replace(problem, path=path, message=self._in_words(problem.message), params=params)

    def _token(self, token: str) -> str:
        name = token.replace("~1", "/").replace("~0", "~")
        return pointer_token(self._plain.get(name, name))

    def _in_words(self, words: Any) -> Any:
        if not isinstance(words, str):
            return words
        if words in self._plain:
            return self._plain[words]
        for name, plain in self._plain.items():
            words = words.replace(f"'{name}'", f"'{plain}'")
        return words


def has_odd_names(schema: JsonObject) -> bool:
    """Whether a schema has names that not every service takes."""
    return any(not PLAIN.fullmatch(name) for name in _names_in(schema))


def plain_names(schema: JsonObject) -> PlainNames | None:
    """The plain names of a schema for the wire; `None` where all of its names are plain."""
    names = tuple(dict.fromkeys(_names_in(schema)))
    odd = [name for name in names if not PLAIN.fullmatch(name)]
    if not odd:
        return None
    taken = set(names)
    plain: dict[str, str] = {}
    for name in odd:
        plain[name] = _plain(name, taken)
        taken.add(plain[name])
    return PlainNames(schema, plain)


def plain_tool(tool: ToolDefinition) -> ToolDefinition:
    """A tool with plain names in its input; the same one where they are plain already."""
    names = plain_names(tool.input_schema)
    return tool if names is None else replace(tool, input_schema=names.schema)


def _plain(name: str, taken: set[str]) -> str:
    ascii_only = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    word = _NOT_PLAIN.sub("_", ascii_only).strip("_")[:_WORD] or "name"
    digits = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return next(p for n in range(4, 16) if (p := f"{word}.{digits[:n]}") not in taken)


def _names_in(schema: JsonObject) -> Iterator[str]:
    for _, node in each_subschema(schema):
        for key in _NAMED:
            yield from _keys(node.get(key))
        yield from _strings(node.get("required"))
        for lists in (node.get("dependentRequired"), node.get("dependencies")):
            yield from _keys(lists)
            for names in lists.values() if isinstance(lists, dict) else ():
                yield from _strings(names)


def _keys(value: Any) -> Iterable[str]:
    return value if isinstance(value, dict) else ()


def _strings(value: Any) -> Iterator[str]:
    yield from (item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


# -- the schema -----------------------------------------------------------------------------------------------------


def _renamed_schema(schema: JsonObject, plain: Mapping[str, str]) -> JsonObject:
    root = fresh(schema)
    nodes = [node for _, node in each_subschema(root)]  # all of them, before any key is another
    for node in nodes:
        for key, value in list(node.items()):
            node[key] = _renamed_keyword(key, value, plain)
    return root


def _renamed_keyword(key: str, value: Any, plain: Mapping[str, str]) -> Any:
    match key:
        case "properties" if isinstance(value, dict):
            return {plain.get(name, name): _explained(name, member, plain) for name, member in value.items()}
        case "required" if isinstance(value, list):
            return _renamed_list(value, plain)
        case "dependentSchemas" | "dependentRequired" | "dependencies" if isinstance(value, dict):
            return {plain.get(name, name): _renamed_list(member, plain) for name, member in value.items()}
        case "const" | "default" | "enum" | "examples":
            return _renamed_value(value, plain)
        case "$ref" if isinstance(value, str) and value.startswith("#/"):
            return _renamed_reference(value, plain)
        case _:
            return value


def _explained(name: str, member: Any, plain: Mapping[str, str]) -> Any:
    """What a renamed property is called, for the model: it may be all that tells what is meant."""
    if name not in plain or (isinstance(member, dict) and "$ref" in member) or member is False:
        return member
    node = member if isinstance(member, dict) else {}
    described = node.get("description")
    node["description"] = f"{name}: {described}" if isinstance(described, str) else name
    return node


def _renamed_value(value: Any, plain: Mapping[str, str]) -> Any:
    try:
        return _renamed(value, plain)
    except _Ambiguous:  # an odd name beside what stands for it: such a value nobody can send
        return value


def _renamed_list(value: Any, plain: Mapping[str, str]) -> Any:
    return (
        [plain.get(item, item) if isinstance(item, str) else item for item in value]
        if isinstance(value, list)
        else value
    )


def _renamed_reference(reference: str, plain: Mapping[str, str]) -> str:
    """A local pointer whose names of properties are the plain ones."""
    from urllib.parse import quote, unquote  # noqa: PLC0415 -- few schemas have odd names, fewer refer to them

    out: list[str] = []
    names = ""
    for token in reference[2:].split("/"):
        name = unquote(token).replace("~1", "/").replace("~0", "~")
        if names:
            mapped = plain.get(name, name) if names in _NAMED else name
            out.append(token if mapped == name else quote(pointer_token(mapped), safe=""))
            names = ""
        else:
            out.append(token)
            names = name if name in _MAPS else ""
    return "#/" + "/".join(out)


# -- values ---------------------------------------------------------------------------------------------------------


class _Ambiguous(Exception):  # noqa: N818 -- never leaves this file
    """One object holds a name in both forms."""


def _renamed_text(text: str, names: Mapping[str, str], max_depth: int) -> str:
    read = read_json(text, numbers="exact", max_depth=max_depth)
    if isinstance(read, JsonFault) or read.duplicates:
        return text
    try:
        return write_json(_renamed(read.value, names), numbers="exact")
    except _Ambiguous:
        return text


def _renamed(value: JsonValue, names: Mapping[str, str]) -> Any:
    """A copy with other names, in the same order, without recursion. Raises `_Ambiguous`."""
    holder: list[Any] = [value]
    todo: list[tuple[Any, Any]] = [(holder, 0)]
    while todo:
        place, key = todo.pop()
        node = place[key]
        if isinstance(node, dict):
            other: Any = {names.get(name, name): member for name, member in node.items()}
            if len(other) != len(node):
                raise _Ambiguous
            keys: Iterable[Any] = other
        elif isinstance(node, list):
            other, keys = list(node), range(len(node))
        else:
            continue
        place[key] = other
        todo += ((other, inner) for inner in keys)
    return holder[0]
