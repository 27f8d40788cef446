"""`x-lastcall` in a schema: what a value must be backed by, and what must not be repeated.

`{"quote": "input" | "tools" | ["input", "tools"]}` on a string: the value stands word for word in the prompt, or in what a
tool answered. `{"evidence": TOOL | [TOOLS] | {"tool": ..., "matches": TEXT}}`: `true` needs a successful call of that tool,
a string needs one whose input holds the string; with `matches`, of the calls whose input holds that text the latest has to
have succeeded. `{"secret": true}`: the value stands in no feedback and in no problem.

An annotation below a choice counts where its branch fits the value. Must not go in here: where the seen comes from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from lastcall.contract.alongside import Step, always, branches, items, members, single
from lastcall.contract.nodes import Node
from lastcall.contract.positions import each_subschema
from lastcall.contract.seen import Sight, ToolSeen
from lastcall.contract.validator import Validator
from lastcall.errors import BadSchema
from lastcall.nouns.attachment import Problem
from lastcall.nouns.json import JsonValue

KEYWORD: Final = "x-lastcall"
SOURCES: Final = ("input", "tools")
_MOST_STEPS: Final = 1_000_000
_NUMBERED: Final = re.compile(r"^ *\d+(?:→|\t)", re.MULTILINE)
"""Line numbers that a tool writes before the lines of a file."""
_BREAKS: Final = re.compile(r"\r\n?")


class Evidence(Struct, frozen=True):
    """Which calls prove a value: of these tools (lower case), with this text in their input."""

    tools: tuple[str, ...]
    matches: str = ""


class Annotation(Struct, frozen=True):
    """What one node of the schema says."""

    quote: tuple[str, ...] = ()
    evidence: Evidence | None = None
    secret: bool = False


class Annotated(Struct, frozen=True):
    """A value under an annotation, with its pointer."""

    path: str
    value: JsonValue
    annotation: Annotation


class Annotations:
    """The annotations of a schema. Made only by `annotations_of`."""

    def __init__(self, validator: Validator, at: dict[int, Annotation]) -> None:
        self._validator = validator
        self._at = at
        self.any_secret = any(a.secret for a in at.values())
        self.needs_sight = any(a.quote or a.evidence for a in at.values())

    def problems(self, value: JsonValue, sight: Sight) -> tuple[Problem, ...]:
        """What is not backed by what the run has seen. The value fits the schema."""
        found: dict[tuple[str, str], Problem] = {}
        for item in self._walk(value, choices=True) if self.needs_sight else ():
            for problem in _unbacked(item, sight):
                found.setdefault((problem.path, problem.keyword), problem)
        return tuple(found.values())

    def secrets(self, value: JsonValue) -> tuple[tuple[str, JsonValue], ...]:
        """Secret values and where they stand; of a choice all branches count, since the value may fit none."""
        items = self._walk(value, choices=False) if self.any_secret else ()
        return tuple((item.path, item.value) for item in items if item.annotation.secret)

    def _walk(self, value: JsonValue, *, choices: bool) -> Iterator[Annotated]:
        todo: list[Step] = [(self._validator.root, "", value)]
        been: set[tuple[int, str]] = set()
        while todo and len(been) < _MOST_STEPS:
            node, path, part = todo.pop()
            if (id(node.schema), path) in been:
                continue
            been.add((id(node.schema), path))
            annotation = self._at.get(id(node.schema))
            if annotation is not None:
                yield Annotated(path, part, annotation)
            todo += ((below, path, part) for below in self._in_place(node, part, choices=choices))
            if isinstance(part, dict):
                todo += members(node, path, part)
            elif isinstance(part, list):
                todo += items(node, path, part)

    def _in_place(self, node: Node, value: JsonValue, *, choices: bool) -> Iterator[Node]:
        """The subschemas that speak about the same value; of choices those that it fits."""

        def fits(schema: Any) -> bool:
            return not choices or self._validator.fits(node.child(schema), value)

        yield from always(node)
        for key in ("anyOf", "oneOf"):
            yield from (node.child(branch) for branch in branches(node.schema, key) if fits(branch))
        if "if" in node.schema:
            holds = fits(node.schema["if"])
            for key, wanted in (("then", True), ("else", False)):
                if holds == wanted or not choices:
                    yield from map(node.child, single(node.schema, key))


def annotations_of(validator: Validator) -> Annotations | None:
    """The annotations in a compiled schema, `None` where there are none.

    Raises `BadSchema` for one that means nothing, or that stands where it could not be applied.
    """
    written = {
        id(node): (path, _read(node[KEYWORD], f"{path}/{KEYWORD}"))
        for path, node in each_subschema(validator.root.schema)
        if KEYWORD in node
    }
    if not written:
        return None
    unreached = written.keys() - _reachable(validator.root)
    if unreached:
        where = min(written[one][0] for one in unreached)
        raise BadSchema("x-lastcall cannot be applied below this keyword.", where=f"{where}/{KEYWORD}")
    return Annotations(validator, {one: annotation for one, (_, annotation) in written.items()})


def _reachable(root: Node) -> set[int]:
    """The nodes that a walk over some value could come to."""
    todo, been = [root], set[int]()
    while todo:
        node = todo.pop()
        if id(node.schema) in been:
            continue
        been.add(id(node.schema))
        todo += always(node)
        for key in ("anyOf", "oneOf", "prefixItems", "items"):
            todo += map(node.child, branches(node.schema, key))
        named = node.schema.get("properties")
        for schema in named.values() if isinstance(named, dict) else ():
            todo += [node.child(schema)] if isinstance(schema, dict) else []
        for key in ("then", "else", "additionalProperties", "items", "additionalItems"):
            todo += map(node.child, single(node.schema, key))
    return been


# -- reading an annotation ------------------------------------------------------------------------------------------


def _read(value: Any, where: str) -> Annotation:
    if not isinstance(value, dict) or not value.keys() <= {"quote", "evidence", "secret"}:
        raise BadSchema("x-lastcall holds quote, evidence and secret, and nothing else.", where=where)
    quote = value.get("quote", ())
    sources = (quote,) if isinstance(quote, str) else quote
    if not isinstance(sources, list | tuple) or not all(source in SOURCES for source in sources):
        raise BadSchema("quote is input, tools, or a list of them.", where=where)
    if value.get("secret", False) not in (True, False):
        raise BadSchema("secret is true or false.", where=where)
    evidence = _evidence(value["evidence"], where) if "evidence" in value else None
    return Annotation(tuple(sources), evidence, bool(value.get("secret", False)))


def _evidence(value: Any, where: str) -> Evidence:
    matches = ""
    if isinstance(value, dict) and value.keys() <= {"tool", "matches"}:
        matches, value = value.get("matches", ""), value.get("tool")
    tools = [value] if isinstance(value, str) else value
    named = isinstance(tools, list) and bool(tools) and all(isinstance(t, str) and t for t in tools)
    if not named or not isinstance(matches, str):
        raise BadSchema('evidence is a tool, a list of tools, or {"tool": ..., "matches": text}.', where=where)
    return Evidence(tuple(t.lower() for t in tools), matches)


# -- what backs a value ---------------------------------------------------------------------------------------------


def _unbacked(item: Annotated, sight: Sight) -> Iterator[Problem]:
    annotation, value = item.annotation, item.value
    if annotation.quote and isinstance(value, str):
        why = _unquoted(value, annotation.quote, sight)
        if why:
            yield Problem(item.path, "quote", why)
    if annotation.evidence is not None and value is not False and isinstance(value, bool | str):
        why = _unproved(value, annotation.evidence, sight)
        if why:
            yield Problem(item.path, "evidence", why)


def _unquoted(value: str, sources: tuple[str, ...], sight: Sight) -> str:
    if not value.strip():
        return "must be a quote, and holds no words"
    wanted = _BREAKS.sub("\n", value)
    texts = [sight.prompt] if "input" in sources else []
    texts += [call.text for call in sight.tools] if "tools" in sources else []
    for text in texts:
        plain = _BREAKS.sub("\n", text)
        if wanted in plain or wanted in _NUMBERED.sub("", plain):
            return ""
    place = " or ".join("the prompt" if source == "input" else "what a tool answered" for source in sources)
    return f"must be quoted word for word from {place}, and does not stand there"


def _unproved(value: bool | str, evidence: Evidence, sight: Sight) -> str:
    names = " or ".join(evidence.tools)
    calls = [c for c in sight.tools if c.tool.lower() in evidence.tools and evidence.matches in c.arguments]
    about = f" with {evidence.matches!r} in its input" if evidence.matches else ""
    if isinstance(value, str):
        calls = [c for c in calls if _holds(c, value)]
        about += " whose input holds this value"
    if not calls:
        return f"must be backed by a call of {names}{about}, and there was none in this session"
    proved = calls[-1].ok if evidence.matches else any(c.ok for c in calls)
    return "" if proved else f"must be backed by a successful call of {names}{about}, and it failed"


def _holds(call: ToolSeen, value: str) -> bool:
    import json  # noqa: PLC0415 -- only where a string needs evidence

    return bool(value.strip()) and (value in call.arguments or json.dumps(value)[1:-1] in call.arguments)
